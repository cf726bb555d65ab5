"""How do subscriptions meet publications of the past and of the future? By label and time, in one of three stores.

Implements [LSM] 5 and 6.1. Corrects the print: in 6.1 the extra GetSubscribers of TwoDB runs on the database of
subscriptions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from operator import attrgetter
from types import TracebackType
from typing import Self

from tidings.storage.entries import (
    Entry,
    Found,
    Operation,
    Publishing,
    Sought,
    StoredPublication,
    StoredSubscription,
    Subscribing,
    check,
    made,
)
from tidings.storage.granularity import FLAT, Granularity
from tidings.storage.keys import EARLIEST, LATEST
from tidings.storage.lists import Lists
from tidings.storage.numbers import Numbers
from tidings.storage.runs import Row
from tidings.storage.spaces import KeySpace

_number = attrgetter("number")

Clock = Callable[[], int]
"""Gives the instant that counts as now, in microseconds since 1970."""

WIDTH = 32_000_000
"""The narrowest bucket, in microseconds."""

MEMORY_BYTES = 256 << 20
"""So much memory is for the newest entries; 400,000 of 200 bytes."""


class LabelStore:
    """Subscriptions and publications by label. One sequencer numbers all operations, so that of a publication and a
    subscription either the one finds the other or the other the one, once. Safe to share between threads.

    An operation is written before anything is looked for: what was returned outlives the process. The newest entries,
    ``memory_bytes`` of them, are in memory too; others are read from disk. What has ended is never found; its space is
    given back a bucket at a time. All operations of a batch happen at one instant, in their order.
    """

    def __init__(
        self,
        publications: Lists,
        subscriptions: Lists,
        numbers: Numbers,
        clock: Clock,
        granularity: Granularity,
    ) -> None:
        self._publications = publications
        self._subscriptions = subscriptions
        self._all = [publications] if publications is subscriptions else [publications, subscriptions]
        self._numbers = numbers
        self._clock = clock
        self._granularity = granularity
        self._straight = publications.find if publications is subscriptions and granularity is FLAT else None
        self._turn = threading.Lock()

    def subscribe(
        self,
        label: bytes,
        id: str,
        t_min: int,
        t_max: int = LATEST,
        *,
        subscriber: str = "",
        self_join: bool = False,
    ) -> Found:
        """Find the valid publications of ``[t_min, now]``, and stay until ``t_max`` for those to come."""
        return self._alone(made(Subscribing, (label, id, t_min, t_max, subscriber, self_join)))

    def publish(
        self,
        label: bytes,
        id: str,
        t_max: int = LATEST,
        body: bytes = b"",
        *,
        t_min: int = EARLIEST,
        self_join: bool = False,
    ) -> Found:
        """Find the valid subscriptions, and stay until ``t_max`` for those to come."""
        return self._alone(made(Publishing, (label, id, t_max, body, t_min, self_join)))

    def apply(self, operations: Sequence[Operation]) -> list[Found]:
        """Do some operations, written together; each finds what came before it, in this batch too."""
        with self._turn:
            now, first = self._clock(), self._numbers.take(len(operations))
            for lists in self._all:
                lists.drop_ended(now)
            rows = [self._row(operation, now, number) for number, operation in enumerate(operations, first)]
            self._write([row for row in rows if row is not None])
            return [self._done(operation, row, now) for operation, row in zip(operations, rows, strict=True)]

    def size_bytes(self) -> int:
        """How much there is, about."""
        return sum(lists.size_bytes() for lists in self._all)

    def close(self) -> None:
        for lists in self._all:
            lists.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _alone(self, operation: Operation) -> Found:
        """As :meth:`apply` does one operation, in less time."""
        with self._turn:
            now = self._clock()
            for lists in self._all:
                lists.drop_ended(now)
            row = self._row(operation, now, self._numbers.take(1))
            if row is not None:
                lists = self._publications if type(operation) is Publishing else self._subscriptions
                lists.write((row,))
            return self._done(operation, row, now)

    def _row(self, operation: Operation, now: int, number: int) -> Row | None:
        """What is kept of an operation; nothing if it has ended."""
        entry: Entry
        if type(operation) is Publishing:
            label, id, t_max, body, t_min, _ = operation
            entry = made(StoredPublication, (id, now, t_max, number, body))
        else:
            label, id, t_min, t_max, subscriber, _ = operation
            entry = made(StoredSubscription, (id, subscriber, now, t_min, t_max, number))
        if not (label and id and EARLIEST <= t_min < t_max <= LATEST and type(label) is bytes):
            check(operation)
        if t_max <= now:
            return None
        granularity = self._granularity
        return (label,) if granularity is FLAT else granularity.filed(label), entry

    def _write(self, rows: Sequence[Row]) -> None:
        if self._publications is self._subscriptions:
            self._publications.write(rows)
            return
        self._publications.write([row for row in rows if type(row[1]) is StoredPublication])
        self._subscriptions.write([row for row in rows if type(row[1]) is StoredSubscription])

    def _done(self, operation: Operation, row: Row | None, now: int) -> Found:
        """What an operation finds; from then on it is found itself."""
        if type(operation) is Publishing:
            label, _, _, _, t_min, self_join = operation
            lists, asked = self._publications, made(Sought, (now, t_min, LATEST, self_join, True))
        else:
            label, _, t_min, t_max, _, self_join = operation
            lists, asked = self._subscriptions, made(Sought, (now, t_min, t_max, True, self_join))
        found = (self._straight or self._find)(label, asked)
        if row is not None:
            lists.add(*row)
        return found

    def _find(self, label: bytes, asked: Sought) -> Found:
        """What is found of a label, and around it in a hierarchy."""
        granularity = self._granularity
        if granularity is FLAT:
            return self._in_label(label, asked)
        parts = [self._in_label(each, asked) for each in granularity.lists(label)]
        if span := granularity.span(label):
            parts.append(self._in_range(span, asked))
        return _merged(parts)

    def _in_label(self, label: bytes, asked: Sought) -> Found:
        if self._publications is self._subscriptions:
            return self._publications.find(label, asked)
        posts = self._publications.find(label, asked).publications if asked.publications else []
        return Found(posts, self._subscriptions.find(label, asked).subscriptions if asked.subscriptions else [])

    def _in_range(self, span: tuple[bytes, bytes], asked: Sought) -> Found:
        if self._publications is self._subscriptions:
            return self._publications.in_range(span, asked)
        posts = self._publications.in_range(span, asked).publications if asked.publications else []
        return Found(posts, self._subscriptions.in_range(span, asked).subscriptions if asked.subscriptions else [])


class TwoDB(LabelStore):
    """Publications and subscriptions in a database each ([LSM] 5.2), with half of the memory each."""

    def __init__(
        self,
        publications: KeySpace,
        subscriptions: KeySpace,
        clock: Clock,
        *,
        granularity: Granularity = FLAT,
        width: int = WIDTH,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        numbers = Numbers(publications)
        posts, others = (
            Lists(space, numbers.next, width, memory_bytes // 2) for space in (publications, subscriptions)
        )
        super().__init__(posts, others, numbers, clock, granularity)


class DualDB(LabelStore):
    """Publications and subscriptions in one database, both lists of a label side by side ([LSM] 5.3)."""

    def __init__(
        self,
        space: KeySpace,
        clock: Clock,
        *,
        granularity: Granularity = FLAT,
        width: int = WIDTH,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        numbers = Numbers(space)
        lists = Lists(space, numbers.next, width, memory_bytes)
        super().__init__(lists, lists, numbers, clock, granularity)


def _merged(parts: list[Found]) -> Found:
    """All that was found, each entry once, the newest first."""
    publications: dict[int, StoredPublication] = {}
    subscriptions: dict[int, StoredSubscription] = {}
    for posts, others in parts:
        publications.update(zip(map(_number, posts), posts, strict=True))
        subscriptions.update(zip(map(_number, others), others, strict=True))
    newest = sorted(publications, reverse=True), sorted(subscriptions, reverse=True)
    return Found([publications[n] for n in newest[0]], [subscriptions[n] for n in newest[1]])
