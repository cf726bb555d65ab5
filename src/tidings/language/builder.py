"""How do the tokens of a query become its tree? Called by the parser library, innermost first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from lark import Token, Transformer, v_args

from tidings.model.errors import QueryError
from tidings.model.query import (
    And,
    Contains,
    EndsWith,
    Equals,
    Not,
    Or,
    Phrase,
    Prefix,
    Present,
    Query,
    Range,
    StartsWith,
    Topic,
    Within,
    Word,
)
from tidings.model.region import Circle, Rectangle, Region, checked_degrees
from tidings.model.values import read_instant, read_number

METRES = {"km": 1000.0, "mi": 1609.344, "m": 1.0}

_RADIUS = re.compile(r"(.+?)(km|mi|m)")


@dataclass(frozen=True, slots=True)
class Part:
    """A query, the column where its text begins, and the parts that it is made of."""

    query: Query
    column: int
    parts: tuple[Part, ...] = ()

    def walk(self) -> Iterator[Part]:
        stack = [self]
        while stack:
            part = stack.pop()
            yield part
            stack.extend(reversed(part.parts))


def column(token: Token) -> int:
    """Where a token begins, in characters from 1 over all lines."""
    return (token.start_pos or 0) + 1


def _at(token: Token, build: Callable[..., Any], *arguments: Any) -> Any:
    """Build something whose error, if any, belongs to the column of ``token``."""
    try:
        return build(*arguments)
    except QueryError as error:
        raise QueryError(error.problem, error.column or column(token)) from None


@v_args(inline=True)
class QueryBuilder(Transformer[Token, Part]):
    """Called by the parser, innermost first: tokens to parts. Keeps no state: one serves all threads."""

    def any(self, *parts: Part) -> Part:
        return Part(Or(tuple(part.query for part in parts)), parts[0].column, parts)

    def all(self, *parts: Part) -> Part:
        return Part(And(tuple(part.query for part in parts)), parts[0].column, parts)

    def negated(self, sign: Token, part: Part) -> Part:
        return Part(Not(part.query), column(sign), (part,))

    def word(self, token: Token) -> Part:
        return Part(_at(token, Word, str(token)), column(token))

    def prefix(self, token: Token) -> Part:
        return Part(_at(token, Prefix, token[:-1]), column(token))

    def phrase(self, quoted: Token, slop: Token | None = None) -> Part:
        return Part(_at(quoted, Phrase, _unquoted(quoted), int(slop[1:]) if slop else 0), column(quoted))

    def field(self, field: Token, *builders: Callable[[str], Query]) -> Part:
        name = field[:-1]
        parts = tuple(Part(_at(field, build, name), column(field)) for build in builders)
        return parts[0] if len(parts) == 1 else self.any(*parts)

    def has(self, has: Token, name: Token) -> Part:
        return Part(_at(name, Present, str(name)), column(has))

    def topic(self, topic: Token, *paths: Token) -> Part:
        parts = tuple(Part(_at(path, Topic, tuple(_unquoted(path).split("/"))), column(topic)) for path in paths)
        return parts[0] if len(parts) == 1 else self.any(*parts)

    def box(self, box: Token, coordinates: list[Token]) -> Part:
        if len(coordinates) != 4:
            raise QueryError(f"a box is [west south east north], got {len(coordinates)} numbers", column(box))
        degrees = [
            _at(token, checked_degrees, side, _number(token, "degrees"), limit)
            for token, side, limit in zip(
                coordinates, ("west", "south", "east", "north"), (180, 90, 180, 90), strict=True
            )
        ]
        return Part(Within(_at(coordinates[0], Rectangle, *degrees)), column(box))

    def circle(self, circle: Token, coordinates: list[Token]) -> Part:
        if len(coordinates) != 3:
            raise QueryError(
                f"a circle is [lon lat radius], as in [151.2 -33.9 16km], got {len(coordinates)} parts", column(circle)
            )
        lon, lat, radius = coordinates
        centre = (
            _at(lon, checked_degrees, "longitude", _number(lon, "degrees"), 180),
            _at(lat, checked_degrees, "latitude", _number(lat, "degrees"), 90),
        )
        region: Region = _at(radius, Circle, *centre, _metres(radius))
        return Part(Within(region), column(circle))

    def coordinates(self, *tokens: Token) -> list[Token]:
        return list(tokens)

    def equals(self, literal: Token) -> Callable[[str], Query]:
        if literal.type == "QUOTED":
            return lambda name: Equals(name, _unquoted(literal))
        if ".." in literal:
            low, high = literal.split("..", 1)
            bounds = [_bound(literal, side, " on each side of '..'") for side in (low, high)]
            return lambda name: cast(Query, _at(literal, Range, name, *bounds))
        return lambda name: Equals(name, _checked_literal(name, literal))

    def starts_with(self, literal: Token, star: Token) -> Callable[[str], Query]:
        _check_touching(literal, star)
        return lambda name: StartsWith(name, _unquoted(literal))

    def ends_with(self, _star: Token, literal: Token) -> Callable[[str], Query]:
        return lambda name: EndsWith(name, _unquoted(literal))

    def contains(self, _star: Token, literal: Token, last: Token) -> Callable[[str], Query]:
        _check_touching(literal, last)
        return lambda name: Contains(name, _unquoted(literal))

    def compare(self, sign: Token, literal: Token) -> Callable[[str], Query]:
        bound = _bound(literal, str(literal), f" after {str(sign)!r}")
        included = sign.endswith("=")
        if sign.startswith(">"):
            return lambda name: Range(name, low=bound, low_included=included)
        return lambda name: Range(name, high=bound, high_included=included)

    def interval(self, opening: Token, low: Token, high: Token, closing: Token) -> Callable[[str], Query]:
        bounds = [
            None if token == "*" else _bound(token, str(token), " in a range [low TO high]") for token in (low, high)
        ]
        low_included = low == "*" or opening == "["
        high_included = high == "*" or closing == "]"
        return lambda name: _at(opening, Range, name, *bounds, low_included, high_included)

    def literal(self, token: Token) -> Token:
        return token

    bound = topic_path = quoted = literal


@v_args(inline=True)
class PadresBuilder(Transformer[Token, Part]):
    def start(self, *parts: Part) -> Part:
        return parts[0] if len(parts) == 1 else QueryBuilder().all(*parts)

    def predicate(self, name: Token, operator: Token, literal: Token) -> Part:
        quoted = literal[0] in "'‘\""
        value = literal[1:-1] if quoted else str(literal)
        build = _OPERATORS.get(operator)
        if build is None:
            known = ", ".join(_OPERATORS)
            raise QueryError(f"unknown operator {str(operator)!r}; there are: {known}", column(operator))
        return Part(_at(name, build, str(name), value, literal), column(name))


def _padres_range(side: str, included: bool) -> Callable[[str, str, Token], Query]:
    def build(name: str, value: str, literal: Token) -> Query:
        bound = _bound(literal, value)
        if side == "low":
            return Range(name, low=bound, low_included=included)
        return Range(name, high=bound, high_included=included)

    return build


_OPERATORS: dict[str, Callable[[str, str, Token], Query]] = {
    "eq": lambda name, value, _: Equals(name, value),
    "str-prefix": lambda name, value, _: StartsWith(name, value),
    "str-suffix": lambda name, value, _: EndsWith(name, value),
    "str-contains": lambda name, value, _: Contains(name, value),
    "=": lambda name, value, _: Equals(name, value),
    "<": _padres_range("high", False),
    ">": _padres_range("low", False),
    "<=": _padres_range("high", True),
    ">=": _padres_range("low", True),
    "isPresent": lambda name, _, __: Present(name),
}


def _unquoted(token: Token) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1], flags=re.DOTALL) if token.type == "QUOTED" else str(token)


def _checked_literal(name: str, literal: Token) -> str:
    """The literal of an equality, unless it looks like an operator that there is not."""
    if name.lower() in ("http", "https") and literal.startswith("//"):
        raise QueryError("links are dropped from posts before they are matched; ask for words instead", column(literal))
    if literal[0] == "-" and read_number(literal) is None:
        raise QueryError(
            f"to exclude, write -{name}:{literal[1:]}; to look for this very text, quote it", column(literal)
        )
    if literal[0] in "=!~<>≤≥≠":
        raise QueryError(
            f"unknown operator {literal[0]!r}; there are {name}:value, {name}:>1, {name}:>=1, {name}:<1, {name}:<=1, "
            f"{name}:[1 TO 2]; to look for this very text, quote it",
            column(literal),
        )
    return str(literal)


def _check_touching(literal: Token, star: Token) -> None:
    if literal.end_pos != star.start_pos:
        raise QueryError("a '*' touches the text that it completes, as in name:Mc*", column(star))


def _bound(token: Token, text: str, where: str = "") -> float | datetime:
    number = read_number(text)
    if number is not None:
        return float(number)
    instant = read_instant(text)
    if instant is None:
        raise QueryError(f"expected a number or a date{where}, got {text!r}", column(token))
    return instant


def _number(token: Token, what: str) -> float:
    number = read_number(str(token))
    if number is None:
        raise QueryError(f"expected {what}, a plain number, got {str(token)!r}", column(token))
    return float(number)


def _metres(token: Token) -> float:
    found = _RADIUS.fullmatch(token)
    number = read_number(found[1]) if found else None
    if found is None or number is None:
        raise QueryError(
            f"expected a radius with its unit, as in 16km, 10mi or 500m, got {str(token)!r}", column(token)
        )
    return number * METRES[found[2]]
