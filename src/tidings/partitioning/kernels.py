"""Which matchers own these terms, and what number does a name have? The loops, compiled.

Symbols: row i has the terms ``ids[offsets[i] : offsets[i + 1]]`` (int64 and int32), -1 for one that nobody asks for;
term t is owned by ``owners[starts[t] : starts[t + 1]]`` (int64 and int32), one for each of its versions; set i has
matcher m where bit ``m % 64`` of ``words[i, m // 64]`` is set.
"""

# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False

from __future__ import annotations

import numba
import numpy as np

from tidings.arrays.kernels import fnv1a


@numba.njit(cache=True, nogil=True)
def part_of(key_hash, k):
    """Which of the k versions of a split term a publication takes, 0 … k - 1, by :func:`hash_texts` of its id.

    The same for ever, so that a replay takes the same way. And the same for all terms: those of twice as many versions
    divide what the others have in halves, so a matcher can have versions that occur in the same publications.
    """
    return np.int64(((key_hash >> np.uint64(32)) * np.uint64(k)) >> np.uint64(32))


@numba.njit(cache=True, nogil=True)
def mark(offsets, ids, starts, owners, words):
    """Put all owners of each row's terms into its set: ``words`` uint64[rows, …], all 0 before."""
    for i in range(len(offsets) - 1):
        for k in range(offsets[i], offsets[i + 1]):
            if ids[k] >= 0:
                for v in range(starts[ids[k]], starts[ids[k] + 1]):
                    m = owners[v]
                    words[i, m >> 6] |= np.uint64(1) << np.uint64(m & 63)


@numba.njit(cache=True, nogil=True)
def mark_versions(offsets, ids, starts, owners, keys, words):
    """Put one owner of each row's terms into its set, of a split term that of the version which the row takes.

    ``keys`` uint64[rows] are hashes of the rows' ids.
    """
    for i in range(len(offsets) - 1):
        for k in range(offsets[i], offsets[i + 1]):
            t = ids[k]
            if t >= 0:
                v, count = starts[t], starts[t + 1] - starts[t]
                if count > 1:
                    v += part_of(keys[i], count)
                if count > 0:
                    m = owners[v]
                    words[i, m >> 6] |= np.uint64(1) << np.uint64(m & 63)


@numba.njit(cache=True, nogil=True)
def find_versions(offsets, ids, starts, owners, keys, found):
    """Fill ``found`` int32[ids] with the owner of each occurrence that :func:`mark_versions` marks, -1 for none."""
    for i in range(len(offsets) - 1):
        for k in range(offsets[i], offsets[i + 1]):
            t, found[k] = ids[k], -1
            if t >= 0 and starts[t + 1] > starts[t]:
                found[k] = owners[starts[t] + part_of(keys[i], starts[t + 1] - starts[t])]


@numba.njit(cache=True, nogil=True)
def hash_texts(offsets, data, hashes):
    """Fill ``hashes`` uint64[texts]: FNV-1a of the bytes, then the last steps of MurmurHash3: FNV's low bits are weak.

    Which matcher has what follows from it, so it must not change.
    """
    for i in range(len(hashes)):
        h = fnv1a(data, offsets[i], offsets[i + 1])
        h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
        h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
        hashes[i] = h ^ (h >> np.uint64(33))
