"""Who asked for a query? Subscriptions by dense number, chained to their query, with their validity."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidings.model import Subscription
from tidings.tables.columns import instant_key
from tidings.terms.vocabulary import IdArray, IntArray

ALWAYS_SINCE, NEVER_UNTIL = -(2**63) + 1, 2**63 - 1


class Subscriptions:
    """An append-only table of subscriptions; a removed one is valid no more.

    ``first`` int32[queries] and ``next`` int32[subscriptions] chain those of a query; ``since`` and ``until`` are keys
    of instants, int64. 24 bytes a subscription and 4 a query, beside the ids.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._number: dict[str, int] = {}
        self._first = np.full(1024, -1, dtype=np.int32)
        self._next = np.full(1024, -1, dtype=np.int32)
        self._since = np.full(1024, ALWAYS_SINCE, dtype=np.int64)
        self._until = np.full(1024, NEVER_UNTIL, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._number)

    def add(self, subscription: Subscription, query: int) -> None:
        """One more for a query; one with the same id ends."""
        number = self._append(subscription.id)
        self._link(number, query)
        if subscription.since is not None:
            self._since[number] = instant_key(subscription.since)
        if subscription.until is not None:
            self._until[number] = instant_key(subscription.until)

    def add_many(self, ids: list[str], queries: IntArray) -> None:
        """Many without a limit of validity."""
        for name, query in zip(ids, queries.tolist(), strict=True):
            self._link(self._append(name), query)

    def remove(self, name: str) -> bool:
        number = self._number.pop(name, None)
        if number is not None:
            self._until[number] = ALWAYS_SINCE
        return number is not None

    def chains(self) -> tuple[IdArray, IdArray, IntArray, IntArray]:
        return self._first, self._next, self._since, self._until

    @property
    def size_bytes(self) -> int:
        """Beside the ids themselves and the table that finds them."""
        return sum(array.nbytes for array in self.chains())

    def _append(self, name: str) -> int:
        self.remove(name)
        number = len(self.ids)
        self.ids.append(name)
        self._number[name] = number
        self._next = _room_for(self._next, number, -1)
        self._since = _room_for(self._since, number, ALWAYS_SINCE)
        self._until = _room_for(self._until, number, NEVER_UNTIL)
        return number

    def _link(self, number: int, query: int) -> None:
        self._first = _room_for(self._first, query, -1)
        self._next[number] = self._first[query]
        self._first[query] = number


def _room_for(array: npt.NDArray[np.signedinteger], index: int, filler: int) -> npt.NDArray[np.signedinteger]:
    """The array, with twice the room if ``index`` is beyond its end."""
    if index < len(array):
        return array
    larger = np.full(max(2 * len(array), index + 1), filler, dtype=array.dtype)
    larger[: len(array)] = array
    return larger
