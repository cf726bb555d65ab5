"""What does this text ask for? Query text to a tree, or an error that names the column."""

from __future__ import annotations

import re
from typing import Any, Literal

from tidings.analysis import ENGLISH, Analyser
from tidings.language.normal import MAX_DEPTH, Conjunction, normal_form
from tidings.language.padres import PadresReader
from tidings.language.printer import to_text
from tidings.language.reader import QueryReader
from tidings.model.errors import QueryError
from tidings.model.names import UNWRITABLE
from tidings.model.query import Query

MAX_QUERY_CHARS = 65_536

_BRACKETS = re.compile(r"""[()]|"(?:\\.|[^"\\])*"|[“„](?:\\.|[^“”„\\])*[”“]""", re.DOTALL)


def parse(text: str, *, syntax: Literal["tidings", "padres"] = "tidings", analyser: Analyser = ENGLISH) -> Query:
    """The query that ``text`` writes; raises :class:`QueryError` with the column where it makes no sense.

    ``analyser`` is the one that posts pass: a query of nothing but its stop words is refused.

    >>> parse("fire OR smoke")
    Or(children=(Word(text='fire'), Word(text='smoke')))
    >>> parse("volume:>abc")
    Traceback (most recent call last):
    tidings.model.errors.QueryError: query, column 9: expected a number or a date after '>', got 'abc'
    """
    return parse_normal(text, syntax=syntax, analyser=analyser, strict=True)[0]


def parse_normal(
    text: str,
    *,
    syntax: Literal["tidings", "padres"] = "tidings",
    analyser: Analyser = ENGLISH,
    strict: bool = False,
) -> tuple[Query, tuple[Conjunction, ...]]:
    """:func:`parse`, and the normal form of the query, which had to be computed to know that it has one.

    Unless it is ``strict``, habits that were taken once are still taken: a query that was accepted stays readable.

    >>> query, conjunctions = parse_normal("fire OR smoke")
    >>> [conjunction.required[0].words for conjunction in conjunctions]
    [('fire',), ('smoke',)]
    """
    _check_characters(text)
    if syntax not in ("tidings", "padres"):
        raise QueryError(f"syntax is 'tidings' or 'padres', got {syntax!r}")
    if not isinstance(analyser, Analyser):
        raise QueryError(f"analyser is a tidings.Analyser, got {analyser!r}")
    if syntax == "tidings":
        _check_nesting(text)
    reader: QueryReader | PadresReader = (
        QueryReader(text, analyser.fields, strict=strict) if syntax == "tidings" else PadresReader(text)
    )
    query = reader.read()
    try:
        conjunctions = normal_form(query, analyser)
    except QueryError as error:
        raise QueryError(error.problem, reader.column_of(error.culprit or query)) from None
    # What was read can be written, and read again: mostly there is no need to try.
    most = longest(len(text), len(reader.places))
    if most > MAX_QUERY_CHARS and (written := len(to_text(query))) > MAX_QUERY_CHARS:
        raise QueryError(f"written out, {_too_long(written)}", reader.column_of(query))
    return query, conjunctions


def longest(length: Any, places: int) -> Any:
    """How long a query of so many characters and parts can become, written out; also of an array of lengths.

    A part takes no more than a name (of a list, maybe repeated), 128 characters for numbers and signs, and twice its
    text if all of it is escaped.
    """
    return 2 * length + places * (length + 128)


def _check_characters(text: str) -> None:
    if not isinstance(text, str):
        raise QueryError(f"a query is text, got {type(text).__name__}")
    if len(text) > MAX_QUERY_CHARS:
        raise QueryError(_too_long(len(text)), MAX_QUERY_CHARS + 1)
    if bad := UNWRITABLE.search(text):
        kind = "half of a surrogate pair" if bad[0] >= "\ud800" else "a control character"
        raise QueryError(f"{bad[0]!r} is {kind}, which no query can have; remove it", bad.start() + 1)
    if not text.strip():
        raise QueryError("the query is empty; write what to look for, as in: fire OR smoke", 1)


def _too_long(characters: int) -> str:
    return (
        f"{characters:,} characters are too long for one query; at most {MAX_QUERY_CHARS:,} are taken: "
        "split it into several subscriptions"
    )


def _check_nesting(text: str) -> None:
    """Refuse a tower of brackets before time is spent on it."""
    if text.count("(") <= MAX_DEPTH:
        return
    depth = 0
    for found in _BRACKETS.finditer(text):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth > MAX_DEPTH:
            raise QueryError(f"it is nested deeper than {MAX_DEPTH} levels", found.start() + 1)
