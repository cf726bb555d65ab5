"""How is what somebody typed at the shell read? Instants, attributes and queries, with the place of what is wrong."""

from __future__ import annotations

from datetime import datetime, timedelta

import typer

from tidings.analysis import Analyser
from tidings.model import QueryError
from tidings.model.query import Query
from tidings.model.values import Value, read_instant, read_number, read_span, utc_now

_SHOWN_CHARS = 40
"""So much of a query is shown to either side of what is wrong."""


def instant(text: str) -> datetime:
    """An instant, or how long ago it is.

    >>> instant("2024-01-31T12:00:00Z")
    datetime.datetime(2024, 1, 31, 12, 0, tzinfo=datetime.timezone.utc)
    >>> instant("-1h") < utc_now()
    True
    """
    if text.startswith("-") and (ago := read_span(text[1:])) is not None:
        return utc_now() - ago
    found = read_instant(text)
    if found is None:
        raise typer.BadParameter(
            f"{text!r} is no instant; write it as 2024-01-31, 2024-01-31T12:00:00Z, or -1h for an hour ago (s, m, h, d)"
        )
    return found


def span(text: str) -> timedelta:
    """
    >>> span("90m")
    datetime.timedelta(seconds=5400)
    """
    found = read_span(text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is no span of time; write it as 30s, 15m, 12h or 7d")
    return found


def attribute(text: str) -> tuple[str, Value]:
    """Name and value; what writes a number or an instant is one.

    >>> attribute("volume=3e5"), attribute("symbol=YHOO")
    (('volume', 300000.0), ('symbol', 'YHOO'))
    """
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise typer.BadParameter(f"{text!r} is no attribute; write it as name=value")
    number = read_number(value)
    return name, number if number is not None else read_instant(value) or value


def query(text: str, analyser: Analyser | None = None) -> Query:
    """The query; if it cannot be read, its text with a mark under the place goes to stderr before the error."""
    from tidings.language import parse  # noqa: PLC0415

    try:
        return parse(text) if analyser is None else parse(text, analyser=analyser)
    except QueryError as error:
        if error.column is not None:
            typer.echo(pointed(text, error.column), err=True)
        raise


def pointed(text: str, column: int) -> str:
    """The text around a column, counted from 1, and a mark below it.

    >>> print(pointed("fire && smoke", 6))
      fire && smoke
           ^
    """
    from rich.cells import cell_len  # noqa: PLC0415

    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    start = max(0, column - 1 - _SHOWN_CHARS)
    before, after = shown[start : column - 1], shown[column - 1 : column - 1 + _SHOWN_CHARS]
    before = ("..." if start else "") + before
    after += "..." if column - 1 + _SHOWN_CHARS < len(shown) else ""
    return f"  {before}{after}\n  {' ' * cell_len(before)}^"
