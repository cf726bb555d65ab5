"""Which queries ask for what is an operator elsewhere and an attribute here? That is worth a warning."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis import Fields

_NAMES = (
    "bio|bio_location|bio_name|context|conversation_id|entity|from|in_reply_to_tweet_id|is|lang|list|place|place_country|"
    "quotes_of_tweet_id|retweets_of|retweets_of_tweet_id|source|to|url|url_contains|url_description|url_title"
)
_PRESENT = "cashtags|geo|hashtags|images|links|media|mentions|video_link|videos"
_OPERATOR = rf"(?:^|[\s(\-])(?P<asked>(?:{_NAMES}):|has:(?:{_PRESENT})(?:$|[\s)]))"
_QUOTED = r'"(?:\\.|[^"\\])*"'


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
