"""What is served next? A server with two queues: control messages overtake the rest ([PADRES] 3.2, Fig. 10)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from tidings.simulate.clock import Clock

T = TypeVar("T")


class PriorityServer(Generic[T]):
    """Serves one item at a time. ``duration(item)`` is how long it takes; ``done(item, duration)`` follows.

    Items of one priority keep their order. Iterating gives all that is not done yet.
    """

    __slots__ = ("_clock", "_done", "_duration", "_first", "_is_stopped", "_rest", "_serving")

    def __init__(self, clock: Clock, duration: Callable[[T], float], done: Callable[[T, float], None]) -> None:
        self._clock = clock
        self._duration = duration
        self._done = done
        self._first: deque[T] = deque()
        self._rest: deque[T] = deque()
        self._serving: T | None = None
        self._is_stopped = False

    def __len__(self) -> int:
        """How many are not done yet."""
        return (self._serving is not None) + len(self._first) + len(self._rest)

    def __iter__(self) -> Iterator[T]:
        if self._serving is not None:
            yield self._serving
        yield from self._first
        yield from self._rest

    def put(self, item: T, *, first: bool = False) -> None:
        if self._serving is None:
            self._serving = item
            duration = self._duration(item)
            self._clock.after(duration, self._finish, item, duration)
        else:
            (self._first if first else self._rest).append(item)

    def stop(self) -> None:
        """Lose everything: nothing that was begun will be done."""
        self._is_stopped = True

    def _finish(self, item: T, duration: float) -> None:
        if self._is_stopped:
            return
        self._done(item, duration)
        queue = self._first or self._rest
        if queue:
            self._serving = following = queue.popleft()
            duration = self._duration(following)
            self._clock.after(duration, self._finish, following, duration)
        else:
            self._serving = None
