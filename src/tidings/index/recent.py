"""What was asked just now? Subscriptions that came one by one, chained until there are enough for a segment."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tidings.arrays.growing import Growing, read_only
from tidings.index.entries import NO_TEST, Entries, Entry, Loose
from tidings.index.segment import Source
from tidings.index.subscribers import FIRST_ROOM, NO_NUMBERS, Asked, ChainedSubscribers, RowRoster

_NO_BOXES = read_only(np.zeros((4, 0), dtype=np.int32))


@dataclass(frozen=True, slots=True)
class RecentView(RowRoster):
    """What a reader sees of the recent subscriptions, as if it were a segment."""

    tables: tuple[Entries, ...]
    query_count: int
    _asked: Asked

    def __len__(self) -> int:
        return len(self.tables[0])

    def asked(self) -> Asked:
        return self._asked


class Counts(NamedTuple):
    """How many there are: with it, a reader sees what was there then."""

    entries: int
    queries: int
    subscriptions: int


class ChainedEntries:
    """Entries that are added one at a time. One thread writes; a reader may take the first so many at any time.

    Like the subscriptions, it takes what begins a chain before what continues it.
    """

    def __init__(self, room: int = FIRST_ROOM, terms: int = 0) -> None:
        self._starts, self._link = Growing(np.int32, filler=-1), Growing(np.int32, filler=-1)
        self._firsts, self._queries, self._guards = Growing(np.int32), Growing(np.int32), Growing(np.int32)
        self._tests = Growing(np.int32, filler=NO_TEST)
        self._tested = False
        self._stream_offsets, self._stream = Growing(np.int32), Growing(np.int32)
        self._barrier = threading.Lock()
        self.count = 0
        self._make_room(room)
        self._starts.reach(terms)

    def add(self, entry: Entry, query: int) -> None:
        number = self.count
        if number == self.room:
            self._make_room(2 * number)
        guard, first, test, stream = entry
        if guard >= len(self._starts.array):
            self._starts.reach(guard + 1)
        for value in stream:
            self._stream.append(value)
        if test != NO_TEST:
            self._tests.reach(self.room)
            self._tests.array[number] = test
            self._tested = True
        starts = self._starts.array
        self._stream_offsets.array[number + 1] = self._stream.count
        self._firsts.array[number] = first
        self._queries.array[number] = query
        self._guards.array[number] = guard
        self._link.array[number] = starts[guard]
        self.count = number + 1
        with self._barrier:  # whoever finds it in its chain must find all of it: no store passes a lock
            pass
        starts[guard] = number

    def _make_room(self, room: int) -> None:
        self.room = room
        self._stream_offsets.reach(room + 1)
        tests = (self._tests,) if self._tested else ()
        for column in (self._link, self._firsts, self._queries, self._guards, *tests):
            column.reach(room)
        self._starts.renew()  # after the link: who has the short one must not find what lies beyond it

    def entries(self, count: int) -> Entries:
        """The first so many."""
        starts, link = self._starts.view, self._link.view
        return Entries(
            starts,
            link,
            count,
            self._firsts.view,
            self._tests.view if self._tested else NO_NUMBERS,
            _NO_BOXES,
            NO_NUMBERS,
            self._stream_offsets.view,
            self._stream.view,
            self._queries.view,
        )

    def loosened(self) -> Loose:
        """All that was added."""
        self._tests.reach(self.count)
        numbers = slice(self.count)
        return Loose(
            self._guards.array[numbers],
            self._firsts.array[numbers],
            self._tests.array[numbers],
            np.diff(self._stream_offsets.array[: self.count + 1]).astype(np.int64),
            self._stream.filled,
            self._queries.array[numbers],
        )

    @property
    def terms(self) -> int:
        """How many terms have room for a chain."""
        return len(self._starts.array)

    @property
    def size_bytes(self) -> int:
        """Of the arrays that matching reads, as far as they are filled."""
        columns = 4 + self._tested
        return int(self._starts.array.nbytes + self._stream.filled.nbytes + 4 * columns * self.count)


class Recent:
    """One thread adds and buries; readers may :meth:`view` what was there at some count. Equal queries are one."""

    def __init__(self, before: Recent | None = None) -> None:
        """``before``: one that had to grow; to have as much room from the start spares all who change the pauses."""
        old = ChainedEntries() if before is None else before._entries
        self._entries: ChainedEntries = ChainedEntries(old.room, old.terms)
        self.subscribers: ChainedSubscribers = ChainedSubscribers(before.subscribers.room if before else FIRST_ROOM)
        self._queries: dict[Hashable, int] = {}

    def __len__(self) -> int:
        """Entries and subscriptions: what a freeze would have to sort."""
        return max(self._entries.count, len(self.subscribers))

    def find(self, key: Hashable) -> int:
        """The number of the query that was filed under a key, or -1."""
        return self._queries.get(key, -1)

    def file(self, key: Hashable, conjunctions: list[list[Entry]]) -> int:
        """File a query by the entries of its conjunctions; returns its number."""
        query = self._queries[key] = len(self._queries)
        marked = -query - 1 if len(conjunctions) > 1 else query
        for entries in conjunctions:
            for entry in entries:
                self._entries.add(entry, marked)
        return query

    def counts(self) -> Counts:
        return Counts(self._entries.count, len(self._queries), len(self.subscribers))

    def view(self, counts: Counts) -> RecentView:
        """What was there when that was counted; who was buried since is told from others by the moment."""
        table = self._entries.entries(counts.entries)
        asked = self.subscribers.asked(counts.subscriptions)
        return RecentView(self.subscribers.rows, (table,), counts.queries, asked)

    @property
    def size_bytes(self) -> int:
        """Of the arrays that matching reads, as far as they are filled."""
        return self._entries.size_bytes + self.subscribers.size_bytes

    def source(self) -> Source:
        """All that is not dead."""
        table, queries = self.subscribers.living()
        return Source(self._entries.loosened(), table, np.asarray(queries, dtype=np.int64))
