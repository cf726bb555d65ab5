"""Which entries came last? Those are in memory, label by label, so that a read of a hot label needs no disk.

This is the memtable of [LSM] 2.2.1 with the value lists of [LSM] 4: an entry is appended to the list of its label. All
of them are on disk already, so nothing is lost with this memory.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from tidings.storage.entries import Entry, StoredPublication, StoredSubscription
from tidings.storage.keys import EARLIEST

SEGMENTS = 8
"""The oldest entries are forgotten an eighth of the memory at a time."""

_at = attrgetter("at")
_number = attrgetter("number")
_t_max = attrgetter("t_max")


class RecentPublications:
    """The publications of a label, the newest last.

    ``_ordered``: instants and ends only grow from one to the next. Then what has ended is at the front.
    """

    __slots__ = ("_entries", "_ordered")

    def __init__(self) -> None:
        self._entries: list[StoredPublication] = []
        self._ordered = True

    def add(self, entry: StoredPublication) -> None:
        entries = self._entries
        if entries:
            last = entries[-1]
            if entry.at < last.at or entry.t_max < last.t_max:
                self._ordered = False
        entries.append(entry)

    def find(self, now: int, t_min: int, t_max: int) -> list[StoredPublication]:
        """Those of ``[t_min, t_max)`` that are valid now, the newest first."""
        entries = self._entries
        if not entries:
            return []
        if not self._ordered or t_max <= entries[-1].at:
            return [post for post in reversed(entries) if t_min <= post.at < t_max and now < post.t_max]
        if entries[0].t_max <= now:
            del entries[: _ended(entries, now)]
        if not entries or entries[0].at >= t_min:
            return entries[::-1]
        first = bisect_left(entries, t_min, key=_at)
        return entries[: first - 1 : -1] if first else entries[::-1]

    def forget(self, before: int) -> bool:
        """Forget those with numbers under ``before``; whether none is left."""
        return _forget(self._entries, before)


class RecentSubscriptions:
    """The subscriptions of a label, the newest last. ``_ordered``: ends only grow. ``_begun``: when all have begun."""

    __slots__ = ("_begun", "_entries", "_ordered")

    def __init__(self) -> None:
        self._entries: list[StoredSubscription] = []
        self._ordered = True
        self._begun = EARLIEST

    def add(self, entry: StoredSubscription) -> None:
        entries = self._entries
        if entries and entry.t_max < entries[-1].t_max:
            self._ordered = False
        self._begun = max(self._begun, entry.t_min)
        entries.append(entry)

    def find(self, now: int) -> list[StoredSubscription]:
        """Those that are valid now, the newest first."""
        entries = self._entries
        if not self._ordered or now < self._begun:
            return [one for one in reversed(entries) if one.t_min <= now < one.t_max]
        if entries and entries[0].t_max <= now:
            del entries[: _ended(entries, now)]
        return entries[::-1]

    def forget(self, before: int) -> bool:
        """Forget those with numbers under ``before``; whether none is left."""
        return _forget(self._entries, before)


class LabelLists:
    """Both lists of a label."""

    __slots__ = ("publications", "subscriptions")

    def __init__(self) -> None:
        self.publications = RecentPublications()
        self.subscriptions = RecentSubscriptions()


@dataclass(slots=True)
class RecentSegment:
    """Entries that came one after another: the number after the last, the latest end, and their size."""

    after: int
    ends: int = EARLIEST
    size_bytes: int = 0


class RecentEntries:
    """The entries since the operation ``first``, as many as ``most_bytes`` have room for."""

    def __init__(self, first: int, others_end: int, most_bytes: int) -> None:
        self.first = first
        """Entries with smaller numbers are on disk only."""
        self.others_end = others_end
        """The latest end of those."""
        self._most_bytes = most_bytes
        self._size_bytes = 0
        self._segments = [RecentSegment(first)]
        self._labels: dict[bytes, LabelLists] = {}
        self._sorted: list[bytes] | None = None
        self.get = self._labels.get
        """The lists of a label, or None."""

    def within(self, start: bytes, end: bytes) -> list[LabelLists]:
        """The labels of ``[start, end)``."""
        if self._sorted is None:
            self._sorted = sorted(self._labels)
        names = self._sorted[bisect_left(self._sorted, start) : bisect_left(self._sorted, end)]
        return [self._labels[name] for name in names]

    def add(self, label: bytes, entry: Entry) -> None:
        held = self._labels.get(label)
        if held is None:
            held = self._labels[label] = LabelLists()
            if self._sorted is not None:
                insort(self._sorted, label)
        if type(entry) is StoredPublication:
            held.publications.add(entry)
        else:
            held.subscriptions.add(entry)

    def count(self, after: int, ends: int, size_bytes: int) -> None:
        """Know the number after entries that were added, their latest end, and their size."""
        segment = self._segments[-1]
        segment.after, segment.ends = after, max(segment.ends, ends)
        segment.size_bytes += size_bytes
        self._size_bytes += size_bytes
        if segment.size_bytes > self._most_bytes // SEGMENTS:
            self._segments.append(RecentSegment(after))

    def forget(self, now: int) -> None:
        """Forget the oldest segment if all of it has ended, or if there is too much."""
        oldest = self._segments[0]
        if len(self._segments) == 1 or (self._size_bytes <= self._most_bytes and oldest.ends > now):
            return
        self._segments.pop(0)
        self._size_bytes -= oldest.size_bytes
        self.first, self.others_end = oldest.after, max(self.others_end, oldest.ends)
        empty = [
            name
            for name, held in self._labels.items()
            if held.publications.forget(self.first) & held.subscriptions.forget(self.first)
        ]
        for name in empty:
            del self._labels[name]
        if empty:
            self._sorted = None


def _ended(entries: Sequence[Entry], now: int) -> int:
    """How many at the front have ended, where ends only grow."""
    return bisect_right(entries, now, key=_t_max)


def _forget(entries: list[StoredPublication] | list[StoredSubscription], before: int) -> bool:
    """Forget those with numbers under ``before``; whether none is left."""
    if entries and entries[-1].number < before:
        entries.clear()
    elif entries and entries[0].number < before:
        del entries[: bisect_left(entries, before, key=_number)]
    return not entries
