"""What must every matcher do? Take subscriptions, give them up, and say which of them some publications answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import pyarrow as pa

from tidings.arrays import IdArray
from tidings.model import Subscription
from tidings.tables.matches import MATCHES, Matches, renumbered


@dataclass(frozen=True, slots=True)
class SubscriptionList:
    """Subscriptions in a list: a :class:`tidings.tables.matches.Roster` for matchers in plain Python."""

    subscriptions: Sequence[Subscription]

    def column(self, name: str, numbers: IdArray) -> tuple[pa.Array, IdArray]:
        used, places = renumbered(numbers)
        values = self.values(used)[MATCHES.names.index(name) - 1]
        return pa.array(values, MATCHES.field(name).type), places

    def values(self, numbers: IdArray) -> Sequence[Iterable[Any]]:
        asked = [self.subscriptions[number] for number in numbers.tolist()]
        return [[getattr(each, name) for each in asked] for name in ("id", "subscriber", "tag", "version")]


class Matcher(Protocol):
    """The contract; ``tests/index/test_contract.py`` holds every implementation to it."""

    def add(self, subscriptions: Iterable[Subscription]) -> None:
        """Take subscriptions; one with a known id replaces the one before."""

    def remove(self, ids: Iterable[str]) -> int | None:
        """Give up subscriptions; an unknown id is no error."""

    def match(self, table: pa.Table) -> Matches:
        """Which subscriptions the publications of a table answer; rows that are no publication answer none."""


Clock = Callable[[], datetime]
