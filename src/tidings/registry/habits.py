"""Which queries are worth a warning? Those with an operator of X, an attribute here, and those that nothing answers."""

from __future__ import annotations

import re
from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis import Analyser, Fields
from tidings.language import parse_normal
from tidings.language.doubts import doubt_of

_NAMES = (
    "bio|bio_contains|bio_lang|bio_location|bio_name|bio_name_contains|contains|context|conversation_id|embedding|"
    "entity|exclude|filter|followers_count|following_count|friends_count|from|from_affiliate_of|geocode|in_reply_to|"
    "in_reply_to_status_id|in_reply_to_tweet_id|include|is|lang|list|listed_count|max_id|min_faves|min_followers|"
    "min_likes|min_replies|min_reposts|min_retweets|near|place|place_contains|place_country|profile_country|"
    "profile_locality|profile_region|profile_subregion|quotes_of_tweet_id|retweets_of|retweets_of_status_id|"
    "retweets_of_tweet_id|retweets_of_user|since|since_id|since_time|source|statuses_count|to|to_affiliate_of|"
    "tweets_count|until|until_time|url|url_contains|url_description|url_title|user_bio|user_bio_location|"
    "user_in_lists_count|within|within_time|within_url_description|within_url_title"
)
_PRESENT = "cashtags|geo|hashtags|images|lang|links|media|media_link|mentions|profile_geo|symbols|video_link|videos"
_OPERATOR = rf"(?:^|[\s(\-])(?P<asked>(?:{_NAMES}):|has:(?:{_PRESENT})(?:$|[\s)]))"
_QUOTED = r'"(?:\\.|[^"\\])*"'
_NAME = re.compile(
    r""""(?P<quoted>(?:\\.|[^"\\])*)(?:"|\Z)(?P<colon>:?)|(?<![\w.\-])-?(?P<bare>[^\W\d][\w.\-]*):""", re.DOTALL
)
_PLACES = frozenset({"lat", "lon", "ts", "id"})
_TOLD_CHARS = 100
MAX_DOUBTED = 10_000
"""So many different queries of one table are looked at for contradictions."""


def warnings_of(queries: pa.Array | pa.ChunkedArray, analyser: Analyser) -> tuple[str, ...]:
    """What is worth a warning among some queries that can be read.

    >>> warnings_of(pa.array(["fire", "lat:>5 lat:<3"]), Analyser())
    ('lat:>5 lat:<3: no publication can answer it: what it asks for contradicts itself',)
    """
    return (*habits_of(queries, analyser.fields), *_doubts_of(queries, analyser))


def _doubts_of(queries: pa.Array | pa.ChunkedArray, analyser: Analyser) -> tuple[str, ...]:
    """The first contradictory query, and how many there are. Plain words contradict nothing: they are not looked at."""
    signs = pc.fill_null(pc.match_substring_regex(queries, r'[:"]'), False)
    texts = pc.unique(queries.filter(signs)) if pc.any(signs).as_py() else queries[:0]
    doubtful = []
    looked_at = 0
    for text in texts.to_pylist():
        if not may_contradict(text):
            continue
        looked_at += 1
        if looked_at > MAX_DOUBTED:
            break
        if (doubt := doubt_of(parse_normal(text, analyser=analyser)[1])) is not None:
            doubtful.append(f"{_shortened(text)}: {doubt}")
    if len(doubtful) > 1:
        doubtful = [f"{doubtful[0]} (as {len(doubtful) - 1:,} more)"]
    return tuple(doubtful)


def may_contradict(text: str) -> bool:
    """Whether a query says enough for a contradiction: twice something of one name, places, not and a phrase or has."""
    if ('"' in text or "has:" in text or "_exists_:" in text) and ("-" in text or "NOT" in text):
        return True
    found = _NAME.finditer(text)
    names = [own["quoted"] if own["colon"] else own["bare"] for own in found if own["colon"] or own["bare"]]
    return len(names) != len(set(names)) or not _PLACES.isdisjoint(names)


def _shortened(text: str) -> str:
    return text if len(text) <= _TOLD_CHARS else f"{text[:_TOLD_CHARS]}…"


def habits_of(queries: pa.Array | pa.ChunkedArray, fields: Fields) -> tuple[str, ...]:
    """A warning for each operator of X that is asked for, unless it is a field that was declared.

    >>> habits_of(pa.array(["fire lang:en", "smoke lang:de", '"from: here"']), Fields())
    ('2 queries ask for lang:, an operator of X: here it is an attribute, so posts must have one of that name',)
    """
    colons = queries.filter(pc.fill_null(pc.match_substring(queries, ":"), False))
    if not len(colons):
        return ()
    bare = pc.replace_substring_regex(colons, _QUOTED, '""')
    asked = pc.struct_field(pc.extract_regex(bare, _OPERATOR), 0)
    found: Counter[str] = Counter()
    for row in pc.value_counts(asked.drop_null()).to_pylist():
        found[row["values"].strip(" )\t\n")] += row["counts"]
    return tuple(
        f"{count:,} {'query asks' if count == 1 else 'queries ask'} for {name}, an operator of X: here it is an "
        "attribute, so posts must have one of that name"
        for name, count in sorted(found.items())
        if name.removeprefix("has:").rstrip(":") not in dict(fields.kinds)
    )
