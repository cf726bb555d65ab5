"""What happens next? Events in simulated time; the seed orders those of equal times."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Any


class Clock:
    """A heap of events. Nothing takes real time, nothing waits.

    >>> clock = Clock(seed=1)
    >>> clock.after(2, print, "second")
    >>> clock.after(1, print, "first")
    >>> clock.run(until=10)
    first
    second
    >>> clock.now, clock.events
    (10, 2)
    """

    __slots__ = ("_count", "_draw", "_heap", "now")

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self._draw = Random(seed).random
        self._heap: list[tuple[float, float, int, Callable[..., object], tuple[Any, ...]]] = []
        self._count = 0

    @property
    def events(self) -> int:
        """How many entries of the heap have happened. One of them may deliver to many subscribers."""
        return self._count - len(self._heap)

    def at(self, time: float, call: Callable[..., object], *args: object) -> None:
        """Call at that time, or now if it is over."""
        self._count = count = self._count + 1
        now = self.now
        heappush(self._heap, (time if time > now else now, self._draw(), count, call, args))

    def after(self, delay: float, call: Callable[..., object], *args: object) -> None:
        self._count = count = self._count + 1
        heappush(self._heap, (self.now + delay, self._draw(), count, call, args))

    def run(self, until: float) -> None:
        """Let all events up to that time happen."""
        heap, pop = self._heap, heappop
        while heap and heap[0][0] <= until:
            self.now, _, _, call, args = pop(heap)
            call(*args)
        self.now = until
