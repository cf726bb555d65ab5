"""What do people write by habit from other languages that would silently mean something else here?

Each is refused, with the way to write it. What was accepted before there were these rules still means what it meant.
"""

from __future__ import annotations

import re
import unicodedata

from tidings.model.tags import is_tag
from tidings.model.values import read_instant, read_number

_QUOTE = "to look for this very text, quote it"
_WORDS = tuple(
    (re.compile(pattern), hint)
    for pattern, hint in (
        (
            r".*\?.*",
            "'?' stands for one character only in an attribute, as in name:te?t; leave it out, or quote it",
        ),
        (r".*[（）].*", "brackets are plain, '(' and ')'; to look for words, quote them"),
        (r".*&&.*", "unknown operator '&&'; write AND, or nothing: words side by side are joined by AND"),
        (
            r"/.*/i?",
            "a regular expression is asked of an attribute, as in name:/ab+c/; to look for words, quote them",
        ),
    )
)
_VALUES = tuple(
    (re.compile(pattern), hint)
    for pattern, hint in (
        (r".*\\.*", 'a backslash stands only inside quotes, where it is written twice, as in {name}:"a\\\\b"'),
        (r".*&&.*", f"unknown operator '&&'; write AND between two conditions; {_QUOTE}"),
        (r".*\|\|.*", f"unknown operator '||'; write {{name}}:(a OR b); {_QUOTE}"),
        (r".+~[0-9.]*", f"there are no similar words; list them, as in {{name}}:(a OR b); {_QUOTE}"),
        (r".*\^[0-9.]+", f"matches are not ranked, so there are no weights: leave '^' out; {_QUOTE}"),
        (r"\+.*", f"every condition is required unless joined by OR: leave '+' out; {_QUOTE}"),
        (r"'.*", f'quotes are double, as in {{name}}:"a b"; {_QUOTE}'),
        (r"[0-9]+(?:\.[0-9]+){3}/[0-9]+", f"that is no network, as 10.0.0.0/8 is; {_QUOTE}"),
        (r"&.*", f"unknown operator '&'; write AND between two conditions; {_QUOTE}"),
    )
)
_MONTH = re.compile(r"[0-9]{4}(?:-[0-9]{2})?")
_SPAN = re.compile(r"(-?[0-9][0-9.]*)-(-?[0-9][0-9.]*)")
_AT_LEAST = frozenset(
    {
        *("followers_count", "following_count", "friends_count", "listed_count", "statuses_count", "tweets_count"),
        *("min_faves", "min_followers", "min_likes", "min_replies", "min_reposts", "min_retweets"),
        "user_in_lists_count",
    }
)
_OWN_HABITS = _AT_LEAST | {"_all", "_missing_", "fn", "sample", "ts"}
_INTERVALS = re.compile(
    "after|atLeast|before|contain.*|extend|fuzzyTerm|max.*|no.*|or|ordered|overlapping|phrase|un.*|within"
)


def word_habit(text: str) -> str | None:
    """Why a bare word is refused; None if it is taken.

    >>> word_habit("te?t") is None, word_habit("AT&T") is None
    (False, True)
    """
    if is_tag(text):
        return f"{text!r} is a tag and no word"
    if text[0] in "#＃@＠":
        letters = "letters, digits and '_', not digits alone" if text[0] in "#＃" else "letters, digits and '_'"
        return f"{text!r} is not one tag: behind {text[0]!r} stand {letters}; quote what is none"
    if text[0] == "$" and text[1:2].isalpha():
        return f"{text!r} is not one tag: behind '$' stand up to 6 letters, as in $BRK.B; quote what is none"
    if not any(map(str.isalnum, unicodedata.normalize("NFKC", text))):
        return f"{text!r} has no letter or digit, and posts are found by their words; leave it out"
    return next((hint for pattern, hint in _WORDS if pattern.fullmatch(text)), None)


def value_habit(name: str, text: str) -> str | None:
    """Why a bare value of an attribute is refused; None if it is taken.

    >>> value_habit("price", "10-20")
    'to look for a range, write price:[10 TO 20]; to look for this very text, quote it'
    """
    if text.isalnum() and name not in _OWN_HABITS:  # most are: a habit has a sign
        return None
    if (found := _SPAN.fullmatch(text)) is not None:
        low, high = (read_number(side) for side in found.groups())
        if low is not None and high is not None and low < high:
            return f"to look for a range, write {name}:[{found[1]} TO {found[2]}]; {_QUOTE}"
    if name in _AT_LEAST and text.isdigit():
        return f"X takes it for {text} or more, written {name}:>={text}; {_QUOTE}"
    if name == "ts" and read_instant(text) is not None and "T" not in text:
        return f"a date is its midnight; a whole day is a range, as in ts:[2020-01-01 TO 2020-01-02}}; {_QUOTE}"
    if name == "ts" and _MONTH.fullmatch(text):
        return f"a whole year or month is a range, as in ts:[2020-01-01 TO 2021-01-01}}; {_QUOTE}"
    if name == "_all":
        return f"words in any attribute are asked for as any:{text}; {_QUOTE}"
    if name == "_missing_":
        return f"to look for posts without an attribute, write fire -has:{text}"
    if name == "fn" and _INTERVALS.fullmatch(text):
        return f'there are no functions; words near each other are asked for as in "white house"~3; {_QUOTE}'
    if name == "sample" and text.isdigit():
        return f"posts are not sampled: leave it out; {_QUOTE}"
    return next((hint.format(name=name) for pattern, hint in _VALUES if pattern.fullmatch(text)), None)
