"""Random queries and publications for the property tests."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime

from hypothesis import strategies as st

from tidings.analysis import Analyser
from tidings.language import normal_form, parse
from tidings.model import (
    And,
    Anywhere,
    Circle,
    Contains,
    EndsWith,
    Equals,
    InNetwork,
    Not,
    Or,
    Phrase,
    Polygon,
    Prefix,
    Present,
    Publication,
    Query,
    QueryError,
    Range,
    Rectangle,
    Regex,
    StartsWith,
    Tag,
    Topic,
    Wildcard,
    Within,
    Word,
)
from tidings.model.habits import word_habit
from tidings.model.names import ATTRIBUTE_NAME, OPERATORS
from tidings.model.query import BARE_WORD

ANALYSER = Analyser()


def is_askable(query: Query) -> bool:
    """Whether the language would take it: something positive, no contradiction, not too large."""
    try:
        normal_form(query, ANALYSER)
    except QueryError:
        return False
    return True


def trees(atoms: st.SearchStrategy[Query], leaves: int = 8) -> st.SearchStrategy[Query]:
    def joined(children: st.SearchStrategy[Query]) -> st.SearchStrategy[Query]:
        several = st.lists(children, min_size=2, max_size=4).map(tuple)
        return st.one_of(several.map(And), several.map(Or), children.map(Not))

    return st.recursive(atoms, joined, max_leaves=leaves).filter(is_askable)


def _is_word(text: str) -> bool:
    is_join = text.upper() in ("AND", "OR", "NOT") or text.startswith(("AND-", "OR-", "NOT-"))
    return not is_join and word_habit(text) is None


# Anything that can be written: for round trips.
_text = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=12)
_names = st.one_of(st.from_regex(ATTRIBUTE_NAME, fullmatch=True), _text.filter(str.strip)).filter(
    lambda name: name not in OPERATORS | {"text", "topic"}
)
_words = st.from_regex(BARE_WORD, fullmatch=True).filter(_is_word)
_numbers = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**70), 2**70))
_instants = st.datetimes(timezones=st.just(UTC))


@st.composite
def _ranges(draw: st.DrawFn) -> Range:
    bounds: list[float] | list[datetime] = sorted(draw(st.lists(_numbers, min_size=2, max_size=2)))
    if draw(st.booleans()):
        bounds = sorted(draw(st.lists(_instants, min_size=2, max_size=2)))
    low, high = bounds
    open_side = draw(st.sampled_from(["low", "high", None]))
    included = (True, True) if low == high else (draw(st.booleans()), draw(st.booleans()))
    if open_side == "low":
        return Range(draw(_names), None, high, *included)
    if open_side == "high":
        return Range(draw(_names), low, None, *included)
    return Range(draw(_names), low, high, *included)


@st.composite
def _rectangles(draw: st.DrawFn) -> Rectangle:
    west, east = sorted(draw(st.lists(st.floats(-180, 180), min_size=2, max_size=2)))
    south, north = sorted(draw(st.lists(st.floats(-90, 90), min_size=2, max_size=2)))
    return Rectangle(west, south, east, north)


@st.composite
def _wildcards(draw: st.DrawFn) -> Wildcard:
    """Texts with one or several marks between them, '?' before '*'."""
    texts, signs = [draw(st.just("") | _text)], list[str]()
    for between in draw(st.lists(st.sampled_from(["*", "?", "??*", "?*"]), min_size=2, max_size=3)):
        signs += between
        texts += [*([""] * (len(between) - 1)), draw(_text)]
    return Wildcard(draw(_names), tuple(texts), tuple(signs), draw(st.booleans()))


_letters = st.sampled_from(
    [*"abAB/é", ".", "[a-b]", "[^b]", r"\d", r"\w", r"\\", r"\.", r"\b", "^", "$", "ß", "(?i)a", "k"]
)


def _longer_patterns(shorter: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(shorter, min_size=2, max_size=3).map("".join),
        st.lists(shorter, min_size=2, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.tuples(shorter, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "+?"])).map(
            lambda p: f"(?:{p[0]}){p[1]}"
        ),
    )


patterns = st.recursive(_letters, _longer_patterns, max_leaves=6)
_circles = st.builds(Circle, st.floats(-180, 180), st.floats(-90, 90), st.floats(0.001, 2e7))


@st.composite
def polygons(draw: st.DrawFn) -> Polygon:
    """One part or two, each a star around a centre; some with a hole."""
    parts = []
    for west in draw(st.sampled_from([[-170.0], [5.0], [-170.0, 5.0]])):
        lon, lat = west + draw(st.floats(60, 100)), draw(st.floats(-20, 20))
        shares = draw(st.lists(st.floats(0.2, 1), min_size=3, max_size=9))
        wide, high = draw(st.floats(1e-3, 59)), draw(st.floats(1e-3, 69))
        turns = [2 * math.pi * n / len(shares) for n in range(len(shares))]
        star = [
            (lon + wide * r * math.cos(a), lat + high * r * math.sin(a)) for r, a in zip(shares, turns, strict=True)
        ]
        hole = [((x + 3 * lon) / 4, (y + 3 * lat) / 4) for x, y in star]
        parts.append((tuple(star), tuple(hole)) if draw(st.booleans()) else (tuple(star),))
    return Polygon(tuple(parts))


_steps = _text.filter(lambda s: "/" not in s and "*" not in s)
writable_atoms: st.SearchStrategy[Query] = st.one_of(
    _words.map(Word),
    st.sampled_from(["#Fire", "$BHP", "$brk.b", "@nsw_rfs", "#日本", "＃x1"]).map(Tag),
    st.builds(Phrase, _text.filter(lambda t: t.strip() and "*" not in t), st.integers(0, 100)),
    st.from_regex(r"[a-zé]{2,9}", fullmatch=True).map(Prefix),
    st.builds(Equals, _names, st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=12), st.booleans()),
    st.builds(StartsWith, _names, _text, st.booleans()),
    st.builds(EndsWith, _names, _text, st.booleans()),
    st.builds(Contains, _names, _text, st.booleans()),
    _wildcards(),
    st.builds(Regex, _names, patterns, st.booleans()),
    st.builds(Anywhere, _text.filter(lambda t: t.strip() and "*" not in t), st.integers(0, 100)),
    st.builds(InNetwork, _names, st.ip_addresses().map(lambda own: f"{own}/{own.max_prefixlen // 3}")),
    _ranges(),
    st.builds(Present, _names),
    st.one_of(_rectangles(), _circles, polygons()).map(Within),
    st.lists(_steps, min_size=1, max_size=3).map(tuple).map(Topic),
    _steps.map(lambda step: Topic((step, "*"))),
)
writable_queries = trees(writable_atoms)

# A small world in which things meet: for evaluation, covering and, later, every index.
WORDS = ("fire", "smoke", "drill", "rain", "flood")
STOP_WORDS = ("the", "of")
TAGS = ("#Fire", "#smoke", "@fire", "@Fire,", "$fire", "$5", "#1")
SYMBOLS = ("A", "B", "5", "true")
PATHS = ("news", "news/sport", "news/sport/final", "news/war/final", "ads")
_small = st.integers(0, 4).map(float)


@st.composite
def _small_ranges(draw: st.DrawFn) -> Range:
    low, high = sorted((draw(_small), draw(_small)))
    name = draw(st.sampled_from(["price", "symbol"]))
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return Range(name, low=low, low_included=draw(st.booleans()))
    if kind == 1:
        return Range(name, high=high, high_included=draw(st.booleans()))
    if kind == 2 and low < high:
        return Range(name, low, high, draw(st.booleans()), draw(st.booleans()))
    return Range(name, datetime(2020, 1, 1 + int(low), tzinfo=UTC), datetime(2020, 1, 2 + int(high), tzinfo=UTC))


@st.composite
def _small_rectangles(draw: st.DrawFn) -> Rectangle:
    west, east = sorted((draw(_small), draw(_small)))
    south, north = sorted((draw(_small), draw(_small)))
    return Rectangle(west, south, east, north)


def _phrase(words: list[str]) -> str:
    return " ".join(words)


_words_in_a_row = st.lists(st.sampled_from(WORDS + STOP_WORDS), min_size=1, max_size=3).map(_phrase)
_topic_paths = st.sampled_from([*PATHS, "news/*/final", "*/sport"]).map(lambda p: Topic(tuple(p.split("/"))))
_small_circles = st.builds(Circle, _small, _small, st.sampled_from([1.0, 120_000.0, 400_000.0]))
SMALL_POLYGONS = (
    "((0 0, 4 0, 4 4, 0 4))",
    "((0 0, 4 0, 2 4))",
    "((0 0, 3 1, 4 4, 1 3), (1 1, 2 1, 2 2))",
    "((0 0, 4 0, 4 4, 0 4), (1 1, 3 1, 3 3, 1 3))",
    "(((0 0, 2 0, 0 2)), ((2 2, 4 2, 4 4, 2 4)))",
)
_small_polygons = st.sampled_from(SMALL_POLYGONS).map(lambda text: parse(f"polygon:{text}"))
ATOM_KINDS: dict[str, st.SearchStrategy[Query]] = {
    "text": st.one_of(
        st.sampled_from(WORDS + STOP_WORDS).map(Word),
        st.builds(Phrase, _words_in_a_row, st.integers(0, 2)),
        st.sampled_from(["fi", "flo", "sm", "th"]).map(Prefix),
        st.sampled_from(["#fire", "#Smoke", "@fire", "$fire"]).map(Tag),
        st.builds(Anywhere, _words_in_a_row, st.integers(0, 1)),
    ),
    "value": st.one_of(
        st.builds(Equals, st.sampled_from(["symbol", "price"]), st.sampled_from([*SYMBOLS, "2", "2.0"]), st.booleans()),
        st.builds(StartsWith, st.just("symbol"), st.sampled_from(["A", "AB", "5"]), st.booleans()),
        st.builds(EndsWith, st.just("symbol"), st.sampled_from(["A", "B"]), st.booleans()),
        st.builds(Contains, st.just("symbol"), st.sampled_from(["A", "B", "AB"]), st.booleans()),
        st.builds(
            Wildcard,
            st.just("symbol"),
            st.sampled_from([("A", "B"), ("", "B"), ("A", "")]),
            st.just(("?",)),
            st.booleans(),
        ),
        st.builds(
            Regex, st.just("symbol"), st.sampled_from(["A.?", "[AB]+", "(a|5)B*", ".", "(?i)a.*"]), st.booleans()
        ),
        st.builds(InNetwork, st.just("symbol"), st.sampled_from(["10.0.0.0/8", "10.1.0.0/16", "::/1"])),
        _small_ranges(),
        st.sampled_from(["symbol", "price", "lat"]).map(Present),
    ),
    "place": st.one_of(st.one_of(_small_rectangles(), _small_circles).map(Within), _small_polygons),
    "topic": _topic_paths,
}
small_atoms: st.SearchStrategy[Query] = st.one_of(list(ATOM_KINDS.values()))
small_queries = trees(small_atoms)

_values = st.one_of(
    st.sampled_from([*SYMBOLS, "AB", "aB", "abb", "2", "10.1.2.3", "10.2.0.0/16", "::1", "smoke, fire", "drill"]),
    st.integers(0, 5),
    st.sampled_from([0.5, 2.0, 2.5]),
    st.booleans(),
    st.integers(1, 7).map(lambda day: datetime(2020, 1, day, tzinfo=UTC)),
)


_held = _values | st.lists(_values, max_size=3).map(tuple)


@st.composite
def publications(draw: st.DrawFn) -> Publication:
    words = draw(st.lists(st.sampled_from(WORDS + STOP_WORDS + TAGS), max_size=7))
    placed = draw(st.booleans())
    return Publication(
        id="p",
        text=" ".join(words),
        lat=draw(_small) if placed else None,
        lon=draw(_small) if placed else None,
        topics=tuple(draw(st.lists(st.sampled_from(PATHS), max_size=2))),
        attributes=draw(st.dictionaries(st.sampled_from(["symbol", "price"]), _held, max_size=2)),
    )


def random_publication(rng: random.Random) -> Publication:
    """A publication of the small world by a seeded generator, where hypothesis would be slow."""
    values = (
        *SYMBOLS,
        "AB",
        "aB",
        "abb",
        "2",
        "10.1.2.3",
        "10.2.0.0/16",
        "::1",
        "smoke, fire",
        "drill",
        0,
        1,
        2,
        3,
        4,
        5,
        0.5,
        2.5,
        True,
        datetime(2020, 1, rng.randint(1, 7), tzinfo=UTC),
    )
    lat, lon = (None, None) if rng.random() < 0.3 else (rng.choice((0.0, 1, 2, 3, 4)), rng.choice((0.0, 1, 2, 3, 4)))
    return Publication(
        id="p",
        text=" ".join(rng.choices(WORDS + STOP_WORDS + TAGS, k=rng.randint(0, 7))),
        lat=lat,
        lon=lon,
        topics=tuple(rng.sample(PATHS, rng.randint(0, 2))),
        attributes={
            name: rng.choice(values) if rng.random() < 0.5 else tuple(rng.choices(values, k=rng.randint(0, 3)))
            for name in ("symbol", "price")
            if rng.random() < 0.8
        },
    )
