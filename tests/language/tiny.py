"""A second, tiny evaluator for the small world of the strategies, written apart from the first one.

It knows no analyser (every word of that world is its own stem), no normal form and none of the product's helpers.
"""

from __future__ import annotations

import itertools
import math
import re
from datetime import datetime

import shapely

from tests.language.strategies import STOP_WORDS
from tidings.model import (
    And,
    Anywhere,
    Contains,
    EndsWith,
    Equals,
    InNetwork,
    Not,
    Or,
    Phrase,
    Polygon,
    Prefix,
    Present,
    Publication,
    Query,
    Range,
    Rectangle,
    Regex,
    StartsWith,
    Tag,
    Topic,
    Wildcard,
    Within,
    Word,
)
from tidings.model.query import Piece
from tidings.model.region import Region


def tiny(query: Query, p: Publication) -> bool | None:
    """True, False, or None where only stop words were asked for."""
    if isinstance(query, Not):
        inner = tiny(query.child, p)
        return None if inner is None else inner is False
    if isinstance(query, And | Or):
        answers = {tiny(child, p) for child in query.children} - {None}
        if not answers:
            return None
        return False not in answers if isinstance(query, And) else True in answers
    return _atom(query, p)


def _atom(atom: Query, p: Publication) -> bool | None:
    written = p.text.lower().split()
    words = [w.lstrip("#$") for w in written if not w.startswith("@")]
    if isinstance(atom, Tag):
        return atom.text.lower() in [w.rstrip(",") for w in written]
    if isinstance(atom, Word):
        return None if atom.text in STOP_WORDS else atom.text in words
    if isinstance(atom, Phrase):
        return _phrase(atom.text.split(), atom.slop, words)
    if isinstance(atom, Anywhere):
        held = [one for own in p.attributes.values() for one in (own if isinstance(own, tuple) else [own])]
        texts = [words, *(re.findall("[a-z]+", str(one)) for one in held)]
        answers = [_phrase(atom.text.split(), atom.slop, own) for own in texts]
        return None if None in answers else any(answers)
    if isinstance(atom, Prefix):
        return any(w.startswith(atom.text) and w not in STOP_WORDS for w in words)
    if isinstance(atom, Within):
        return p.lat is not None and p.lon is not None and _inside(atom.region, p.lon, p.lat)
    if isinstance(atom, Topic):
        pattern = "/".join("[^/]+" if step == "*" else re.escape(step) for step in atom.path)
        return any(re.match(pattern + "(/|$)", topic) for topic in p.topics)
    assert isinstance(atom, Equals | Piece | InNetwork | Range | Present)
    own = {"lat": p.lat, "lon": p.lon, **p.attributes}.get(atom.name)
    if isinstance(own, tuple):
        return any(_value(atom, one) for one in own)
    return own is not None and _value(atom, own)


def _phrase(wanted: list[str], slop: int, words: list[str]) -> bool | None:
    """By trying every way to pick places for the words."""
    kept = [(i, w) for i, w in enumerate(wanted) if w not in STOP_WORDS]
    if not kept:
        return None
    for places in itertools.permutations(range(len(words)), len(kept)):
        if any(words[place] != w for place, (_, w) in zip(places, kept, strict=True)):
            continue
        moved = [place - i for place, (i, _) in zip(places, kept, strict=True)]
        if max(moved) - min(moved) <= slop:
            return True
    return False


def _inside(region: Region, lon: float, lat: float) -> bool:
    if isinstance(region, Polygon):
        parts = [shapely.Polygon(ring, holes) for ring, *holes in region.parts]
        return any(part.covers(shapely.Point(lon, lat)) for part in parts)
    if isinstance(region, Rectangle):
        return not (lon < region.west or lon > region.east or lat < region.south or lat > region.north)
    a, b = (_unit(region.lon, region.lat), _unit(lon, lat))
    return math.dist(a, b) <= 2 * math.sin(min(region.radius_m / 6_371_008.8, math.pi) / 2)  # chord against chord


def _unit(lon: float, lat: float) -> tuple[float, float, float]:
    x, y = math.radians(lon), math.radians(lat)
    return math.cos(y) * math.cos(x), math.cos(y) * math.sin(x), math.sin(y)


def _value(atom: Equals | Piece | InNetwork | Range | Present, own: object) -> bool:
    if isinstance(atom, Present):
        return True
    if isinstance(atom, Range):
        return _between(atom, own)
    if isinstance(atom, Equals) and atom.folded:
        return _value(Equals(atom.name, atom.value.upper()), own.upper() if isinstance(own, str) else own) or (
            isinstance(own, bool) and atom.value.lower() == str(own).lower()
        )
    if isinstance(atom, Equals):
        if isinstance(own, bool):
            return atom.value == str(own).lower()
        if isinstance(own, int | float):
            return re.fullmatch(r"[0-9.]+", atom.value) is not None and float(atom.value) == own
        return own == atom.value or (own == "2" and atom.value == "2.0")
    if not isinstance(own, str):
        return False
    if isinstance(atom, InNetwork):
        beginning = {"10.0.0.0/8": r"10\.", "10.1.0.0/16": r"10\.1\.", "::/1": ":"}[atom.network]
        return re.match(beginning, own) is not None
    if isinstance(atom, Regex):
        pattern = atom.pattern
    elif isinstance(atom, Wildcard):
        signs = [{"*": ".*", "?": ".", "": ""}[sign] for sign in (*atom.signs, "")]
        pattern = "".join(re.escape(text) + sign for text, sign in zip(atom.texts, signs, strict=True))
    else:
        around = {StartsWith: "{}.*", EndsWith: ".*{}", Contains: ".*{}.*"}[type(atom)]
        pattern = around.format(re.escape(atom.value))
    return re.fullmatch(pattern, own, re.IGNORECASE if atom.folded else 0) is not None


def _between(asked: Range, own: object) -> bool:
    kinds = (int, float) if isinstance(asked.low or asked.high or 0.0, float) else (datetime,)
    if isinstance(own, bool) or not isinstance(own, kinds):
        return False
    if asked.low is not None and (own < asked.low or (own == asked.low and not asked.low_included)):  # type: ignore[operator]
        return False
    return not (
        asked.high is not None and (own > asked.high or (own == asked.high and not asked.high_included))  # type: ignore[operator]
    )
