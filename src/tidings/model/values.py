"""What may an attribute hold, and when are two values the same?

A value is text, a number, a truth value or an instant. Each has one canonical text, and equality in a
query compares that text: ``volume:3e5`` finds the number 300000 and the text "300000" alike. An attribute may have
several values; a condition holds if any of them fulfils it.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta

Value = str | int | float | bool | datetime
Held = Value | tuple[Value, ...]
"""What an attribute holds: one value, or several."""

NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
"""JSON's numbers: "007" is text, so that codes with leading zeros stay themselves."""
_NUMBER = re.compile(NUMBER)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]+(?:Z|[+-][0-9]{2}:[0-9]{2})?)?")
_SPAN = re.compile(r"([0-9]{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_MOST_EXACT = 2**64


def number_text(number: int | float) -> str:
    """The canonical text of a number: whole ones below 2**64 exactly and without a point, others as float64.

    >>> number_text(300000.0), number_text(0.1), number_text(2**60), number_text(1e300)
    ('300000', '0.1', '1152921504606846976', '1e+300')
    """
    if abs(number) < _MOST_EXACT and number == int(number):
        return str(int(number))
    return repr(float(number))


def instant_text(instant: datetime) -> str:
    """The canonical text of an instant: ISO 8601 in UTC, the date alone at midnight.

    >>> instant_text(datetime(2020, 1, 2, tzinfo=UTC)), instant_text(datetime(2020, 1, 2, 3, 4, tzinfo=UTC))
    ('2020-01-02', '2020-01-02T03:04:00Z')
    """
    text = utc(instant).replace(tzinfo=None).isoformat()
    return text.removesuffix("T00:00:00") if text.endswith("T00:00:00") else text + "Z"


def value_text(value: Value) -> str:
    """The canonical text of any attribute value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return instant_text(value)
    return number_text(value)


def utc(instant: datetime) -> datetime:
    """The same instant in UTC; an instant without a zone is taken to be in UTC. ValueError if it has none."""
    try:
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{instant} lies outside the years 1 to 9999 in UTC") from None


def utc_now() -> datetime:
    """The clock where none is given."""
    return datetime.now(UTC)


def read_number(text: str) -> int | float | None:
    """The finite number that ``text`` writes, or None.

    >>> read_number("3e5"), read_number("12"), read_number("007"), read_number("nan"), read_number("1e999")
    (300000.0, 12, None, None, None)
    """
    if len(text) > 300 or not _NUMBER.fullmatch(text):
        return None
    if text.lstrip("-").isdigit():
        return int(text)
    number = float(text)
    return number if math.isfinite(number) else None


def read_instant(text: str) -> datetime | None:
    """The instant that ``text`` writes in ISO 8601, or None.

    >>> read_instant("2020-01-02T03:04:00+01:00")
    datetime.datetime(2020, 1, 2, 2, 4, tzinfo=datetime.timezone.utc)
    """
    if not _DATE.fullmatch(text):
        return None
    try:
        return utc(datetime.fromisoformat(text))
    except ValueError:
        return None


def read_span(text: str) -> timedelta | None:
    """A length of time, a number and s, m, h or d; None if it is none.

    >>> read_span("90m"), read_span("soon")
    (datetime.timedelta(seconds=5400), None)
    """
    found = _SPAN.fullmatch(text)
    return timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else None


def equality_texts(literal: str) -> frozenset[str]:
    """The canonical texts that a literal in a query stands for: itself, and the number or instant that it writes.

    >>> sorted(equality_texts("3e5")), sorted(equality_texts("YHOO"))
    (['300000', '3e5'], ['YHOO'])
    """
    texts = {literal}
    if (number := read_number(literal)) is not None:
        texts.add(number_text(number))
    if (instant := read_instant(literal)) is not None:
        texts.add(instant_text(instant))
    return frozenset(texts)


def half_pair(text: str) -> int | None:
    """Where a text has half of a surrogate pair, which no encoding can write; counted from 1. None if nowhere."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start + 1
    return None
