"""In which cell is a place? Equal columns and rows over a box; what lies beyond it is in the cells at its border."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidings.arrays import IdArray
from tidings.model import DataError
from tidings.terms.even_grid import kernels

FloatArray = npt.NDArray[np.float64]

MAX_LEVEL = 12


@dataclass(frozen=True, slots=True)
class Grid:
    """A box in degrees, cut into 2^level columns and as many rows. Cells are numbered west to east, then northwards.

    >>> grid = Grid(0, 0, 8, 4, level=2)
    >>> grid.cells(np.array([0.5, 7.9, 99, np.nan]), np.array([3.5, 0, -99, 1])).tolist()
    [12, 3, 3, -1]
    >>> grid.blocks(np.array([[-180.0, 1.5, 4, 90]])).tolist()
    [[0, 1, 2, 3]]
    """

    west: float
    south: float
    east: float
    north: float
    level: int

    def __post_init__(self) -> None:
        if not (self.west < self.east and self.south < self.north and 0 <= self.level <= MAX_LEVEL):
            raise DataError(f"a grid has west < east, south < north and a level of 0 to {MAX_LEVEL}, got {self}")

    @classmethod
    def of(cls, lon: FloatArray, lat: FloatArray, level: int) -> Grid:
        """The grid over these places, the whole earth if there are none; NaN for no place."""
        there = ~(np.isnan(lon) | np.isnan(lat))
        if not there.any():
            return cls(-180, -90, 180, 90, level)
        (west, east), (south, north) = ((float(d[there].min()), float(d[there].max())) for d in (lon, lat))
        return cls(west, south, max(east, west + 1e-6), max(north, south + 1e-6), level)

    @property
    def side(self) -> int:
        """How many columns, and rows, there are."""
        return 1 << self.level

    @property
    def bounds(self) -> FloatArray:
        """As kernels take it: west, south, and how many columns and rows a degree has."""
        across, along = self.side / (self.east - self.west), self.side / (self.north - self.south)
        return np.array([self.west, self.south, across, along])

    def cells(self, lon: FloatArray, lat: FloatArray) -> IdArray:
        """The cell of each place, int32; -1 for no place (NaN)."""
        found = np.empty(len(lon), dtype=np.int32)
        kernels.cells(lon, lat, self.bounds, self.side, found)
        return found

    def blocks(self, boxes: FloatArray) -> IdArray:
        """The cells that boxes touch, float64[boxes, 4] of degrees to int32[boxes, 4]: west, south, east, north.

        A place in a box is in one of the cells of the box, also beyond the grid.
        """
        found = np.empty((len(boxes), 4), dtype=np.int32)
        kernels.blocks(np.ascontiguousarray(boxes), self.bounds, self.side, found)
        return found
