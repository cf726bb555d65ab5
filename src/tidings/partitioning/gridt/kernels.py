"""Which parcels do words have in regions? Compiled."""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def at_home(blocks, side, region, group, borders, offsets, ids):
    """Put into ``ids`` int32, for each region that a block touches, the border of it that belongs to the group of the
    block's centre: of regions ``borders[r]`` … ``borders[r + 1] - 1`` the one of that group. Where there is none, the
    region stays.
    """
    for i in range(len(blocks)):
        x, y = (blocks[i, 0] + blocks[i, 2]) >> 1, (blocks[i, 1] + blocks[i, 3]) >> 1
        home = group[region[y * side + x]]
        for k in range(offsets[i], offsets[i + 1]):
            r = ids[k]
            if r > 0 and group[r] != home:
                for beside in range(borders[r], borders[r + 1]):
                    if group[beside] == home:
                        ids[k] = beside


@numba.njit(cache=True, nogil=True)
def parcels_of(regions, hashes, first, group, starts, known, shares, parcels):
    """Fill ``parcels`` int32: that of the word of each hash in each region.

    Region r has the parcels ``first[r]`` … ``first[r + 1] - 1``. In a region of group g the words of the hashes
    ``known[starts[g] : starts[g + 1]]``, which rise, have the ``shares`` beside them. The hash of any other word gives
    one of these words, whose share it has, or one of the shares.
    """
    for i in range(len(regions)):
        r = regions[i]
        count = first[r + 1] - first[r]
        share = np.int64(0)
        if count > 1:
            begin, end = starts[group[r]], starts[group[r] + 1]
            low, high = begin, end
            while low < high:
                middle = (low + high) >> 1
                if known[middle] < hashes[i]:
                    low = middle + 1
                else:
                    high = middle
            if low < end and known[low] == hashes[i]:
                share = np.int64(shares[low])
            else:
                one = np.int64(hashes[i] % np.uint64(end - begin + count))
                share = np.int64(shares[begin + one]) if begin + one < end else one - (end - begin)
        parcels[i] = first[r] + share
