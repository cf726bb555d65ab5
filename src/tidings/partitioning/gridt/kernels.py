"""Which parcels do words have in regions? Compiled."""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False

from __future__ import annotations

import numba
import numpy as np


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
