"""How many posts may the next batch have, where each batch takes a while however few it has?

Without a bound, all that waits after a spike would become one giant batch, during which nothing else can be decided. A
batch takes a fixed time and some for each post. Both are found by a line through the last batches of the same level,
the newer ones counting more. Where these are all alike the fixed time is what it was before, and after some of them one
is a quarter larger, to tell. To divide the time of a batch by its posts would not do: where the fixed time alone is
longer than a batch may take, fewer posts would be admitted after each batch, down to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST, LEAST = 10_000, 100
"""Posts of a batch while nothing is measured, and at least."""

_KEPT = 0.8
"""What the past counts beside the last batch."""

_DOUBT = 0.02
"""How much what was known before counts beside a line; the more alike the batches are, the more."""

_MANY, _PROBE = 4.0, 1.25
"""After so many batches that are alike, the newer ones counting more, one is so many times as large."""

_FASTEST = 16.0
"""A post takes at least the so manieth part of its share of the time."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What is ``admitted``, and of the last batches: their ``level``, their fixed time, and the ``sums`` of 1, posts,
    seconds, posts squared, posts times seconds.

    >>> pace = Pace()
    >>> for _ in range(40):  # 3 s for each batch, and 1 ms for each post
    ...     pace = pace.after(pace.admitted, 3.0 + 0.001 * pace.admitted, batch_s=1.0)
    >>> 2_000 < pace.admitted < 4_000
    True
    """

    admitted: int = FIRST
    level: int = 0
    fixed_s: float = 0.0
    sums: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0)

    @property
    def is_measured(self) -> bool:
        return self.sums[0] > 0

    def after(self, posts: int, seconds: float, batch_s: float, level: int = 0) -> Pace:
        """After a batch; one of less than half of what is admitted tells nothing. ``batch_s``: what a batch may take.

        If its fixed time is more than half of that, the posts may take as long as the fixed time. At another ``level``
        a post takes another time, which the next batches tell.
        """
        if 2 * posts <= self.admitted or seconds <= 0:
            return self
        news = (1.0, posts, seconds, posts * posts, posts * seconds)
        kept = _KEPT if level == self.level else 0.0
        sums = tuple(kept * old + new for old, new in zip(self.sums, news, strict=True))
        mean, mean_s, squares, products = (value / sums[0] for value in sums[1:])
        doubt, before_s = _DOUBT * mean * mean, max(mean_s - self.fixed_s, 0.0) / mean
        each_s = (products - mean * mean_s + doubt * before_s) / (squares - mean * mean + doubt)
        each_s = max(each_s, mean_s / mean / _FASTEST)
        fixed_s = max(mean_s - each_s * mean, 0.0)
        wanted = max(batch_s - fixed_s, fixed_s) / each_s
        if posts >= self.admitted and sums[0] > _MANY and squares - mean * mean < doubt / 4:
            wanted = max(wanted, _PROBE * mean)
        return Pace(int(max(min(wanted, 2 * self.admitted), self.admitted / 2, LEAST)), level, fixed_s, sums)
