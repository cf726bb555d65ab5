"""What is served next? A server with two queues: control messages overtake the rest ([PADRES] 3.2, Fig. 10)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from tidings.simulate.clock import Clock

T = TypeVar("T")


class PriorityServer(Generic[T]):
    """Serves one item at a time. ``duration(item)`` is how long it takes; ``done(item, duration)`` follows.

    Items of one priority keep their order.
    """

    def __init__(self, clock: Clock, duration: Callable[[T], float], done: Callable[[T, float], None]) -> None:
        self._clock = clock
        self._duration = duration
        self._done = done
        self._first: deque[T] = deque()
        self._rest: deque[T] = deque()
        self._is_busy = False
        self._is_stopped = False

    def __len__(self) -> int:
        return len(self._first) + len(self._rest)

    def put(self, item: T, *, first: bool = False) -> None:
        (self._first if first else self._rest).append(item)
        if not self._is_busy:
            self._serve()

    def stop(self) -> None:
        """Lose everything: nothing that was begun will be done."""
        self._is_stopped = True

    def _serve(self) -> None:
        queue = self._first or self._rest
        item = queue.popleft()
        self._is_busy = True
        duration = self._duration(item)
        self._clock.after(duration, self._finish, item, duration)

    def _finish(self, item: T, duration: float) -> None:
        if self._is_stopped:
            return
        self._is_busy = False
        self._done(item, duration)
        if not self._is_busy and (self._first or self._rest):
            self._serve()
