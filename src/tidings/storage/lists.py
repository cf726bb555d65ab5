"""How are the lists of a label written and read? As runs of keys in a key space, in all buckets that have not ended.

Implements Alg. 1, 2, 4 and 5 of [LSM]; there a list is scattered over the levels of the tree, here RocksDB merges the
levels. Departs from the print: Alg. 1 line 9 compares T with T_exp, which always holds; it means T_S.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tidings.storage.entries import (
    Found,
    StoredPublication,
    StoredSubscription,
    publication_of,
    subscription_of,
)
from tidings.storage.keys import AFTER, LATEST, PUBLICATIONS, SUBSCRIPTIONS, is_publication, key_of, place_of
from tidings.storage.spaces import KeySpace, Put

WIDENING = 4
"""An entry that lives long is filed in a wider bucket, so that few buckets are alive at any time."""


@dataclass(frozen=True, slots=True)
class Sought:
    """What is looked for: entries before the operation ``number`` that are valid ``now``; of publications those of
    ``[t_min, t_max)``."""

    now: int
    number: int
    t_min: int
    t_max: int

    def publication(self, value: bytes, at: int, number: int) -> StoredPublication | None:
        """The publication, if it is looked for."""
        if number >= self.number or not self.t_min <= at < self.t_max:
            return None
        found = publication_of(value, at, number)
        return found if self.now < found.t_max else None

    def subscription(self, value: bytes, at: int, number: int) -> StoredSubscription | None:
        """The subscription, if it is looked for."""
        if number >= self.number:
            return None
        found = subscription_of(value, at, number)
        return found if found.t_min <= self.now < found.t_max else None


class Lists:
    """The lists of publications and subscriptions of all labels in one key space."""

    def __init__(self, space: KeySpace, width: int) -> None:
        self._space = space
        self._width = width
        self._ends = space.buckets()

    def drop_ended(self, now: int) -> None:
        """Drop the buckets of which nothing is valid any more."""
        while self._ends and self._ends[0] <= now:
            self._space.drop(self._ends.pop(0))

    def puts(self, labels: Iterable[bytes], kind: bytes, place: tuple[int, int], t_max: int, value: bytes) -> list[Put]:
        """What has to be written for an entry of a place (its instant and number)."""
        bucket = self._bucket(place[0], t_max)
        return [Put(bucket, key_of(label, kind, *place), value) for label in labels]

    def write(self, puts: list[Put]) -> None:
        self._space.write(puts)
        if not {put.bucket for put in puts}.issubset(self._ends):
            self._ends = self._space.buckets()

    def publications(self, label: bytes, asked: Sought) -> Iterator[StoredPublication]:
        """GetData, Alg. 1. It ends at the first entry that is older than ``t_min`` ([LSM] 5.2.1)."""
        start, end = label + PUBLICATIONS, label + AFTER[PUBLICATIONS]
        for bucket in self._ends:
            for key, value in self._space.scan(bucket, start, end):
                at, number = place_of(key)
                if at < asked.t_min:
                    break
                if found := asked.publication(value, at, number):
                    yield found

    def subscriptions(self, label: bytes, asked: Sought) -> Iterator[StoredSubscription]:
        """GetSubscribers, Alg. 2."""
        start, end = label + SUBSCRIPTIONS, label + AFTER[SUBSCRIPTIONS]
        for bucket in self._ends:
            for key, value in self._space.scan(bucket, start, end):
                if found := asked.subscription(value, *place_of(key)):
                    yield found

    def both(self, label: bytes, asked: Sought) -> Found:
        """GetDataANDSubscribers, Alg. 4: both lists of a label in one run over its keys."""
        publications, subscriptions = [], []
        for bucket in self._ends:
            for key, value in self._space.scan(bucket, label + SUBSCRIPTIONS, label + AFTER[PUBLICATIONS]):
                at, number = place_of(key)
                if is_publication(key):
                    if at < asked.t_min:
                        break
                    if post := asked.publication(value, at, number):
                        publications.append(post)
                elif found := asked.subscription(value, at, number):
                    subscriptions.append(found)
        return Found(publications, subscriptions)

    def in_range(self, span: tuple[bytes, bytes], asked: Sought) -> Found:
        """GetDataInRange, Alg. 5, of both kinds. Time orders one list only, so that the scan goes on to the end."""
        publications, subscriptions = [], []
        for bucket in self._ends:
            for key, value in self._space.scan(bucket, *span):
                if is_publication(key):
                    if post := asked.publication(value, *place_of(key)):
                        publications.append(post)
                elif found := asked.subscription(value, *place_of(key)):
                    subscriptions.append(found)
        return Found(publications, subscriptions)

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
