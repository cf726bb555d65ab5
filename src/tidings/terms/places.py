"""How many of some places lie in a rectangle? A wavelet matrix: each answer takes a step for each bit of their number.

The places stand from west to east, each as its rank from south to north. Level b of the matrix has, for each beginning
of that row, how many ranks have no bit b; for the next level, those without the bit are moved before those with it.
"""

# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False
# mypy: disallow_untyped_decorators=False

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from tidings.arrays import IdArray, IntArray

FloatArray = npt.NDArray[np.float64]


class Places:
    """Some places: two float64 arrays in degrees; where one is NaN, there is none.

    >>> places = Places(np.array([151.2, 151.3, np.nan]), np.array([-33.9, -33.8, 0.0]))
    >>> places.count(np.array([[151.2, -33.9, 151.3, -33.8], [151.25, -90.0, 180.0, 90.0]])).tolist()
    [2, 1]
    """

    def __init__(self, lon: FloatArray, lat: FloatArray) -> None:
        are_there = ~(np.isnan(lon) | np.isnan(lat))
        lon, lat = lon[are_there], lat[are_there]
        west_first, south_first = np.argsort(lon), np.argsort(lat)
        self._lon, self._lat = lon[west_first], lat[south_first]
        ranks = np.empty(len(lat), dtype=np.int64)
        ranks[south_first] = np.arange(len(lat))
        self._zeros = _matrix(ranks[west_first])

    def count(self, sides: FloatArray) -> IntArray:
        """How many lie in each rectangle, borders included: float64[n, 4] with west, south, east and north."""
        west, south, east, north = sides.T
        first, last = np.searchsorted(self._lon, west), np.searchsorted(self._lon, east, side="right")
        low, high = np.searchsorted(self._lat, south), np.searchsorted(self._lat, north, side="right")
        counts = np.empty(len(sides), dtype=np.int64)
        _count(self._zeros, first, last, low, high, counts)
        return counts


def _matrix(ranks: IntArray) -> IdArray:
    """int32[levels, ranks + 1], the level of the highest bit first."""
    levels = len(ranks).bit_length()
    zeros = np.zeros((levels, len(ranks) + 1), dtype=np.int32)
    for level in range(levels):
        is_zero = ranks >> (levels - 1 - level) & 1 == 0
        np.cumsum(is_zero, out=zeros[level, 1:])
        ranks = np.concatenate([ranks[is_zero], ranks[~is_zero]])
    return zeros


@numba.njit(cache=True, nogil=True)
def _count(zeros, first, last, low, high, counts):
    """How many of the ranks in the places first … last - 1 are at least ``low`` and below ``high``; int64 all."""
    for n in range(len(counts)):
        counts[n] = _below(zeros, first[n], last[n], high[n]) - _below(zeros, first[n], last[n], low[n])


@numba.njit(cache=True, nogil=True)
def _below(zeros, i, j, rank):
    """How many of the ranks in the places i … j - 1 are below ``rank``."""
    found, levels = 0, len(zeros)
    for level in range(levels):
        a, b = zeros[level, i], zeros[level, j]
        if rank >> (levels - 1 - level) & 1:
            found += b - a
            i, j = zeros[level, -1] + i - a, zeros[level, -1] + j - b
        else:
            i, j = a, b
    return found
