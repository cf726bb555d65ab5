"""Which of these lists of numbers are equal? Millions of them, found by hash and compared number by number."""

# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False
# mypy: disallow_untyped_decorators=False

from __future__ import annotations

import os

import numba
import numpy as np

from tidings.arrays import IntArray
from tidings.arrays.kernels import mixed


def distinct_lists(values: IntArray, lengths: IntArray) -> tuple[IntArray, IntArray]:
    """The first of each set of equal lists, in order, and for every list which of those it equals.

    List i has the next ``lengths[i]`` of ``values``, both int64.

    >>> firsts, number = distinct_lists(np.array([1, 2, 3, 1, 2]), np.array([2, 1, 2]))
    >>> firsts.tolist(), number.tolist()
    ([0, 1], [0, 1, 0])
    """
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    slots = np.full(1 << max(1, (2 * len(lengths) - 1).bit_length()), -1, dtype=np.int64)
    first_of = np.empty(len(lengths), dtype=np.int64)
    seeds = np.frombuffer(os.urandom(16), dtype=np.uint64)  # nobody can choose queries that meet in the same slots
    _find_equal(values, offsets, seeds, slots, first_of)
    firsts = np.flatnonzero(first_of == np.arange(len(lengths)))
    return firsts, np.searchsorted(firsts, first_of)


@numba.njit(cache=True, nogil=True)
def _find_equal(values, offsets, seeds, slots, first_of):
    """Fill ``first_of`` with the first list equal to each; ``slots``, twice as many as lists, all -1, is scratch."""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(first_of)):
        begin, length = offsets[i], offsets[i + 1] - offsets[i]
        value = seeds[0] ^ np.uint64(length)
        for k in range(begin, begin + length):
            value = mixed(value ^ np.uint64(values[k]), seeds[1])
        slot = value & mask
        while slots[slot] >= 0:
            other = offsets[slots[slot]]
            same = offsets[slots[slot] + 1] - other == length
            k = 0
            while same and k < length:
                same = values[begin + k] == values[other + k]
                k += 1
            if same:
                break
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] < 0:
            slots[slot] = i
        first_of[i] = slots[slot]
