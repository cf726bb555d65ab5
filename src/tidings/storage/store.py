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
    Found,
    Operation,
    Publishing,
    StoredPublication,
    StoredSubscription,
    Subscribing,
    packed_publication,
    packed_subscription,
)
from tidings.storage.granularity import FLAT, Granularity
from tidings.storage.keys import EARLIEST, LATEST, PUBLICATIONS, SUBSCRIPTIONS
from tidings.storage.lists import Lists, Sought
from tidings.storage.numbers import Numbers
from tidings.storage.spaces import KeySpace, Put

Clock = Callable[[], int]
"""Gives the instant that counts as now, in microseconds since 1970."""

WIDTH = 32_000_000
"""The narrowest bucket, in microseconds."""


class LabelStore:
    """Subscriptions and publications by label. One sequencer numbers all operations, so that of a publication and a
    subscription either the one finds the other or the other the one, once. Safe to share between threads.

    An operation is written before anything is looked for. What has ended is never found; its space is given back a
    bucket at a time. All operations of a batch happen at one instant, in their order.
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
            self._write(operations, now, first)
            return [self._found(operation, now, first + n) for n, operation in enumerate(operations)]

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

    def _write(self, operations: Sequence[Operation], now: int, first: int) -> None:
        puts: dict[int, list[Put]] = {id(lists): [] for lists in self._all}
        for number, operation in enumerate(operations, first):
            if operation.t_max > now:
                lists, kind, value = self._row(operation)
                labels = self._granularity.filed(operation.label)
                puts[id(lists)] += lists.puts(labels, kind, (now, number), operation.t_max, value)
        for lists in self._all:
            if puts[id(lists)]:
                lists.write(puts[id(lists)])

    def _row(self, operation: Operation) -> tuple[Lists, bytes, bytes]:
        if isinstance(operation, Publishing):
            return self._publications, PUBLICATIONS, packed_publication(operation)
        return self._subscriptions, SUBSCRIPTIONS, packed_subscription(operation)

    def _found(self, operation: Operation, now: int, number: int) -> Found:
        is_publish = isinstance(operation, Publishing)
        wants_publications = operation.self_join or not is_publish
        wants_subscriptions = is_publish or operation.self_join
        asked = Sought(now, number, operation.t_min, LATEST if is_publish else operation.t_max)
        parts = []
        for label in self._granularity.lists(operation.label):
            parts.append(self._in_label(label, asked, wants_publications, wants_subscriptions))
        if span := self._granularity.span(operation.label):
            parts.append(self._in_range(span, asked, wants_publications, wants_subscriptions))
        return _merged(parts)

    def _in_label(self, label: bytes, asked: Sought, publications: bool, subscriptions: bool) -> Found:
        if publications and subscriptions and self._publications is self._subscriptions:
            return self._publications.both(label, asked)
        posts = list(self._publications.publications(label, asked)) if publications else []
        return Found(posts, list(self._subscriptions.subscriptions(label, asked)) if subscriptions else [])

    def _in_range(self, span: tuple[bytes, bytes], asked: Sought, publications: bool, subscriptions: bool) -> Found:
        if self._publications is self._subscriptions:
            found = self._publications.in_range(span, asked)
            return Found(found.publications if publications else [], found.subscriptions if subscriptions else [])
        posts = self._publications.in_range(span, asked).publications if publications else []
        return Found(posts, self._subscriptions.in_range(span, asked).subscriptions if subscriptions else [])


class TwoDB(LabelStore):
    """Publications and subscriptions in a database each ([LSM] 5.2)."""

    def __init__(
        self,
        publications: KeySpace,
        subscriptions: KeySpace,
        clock: Clock,
        *,
        granularity: Granularity = FLAT,
        width: int = WIDTH,
    ) -> None:
        numbers = Numbers(publications)
        super().__init__(Lists(publications, width), Lists(subscriptions, width), numbers, clock, granularity)


class DualDB(LabelStore):
    """Publications and subscriptions in one database, both lists of a label side by side ([LSM] 5.3)."""

    def __init__(self, space: KeySpace, clock: Clock, *, granularity: Granularity = FLAT, width: int = WIDTH) -> None:
        lists = Lists(space, width)
        super().__init__(lists, lists, Numbers(space), clock, granularity)


def _merged(parts: list[Found]) -> Found:
    """All that was found, each entry once, the newest first."""
    publications: dict[int, StoredPublication] = {}
    subscriptions: dict[int, StoredSubscription] = {}
    for part in parts:
        publications.update((found.number, found) for found in part.publications)
        subscriptions.update((found.number, found) for found in part.subscriptions)
    newest = sorted(publications, reverse=True), sorted(subscriptions, reverse=True)
    return Found([publications[n] for n in newest[0]], [subscriptions[n] for n in newest[1]])
