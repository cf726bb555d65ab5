"""How do subscriptions meet publications of the past and of the future? By label and time, in one of three stores.

Implements [LSM] 5 and 6.1. Corrects the print: in 6.1 the extra GetSubscribers of TwoDB runs on the database of
subscriptions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from tidings.storage.entries import (
    Entry,
    Found,
    Operation,
    Publishing,
    StoredPublication,
    StoredSubscription,
    Subscribing,
)
from tidings.storage.granularity import FLAT, Granularity
from tidings.storage.keys import EARLIEST, LATEST
from tidings.storage.lists import Lists
from tidings.storage.numbers import Numbers
from tidings.storage.runs import Row, Sought
from tidings.storage.spaces import KeySpace

Clock = Callable[[], int]
"""Gives the instant that counts as now, in microseconds since 1970."""

WIDTH = 32_000_000
"""The narrowest bucket, in microseconds."""

_made = tuple.__new__
"""Makes a named tuple in half the time of its constructor."""

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
        return self.apply([Subscribing(label, id, t_min, t_max, subscriber, self_join)])[0]

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
        return self.apply([Publishing(label, id, t_max, body, t_min, self_join)])[0]

    def apply(self, operations: Sequence[Operation]) -> list[Found]:
        """Do some operations, written together; each finds what came before it, in this batch too."""
        with self._turn:
            now, first = self._clock(), self._numbers.take(len(operations))
            for lists in self._all:
                lists.drop_ended(now)
            rows = [self._row(operation, now, number) for number, operation in enumerate(operations, first)]
            self._write(rows)
            found, find = [], self._found
            for operation, row in zip(operations, rows, strict=True):
                found.append(find(operation, now))
                if row is not None:
                    lists = self._publications if isinstance(operation, Publishing) else self._subscriptions
                    lists.add(row)
            return found

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

    def _row(self, operation: Operation, now: int, number: int) -> Row | None:
        """What is kept of an operation; nothing if it has ended."""
        t_max = operation.t_max
        if t_max <= now:
            return None
        entry: Entry
        if isinstance(operation, Publishing):
            entry = _made(StoredPublication, (operation.id, now, t_max, number, operation.body))
        else:
            fields = (operation.id, operation.subscriber, now, operation.t_min, t_max, number)
            entry = _made(StoredSubscription, fields)
        label, granularity = operation.label, self._granularity
        return (label,) if granularity is FLAT else granularity.filed(label), entry

    def _write(self, rows: Sequence[Row | None]) -> None:
        kept = [row for row in rows if row is not None]
        if self._publications is self._subscriptions:
            if kept:
                self._publications.write(kept)
            return
        posts = [row for row in kept if isinstance(row[1], StoredPublication)]
        others = [row for row in kept if isinstance(row[1], StoredSubscription)]
        if posts:
            self._publications.write(posts)
        if others:
            self._subscriptions.write(others)

    def _found(self, operation: Operation, now: int) -> Found:
        if isinstance(operation, Publishing):
            asked = _made(Sought, (now, operation.t_min, LATEST, operation.self_join, True))
        else:
            asked = _made(Sought, (now, operation.t_min, operation.t_max, True, operation.self_join))
        label, granularity = operation.label, self._granularity
        if granularity is FLAT:  # saves a tenth of the time
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
    for part in parts:
        publications.update((found.number, found) for found in part.publications)
        subscriptions.update((found.number, found) for found in part.subscriptions)
    newest = sorted(publications, reverse=True), sorted(subscriptions, reverse=True)
    return Found([publications[n] for n in newest[0]], [subscriptions[n] for n in newest[1]])
