"""What must every matcher do? Take subscriptions, give them up, and say which of them some publications answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import pyarrow as pa

from tidings.arrays import IntArray
from tidings.model import Subscription


@dataclass(frozen=True, slots=True)
class Counters:
    """How much work a batch was: conjunctions under a guard that a publication had, those whose first further term it
    had too, and queries that matched."""

    candidates: int = 0
    verified: int = 0
    matches: int = 0

    def __add__(self, other: Counters) -> Counters:
        return Counters(
            self.candidates + other.candidates, self.verified + other.verified, self.matches + other.matches
        )


@dataclass(frozen=True, slots=True)
class Matches:
    """Row ``rows[i]`` of the batch answers the subscription ``ids[i]``, once each, in order of rows."""

    rows: IntArray
    ids: list[str]
    counters: Counters = Counters()

    def pairs(self) -> set[tuple[int, str]]:
        return set(zip(self.rows.tolist(), self.ids, strict=True))


class Matcher(Protocol):
    """The contract; ``tests/index/test_contract.py`` holds every implementation to it."""

    def add(self, subscriptions: Iterable[Subscription]) -> None:
        """Take subscriptions; one with a known id replaces the one before."""

    def remove(self, ids: Iterable[str]) -> int | None:
        """Give up subscriptions; an unknown id is no error."""

    def match(self, table: pa.Table) -> Matches:
        """Which subscriptions the publications of a table answer; rows that are no publication answer none."""


Clock = Callable[[], datetime]
