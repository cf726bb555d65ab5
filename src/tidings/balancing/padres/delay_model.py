"""How long would matching take with more or fewer subscriptions? A line through what was measured ([PADRES] 4.2)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

BUCKET = 10
MAX_BUCKETS = 10
_HISTORY = 5
_MAX_IGNORED = 2
_HIGH, _LOW = 1.5, 0.5


@dataclass(frozen=True, slots=True)
class DelayLine:
    """d = m·n + b ([PADRES] Eq. 9): the matching delay in seconds with n subscriptions, never below 0.

    >>> DelayLine(slope=0.001, intercept=0.01).at(20)
    0.03
    """

    slope: float = 0.0
    intercept: float = 0.0

    def at(self, subscriptions: float) -> float:
        return max(0.0, self.slope * subscriptions + self.intercept)


def bucket_of(subscriptions: int) -> int:
    """The count rounded to the nearest ten: 5 to 14 are bucket 10.

    >>> [bucket_of(count) for count in (4, 5, 14, 15, 24)]
    [0, 10, 10, 20, 20]
    """
    return (subscriptions + BUCKET // 2) // BUCKET * BUCKET


class DelayModel:
    """Running means of the matching delay in buckets of ten subscriptions, at most ten buckets, spikes left out.

    Implements [PADRES] 4.2. The paper leaves four cases open. A third spike in a row is a new level: what came before
    is no yardstick any more. With one bucket the line goes through the origin. The bucket that was updated last is
    never dropped. A falling line is taken for a flat one: more subscriptions never match faster.
    """

    def __init__(self) -> None:
        self._sums: dict[int, list[float]] = {}
        """For each bucket, the sum of the delays and how many there were."""
        self._recent: deque[float] = deque(maxlen=_HISTORY)
        self._ignored = 0
        self._last = 0

    @property
    def buckets(self) -> dict[int, float]:
        """The mean delay of each bucket."""
        return {bucket: total / count for bucket, (total, count) in self._sums.items()}

    def observe(self, subscriptions: int, delay_s: float) -> None:
        """Take in one measured delay."""
        if self._is_spike(delay_s):
            self._ignored += 1
            if self._ignored <= _MAX_IGNORED:
                return
            self._recent.clear()
        self._ignored = 0
        self._recent.append(delay_s)
        self._last = bucket_of(subscriptions)
        known = self._sums.get(self._last)
        if known is not None:
            known[0] += delay_s
            known[1] += 1
            return
        self._sums[self._last] = [delay_s, 1]
        if len(self._sums) > MAX_BUCKETS:
            del self._sums[min(bucket for bucket in self._sums if bucket != self._last)]

    def line(self) -> DelayLine:
        """The mean slope from the last updated bucket to all others, through that bucket."""
        if not self._sums:
            return DelayLine()
        means = self.buckets
        here = means.pop(self._last)
        if not means:
            return DelayLine(here / self._last, 0.0) if self._last else DelayLine(0.0, here)
        slope = sum((delay - here) / (bucket - self._last) for bucket, delay in means.items()) / len(means)
        slope = max(0.0, slope)
        return DelayLine(slope, here - slope * self._last)

    def _is_spike(self, delay_s: float) -> bool:
        if len(self._recent) < _HISTORY:
            return False
        usual = sum(self._recent) / len(self._recent)
        return delay_s > _HIGH * usual or delay_s < _LOW * usual
