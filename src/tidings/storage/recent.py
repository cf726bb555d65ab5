"""Which entries came last? Those are in memory, label by label, so that a read of a hot label needs no disk.

This is the memtable of [LSM] 2.2.1 with the value lists of [LSM] 4: an entry is appended to the list of its label. All
of them are on disk already, so nothing is lost with this memory.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from tidings.storage.entries import Entry, Found, Sought, StoredPublication, StoredSubscription, made
from tidings.storage.keys import EARLIEST, LATEST

SEGMENTS = 8
"""The oldest entries are forgotten an eighth of the memory at a time."""

_at = attrgetter("at")
_number = attrgetter("number")
_t_max = attrgetter("t_max")


class LabelLists:
    """The publications and the subscriptions of a label, the newest last.

    ``_in_turn``: instants and ends of publications only grow from one to the next; then what has ended is at the front.
    ``_ends_grow``: those of subscriptions do. ``_begun``: when all subscriptions have begun.
    """

    __slots__ = ("_begun", "_ends_grow", "_in_turn", "_publications", "_subscriptions")

    def __init__(self) -> None:
        self._publications: list[StoredPublication] = []
        self._subscriptions: list[StoredSubscription] = []
        self._in_turn = self._ends_grow = True
        self._begun = EARLIEST

    def add(self, entry: Entry) -> None:
        if type(entry) is StoredPublication:
            posts = self._publications
            if posts:
                _, at, t_max, _, _ = posts[-1]
                if entry[1] < at or entry[2] < t_max:
                    self._in_turn = False
            posts.append(entry)
        else:
            others = self._subscriptions
            _, _, _, t_min, t_max, _ = entry
            if others and t_max < others[-1][4]:
                self._ends_grow = False
            if t_min > self._begun:  # noqa: PLR1730  # in a third of the time of max
                self._begun = t_min
            others.append(entry)

    def find(self, asked: Sought) -> Found:
        """What is sought of them, the newest first."""
        now, t_min, t_max, publications, subscriptions = asked
        posts = self._found_posts(now, t_min, t_max) if publications and self._publications else []
        others = self._found_others(now) if subscriptions and self._subscriptions else []
        return made(Found, (posts, others))

    def forget(self, before: int) -> bool:
        """Forget those with numbers under ``before``; whether none is left."""
        _forget(self._publications, before)
        _forget(self._subscriptions, before)
        return not (self._publications or self._subscriptions)

    def _found_posts(self, now: int, t_min: int, t_max: int) -> list[StoredPublication]:
        posts = self._publications
        if not self._in_turn or t_max <= posts[-1][1]:
            return [post for post in reversed(posts) if t_min <= post.at < t_max and now < post.t_max]
        if posts[0][2] <= now:
            del posts[: _ended(posts, now)]
        if not posts or posts[0][1] >= t_min:
            return posts[::-1]
        first = bisect_left(posts, t_min, key=_at)
        return posts[: first - 1 : -1] if first else posts[::-1]

    def _found_others(self, now: int) -> list[StoredSubscription]:
        others = self._subscriptions
        if not self._ends_grow or now < self._begun:
            return [one for one in reversed(others) if one.t_min <= now < one.t_max]
        if others[0][4] <= now:
            del others[: _ended(others, now)]
        return others[::-1]


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
        self.due = LATEST
        """From then on something is to be forgotten."""
        self._most_bytes = most_bytes
        self._segment_bytes = most_bytes // SEGMENTS
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

    def add(self, labels: Sequence[bytes], entry: Entry) -> None:
        """Let an entry be found under some labels."""
        for label in labels:
            held = self._labels.get(label)
            if held is None:
                held = self._labels[label] = LabelLists()
                if self._sorted is not None:
                    insort(self._sorted, label)
            held.add(entry)

    def count(self, after: int, ends: int, size_bytes: int) -> None:
        """Know the number after entries that were added, their latest end, and their size."""
        segment = self._segments[-1]
        segment.after = after
        segment.size_bytes += size_bytes
        self._size_bytes += size_bytes
        if ends > segment.ends:  # noqa: PLR1730
            segment.ends = ends
        if segment.size_bytes > self._segment_bytes:
            self._segments.append(RecentSegment(after))
            self.due = EARLIEST if self._size_bytes > self._most_bytes else self._segments[0].ends

    def forget(self, now: int) -> None:
        """Forget the oldest segments: those of which all has ended, and as many as are too much."""
        first = self.first
        while len(self._segments) > 1 and (self._size_bytes > self._most_bytes or self._segments[0].ends <= now):
            oldest = self._segments.pop(0)
            self._size_bytes -= oldest.size_bytes
            self.first, self.others_end = oldest.after, max(self.others_end, oldest.ends)
        self.due = self._segments[0].ends if len(self._segments) > 1 else LATEST
        if self.first == first:
            return
        empty = [name for name, held in self._labels.items() if held.forget(self.first)]
        for name in empty:
            del self._labels[name]
        if empty:
            self._sorted = None


def _ended(entries: Sequence[Entry], now: int) -> int:
    """How many at the front have ended, where ends only grow."""
    return bisect_right(entries, now, key=_t_max)


def _forget(entries: list[StoredPublication] | list[StoredSubscription], before: int) -> None:
    """Forget those with numbers under ``before``."""
    if entries and entries[-1].number < before:
        entries.clear()
    elif entries and entries[0].number < before:
        del entries[: bisect_left(entries, before, key=_number)]
