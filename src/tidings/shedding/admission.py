"""How many posts may the next batch have? As many as can be handled until the batch after it is due.

Without a bound, all that waits after a spike would become one giant batch, during which nothing else can be decided.
"""

from __future__ import annotations

import numpy as np

from tidings.model import DataError
from tidings.shedding.coins import FloatArray

_NEW = 0.5
"""What the last batch counts beside all those before it."""


class Admission:
    """Learns how much is handled in a second, and admits what fits into ``batch_s``, the time between two batches.

    ``loads`` float64[levels]: what a post costs at each level, such as the copies that it is sent as
    (:meth:`Levels.loads`). So a new level counts at once, not when it has been measured.

    A batch costs some time however small it is, so nothing is learned from one of less than half of what was admitted.
    Batches of the size that is admitted come to last about ``batch_s``.

    >>> admission = Admission(np.array([8.0, 4.0]), batch_s=2.0)
    >>> admission.posts(level=0)
    10000
    >>> admission.learn(posts=10_000, level=0, seconds=1.0)
    >>> admission.posts(level=0), admission.posts(level=1)
    (20000, 40000)
    """

    def __init__(self, loads: FloatArray, batch_s: float = 1.0, first: int = 10_000, least: int = 100) -> None:
        """``first``: posts of a batch while nothing is known; ``least``: what is always admitted."""
        if batch_s <= 0 or not 1 <= least <= first:
            raise DataError(
                f"batch_s is more than 0 and least is 1 to first, got {batch_s}, {least} and {first}; give such numbers"
            )
        if not (len(loads) and np.all(np.isfinite(loads) & (loads > 0))):
            raise DataError(
                f"loads are what a post costs at each level, all more than 0, got {loads}; measure them anew"
            )
        self._loads = loads
        self._batch_s = batch_s
        self._first, self._least = first, least
        self._handled: float | None = None

    def capacity(self, level: int) -> float | None:
        """Posts that are handled in a second at a level, if that is known."""
        return None if self._handled is None else self._handled / float(self._loads[level])

    def posts(self, level: int) -> int:
        """How many posts the next batch may have at a level."""
        capacity = self.capacity(level)
        return self._first if capacity is None else max(self._least, int(capacity * self._batch_s))

    def learn(self, posts: int, level: int, seconds: float) -> None:
        """A batch of so many posts took so long at a level, waiting for the next one left out."""
        if posts <= 0 or seconds <= 0:
            return
        measured = posts * float(self._loads[level]) / seconds
        if self._handled is None:
            self._handled = measured
        elif 2 * posts > self.posts(level):
            self._handled += _NEW * (measured - self._handled)
