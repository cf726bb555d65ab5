"""How is a query written? A tree back to text, such that reading it gives the same tree."""

from __future__ import annotations

import re
from datetime import datetime

from tidings.model.errors import QueryError
from tidings.model.habits import value_habit
from tidings.model.names import is_plain_name
from tidings.model.networks import network_text
from tidings.model.query import (
    And,
    Anywhere,
    Atom,
    Bound,
    Contains,
    EndsWith,
    Equals,
    InNetwork,
    Near,
    Not,
    Or,
    Phrase,
    Piece,
    Prefix,
    Present,
    Query,
    Range,
    Regex,
    StartsWith,
    Tag,
    Topic,
    Wildcard,
    Within,
    Word,
)
from tidings.model.region import Polygon, Rectangle, Region, Ring
from tidings.model.values import instant_text, number_text

_BARE_VALUE = re.compile(
    r"""(?!OR$|TO$|-(?![0-9]))[^\s\x00-\x1f()\[\]{}"“”„*?=!~<>≤≥≠/][^\s\x00-\x1f()\[\]{}"“”„*?]*"""
)
_ESCAPED_SLASH = re.compile(r"(\\.)|/", re.DOTALL)
_BARE_PATH = re.compile(r"""(?!OR$)[^\s\x00-\x1f()\[\]{}"“”„]+""")


def to_text(query: Query) -> str:
    """The text of a query in tidings' language; ``parse(to_text(query)) == query``.

    >>> from tidings.language import parse
    >>> to_text(parse("symbol:(YHOO OR GOOG) NOT volume:<=3e5"))
    '(symbol:YHOO OR symbol:GOOG) -volume:<=300000'
    """
    match query:
        case Or(children):
            return " OR ".join(to_text(child) for child in children)
        case And(children):
            return " ".join(_enclosed(child, Or) for child in children)
        case Not(child):
            return f"-{_enclosed(child, Or, And, Not)}"
        case _:
            if not isinstance(query, Query):
                raise QueryError(f"a query is what tidings.parse gives, got {query!r}")
            return _atom_text(query)


def _enclosed(query: Query, *loose: type) -> str:
    text = to_text(query)
    return f"({text})" if isinstance(query, loose) else text


def _atom_text(atom: Atom) -> str:
    match atom:
        case Word(text) | Tag(text):
            return text
        case Prefix(text):
            return f"{text}*"
        case Phrase(text, slop):
            return _quoted(text) + (f"~{slop}" if slop else "")
        case Anywhere(text, slop):
            return (
                f"any:{text}" if text.isalnum() and not slop else f"any:{_quoted(text)}" + (f"~{slop}" if slop else "")
            )
        case Equals() | StartsWith() | EndsWith() | Contains() | Wildcard() | Regex():
            return f"{_name(atom.name)}:{_asked_text(atom)}"
        case Near(name, text, slop):
            return f"{_name(name)}:{_quoted(text)}~{slop}"
        case InNetwork(name, network):
            return f"{_name(name)}:{network}"
        case Range():
            return f"{_name(atom.name)}:{_range_text(atom)}"
        case Present(name):
            return f"has:{_name(name)}"
        case Within(region):
            return _region_text(region)
        case Topic(path):
            return f"topic:{_value_text('/'.join(path), bare=_BARE_PATH)}"


def _asked_text(asked: Equals | Piece) -> str:
    """What is asked of the text of a value."""
    match asked:
        case Equals(name, value, folded):
            return _literal(value, folded, name)
        case StartsWith(name, value, folded):
            return f"{_literal(value, folded, name)}*"
        case EndsWith(name, value, folded):
            return f"*{_literal(value, folded, name)}"
        case Contains(name, value, folded):
            return f"*{_literal(value, folded, name)}*"
        case Wildcard(name, texts, signs, folded):
            parts = [_literal(text, folded, name) if text else "" for text in texts]
            return "".join(part + sign for part, sign in zip(parts, (*signs, ""), strict=True))
        case Regex(_, pattern, folded):
            written = _ESCAPED_SLASH.sub(lambda found: found[1] or r"\/", pattern)
            return f"/{written}/{'i' if folded else ''}"


def _literal(value: str, folded: bool, name: str) -> str:
    """A part of a value; behind an ``i`` letters have any case."""
    if folded or value_habit(name, value):
        return f"{'i' if folded else ''}{_quoted(value)}"
    return _value_text(value)


def _name(name: str) -> str:
    return name if is_plain_name(name) else _quoted(name)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _value_text(value: str, bare: re.Pattern[str] = _BARE_VALUE) -> str:
    is_bare = bare.fullmatch(value) and ".." not in value and network_text(value) is None
    return value if is_bare else _quoted(value)


def _range_text(asked: Range) -> str:
    if asked.high is None:
        return f">{'=' if asked.low_included else ''}{_bound_text(asked.low)}"
    if asked.low is None:
        return f"<{'=' if asked.high_included else ''}{_bound_text(asked.high)}"
    opening, closing = "[" if asked.low_included else "{", "]" if asked.high_included else "}"
    return f"{opening}{_bound_text(asked.low)} TO {_bound_text(asked.high)}{closing}"


def _bound_text(bound: Bound | None) -> str:
    if bound is None:
        return "*"
    return instant_text(bound) if isinstance(bound, datetime) else number_text(bound)


def _region_text(region: Region) -> str:
    if isinstance(region, Rectangle):
        corners = (region.west, region.south, region.east, region.north)
        return f"bounding_box:[{' '.join(map(number_text, corners))}]"
    if isinstance(region, Polygon):
        return f"polygon:{polygon_text(region)}"
    km = region.radius_m / 1000
    radius = f"{number_text(km)}km" if km * 1000 == region.radius_m else f"{number_text(region.radius_m)}m"
    return f"point_radius:[{number_text(region.lon)} {number_text(region.lat)} {radius}]"


def polygon_text(region: Polygon) -> str:
    """As WKT writes a polygon or several, each ring with its first corner again at the end."""
    parts = [f"({', '.join([_ring_text(ring) for ring in part])})" for part in region.parts]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _ring_text(ring: Ring) -> str:
    corners = [f"{number_text(lon)} {number_text(lat)}" for lon, lat in (*ring, ring[0])]
    return f"({', '.join(corners)})"
