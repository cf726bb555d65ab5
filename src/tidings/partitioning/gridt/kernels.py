"""Which parcels do words have in regions, and where do posts go for them? The loops, compiled."""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False

from __future__ import annotations

import numba
import numpy as np

from tidings.terms.even_grid.kernels import line_of, regions_of_blocks
from tidings.terms.local_terms import local_hash, local_key, passes, slot_of

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
def _sifted(region, terms, count, seeds, filter_words, keys, hashes, n):
    """Add the keys of ``terms`` in a region that pass the filter to the ``n`` that there are; how many now."""
    for j in range(count):
        key = local_key(region, terms[j])
        hashes[n] = local_hash(key, seeds)
        keys[n] = key
        n += passes(hashes[n], filter_words)
    return n


@numba.njit(cache=True, nogil=True)
def mark_local(lon, lat, bounds, side, region, offsets, ids, longest, everywhere, seeds, filter_words, slots, values,
               matcher_of, sets):  # fmt: skip
    """Put the matchers of each row's words in its region, and everywhere, into its set: uint64[rows, …], all 0 before.

    Row i is at ``lon[i]``, ``lat[i]`` (NaN for no place) and has the terms ``ids[offsets[i] : offsets[i + 1]]`` (-1 for
    one that nobody asks for), ``longest`` at most, and term 0. ``everywhere``: whether region 0 has anything. ``seeds``
    to ``values`` are the table of a :class:`tidings.terms.local_terms.LocalTerms`. ``matcher_of`` int32[terms]: whom
    each of its numbers is sent to, -1 for nobody.

    Words are sifted in passes without branches, each of which waits for many places of memory at once.
    """
    known = np.empty(longest + 2, dtype=np.int32)
    keys, hashes = np.empty(2 * longest + 3, dtype=np.uint64), np.empty(2 * longest + 3, dtype=np.uint64)
    known[0] = 0
    for i in range(len(lon)):
        count = 1
        for k in range(offsets[i], offsets[i + 1]):
            known[count] = ids[k]
            count += ids[k] >= 0
        n = 0
        if not (np.isnan(lon[i]) or np.isnan(lat[i])):
            x, y = line_of(lon[i], bounds[0], bounds[2], side), line_of(lat[i], bounds[1], bounds[3], side)
            r = region[y * side + x]
            if r > 0:
                n = _sifted(r, known, count, seeds, filter_words, keys, hashes, n)
        if everywhere:
            n = _sifted(0, known, count, seeds, filter_words, keys, hashes, n)
        for j in range(n):
            slot = slot_of(keys[j], hashes[j], slots)
            m = matcher_of[values[slot]] if slots[slot] == keys[j] else np.int32(-1)
            if m >= 0:
                sets[i, m >> 6] |= np.uint64(1) << np.uint64(m & 63)
