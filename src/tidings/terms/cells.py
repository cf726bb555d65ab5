"""In which cells of the map does a place lie, and which of them cover a region?

A quadtree over longitude and latitude, after [LSM] 6.2.2: the world is one cell at level 0, and each level cuts a cell
in four: south-west, south-east, north-west, north-east. A cell is a bit label, two bits a level; at level 31 it is
19 mm wide at the equator. It owns its western and southern borders; the eastern and northern ones belong to its
neighbours, and 180 and 90 degrees to the last cells.

All borders are exact in float64, so a place always lies in the rectangle of its cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidings.model import Rectangle, Region
from tidings.terms import labels
from tidings.terms.cover import bounded_cover

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
    columns, rows = _indices(lon, -180, _WIDTH), _indices(lat, -90, _HEIGHT)
    # The twin of _leaf: a leaf's label is its Morton code, then the sentinel 1 and a zero.
    leaves = (_spread_many(columns) | _spread_many(rows) << np.uint64(1)) << np.uint64(2) | np.uint64(2)
    return labels.ancestors_at(leaves, 2 * level)


def rectangle(label: int) -> Rectangle:
    """The bounds of a cell, exactly.

    >>> rectangle(labels.ROOT)
    Rectangle(west=-180.0, south=-90.0, east=180.0, north=90.0)
    """
    block = _block(label)
    return Rectangle(
        -180 + block.west * _WIDTH,
        -90 + block.south * _HEIGHT,
        -180 + (block.east + 1) * _WIDTH,
        -90 + (block.north + 1) * _HEIGHT,
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
    return _smallest(_blocks(region))


def cover(region: Region, max_cells: int = 8) -> list[int]:
    """At most ``max_cells`` cells that together contain a region (a circle through its bounds).

    Sorted and disjoint, and tighter with a larger bound (:func:`tidings.terms.cover.bounded_cover`).

    >>> [level_of(label) for label in cover(Rectangle(150.5, -34.2, 151.4, -33.4))]
    [10, 10, 10, 9, 9, 9, 9]
    """
    return bounded_cover(_Blocks(_blocks(region)), max_cells, step=2)


class _Block(NamedTuple):
    """A rectangle of cells of the last level, by column and row, all four sides included."""

    west: int
    south: int
    east: int
    north: int

    def shared_with(self, other: _Block) -> _Block | None:
        west, east = max(self.west, other.west), min(self.east, other.east)
        south, north = max(self.south, other.south), min(self.north, other.north)
        return _Block(west, south, east, north) if west <= east and south <= north else None

    def holds(self, other: _Block) -> bool:
        return (
            self.west <= other.west
            and self.south <= other.south
            and other.east <= self.east
            and other.north <= self.north
        )


@dataclass(frozen=True, slots=True)
class _Blocks:
    """All the cells of the last level that a region touches: an area to cover."""

    blocks: tuple[_Block, ...]

    def tightest(self, label: int) -> int | None:
        own = _block(label)
        shared = [part for block in self.blocks if (part := block.shared_with(own)) is not None]
        return _smallest(shared) if shared else None

    def holds(self, label: int) -> bool:
        own = _block(label)
        return any(block.holds(own) for block in self.blocks)


def _blocks(region: Region) -> tuple[_Block, ...]:
    return tuple(
        _Block(
            _index(bounds.west, -180, _WIDTH),
            _index(bounds.south, -90, _HEIGHT),
            _index(bounds.east, -180, _WIDTH),
            _index(bounds.north, -90, _HEIGHT),
        )
        for bounds in region.bounds()
    )


def _smallest(blocks: Sequence[_Block]) -> int:
    """The smallest cell with all the blocks in it: the one that holds their outermost corners."""
    south_west = _leaf(min(block.west for block in blocks), min(block.south for block in blocks))
    north_east = _leaf(max(block.east for block in blocks), max(block.north for block in blocks))
    return labels.common_ancestor(south_west, north_east, step=2)


def _block(label: int) -> _Block:
    width = 1 << (MAX_LEVEL - level_of(label))
    code = labels.descendants(label)[0] >> 2
    west, south = _gather(code), _gather(code >> 1)
    return _Block(west, south, west + width - 1, south + width - 1)


def _index(degrees: float, start: int, width: float) -> int:
    """The column (or row) of the last level that holds ``degrees``, counted from ``start``.

    The difference may be rounded up to the next border, never down past one, since borders are exact.
    """
    index = int((degrees - start) / width)
    if start + index * width > degrees:
        index -= 1
    return min(index, _SIDE - 1)


def _indices(degrees: NDArray[np.float64], start: int, width: float) -> NDArray[np.uint64]:
    index = ((degrees - start) / width).astype(np.int64)
    index -= start + index * width > degrees
    return np.minimum(index, _SIDE - 1).astype(np.uint64)


def _leaf(column: int, row: int) -> int:
    return labels.bit_label(_spread(column) | _spread(row) << 1, labels.MAX_DEPTH)


def _spread(bits: int) -> int:
    """The lower 32 bits, each moved to twice its place: half of a Morton code."""
    for shift, mask in _SPREADING:
        bits = (bits | bits << shift) & mask
    return bits


def _spread_many(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for shift, mask in _SPREADING:
        bits = (bits | bits << np.uint64(shift)) & np.uint64(mask)
    return bits


def _gather(code: int) -> int:
    """Every second bit, moved back to half its place: undoes :func:`_spread`."""
    bits = code & 0x5555_5555_5555_5555
    for shift, mask in _GATHERING:
        bits = (bits | bits >> shift) & mask
    return bits
