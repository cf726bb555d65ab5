"""What do the tokens of a condition mean? They become a part of the tree, or an error that names their column."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from tidings.model.errors import QueryError
from tidings.model.habits import value_habit
from tidings.model.names import is_plain_name
from tidings.model.networks import network_text
from tidings.model.query import (
    ANY,
    Contains,
    EndsWith,
    Equals,
    InNetwork,
    Near,
    Present,
    Query,
    Range,
    Regex,
    StartsWith,
    Wildcard,
    Within,
)
from tidings.model.region import Circle, Polygon, Rectangle, Ring, check_corners, checked_degrees
from tidings.model.values import NUMBER, read_instant, read_number

T = TypeVar("T")

Token = re.Match[str]
"""A piece of the text. The group that found it tells its kind (``lastgroup``) and is the token, without space."""

Condition = Callable[[str], Query]
"""What is asked of an attribute, whose name is still to be given."""

MARKS = ("STAR", "ONE")
"""The kinds of tokens that stand for any characters."""

METRES = {"km": 1000.0, "mi": 1609.344, "m": 1.0}

_RADIUS = re.compile(r"(.+?)(km|mi|m)")
_CORNER = rf"\s*{NUMBER}\s+{NUMBER}\s*"
_RING = re.compile(rf"\({_CORNER}(?:,{_CORNER})*\)")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_OF_LUCENE = re.compile(r"(?<!\\)(?:\\\\)*(<[0-9]+-[0-9]+>|~[(\[.])")
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
    if token.lastgroup in ("QUOTED", "QUOTED_FIELD", "FOLDED"):
        return _ESCAPED.sub(r"\1", text[1 + (token.lastgroup == "FOLDED") : -1])
    return text


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


def ring(token: Token) -> Ring:
    """The corners of a ring in brackets."""
    text = text_of(token)
    at(token, check_corners, text.count(","))
    if not _RING.fullmatch(text):
        raise QueryError("a ring is (lon lat, lon lat, …), each corner two plain numbers", column(token))
    degrees = list(map(float, text[1:-1].replace(",", " ").split()))
    return tuple(zip(degrees[::2], degrees[1::2], strict=True))


def polygon(parts: Sequence[Sequence[Ring]]) -> Query:
    return Within(Polygon(tuple(map(tuple, parts))))


def value(parts: Sequence[Token], strict: bool) -> Condition:
    """What the parts of a value, texts and marks side by side, ask for; ``strict``: habits are refused."""
    first = parts[0]
    if len(parts) == 1 and first.lastgroup == "BARE" and ".." in text_of(first):
        bounds = [bound(first, side, " on each side of '..'") for side in text_of(first).split("..", 1)]
        return lambda name: at(first, Range, name, *bounds)
    if len(parts) == 1 and first.lastgroup == "BARE" and network_text(text_of(first)):
        return lambda name: at(first, InNetwork, name, text_of(first))
    texts, signs = _pattern(parts)
    literals = [part for part in parts if part.lastgroup not in MARKS]
    folded = [part.lastgroup == "FOLDED" for part in literals]
    if any(folded) and not all(folded):
        raise QueryError('either all texts of a value are folded or none: i"ab"*i"cd"', column(first))
    if not any(texts) and signs == [ANY]:
        raise QueryError("'*' alone stands for nothing; has:name asks whether an attribute is there", column(first))

    def condition(name: str) -> Query:
        for part in parts if strict else ():
            if part.lastgroup == "BARE" and (habit := value_habit(name, text_of(part))):
                raise QueryError(habit, column(part))
        return _value(_checked(name, first), tuple(texts), tuple(signs), any(folded))

    return condition


def _pattern(parts: Sequence[Token]) -> tuple[list[str], list[str]]:
    """Texts and the marks between them; where marks stand side by side, '?' come first and one '*' is enough."""
    texts, signs = [""], list[str]()
    for part in parts:
        if part.lastgroup not in MARKS:
            texts[-1] += unquoted(part)
            continue
        texts.append("")
        signs.append(text_of(part))
        if len(signs) > 1 and not texts[-2] and signs[-2] == ANY:
            signs[-2] = signs[-1]
            signs[-1] = ANY
            if signs[-2] == ANY:
                texts.pop()
                signs.pop()
    return texts, signs


def _value(name: str, texts: tuple[str, ...], signs: tuple[str, ...], folded: bool) -> Query:
    match texts, signs:
        case (text,), ():
            return Equals(name, text, folded)
        case (text, ""), ("*",):
            return StartsWith(name, text, folded)
        case ("", text), ("*",):
            return EndsWith(name, text, folded)
        case ("", text, ""), ("*", "*"):
            return Contains(name, text, folded)
        case _:
            return Wildcard(name, texts, signs, folded)


def present(asked: Token) -> Query:
    name = unquoted(asked)
    if asked.lastgroup == "BARE" and not is_plain_name(name):
        raise QueryError(
            f"{name!r} is not a plain name of an attribute (letters, digits, '_', '.' and '-', not a digit first): "
            "take what is none away, or quote the name"
        )
    return Present(name)


def near(literal: Token, slop: Token) -> Condition:
    return lambda name: at(literal, Near, name, unquoted(literal), int(text_of(slop)))


def regex(token: Token, strict: bool) -> Condition:
    pattern, _, flags = text_of(token)[1:].rpartition("/")
    if strict and (found := _OF_LUCENE.search(pattern)):
        raise QueryError(
            f"{found[1]!r} is an operator of Lucene's regular expressions alone; to look for it, put a backslash "
            "before it",
            column(token),
        )
    return lambda name: at(token, Regex, name, pattern, flags == "i")


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


def _checked(name: str, literal: Token) -> str:
    """The name, unless what stands first in its value looks like an operator that there is not."""
    if literal.lastgroup != "BARE":
        return name
    text = text_of(literal)
    if name.lower() in ("http", "https") and text.startswith("//"):
        raise QueryError("links are dropped from posts before they are matched; ask for words instead", column(literal))
    if text[0] == "/":
        raise QueryError(
            f"a regular expression ends with '/', as in {name}:/ab+c/; to look for this very text, quote it",
            column(literal),
        )
    if text[0] == "-" and read_number(text) is None:
        raise QueryError(f"to exclude, write -{name}:{text[1:]}; to look for this very text, quote it", column(literal))
    if text[0] in "=!~<>≤≥≠":
        raise QueryError(
            f"unknown operator {text[0]!r}; there are {name}:value, {name}:>1, {name}:>=1, {name}:<1, {name}:<=1, "
            f"{name}:[1 TO 2]; to look for this very text, quote it",
            column(literal),
        )
    return name


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
