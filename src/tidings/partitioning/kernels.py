"""Which matchers own these terms, and what number does a name have? The loops, compiled.

Symbols: row i has the terms ``ids[offsets[i] : offsets[i + 1]]`` (int64 and int32), -1 for one that nobody asks for;
``owners`` int32 is the matcher of each term; set i has matcher m where bit ``m % 64`` of ``words[i, m // 64]`` is set.
"""

# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False

from __future__ import annotations

import numba
import numpy as np

from tidings.terms.kernels import fnv1a


@numba.njit(cache=True, nogil=True)
def mark(offsets, ids, owners, words):
    """Put the owners of each row's terms into its set: ``words`` uint64[rows, …], all 0 before."""
    for i in range(len(offsets) - 1):
        for k in range(offsets[i], offsets[i + 1]):
            if ids[k] >= 0:
                m = owners[ids[k]]
                words[i, m >> 6] |= np.uint64(1) << np.uint64(m & 63)


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
