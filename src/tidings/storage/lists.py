"""How are the lists of a label written and read? The newest entries are in memory, all of them are on disk."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from tidings.storage.entries import Found, Sought
from tidings.storage.recent import RecentEntries
from tidings.storage.runs import Row, Runs
from tidings.storage.spaces import KeySpace

ENTRY_BYTES = 400
"""What an entry takes in memory beside its value, about."""

_number = attrgetter("number")


class Lists:
    """The lists of publications and subscriptions of all labels in one key space.

    ``first`` is the number of the next operation: all that is in the key space has smaller ones. An entry is written
    first and added then, so that it does not find itself. The key space is read only if some entry may be valid that
    is not in memory any more.
    """

    def __init__(self, space: KeySpace, first: int, width: int, memory_bytes: int) -> None:
        self._runs = Runs(space, width)
        self._recent = RecentEntries(first, self._runs.ends, memory_bytes)
        self.add = self._recent.add
        """Lets an entry that was written be found under its labels."""

    def drop_ended(self, now: int) -> None:
        """Give back the space of what has ended, and memory that is used too much."""
        if now >= self._recent.due:
            self._recent.forget(now)
        if now >= self._runs.due:
            self._runs.drop_ended(now)

    def write(self, rows: Sequence[Row]) -> None:
        """Keep entries of one instant on disk."""
        if rows:
            ends, size, copies = self._runs.write(rows)
            self._recent.count(rows[-1][1].number + 1, ends, size + ENTRY_BYTES * copies)

    def find(self, label: bytes, asked: Sought) -> Found:
        """What is sought of a label, the newest first."""
        recent = self._recent
        held = recent.get(label)
        found = Found([], []) if held is None else held.find(asked)
        if asked[0] >= recent.others_end:
            return found
        older = self._runs.find(label, asked, self._recent.first)
        return Found(
            [*found.publications, *sorted(older.publications, key=_number, reverse=True)],
            [*found.subscriptions, *sorted(older.subscriptions, key=_number, reverse=True)],
        )

    def in_range(self, span: tuple[bytes, bytes], asked: Sought) -> Found:
        """What is sought of a range of labels, in no order."""
        parts = [held.find(asked) for held in self._recent.within(*span)]
        if asked.now < self._recent.others_end:
            parts.append(self._runs.in_range(span, asked, self._recent.first))
        return Found(
            [post for part in parts for post in part.publications],
            [one for part in parts for one in part.subscriptions],
        )

    def size_bytes(self) -> int:
        """How much is on disk, about."""
        return self._runs.size_bytes()

    def close(self) -> None:
        self._runs.close()
