"""Where are the publications that can answer a conjunction?"""

from __future__ import annotations

from collections.abc import Iterable

from tidings.language import Conjunction
from tidings.model import Rectangle
from tidings.model.query import Within


def area_of(conjunction: Conjunction) -> list[tuple[float, float, float, float]]:
    """Boxes (degrees) that have all places which a conjunction asks for; none if it asks for none.

    Where it asks for several areas at once, those of the smallest: what is in all of them is in that one.

    >>> from tidings.language import parse_normal
    >>> area_of(parse_normal("fire bounding_box:[0 0 9 9] bounding_box:[1 1 2 2]")[1][0])
    [(1.0, 1.0, 2.0, 2.0)]
    """
    areas = [atom.region.bounds() for atom in conjunction.required if isinstance(atom, Within)]
    if not areas:
        return []
    return [(box.west, box.south, box.east, box.north) for box in min(areas, key=_size)]


def _size(boxes: Iterable[Rectangle]) -> float:
    return sum((box.east - box.west) * (box.north - box.south) for box in boxes)
