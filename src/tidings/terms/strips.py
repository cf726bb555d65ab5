"""Which rectangles cover a polygon closely, and which rectangles lie in it?

A polygon is cut into strips from west to east; in each, it lies between the ends of its edges there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidings.model import Polygon, Rectangle

FloatArray = npt.NDArray[np.float64]

MAX_STRIPS = 32
_HAIR = 1e-9
"""In degrees, 0.1 mm: far more than what is rounded away."""


def strips(region: Polygon) -> FloatArray:
    """Rectangles that together contain a polygon, float64[n, 4]: west, south, east and north.

    At most MAX_STRIPS, or one for each part.
    """
    each = max(1, MAX_STRIPS // len(region.parts))
    return np.concatenate([_strips(edges_of(Polygon((part[:1],))), each) for part in region.parts])


def edges_of(region: Polygon) -> FloatArray:
    """Longitude and latitude of both ends of each edge, float64[n, 4]."""
    return np.array([*region.edges()])


def _strips(edges: FloatArray, count: int) -> FloatArray:
    """``count`` strips of a ring. In each, an edge has its ends, or goes on beyond a border.

    Of a flat edge the ends are those of its neighbours.
    """
    x1, y1, x2, y2 = edges.T
    borders = np.linspace(y1.min(), y1.max(), count + 1)[:, None]
    share = np.clip((borders - y1) / np.where(y1 == y2, 1.0, y2 - y1), 0, 1)
    ends = x1 + share * (x2 - x1)
    beside = (np.minimum(y1, y2) > borders[1:]) | (np.maximum(y1, y2) < borders[:-1])
    west = np.where(beside, np.inf, np.minimum(ends[:-1], ends[1:])).min(axis=1) - _HAIR
    east = np.where(beside, -np.inf, np.maximum(ends[:-1], ends[1:])).max(axis=1) + _HAIR
    return np.column_stack([np.maximum(west, -180), borders[:-1], np.minimum(east, 180), borders[1:]])


def has_rectangle(region: Polygon, box: Rectangle) -> bool:
    """Whether a rectangle lies in a polygon, with a hair to spare: a corner does, and no edge meets it."""
    x1, y1, x2, y2 = edges_of(region).T
    west, south, east, north = box.west - _HAIR, box.south - _HAIR, box.east + _HAIR, box.north + _HAIR
    beside = (np.maximum(x1, x2) < west) | (np.minimum(x1, x2) > east)
    beside |= (np.maximum(y1, y2) < south) | (np.minimum(y1, y2) > north)
    sides = [(x2 - x1) * (y - y1) - (x - x1) * (y2 - y1) for x in (west, east) for y in (south, north)]
    slack = _HAIR * (np.abs(x2 - x1) + np.abs(y2 - y1))
    beside |= (np.min(sides, axis=0) > slack) | (np.max(sides, axis=0) < -slack)
    return bool(beside.all()) and region.contains(box.west, box.south)
