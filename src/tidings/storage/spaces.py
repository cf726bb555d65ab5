"""Where do sorted keys live? In a key space: RocksDB on disk (:mod:`tidings.storage.rocks`), or its twin in memory.

A key space is cut in *buckets* by the instant at which the last of its entries ends. A bucket is dropped whole:
RocksDB's binding has no compaction filter, by which [LSM] 4.1 removes entries one by one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol


class Put(NamedTuple):
    """A key and its value, and the bucket for them."""

    bucket: int
    key: bytes
    value: bytes


PutTuple = tuple[int, bytes, bytes]
"""A :class:`Put` without names, which is made in a seventh of the time."""


class KeySpace(Protocol):
    """Sorted keys in buckets, and a few numbers to remember."""

    def buckets(self) -> list[int]:
        """Those that there are, in order."""

    def write(self, puts: Sequence[PutTuple]) -> None:
        """All or nothing; what is written survives the process."""

    def get(self, bucket: int, key: bytes) -> bytes | None:
        """The value of a key."""

    def scan(self, bucket: int, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The keys of ``[start, end)`` in order, with their values; nothing may be written meanwhile."""

    def drop(self, bucket: int) -> None:
        """Forget a bucket with all that is in it."""

    def remembered(self, name: bytes) -> int:
        """A number that was remembered; 0 if none was."""

    def remember(self, name: bytes, number: int) -> None:
        """It survives the process."""

    def size_bytes(self) -> int:
        """How large it is, about."""

    def close(self) -> None:
        """Let others open it."""


class MemorySpace:
    """A key space that is gone with its process."""

    def __init__(self) -> None:
        self._buckets: dict[int, dict[bytes, bytes]] = {}
        self._sorted: dict[int, list[bytes]] = {}
        self._numbers: dict[bytes, int] = {}

    def buckets(self) -> list[int]:
        return sorted(self._buckets)

    def write(self, puts: Sequence[PutTuple]) -> None:
        for bucket, key, value in puts:
            self._buckets.setdefault(bucket, {})[key] = value

    def get(self, bucket: int, key: bytes) -> bytes | None:
        return self._buckets[bucket].get(key)

    def scan(self, bucket: int, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        rows, keys = self._buckets[bucket], self._sorted.setdefault(bucket, [])
        if len(keys) < len(rows):  # keys are only added, and a dictionary has them in that order
            keys += islice(reversed(rows), len(rows) - len(keys))
            keys.sort()
        for at in range(bisect_left(keys, start), len(keys)):
            if keys[at] >= end:
                return
            yield keys[at], rows[keys[at]]

    def drop(self, bucket: int) -> None:
        del self._buckets[bucket]
        self._sorted.pop(bucket, None)

    def remembered(self, name: bytes) -> int:
        return self._numbers.get(name, 0)

    def remember(self, name: bytes, number: int) -> None:
        self._numbers[name] = number

    def size_bytes(self) -> int:
        return sum(len(key) + len(value) for rows in self._buckets.values() for key, value in rows.items())

    def close(self) -> None:
        pass
