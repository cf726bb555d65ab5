"""Under which regions is an area filed? Those that its boxes touch; everywhere, if it has none or they are too many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray, IntArray
from tidings.arrays.rows import places_of
from tidings.language.areas import Box
from tidings.terms.even_grid import kernels
from tidings.terms.even_grid.grid import FloatArray, Grid
from tidings.terms.local_terms import EVERYWHERE


@dataclass(frozen=True, slots=True, eq=False)
class BoxSets:
    """Areas: that of number i is the ``boxes`` (float64[boxes, 4]) ``offsets[i]`` … ``offsets[i + 1] - 1`` (int64).

    >>> areas = BoxSets.of([[], [(0, 0, 1, 1), (2, 2, 3, 3)]])
    >>> areas.taken(np.array([1, 0, 1])).offsets.tolist()
    [0, 2, 2, 4]
    """

    offsets: IntArray
    boxes: FloatArray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, areas: Sequence[Iterable[Box]]) -> BoxSets:
        lists = [list(boxes) for boxes in areas]
        offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        return cls(offsets, np.array([box for boxes in lists for box in boxes], dtype=np.float64).reshape(-1, 4))

    @classmethod
    def nowhere(cls, count: int) -> BoxSets:
        """So many areas without a box."""
        return cls(np.zeros(count + 1, dtype=np.int64), np.zeros((0, 4)))

    @classmethod
    def joined(cls, parts: Sequence[BoxSets]) -> BoxSets:
        """All areas of some, one after another."""
        counts = np.concatenate([np.zeros(1, dtype=np.int64), *(np.diff(part.offsets) for part in parts)])
        return cls(np.cumsum(counts), np.concatenate([np.zeros((0, 4)), *(part.boxes for part in parts)]))

    def taken(self, numbers: IntArray) -> BoxSets:
        """Some of the areas, in that order."""
        offsets, places = places_of(self.offsets, numbers)
        return BoxSets(offsets, self.boxes[places])


def regions_of(areas: BoxSets, grid: Grid, region: IdArray, widest: int) -> TermSets:
    """The regions of a grid under which each area is filed, each once, rising.

    ``region`` int32: that of each cell; region 0 is everywhere. What touches more than ``widest`` is filed there.

    >>> grid, cells = Grid(0, 0, 2, 2, level=1), np.arange(1, 5, dtype=np.int32)
    >>> areas = BoxSets.of([[], [(0, 0, 1.5, 0.5)], [(0, 0, 2, 2)]])
    >>> [regions_of(areas, grid, cells, widest=2).row(i).tolist() for i in range(3)]
    [[0], [1, 2], [0]]
    """
    found = touched(grid.blocks(areas.boxes), grid.side, region, widest)
    return of_areas(areas.offsets, found, int(region.max(initial=0)) + 1)


def touched(blocks: IdArray, side: int, region: IdArray, widest: int) -> TermSets:
    """The regions that each block of cells touches, int32[blocks, 4]; region 0 alone for more than ``widest``."""
    found = np.empty(4 * len(blocks) + 64, dtype=np.int32)
    ends = np.zeros(len(blocks) + 1, dtype=np.int64)
    seen = np.full(int(region.max(initial=0)) + 1, -1, dtype=np.int64)
    next_x, next_y = np.empty(side**2, dtype=np.int32), np.empty(side, dtype=np.int32)
    kernels.runs(region, side, next_x, next_y)
    count = kernels.regions_of_blocks(blocks, side, region, next_x, next_y, widest, seen, ends, found)
    if count > len(found):
        found = np.empty(count, dtype=np.int32)
        seen[:] = -1
        kernels.regions_of_blocks(blocks, side, region, next_x, next_y, widest, seen, ends, found)
    return TermSets(ends, found[:count])


def of_areas(offsets: IntArray, sets: TermSets, regions: int) -> TermSets:
    """The regions of areas, given those of each of their boxes; everywhere for an area without a box."""
    counts = np.diff(sets.offsets)
    areas = np.repeat(np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), counts)
    nowhere = np.flatnonzero(np.diff(offsets) == 0)
    pairs = np.unique(np.concatenate([areas * regions + sets.ids, nowhere * regions + EVERYWHERE]))
    found = np.bincount(pairs // regions, minlength=len(offsets) - 1)
    return TermSets(np.concatenate([[0], np.cumsum(found)]), (pairs % regions).astype(np.int32))
