"""Which parcels do words have in regions, and where do posts go for them? The loops, compiled."""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False

from __future__ import annotations

import numba
import numpy as np

from tidings.terms.even_grid.kernels import line_of, regions_of_blocks
from tidings.terms.local_terms import find_local

__all__ = ["mark_local", "parcels_of", "regions_of_blocks"]


@numba.njit(cache=True, nogil=True)
def parcels_of(regions, hashes, first, group, starts, known, shares, parcels):
    """Fill ``parcels`` int32: that of the word of each hash in each region.

    Region r has the parcels ``first[r]`` … ``first[r + 1] - 1``. In a region of group g the words of the hashes
    ``known[starts[g] : starts[g + 1]]``, which rise, have the ``shares`` beside them; any other word has the share that
    its hash gives.
    """
    for i in range(len(regions)):
        r = regions[i]
        count = first[r + 1] - first[r]
        share = np.int64(0)
        if count > 1:
            low, end = starts[group[r]], starts[group[r] + 1]
            high = end
            while low < high:
                middle = (low + high) >> 1
                if known[middle] < hashes[i]:
                    low = middle + 1
                else:
                    high = middle
            if low < end and known[low] == hashes[i]:
                share = np.int64(shares[low])
            else:
                share = np.int64(hashes[i] % np.uint64(count))
        parcels[i] = first[r] + share


@numba.njit(cache=True, nogil=True, inline="always")
def _add(goal, i, goals, sets):
    """Add a set of matchers to that of row i. Set 0, which is empty, is added too: a branch would be guessed wrong."""
    for w in range(sets.shape[1]):
        sets[i, w] |= goals[np.uint64(goal), w]


@numba.njit(cache=True, nogil=True)
def mark_local(lon, lat, bounds, side, region, offsets, ids, everywhere, seeds, filter_words, slots, goals, sets):
    """Put the matchers of each row's words in its region, and everywhere, into its set: uint64[rows, …], all 0 before.

    Row i is at ``lon[i]``, ``lat[i]`` (NaN for no place) and has term 0 and the terms ``ids[offsets[i]] …``, -1 for one
    that nobody asks for. ``everywhere``: whether region 0 has anything. ``seeds`` to ``slots`` are the table of a
    :class:`tidings.terms.local_terms.LocalTerms`. ``goals`` uint64[1 + terms, …]: those of its number n are set n + 1.
    """
    for i in range(len(lon)):
        r = np.int32(0)
        if not (np.isnan(lon[i]) or np.isnan(lat[i])):
            x, y = line_of(lon[i], bounds[0], bounds[2], side), line_of(lat[i], bounds[1], bounds[3], side)
            r = region[y * side + x]
        for k in range(offsets[i] - 1, offsets[i + 1]):
            t = ids[k] if k >= offsets[i] else np.int32(0)
            if t >= 0 and r > 0:
                _add(find_local(r, t, seeds, filter_words, slots) + 1, i, goals, sets)
            if t >= 0 and everywhere:
                _add(find_local(0, t, seeds, filter_words, slots) + 1, i, goals, sets)
