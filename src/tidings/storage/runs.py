"""How are the lists of a label kept on disk? As runs of keys, in all buckets that have not ended.

Implements Alg. 1, 2, 4 and 5 of [LSM]; there a list is scattered over the levels of the tree, here RocksDB merges the
levels. Departs from the print: Alg. 1 line 9 compares T with T_exp, which always holds; it means T_S.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tidings.storage.entries import Entry, Found, StoredPublication, packed, publication_of, subscription_of
from tidings.storage.keys import AFTER, EARLIEST, LATEST, PUBLICATIONS, SUBSCRIPTIONS, is_publication, key_of, place_of
from tidings.storage.spaces import KeySpace

WIDENING = 4
"""An entry that lives long is filed in a wider bucket, so that few buckets are alive at any time."""


class Sought(NamedTuple):
    """What is looked for: entries that are valid ``now``; publications of ``[t_min, t_max)``, subscriptions, or
    both."""

    now: int
    t_min: int
    t_max: int
    publications: bool
    subscriptions: bool


Row = tuple[Sequence[bytes], Entry]
"""The labels under which an entry is filed, and the entry."""


class Runs:
    """The lists of all labels in one key space."""

    def __init__(self, space: KeySpace, width: int) -> None:
        self._space = space
        self._width = width
        self._ends = space.buckets()
        self._known = set(self._ends)

    @property
    def ends(self) -> int:
        """When the last of them ends, at the latest."""
        return self._ends[-1] if self._ends else EARLIEST

    def drop_ended(self, now: int) -> None:
        """Drop the buckets of which nothing is valid any more."""
        while self._ends and self._ends[0] <= now:
            self._known.remove(self._ends[0])
            self._space.drop(self._ends.pop(0))

    def write(self, rows: Sequence[Row]) -> tuple[int, int, int]:
        """Keep entries of one instant. When this returns, they outlive the process. Returns the latest end, and the
        size and the number of the values."""
        puts, size, known = [], 0, True
        buckets: dict[int, int] = {}
        for labels, entry in rows:
            kind = PUBLICATIONS if type(entry) is StoredPublication else SUBSCRIPTIONS
            at, t_max, number = entry.at, entry.t_max, entry.number
            value, tail = packed(entry), key_of(b"", kind, at, number)
            bucket = buckets.get(t_max)
            if bucket is None:
                bucket = buckets[t_max] = self._bucket(at, t_max)
                known = known and bucket in self._known
            for label in labels:
                puts.append((bucket, label + tail, value))
            size += len(value) * len(labels)
        self._space.write(puts)
        if not known:
            self._ends = self._space.buckets()
            self._known = set(self._ends)
        return max(buckets), size, len(puts)

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

    def _bucket(self, now: int, t_max: int) -> int:
        """The bucket of an entry that ends at ``t_max``, named by its own end. At any time at most two buckets of a
        width are alive, and an entry is kept at most one width too long."""
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
