"""Where are the publications that can answer a conjunction?"""

from __future__ import annotations

from collections.abc import Iterable

from tidings.language.normal import Conjunction
from tidings.model.query import Within

Box = tuple[float, float, float, float]
"""West, south, east and north, in degrees."""


def area_of(conjunction: Conjunction) -> list[Box]:
    """Boxes (degrees) that have all places which a conjunction asks for; none if it asks for none.

    Where it asks for several areas at once, those of the smallest: what is in all of them is in that one.

    >>> from tidings.language import parse_normal
    >>> area_of(parse_normal("fire bounding_box:[0 0 9 9] bounding_box:[1 1 2 2]")[1][0])
    [(1.0, 1.0, 2.0, 2.0)]
    """
    areas = [boxes_of(atom) for atom in conjunction.required if isinstance(atom, Within)]
    return min(areas, key=size_of) if areas else []


def boxes_of(asked: Within) -> list[Box]:
    """Boxes that have all places of a region."""
    return [(box.west, box.south, box.east, box.north) for box in asked.region.bounds()]


def size_of(boxes: Iterable[Box]) -> float:
    """In square degrees."""
    return sum((east - west) * (north - south) for west, south, east, north in boxes)
