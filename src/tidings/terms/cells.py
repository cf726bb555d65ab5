"""In which cells of the map does a place lie, and which of them cover a region?

A quadtree over longitude and latitude, after [LSM] 6.2.2: the world is one cell at level 0, and each level cuts a cell
in four: south-west, south-east, north-west, north-east. A cell is a bit label, two bits a level; at level 31 it is
19 mm wide at the equator. It owns its western and southern borders; the eastern and northern ones belong to its
neighbours, and 180 and 90 degrees to the last cells.

All borders are exact in float64, so a place always lies in the rectangle of its cell.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tidings.model import Circle, Polygon, Rectangle, Region
from tidings.terms import labels
from tidings.terms.cover import Covers, bounded_covers
from tidings.terms.grid import kernels
from tidings.terms.strips import has_rectangle, strips

MAX_LEVEL = labels.MAX_DEPTH // 2

_SIDE = 1 << MAX_LEVEL
_WIDTH, _HEIGHT = 360 / _SIDE, 180 / _SIDE

_SPREADING = (
    (16, 0x0000_FFFF_0000_FFFF),
    (8, 0x00FF_00FF_00FF_00FF),
    (4, 0x0F0F_0F0F_0F0F_0F0F),
    (2, 0x3333_3333_3333_3333),
    (1, 0x5555_5555_5555_5555),
)
_GATHERING = (
    (1, 0x3333_3333_3333_3333),
    (2, 0x0F0F_0F0F_0F0F_0F0F),
    (4, 0x00FF_00FF_00FF_00FF),
    (8, 0x0000_FFFF_0000_FFFF),
    (16, 0x0000_0000_FFFF_FFFF),
)


def cell(lon: float, lat: float, level: int = MAX_LEVEL) -> int:
    """The cell at ``level`` that holds a place.

    >>> rectangle(cell(151.21, -33.87, level=3))
    Rectangle(west=135.0, south=-45.0, east=180.0, north=-22.5)
    """
    if not (-180 <= lon <= 180 and -90 <= lat <= 90):
        raise ValueError(f"a place has lon in [-180, 180] and lat in [-90, 90], got lon {lon}, lat {lat}")
    return labels.ancestor(_leaf(_index(lon, -180, _WIDTH), _index(lat, -90, _HEIGHT)), 2 * level)


def cells(lon: NDArray[np.float64], lat: NDArray[np.float64], level: int = MAX_LEVEL) -> NDArray[np.uint64]:
    """:func:`cell` of many places at once: two float64 arrays in, uint64 out, all of one shape.

    >>> cells(np.array([151.21, 0.0]), np.array([-33.87, 0.0])) == [cell(151.21, -33.87), cell(0, 0)]
    array([ True,  True])
    """
    if not (np.all(np.abs(lon) <= 180) and np.all(np.abs(lat) <= 90)):
        raise ValueError("a place has lon in [-180, 180] and lat in [-90, 90]; some are outside or not numbers")
    leaves = np.empty(lon.shape, dtype=np.uint64)
    kernels.leaf_cells(np.ravel(lon), np.ravel(lat), leaves.reshape(-1))
    return labels.ancestors_at(leaves, 2 * level)


def rectangle(label: int) -> Rectangle:
    """The bounds of a cell, exactly.

    >>> rectangle(labels.ROOT)
    Rectangle(west=-180.0, south=-90.0, east=180.0, north=90.0)
    """
    side = 1 << (MAX_LEVEL - level_of(label))
    code = labels.descendants(label)[0] >> 2
    west, south = _gather(code), _gather(code >> 1)
    return Rectangle(
        -180 + west * _WIDTH, -90 + south * _HEIGHT, -180 + (west + side) * _WIDTH, -90 + (south + side) * _HEIGHT
    )


def level_of(label: int) -> int:
    """How many times the world was cut in four to get the cell.

    >>> level_of(cell(151.21, -33.87)), level_of(labels.ROOT)
    (31, 0)
    """
    level, odd = divmod(labels.depth_of(label), 2)
    if odd:
        raise ValueError(f"label {label:#x} has {2 * level + 1} bits; a cell has two for each level")
    return level


def ancestors(label: int) -> Iterator[int]:
    """The cells around a cell, its parent first and the world last.

    >>> [level_of(node) for node in ancestors(cell(151.21, -33.87, level=3))]
    [2, 1, 0]
    """
    return labels.ancestors(label, step=2)


def smallest_cell(region: Region) -> int:
    """The smallest cell that contains a whole region: how [LSM] 7 maps a circle (through its bounds).

    A region on a border that its own cell does not own needs a larger one.

    >>> rectangle(smallest_cell(Rectangle(150.5, -34.2, 151.4, -33.4)))
    Rectangle(west=135.0, south=-45.0, east=180.0, north=-22.5)
    """
    return cover(region, max_cells=1)[0]


def cover(region: Region, max_cells: int = 8) -> list[int]:
    """At most ``max_cells`` cells that together contain a region (a circle through its bounds, a polygon in strips).

    Sorted and disjoint, and tighter with a larger bound (:mod:`tidings.terms.cover`).

    >>> [level_of(label) for label in cover(Rectangle(150.5, -34.2, 151.4, -33.4))]
    [10, 10, 10, 9, 9, 9, 9]
    """
    return [label for label, _ in cover_parts(region, max_cells)]


def cover_parts(region: Region, max_cells: int = 8) -> list[tuple[int, bool]]:
    """:func:`cover`, and for each cell whether every place in it lies in the region, which need not be asked again.

    Exact for a rectangle. For others it is sometimes no where yes is true, never the other way round.

    >>> [is_inside for _, is_inside in cover_parts(Rectangle(-90, -45, 90, 50))]
    [True, True, False, True, False, False]
    """
    bounds = (
        strips(region)
        if isinstance(region, Polygon)
        else np.array([(box.west, box.south, box.east, box.north) for box in region.bounds()])
    )
    found = _covers(bounds, np.array([0, len(bounds)]), max_cells)
    if isinstance(region, Circle):
        kernels.cells_in_circle(found.labels, region.lon, region.lat, region.radius_m, found.inside)
    elif isinstance(region, Polygon):
        found.inside[:] = [has_rectangle(region, rectangle(label)) for label in found.labels.tolist()]
    return list(zip(found.labels.tolist(), found.inside.tolist(), strict=True))


def cover_many(rectangles: NDArray[np.float64], max_cells: int = 8) -> Covers:
    """:func:`cover_parts` of many rectangles at once: float64[n, 4] with west, south, east, north in degrees.

    >>> cover_many(np.array([[-90.0, -45, 90, 50], [0, 0, 180, 90]])).offsets
    array([0, 6, 7])
    """
    if rectangles.ndim != 2 or rectangles.shape[1] != 4:
        raise ValueError(f"rectangles have four columns, west, south, east and north, got shape {rectangles.shape}")
    west, south, east, north = rectangles.T
    on_map = (west >= -180) & (west <= east) & (east <= 180) & (south >= -90) & (south <= north) & (north <= 90)
    if not np.all(on_map):
        raise ValueError("a rectangle has -180 <= west <= east <= 180 and -90 <= south <= north <= 90; some have not")
    return _covers(np.ascontiguousarray(rectangles, np.float64), np.arange(len(rectangles) + 1), max_cells)


def _covers(boxes: NDArray[np.float64], first_box: NDArray[np.int64], max_cells: int) -> Covers:
    """The covers of regions, each the boxes first_box[r] … first_box[r + 1]."""
    touched, whole = np.empty(boxes.shape, dtype=np.int64), np.empty(boxes.shape, dtype=np.int64)
    kernels.leaf_blocks(boxes, touched, whole)
    return bounded_covers(touched, whole, first_box, max_cells, dims=2)


def _index(degrees: float, start: int, width: float) -> int:
    """The column (or row) of the last level that holds ``degrees``, counted from ``start``.

    The difference may be rounded up to the next border, never down past one, since borders are exact.
    """
    index = int((degrees - start) / width)
    if start + index * width > degrees:
        index -= 1
    return min(index, _SIDE - 1)


def _leaf(column: int, row: int) -> int:
    return labels.bit_label(_spread(column) | _spread(row) << 1, labels.MAX_DEPTH)


def _spread(bits: int) -> int:
    """The lower 32 bits, each moved to twice its place: half of a Morton code."""
    for shift, mask in _SPREADING:
        bits = (bits | bits << shift) & mask
    return bits


def _gather(code: int) -> int:
    """Every second bit, moved back to half its place: undoes :func:`_spread`."""
    bits = code & 0x5555_5555_5555_5555
    for shift, mask in _GATHERING:
        bits = (bits | bits >> shift) & mask
    return bits
