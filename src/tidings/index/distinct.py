"""Which of these lists of numbers are equal? Millions of them, found by hash and compared number by number."""

# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False
# mypy: disallow_untyped_decorators=False

from __future__ import annotations

import numba
import numpy as np

from tidings.terms.vocabulary import IntArray

_SEED, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


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
    _find_equal(values, offsets, slots, first_of)
    firsts = np.flatnonzero(first_of == np.arange(len(lengths)))
    return firsts, np.searchsorted(firsts, first_of)


@numba.njit(cache=True, nogil=True)
def _find_equal(values, offsets, slots, first_of):
    """Fill ``first_of`` with the first list equal to each; ``slots``, twice as many as lists, all -1, is scratch."""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(first_of)):
        begin, length = offsets[i], offsets[i + 1] - offsets[i]
        value = _SEED
        for k in range(begin, begin + length):
            value = (value ^ np.uint64(values[k])) * _PRIME
            value ^= value >> np.uint64(29)
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
