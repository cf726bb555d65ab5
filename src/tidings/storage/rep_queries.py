"""What if the store knows publications only, and whoever subscribes asks again and again? The base of [LSM] 5.1."""

from __future__ import annotations

import heapq
import threading
from dataclasses import dataclass

from tidings.model import DataError
from tidings.storage.entries import Publishing, Sought, StoredPublication, Subscribing, check
from tidings.storage.keys import EARLIEST, LATEST
from tidings.storage.lists import Lists
from tidings.storage.numbers import Numbers
from tidings.storage.runs import Row
from tidings.storage.spaces import KeySpace
from tidings.storage.store import MEMORY_BYTES, WIDTH, Clock


@dataclass(frozen=True, slots=True)
class Poll:
    """A subscription that asks again. It asks for publications since ``since``, and has those with numbers under
    ``seen``."""

    subscription: Subscribing
    since: int
    seen: int = 0


class RepQueries:
    """Publications on a key space; each subscription is a query that is repeated every ``t_r`` microseconds (T_R).

    In the paper the query is the same each time, and whoever asks drops what came before. A poll that is not
    ``overlapping`` asks only for what came since the one before, which the paper does not do; it needs a clock that
    never goes back. A publication that ends between two polls is missed, and polls are gone with the process: both are
    as in the paper.
    """

    def __init__(
        self,
        space: KeySpace,
        clock: Clock,
        t_r: int = 1_000_000,
        *,
        overlapping: bool = False,
        width: int = WIDTH,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        self._numbers = Numbers(space)
        self._lists = Lists(space, self._numbers.next, width, memory_bytes)
        self._clock = clock
        self._t_r = t_r
        self._overlapping = overlapping
        self._now = EARLIEST
        self._polls: list[tuple[int, int, Poll]] = []
        self._turn = threading.Lock()

    def publish(self, label: bytes, id: str, t_max: int = LATEST, body: bytes = b"") -> None:
        """Keep a publication; nobody hears of it before its next poll."""
        operation = Publishing(label, id, t_max, body)
        check(operation)
        with self._turn:
            now, number = self._tick(), self._numbers.take(1)
            if t_max > now:
                row: Row = ((label,), StoredPublication(operation.id, now, t_max, number, body))
                self._lists.write([row])
                self._lists.add(*row)

    def subscribe(
        self,
        label: bytes,
        id: str,
        t_min: int,
        t_max: int = LATEST,
        *,
        subscriber: str = "",
        self_join: bool = False,
    ) -> list[StoredPublication]:
        """The valid publications of ``[t_min, now]``; those to come are found by :meth:`poll`."""
        if self_join:
            raise DataError(f"RepQueries keeps no subscriptions that {id!r} could join; use TwoDB or DualDB")
        operation = Subscribing(label, id, t_min, t_max, subscriber)
        check(operation)
        with self._turn:
            return self._ask(Poll(operation, t_min), self._tick())

    def poll(self) -> list[tuple[Subscribing, list[StoredPublication]]]:
        """Ask again for all whose time has come: what is new to each of them."""
        answers = []
        with self._turn:
            now = self._tick()
            while self._polls and self._polls[0][0] <= now:
                poll = heapq.heappop(self._polls)[2]
                answers.append((poll.subscription, self._ask(poll, now)))
        return answers

    def size_bytes(self) -> int:
        """How much there is, about."""
        return self._lists.size_bytes()

    def close(self) -> None:
        self._lists.close()

    def _tick(self) -> int:
        self._now = max(self._now, self._clock())
        self._lists.drop_ended(self._now)
        return self._now

    def _ask(self, poll: Poll, now: int) -> list[StoredPublication]:
        asked, number = poll.subscription, self._numbers.take(1)
        found = self._lists.find(asked.label, Sought(now, poll.since, asked.t_max, True, False)).publications
        if now < asked.t_max:
            since = asked.t_min if self._overlapping else max(asked.t_min, now)
            heapq.heappush(self._polls, (min(now + self._t_r, asked.t_max), number, Poll(asked, since, number)))
        return [post for post in found if post.number >= poll.seen]
