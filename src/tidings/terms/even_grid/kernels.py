"""In which cell is a place, and which regions does a box touch? The loops, compiled.

Symbols: a grid has ``side`` columns and as many rows; cell (x, y) has the number y · side + x. ``bounds`` float64[4]:
west, south, and how many columns and rows a degree has. A block int32[4] is west, south, east, north of some cells, all
included.
"""


# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True, inline="always")
def line_of(degrees, start, lines, side):
    """The column (or row) of a place; one beyond the grid is in the first or the last. It never falls as degrees rise,
    so the cells of a box have those of all places in it, however numbers are rounded."""
    place = (degrees - start) * lines
    return np.int32(min(max(place, 0.0), side - 1.0))


@numba.njit(cache=True, nogil=True)
def cells(lon, lat, bounds, side, found):
    """Fill ``found`` int32 with the cell of each place, -1 where there is none (NaN)."""
    for i in range(len(lon)):
        if np.isnan(lon[i]) or np.isnan(lat[i]):
            found[i] = -1
        else:
            x = line_of(lon[i], bounds[0], bounds[2], side)
            found[i] = line_of(lat[i], bounds[1], bounds[3], side) * side + x


@numba.njit(cache=True, nogil=True)
def blocks(boxes, bounds, side, found):
    """Fill ``found`` int32[boxes, 4] with the cells that boxes float64[boxes, 4] (degrees) touch."""
    for i in range(len(boxes)):
        for k in range(4):
            found[i, k] = line_of(boxes[i, k], bounds[k & 1], bounds[2 + (k & 1)], side)


@numba.njit(cache=True, nogil=True)
def runs(region, side, next_x, next_y):
    """Where regions change: fill ``next_x`` int32[cells] with the first column after each cell, in its row, that is of
    another region, and ``next_y`` int32[rows] with the first row after each one that differs from it."""
    for y in range(side - 1, -1, -1):
        first, is_same = y * side, y + 1 < side
        for x in range(side - 1, -1, -1):
            is_run = x + 1 < side and region[first + x] == region[first + x + 1]
            next_x[first + x] = next_x[first + x + 1] if is_run else x + 1
            is_same = is_same and region[first + x] == region[first + side + x]
        next_y[y] = next_y[y + 1] if is_same else y + 1


@numba.njit(cache=True, nogil=True)
def regions_of_blocks(blocks, side, region, next_x, next_y, widest, seen, offsets, found):
    """Which regions each block touches, each once; returns how many were found.

    ``region`` int32[cells]; ``next_x`` and ``next_y`` as :func:`runs` fills them; ``seen`` int64[regions] is all -1
    before. Region 0 alone, if there are more than ``widest``. ``offsets`` int64[blocks + 1] is filled, and ``found``
    int32 as far as it reaches: if it was too short, more were found than it has.
    """
    out = 0
    for i in range(len(blocks)):
        begin, y = out, blocks[i, 1]
        while y <= blocks[i, 3] and out - begin <= widest:
            x = blocks[i, 0]
            while x <= blocks[i, 2]:
                r = region[y * side + x]
                if seen[r] != i:
                    seen[r] = i
                    if out < len(found):
                        found[out] = r
                    out += 1
                x = next_x[y * side + x]
            y = next_y[y]
        if out - begin > widest:
            out = begin + 1
            if begin < len(found):
                found[begin] = 0
        offsets[i + 1] = out
    return out
