"""What do the tokens of a condition mean? They become a part of the tree, or an error that names their column."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from tidings.model.errors import QueryError
from tidings.model.query import Contains, EndsWith, Equals, Query, Range, StartsWith, Within
from tidings.model.region import Circle, Rectangle, checked_degrees
from tidings.model.values import read_instant, read_number

T = TypeVar("T")

Token = re.Match[str]
"""A piece of the text. The group that found it tells its kind (``lastgroup``) and is the token, without space."""

Condition = Callable[[str], Query]
"""What is asked of an attribute, whose name is still to be given."""

METRES = {"km": 1000.0, "mi": 1609.344, "m": 1.0}

_RADIUS = re.compile(r"(.+?)(km|mi|m)")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SIDES = (("west", 180), ("south", 90), ("east", 180), ("north", 90))


def text_of(token: Token) -> str:
    return str(token[token.lastindex or 0])


def column(token: Token) -> int:
    """Where a token begins, in characters from 1 over all lines."""
    return token.start(token.lastindex or 0) + 1


def at(token: Token, build: Callable[..., T], *arguments: Any) -> T:
    """Build something whose error, if any, belongs to the column of ``token``."""
    try:
        return build(*arguments)
    except QueryError as error:
        raise QueryError(error.problem, error.column or column(token)) from None


def unquoted(token: Token) -> str:
    text = text_of(token)
    return _ESCAPED.sub(r"\1", text[1:-1]) if token.lastgroup == "QUOTED" else text


def bound(token: Token, text: str, where: str = "") -> float | datetime:
    number = read_number(text)
    if number is not None:
        return float(number)
    instant = read_instant(text)
    if instant is None:
        raise QueryError(f"expected a number or a date{where}, got {text!r}", column(token))
    return instant


def box(token: Token, coordinates: Sequence[Token]) -> Query:
    if len(coordinates) != 4:
        raise QueryError(f"a box is [west south east north], got {len(coordinates)} numbers", column(token))
    sides = [_degrees(own, side, limit) for own, (side, limit) in zip(coordinates, _SIDES, strict=True)]
    return Within(at(coordinates[0], Rectangle, *sides))


def circle(token: Token, coordinates: Sequence[Token]) -> Query:
    if len(coordinates) != 3:
        raise QueryError(
            f"a circle is [lon lat radius], as in [151.2 -33.9 16km], got {len(coordinates)} parts", column(token)
        )
    lon, lat, radius = coordinates
    centre = _degrees(lon, "longitude", 180), _degrees(lat, "latitude", 90)
    return Within(at(radius, Circle, *centre, _metres(radius)))


def equals(literal: Token) -> Condition:
    if literal.lastgroup == "QUOTED":
        return lambda name: Equals(name, unquoted(literal))
    if ".." in text_of(literal):
        bounds = [bound(literal, side, " on each side of '..'") for side in text_of(literal).split("..", 1)]
        return lambda name: at(literal, Range, name, *bounds)
    return lambda name: Equals(name, _checked_literal(name, literal))


def piece(kind: type[StartsWith] | type[EndsWith] | type[Contains], literal: Token, star: Token | None) -> Condition:
    if star is not None and literal.end() != star.start("STAR"):
        raise QueryError("a '*' touches the text that it completes, as in name:Mc*", column(star))
    return lambda name: kind(name, unquoted(literal))


def compare(sign: Token, literal: Token) -> Condition:
    limit = bound(literal, text_of(literal), f" after {text_of(sign)!r}")
    included = text_of(sign).endswith("=")
    if text_of(sign).startswith(">"):
        return lambda name: Range(name, low=limit, low_included=included)
    return lambda name: Range(name, high=limit, high_included=included)


def interval(opening: Token, low: Token, high: Token, closing: Token) -> Condition:
    bounds = [
        None if end.lastgroup == "STAR" else bound(end, text_of(end), " in a range [low TO high]")
        for end in (low, high)
    ]
    included = bounds[0] is None or text_of(opening) == "[", bounds[1] is None or text_of(closing) == "]"
    return lambda name: at(opening, Range, name, *bounds, *included)


def _checked_literal(name: str, literal: Token) -> str:
    """The literal of an equality, unless it looks like an operator that there is not."""
    text = text_of(literal)
    if name.lower() in ("http", "https") and text.startswith("//"):
        raise QueryError("links are dropped from posts before they are matched; ask for words instead", column(literal))
    if text[0] == "-" and read_number(text) is None:
        raise QueryError(f"to exclude, write -{name}:{text[1:]}; to look for this very text, quote it", column(literal))
    if text[0] in "=!~<>≤≥≠":
        raise QueryError(
            f"unknown operator {text[0]!r}; there are {name}:value, {name}:>1, {name}:>=1, {name}:<1, {name}:<=1, "
            f"{name}:[1 TO 2]; to look for this very text, quote it",
            column(literal),
        )
    return text


def _degrees(token: Token, name: str, limit: int) -> float:
    number = read_number(text_of(token))
    if number is None:
        raise QueryError(f"expected degrees, a plain number, got {text_of(token)!r}", column(token))
    return float(number) if abs(number) <= limit else at(token, checked_degrees, name, float(number), limit)


def _metres(token: Token) -> float:
    found = _RADIUS.fullmatch(text_of(token))
    number = read_number(found[1]) if found else None
    if found is None or number is None:
        raise QueryError(
            f"expected a radius with its unit, as in 16km, 10mi or 500m, got {text_of(token)!r}", column(token)
        )
    return number * METRES[found[2]]
