"""How many posts may the next batch have, where each batch takes a while however few it has?

A batch takes a fixed time and some for each post; both are found by a line through the last batches, the newer ones
counting more; where these are all alike, the next one is half as large again, to tell. To divide the time of a batch
by its posts would not do: where the fixed time alone is longer than a batch may take, fewer posts would be admitted
after each batch, down to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST, LEAST = 10_000, 100
"""Posts of a batch while nothing is measured, and at least."""

_KEPT = 0.8
"""What the past counts beside the last batch."""

_DOUBT = 0.02
"""Where all batches have about the same size, the line is not to be told, and all of their time is the posts'."""

_PROBE = 1.5
_FASTEST = 16.0
"""A post takes at least the so manieth part of its share of the time."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What is ``admitted``, and sums over the last batches: of 1, posts, seconds, posts squared, posts times seconds.

    >>> pace = Pace()
    >>> for _ in range(40):  # 3 s for each batch, and 1 ms for each post
    ...     pace = pace.after(pace.admitted, 3.0 + 0.001 * pace.admitted, batch_s=1.0)
    >>> 300 < pace.admitted < 6_000
    True
    """

    admitted: int = FIRST
    sums: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0)

    @property
    def is_measured(self) -> bool:
        return self.sums[0] > 0

    def after(self, posts: int, seconds: float, batch_s: float) -> Pace:
        """After a batch; one of less than half of what is admitted tells nothing. ``batch_s``: what a batch may take.

        If its fixed time is longer than that, the posts may take as long as the fixed time.
        """
        if 2 * posts <= self.admitted or seconds <= 0:
            return self
        news = (1.0, posts, seconds, posts * posts, posts * seconds)
        sums = tuple(_KEPT * old + new for old, new in zip(self.sums, news, strict=True))
        mean, mean_s, squares, products = (value / sums[0] for value in sums[1:])
        doubt, share_s = _DOUBT * mean * mean, mean_s / mean
        each_s = (products - mean * mean_s + doubt * share_s) / (squares - mean * mean + doubt)
        each_s = max(each_s, share_s / _FASTEST)
        wanted = max(batch_s, mean_s - each_s * mean) / each_s
        if squares - mean * mean < doubt / 4:
            wanted = _PROBE * mean
        return Pace(int(max(min(wanted, 2 * self.admitted), self.admitted / 2, LEAST)), sums)
