"""What is in the inverted lists of GI2, and what was deleted but may still be there?

Lists lie one after another in one array, each with some room to grow. One that is full is moved to the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tidings.arrays import IdArray, IntArray
from tidings.arrays.growing import Growing
from tidings.arrays.runs import runs
from tidings.index.entries import Loose
from tidings.index.gi2.kernels import DELETIONS, PENDING
from tidings.terms.local_terms import LocalTerms

_Arrays = tuple[npt.NDArray[Any], ...]


class Postings:
    """Entries, and the inverted lists that they are in, each by cell and term. Arrays are those of the kernels."""

    def __init__(self) -> None:
        self.lists = LocalTerms()
        self._begins, self._counts, self._room = Growing(np.int64), Growing(np.int32), Growing(np.int32)
        self._walked = Growing(np.int64)
        self._listed, self._firsts = Growing(np.int32), Growing(np.int32)
        self._is_deleted, self._left = Growing(np.bool_), Growing(np.int32)
        self._tests, self._queries = Growing(np.int32), Growing(np.int32)
        self._stream_offsets, self._stream = Growing(np.int64), Growing(np.int32)
        self._stream_offsets.append(0)
        self._state = np.zeros(2, dtype=np.int64)

    @property
    def pending(self) -> int:
        """How many deleted queries are still in some list."""
        return int(self._state[PENDING])

    @property
    def size_bytes(self) -> int:
        """Of the arrays that matching reads, as far as they are filled."""
        columns = (column for column in vars(self).values() if isinstance(column, Growing))
        return self.lists.size_bytes + sum(column.filled.nbytes for column in columns)

    def add(self, entries: Loose, regions: IdArray, numbers: IntArray) -> None:
        """Add new entries, each to the lists of its guard in some regions: ``numbers`` are those of the entries.

        The queries of entries are numbered on from those that there are; -q - 1 where q has several entries.
        """
        first = len(self._tests)
        self._tests.extend(entries.tests)
        self._queries.extend(entries.queries)
        self._stream_offsets.extend(len(self._stream) + np.cumsum(entries.lengths))
        self._stream.extend(entries.stream)
        queries = np.where(entries.queries < 0, -entries.queries - 1, entries.queries)[numbers]
        count = int(queries.max(initial=len(self._left) - 1)) + 1
        self._is_deleted.reach(count)
        self._left.reach(count)
        self._left.array[:count] += np.bincount(queries, minlength=count).astype(np.int32)
        lists = self._lists_of(regions, entries.guards[numbers])
        order = np.argsort(lists, kind="stable")
        self._append(lists[order], (first + numbers[order]).astype(np.int32), entries.firsts[numbers[order]])

    def delete(self, queries: IntArray) -> None:
        """Note that these are deleted. They leave the lists when these are next walked."""
        self._is_deleted.array[queries] = True
        self._state[DELETIONS] += len(queries)
        self._state[PENDING] += np.count_nonzero(self._left.array[queries])

    def arrays(self) -> tuple[_Arrays, _Arrays]:
        """As the kernel takes them: the lists and what was deleted, then the entries."""
        lists = self._begins.view, self._counts.array, self._walked.array, self._listed.array, self._firsts.array
        deleted = self._is_deleted.view, self._left.array, self._state
        entries = self._tests.view, self._stream_offsets.view, self._stream.view, self._queries.view
        return (*lists, *deleted), entries

    def _lists_of(self, regions: IdArray, terms: IdArray) -> IdArray:
        """The lists of terms in regions; new ones are empty."""
        keys = regions.astype(np.int64) << 32 | terms
        _, places, inverse = np.unique(keys, return_index=True, return_inverse=True)
        own = regions[places], terms[places]
        found = self.lists.find(*own)
        new = np.flatnonzero(found < 0)
        found[new] = len(self.lists) + np.arange(len(new), dtype=np.int32)
        self.lists.put(own[0][new], own[1][new], found[new])
        for column in (self._begins, self._counts, self._room, self._walked):
            column.reach(len(self.lists))
        lists: IdArray = found[inverse.reshape(-1)]
        return lists

    def _append(self, lists: IdArray, listed: IdArray, firsts: IdArray) -> None:
        """Put entries at the ends of lists, which rise."""
        own, added = np.unique(lists, return_counts=True)
        counts = self._counts.array[own].astype(np.int64)
        self._make_room(own, counts + added)
        places = runs(self._begins.array[own] + counts, added)
        self._listed.array[places], self._firsts.array[places] = listed, firsts
        self._counts.array[own] += added.astype(np.int32)

    def _make_room(self, lists: IdArray, wanted: IntArray) -> None:
        """Move those that are too short; one that has entries gets room for twice as many as it had."""
        is_short = wanted > self._room.array[lists]
        moved = lists[is_short]
        room = np.maximum(wanted[is_short], 2 * self._room.array[moved].astype(np.int64))
        begin = len(self._listed)
        begins, counts = begin + np.cumsum(room) - room, self._counts.array[moved].astype(np.int64)
        places, old = runs(begins, counts), runs(self._begins.array[moved], counts)
        for column in (self._listed, self._firsts):
            column.reach(begin + int(room.sum()))
            column.array[places] = column.array[old]
        self._begins.array[moved], self._room.array[moved] = begins, room
