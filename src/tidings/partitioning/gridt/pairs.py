"""Which words are asked for in which regions? Pairs of both, each with a number: the map H2 of [PS2] IV-C.

An open hash table, so a word of a post is found in O(1). Who counts what is filed under each number is a router.
"""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray
from tidings.partitioning.gridt import kernels
from tidings.partitioning.gridt.gridt import EVERYWHERE

_FIRST_SLOTS = 64


class Pairs:
    """Numbers of words in regions.

    >>> pairs = Pairs()
    >>> pairs.put(np.array([0, 3], np.int32), np.array([5, 5], np.int32), np.array([7, 8], np.int32))
    >>> pairs.find(np.array([3, 3], np.int32), np.array([5, 6], np.int32)).tolist(), len(pairs)
    ([8, -1], 2)
    """

    def __init__(self) -> None:
        self._count = 0
        self._everywhere = False
        self._seeds: npt.NDArray[np.uint64] = np.frombuffer(os.urandom(16), dtype=np.uint64)
        self._table = np.zeros(_FIRST_SLOTS, dtype=np.uint64), np.zeros(_FIRST_SLOTS, dtype=np.int32)

    def __len__(self) -> int:
        return self._count

    def find(self, regions: IdArray, terms: IdArray) -> IdArray:
        """The number of each word in each region, -1 for none."""
        numbers = np.empty(len(regions), dtype=np.int32)
        kernels.find_keys(regions, terms, self._seeds, *self._table, numbers)
        return numbers

    def put(self, regions: IdArray, terms: IdArray, numbers: IdArray) -> None:
        """Add different pairs that are not there yet."""
        needed = 2 * (self._count + len(regions))
        if needed > len(self._table[0]):
            old = self.items()
            slots = 1 << (2 * needed - 1).bit_length()
            self._table = np.zeros(slots, dtype=np.uint64), np.zeros(slots, dtype=np.int32)
            kernels.put_keys(*old, self._seeds, *self._table)
        kernels.put_keys(regions, terms, numbers, self._seeds, *self._table)
        self._count += len(regions)
        self._everywhere |= bool(np.any(regions == EVERYWHERE))

    def items(self) -> tuple[IdArray, IdArray, IdArray]:
        """All regions, terms and numbers, in the order of the numbers."""
        slots, values = self._table
        taken = np.flatnonzero(slots)
        taken = taken[np.argsort(values[taken], kind="stable")]
        keys = slots[taken]
        regions = (keys >> np.uint64(32)).astype(np.int64) - 1
        terms = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64) - 1
        return regions.astype(np.int32), terms.astype(np.int32), values[taken]

    def local(self, cells: IdArray, region: IdArray, terms: TermSets) -> TermSets:
        """The numbers of the words of posts, in the region of their cell and everywhere; those that are in the table.

        ``region`` int32: the region of each cell; a post in cell -1 has no place. Term 0 is in every post, and a term
        below 0 is asked for by nobody. Cost: some 10 ns a word.
        """
        offsets = np.zeros(len(cells) + 1, dtype=np.int64)
        out = np.empty(2 * (len(terms.ids) + len(cells)), dtype=np.int32)
        count = kernels.local_terms(
            cells, region, terms.offsets, terms.ids, self._seeds, *self._table, self._everywhere, offsets, out
        )
        return TermSets(offsets, out[:count])
