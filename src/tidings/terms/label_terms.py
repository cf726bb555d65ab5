"""Which term stands for a bit label, a cell or an interval? A hash table that grows while others read it.

The slots of a table follow from its labels and a random seed, so that nobody who asks for regions can choose cells that
meet in the same slots. One thread writes: the term of a slot is there before its label is, so a reader finds a label
with its term or not at all; a table that has become too small is copied, and whoever reads the old one misses only what
came later.
"""

# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False
# mypy: disallow_untyped_decorators=False

from __future__ import annotations

import os
from collections.abc import Iterator

import numba
import numpy as np
import numpy.typing as npt

from tidings.arrays import IdArray, IntArray
from tidings.arrays.kernels import mixed
from tidings.terms.labels import depth_of

LabelArray = npt.NDArray[np.uint64]
_FIRST_SLOTS = 64
_FREE = np.uint64(0)
_SEEDS = 2


class LabelTerms:
    """Terms by label.

    >>> terms = LabelTerms()
    >>> terms.put(np.array([1 << 63], dtype=np.uint64), np.array([7], dtype=np.int32))
    >>> terms.get(1 << 63), terms.get(1), len(terms)
    (7, -1, 1)
    """

    def __init__(self) -> None:
        self._count = 0
        self._seeds: LabelArray = np.frombuffer(os.urandom(8 * _SEEDS), dtype=np.uint64)
        self._table: tuple[LabelArray, IdArray] = (np.zeros(_FIRST_SLOTS, np.uint64), np.zeros(_FIRST_SLOTS, np.int32))
        self._depths: frozenset[int] = frozenset()
        self._depth_array: IntArray = np.zeros(0, dtype=np.int64)

    def __len__(self) -> int:
        return self._count

    def get(self, label: int) -> int:
        """The term of a label, or -1."""
        return int(_get(np.uint64(label), self._seeds, *self._table))

    def get_many(self, labels: LabelArray) -> IdArray:
        """:meth:`get` of many."""
        terms = np.empty(len(labels), dtype=np.int32)
        _get_many(labels, self._seeds, *self._table, terms)
        return terms

    def put(self, labels: LabelArray, terms: IdArray) -> None:
        """Add labels that are not there yet."""
        keys, ids = self._table
        needed = 2 * (self._count + len(labels))
        if needed > len(keys):
            slots = 1 << (2 * needed - 1).bit_length()
            keys, ids = np.zeros(slots, dtype=np.uint64), np.zeros(slots, dtype=np.int32)
            _put(*self.items(), self._seeds, keys, ids)
        _put(labels, terms, self._seeds, keys, ids)
        self._count += len(labels)
        sentinels = np.unique(labels & (~labels + np.uint64(1))) if len(labels) > 1 else labels
        depths = self._depths | {depth_of(label) for label in sentinels.tolist()}
        if depths != self._depths:
            self._depths, self._depth_array = depths, np.array(sorted(depths), dtype=np.int64)
        self._table = keys, ids

    def items(self) -> tuple[LabelArray, IdArray]:
        """All labels and their terms, in no order."""
        keys, ids = self._table
        taken = keys != _FREE
        return keys[taken], ids[taken]

    def pairs(self) -> Iterator[tuple[int, int]]:
        """The same one by one."""
        labels, terms = self.items()
        return zip(labels.tolist(), terms.tolist(), strict=True)

    def above(self, leaves: LabelArray) -> tuple[IntArray, IdArray]:
        """Which of the labels lie at or above each leaf: numbers of leaves and terms, side by side."""
        (keys, ids), depths = self._table, self._depth_array  # once: they may be others the next time
        room = len(leaves) * len(depths)
        rows, terms = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int32)
        count = _above(leaves, depths, self._seeds, keys, ids, rows, terms)
        return rows[:count], terms[:count]


@numba.njit(cache=True, nogil=True)
def _place(label, seeds, keys):
    """Where a label lies, or the free slot where it would."""
    mask = np.uint64(len(keys) - 1)
    slot = mixed(label ^ seeds[0], seeds[1]) & mask
    while keys[slot] != _FREE and keys[slot] != label:
        slot = (slot + np.uint64(1)) & mask
    return slot


@numba.njit(cache=True)  # as _put, a microsecond: not worth letting other threads in
def _get(label, seeds, keys, ids):
    slot = _place(label, seeds, keys)
    return ids[slot] if keys[slot] == label else np.int32(-1)


@numba.njit(cache=True, nogil=True)
def _get_many(labels, seeds, keys, ids, terms):
    for k in range(len(labels)):
        slot = _place(labels[k], seeds, keys)
        terms[k] = ids[slot] if keys[slot] == labels[k] else -1


@numba.njit(cache=True)
def _put(labels, terms, seeds, keys, ids):
    for k in range(len(labels)):
        slot = _place(labels[k], seeds, keys)
        ids[slot] = terms[k]
        keys[slot] = labels[k]


@numba.njit(cache=True, nogil=True)
def _above(leaves, depths, seeds, keys, ids, rows, terms):
    """Fill ``rows`` and ``terms``, which have room for every depth of every leaf; returns how many there are."""
    found = 0
    for row in range(len(leaves)):
        for depth in depths:
            bit = np.uint64(1) << np.uint64(63 - depth)
            label = (leaves[row] & ~(bit | (bit - np.uint64(1)))) | bit
            slot = _place(label, seeds, keys)
            if keys[slot] == label:
                rows[found] = row
                terms[found] = ids[slot]
                found += 1
    return found
