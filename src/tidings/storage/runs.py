"""How are the lists of a label kept on disk? As runs of keys, in all buckets that have not ended.

Implements Alg. 1, 2, 4 and 5 of [LSM]; there a list is scattered over the levels of the tree, here RocksDB merges the
levels. Departs from the print: Alg. 1 line 9 compares T with T_exp, which always holds; it means T_S.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidings.storage.entries import Entry, Found, Sought, packed, publication_of, subscription_of
from tidings.storage.keys import AFTER, EARLIEST, LATEST, PUBLICATIONS, SUBSCRIPTIONS, is_publication, place_of
from tidings.storage.spaces import KeySpace

WIDENING = 4
"""An entry that lives long is filed in a wider bucket. A bucket is named by its own end. At any time at most two
buckets of a width are alive, and an entry is kept at most one width too long."""


Row = tuple[Sequence[bytes], Entry]
"""The labels under which an entry is filed, and the entry."""


class Runs:
    """The lists of all labels in one key space."""

    def __init__(self, space: KeySpace, width: int) -> None:
        self._space = space
        self._width = width
        self._look()

    @property
    def ends(self) -> int:
        """When the last of them ends, at the latest."""
        return self._ends[-1] if self._ends else EARLIEST

    def drop_ended(self, now: int) -> None:
        """Drop the buckets of which nothing is valid any more."""
        while self._ends and self._ends[0] <= now:
            self._space.drop(self._ends[0])
            self._look()

    def write(self, rows: Sequence[Row]) -> tuple[int, int, int]:
        """Keep entries of one instant. When this returns, they outlive the process. Returns the latest end, and the
        size and the number of the values."""
        puts, size, ends, new = [], 0, EARLIEST, False
        width, known = self._width, self._known
        for labels, entry in rows:
            at, t_max = entry.at, entry.t_max
            bucket = -(-t_max // width) * width if t_max - at <= width else self._wide_bucket(at, t_max)
            if bucket not in known:
                new = True
            if t_max > ends:  # noqa: PLR1730  # in a third of the time of max
                ends = t_max
            tail, value = packed(entry)
            for label in labels:
                puts.append((bucket, label + tail, value))
            size += len(value) * len(labels)
        self._space.write(puts)
        if new:
            self._look()
        return ends, size, len(puts)

    def find(self, label: bytes, asked: Sought, before: int) -> Found:
        """What is sought of a label, with numbers under ``before``: GetData, GetSubscribers or GetDataANDSubscribers,
        Alg. 1, 2 and 4. It ends at the first publication that is older than ``t_min`` ([LSM] 5.2.1)."""
        start = label + (SUBSCRIPTIONS if asked.subscriptions else PUBLICATIONS)
        end = label + AFTER[PUBLICATIONS if asked.publications else SUBSCRIPTIONS]
        found = Found([], [])
        for bucket in self._ends:
            for key, value in self._space.scan(bucket, start, end):
                at, number = place_of(key)
                if is_publication(key) and at < asked.t_min:
                    break
                if number < before:
                    _gather(found, key, value, asked)
        return found

    def in_range(self, span: tuple[bytes, bytes], asked: Sought, before: int) -> Found:
        """What is sought of a range of labels: GetDataInRange, Alg. 5. Time orders one list only, so that the scan goes
        on to the end."""
        found = Found([], [])
        for bucket in self._ends:
            for key, value in self._space.scan(bucket, *span):
                wanted = asked.publications if is_publication(key) else asked.subscriptions
                if wanted and place_of(key)[1] < before:
                    _gather(found, key, value, asked)
        return found

    def size_bytes(self) -> int:
        return self._space.size_bytes()

    def close(self) -> None:
        self._space.close()

    def _look(self) -> None:
        """Which buckets are there?"""
        self._ends = self._space.buckets()
        self._known = set(self._ends)
        self.due = self._ends[0] if self._ends else LATEST
        """From then on something is to be dropped."""

    def _wide_bucket(self, now: int, t_max: int) -> int:
        """The bucket of an entry that lives longer than the narrowest bucket."""
        width = self._width
        while width < t_max - now:
            width *= WIDENING
        return min(-(-t_max // width) * width, LATEST)


def _gather(found: Found, key: bytes, value: bytes, asked: Sought) -> None:
    """Add an entry to what was found, if it is sought."""
    at, number = place_of(key)
    if is_publication(key):
        post = publication_of(value, at, number)
        if asked.t_min <= at < asked.t_max and asked.now < post.t_max:
            found.publications.append(post)
    else:
        one = subscription_of(value, at, number)
        if one.t_min <= asked.now < one.t_max:
            found.subscriptions.append(one)
