"""What do generated posts talk about, and where? Topics with real English words, and real cities."""

from __future__ import annotations

_THEMES = {
    "weather/storm": "storm rain flood thunder lightning wind hail forecast river damage",
    "weather/fire": "fire smoke bushfire drill firefighters evacuate flames heat alarm wind",
    "weather/snow": "snow ice blizzard frost cold winter ski forecast avalanche freeze",
    "traffic/road": "traffic crash highway truck lane bridge delay detour tunnel queue",
    "traffic/rail": "train station platform track signal delay passengers commuters metro strike",
    "traffic/air": "flight airport runway pilot airline delay passengers luggage terminal fog",
    "markets/stocks": "market stocks shares profit investors rally dividend earnings index loss",
    "markets/energy": "oil gas barrel pipeline solar prices refinery power market grid",
    "markets/jobs": "jobs wages hiring layoffs unemployment strike union factory workers inflation",
    "sports/soccer": "soccer goal striker penalty keeper league final coach stadium fans",
    "sports/tennis": "tennis serve racket court champion final match clay grass coach",
    "sports/cricket": "cricket wicket innings bowler batsman stadium captain test runs fans",
    "politics/election": "election vote ballot campaign poll candidate debate senate party turnout",
    "politics/budget": "budget tax spending deficit minister senate white house treasury debate",
    "politics/courts": "court judge trial verdict appeal lawyer jury police prison ruling",
    "health/hospital": "hospital doctor nurse patients surgery ambulance emergency beds clinic care",
    "health/virus": "virus vaccine outbreak mask infection fever quarantine variant patients test",
    "science/space": "rocket launch orbit moon satellite astronaut telescope planet mission comet",
    "science/climate": "climate carbon emissions warming drought glacier ocean coral heat forest",
    "technology/software": "software outage update hackers password server cloud privacy bug phone",
    "technology/robots": "robot drone sensor battery factory prototype engine chip laser patent",
    "arts/music": "concert band album guitar singer festival tickets stage fans vinyl",
    "arts/film": "film actor director trailer cinema premiere sequel script festival camera",
    "food/cooking": "recipe kitchen chef garlic pasta oven sauce dinner spices bread",
}

THEMES: dict[str, tuple[str, ...]] = {path: tuple(words.split()) for path, words in _THEMES.items()}
"""Topic path → words that make a post recognisable; some words belong to several topics, as in life."""

CITIES: tuple[tuple[str, float, float], ...] = (
    ("Sydney", 151.21, -33.87),
    ("London", -0.13, 51.51),
    ("New York", -74.01, 40.71),
    ("Tokyo", 139.69, 35.68),
    ("Mumbai", 72.88, 19.08),
    ("Berlin", 13.40, 52.52),
    ("Sao Paulo", -46.63, -23.55),
    ("Lagos", 3.38, 6.52),
    ("Chicago", -87.63, 41.88),
    ("Istanbul", 28.98, 41.01),
    ("Mexico City", -99.13, 19.43),
    ("Cairo", 31.24, 30.04),
    ("Los Angeles", -118.24, 34.05),
    ("Singapore", 103.82, 1.35),
    ("Nairobi", 36.82, -1.29),
    ("Auckland", 174.76, -36.85),
)
"""Name, longitude, latitude; the first ones have the most posts."""

GLUE: tuple[str, ...] = ("the", "a", "of", "in", "and", "with", "for", "on", "from", "after", "to", "at")
"""Function words between the others, so that a text reads as one; all are stop words."""
