"""Who asked for a query? Subscriptions by dense number, chained to their query, with their validity."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tidings.model import Subscription
from tidings.tables.columns import instant_key
from tidings.terms.vocabulary import IdArray, IntArray

FOREVER_BEFORE, FOREVER_AFTER = -(2**63) + 1, 2**63 - 1

_Scalar = TypeVar("_Scalar", bound=np.generic)


class Subscriptions:
    """An append-only table of subscriptions; removed ones stay, dead.

    ``first`` int32[queries] and ``next`` int32[subscriptions] chain those of a query, ``alive`` bool[subscriptions].
    The keys of instants ``since`` and ``until``, int64[subscriptions], are empty until somebody sets a limit. Without
    limits a subscription takes 5 bytes here, and a query 4, beside the ids and the table that finds them.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.first: IdArray = np.zeros(0, dtype=np.int32)
        self.next: IdArray = np.zeros(0, dtype=np.int32)
        self.alive: npt.NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self.since: IntArray = np.zeros(0, dtype=np.int64)
        self.until: IntArray = np.zeros(0, dtype=np.int64)
        self._number: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._number)

    def add(self, subscription: Subscription, query: int) -> None:
        """One more for a query; one with the same id ends."""
        self.add_many([subscription.id], np.array([query], dtype=np.int64))
        if subscription.since is not None or subscription.until is not None:
            self._limit(len(self.ids) - 1, subscription)

    def add_many(self, ids: list[str], queries: IntArray) -> None:
        """Many without a limit of validity; of equal ids the last one stays."""
        start = len(self.ids)
        self._make_room(start + len(ids), int(queries.max(initial=-1)) + 1)
        self.ids.extend(ids)
        self.alive[start : len(self.ids)] = True
        for number, name in enumerate(ids, start):
            if (before := self._number.get(name)) is not None:
                self.alive[before] = False
            self._number[name] = number
        self._chain(np.arange(start, len(self.ids)), queries)

    def remove(self, name: str) -> None:
        number = self._number.pop(name, None)
        if number is not None:
            self.alive[number] = False

    @property
    def size_bytes(self) -> int:
        """Beside the ids themselves and the table that finds them."""
        return sum(array.nbytes for array in (self.first, self.next, self.alive, self.since, self.until))

    def _chain(self, numbers: IntArray, queries: IntArray) -> None:
        """Put each in front of its query's chain, the later before the earlier."""
        order = np.argsort(queries, kind="stable")
        numbers, queries = numbers[order], queries[order]
        begins = np.ones(len(queries), dtype=np.bool_)
        begins[1:] = queries[1:] != queries[:-1]
        self.next[numbers[begins]] = self.first[queries[begins]]
        self.next[numbers[1:][~begins[1:]]] = numbers[:-1][~begins[1:]]
        ends = np.append(begins[1:], True)[: len(queries)]
        self.first[queries[ends]] = numbers[ends]

    def _limit(self, number: int, subscription: Subscription) -> None:
        self.since = _room_for(self.since, len(self.next), FOREVER_BEFORE)
        self.until = _room_for(self.until, len(self.next), FOREVER_AFTER)
        if subscription.since is not None:
            self.since[number] = instant_key(subscription.since)
        if subscription.until is not None:
            self.until[number] = instant_key(subscription.until)

    def _make_room(self, subscriptions: int, queries: int) -> None:
        self.first = _room_for(self.first, queries, -1)
        self.next = _room_for(self.next, subscriptions, -1)
        self.alive = _room_for(self.alive, subscriptions, False)
        if len(self.since):
            self.since = _room_for(self.since, len(self.next), FOREVER_BEFORE)
            self.until = _room_for(self.until, len(self.next), FOREVER_AFTER)


def _room_for(array: npt.NDArray[_Scalar], room: int, filler: int) -> npt.NDArray[_Scalar]:
    """The array, made longer by a half at least if it has not that much room."""
    if room <= len(array):
        return array
    longer = np.full(max(room, len(array) * 3 // 2), filler, dtype=array.dtype)
    longer[: len(array)] = array
    return longer
