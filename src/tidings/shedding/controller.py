"""How much is dropped? As little as keeps the queue of waiting posts short: a level goes up and down with it.

Implements [S3TM] 5.2.2. Symbols: k is ``first_limit``, Δ ``delta``, b^i ``ideal`` and b^s ``1 - ideal``, both as
shares of b, the posts that may wait; l is ``level``, m ``limit(level)``, L(l) ``loads[level]``.

Eq. 8 is there so that one step never leads from the ideal segment to overload or back. Where the queue grows by the
factor L(l-1)/L(l) when the level is lowered, b^i times that has to stay below b: (b^s + b^i)/b^i > L(l-1)/L(l). The
same condition keeps a step up from leading from overload to ideal, as the paper says of its own. Departs from the
paper: it prints b^s in the denominator, which would let the ideal segment reach up to overload. While no factor
exceeds 1.9, :func:`ideal_share` fulfils the printed inequality too.

Departs from the paper: it ends with m = 1, where each post is still read, analysed and sent somewhere. Below that m
halves from level to level, and it is the part of the posts that are looked at at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tidings.arrays import IntArray
from tidings.model import DataError
from tidings.shedding.coins import FloatArray

_BELOW = 0.9
"""The inequality is strict: how much of what it allows the ideal segment takes."""

_ROUNDING = 1e-9

_HARDLY, _CLEARLY, _PATIENCE = 0.1, 0.1, 0.02
"""Where the queue is less full than the first, hardly anything waits; by the second it has clearly shrunk; with each
decision that waits for that it has to shrink by the third less."""

Last = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Levels:
    """What each level means, and when to go to another.

    The paper gives k = 7, a period of one second and eight levels. It leaves Δ open; 6/7 makes m = 1 of the eighth
    level, the least with which every post still goes somewhere. With those beyond it, it does not.

    >>> levels = Levels()
    >>> [round(levels.limit(level), 2) for level in range(12)]
    [inf, 7.0, 6.14, 5.29, 4.43, 3.57, 2.71, 1.86, 1.0, 0.5, 0.25, 0.12]
    """

    first_limit: float = 7.0
    delta: float = 6 / 7
    top: int = 11
    ideal: float = 0.45
    period_s: float = 1.0

    def __post_init__(self) -> None:
        if self.top < 1 or not self.delta > 0 or not self.first_limit >= 1:
            raise DataError(
                f"there is a level at least, from 1 matcher or more down by more than 0, got {self.top} levels from"
                f" {self.first_limit} down by {self.delta}; give such numbers"
            )
        if not 0 < self.ideal < 1:
            raise DataError(f"ideal is a share of the posts that may wait, between 0 and 1, got {self.ideal}")
        if self.period_s < 0:
            raise DataError(f"period_s is a time in seconds, 0 or more, got {self.period_s}; give such a time")

    def limit(self, level: int) -> float:
        """To how many matchers a post is sent at most; the fraction is a probability."""
        if not level:
            return math.inf
        even = min(level - 1, int((self.first_limit - 1) / self.delta + _ROUNDING))
        return (self.first_limit - even * self.delta) * 0.5 ** (level - 1 - even)

    def looked_at(self, level: int) -> float:
        """What part of the posts is looked at at all."""
        return min(1.0, self.limit(level))

    def fraction(self, level: int) -> float:
        """What part of the work is done where it is not counted by post: as if each had first_limit + delta copies."""
        return self.limit(level) / (self.first_limit + self.delta) if level else 1.0

    def loads(self, route_sizes: IntArray) -> FloatArray:
        """L: the mean copies of a post at each level, float64[top + 1], where these are the sizes of some routes.

        Posts that go nowhere do not count; where there are no others, it is the fraction of each level.
        """
        sizes = route_sizes[route_sizes > 0]
        levels = range(self.top + 1)
        if not len(sizes):
            return np.array([self.fraction(level) for level in levels])
        return np.array([np.minimum(sizes, self.limit(level)).mean() for level in levels])


def ideal_share(loads: FloatArray) -> float:
    """How much of the queue can be the ideal segment, so that a step does not lead from one end to the other (Eq. 8).

    >>> levels = Levels()
    >>> round(ideal_share(np.array([levels.fraction(level) for level in range(12)])), 2)
    0.45
    """
    return _BELOW / float(np.max(loads[:-1] / loads[1:], initial=1.0))


class Controller:
    """Goes a level up in overload and a level down in the ideal segment, and rests in the stable one between them.

    Where the last step did not lead out of the segment, the next one waits to see whether it is on its way. A second
    step down waits until the queue has clearly shrunk since the first, or is nearly empty: where levels differ little,
    it takes a while until a queue shows what a level does to it.

    >>> controller = Controller()
    >>> [controller.step(fullness, now_s) for now_s, fullness in enumerate([0.2, 1.5, 1.7, 1.6, 1.1, 0.9, 0.4])]
    [0, 1, 2, 2, 2, 2, 1]
    >>> round(controller.m, 2)
    7.0
    """

    def __init__(self, levels: Levels | None = None, level: int = 0, last: Last | None = None) -> None:
        """``level``: to begin with, such as the last one of a run before; ``last``: as :attr:`last` was then."""
        self.levels = Levels() if levels is None else levels
        self.level = min(max(level, 0), self.levels.top)
        self._last = last

    @property
    def last(self) -> Last | None:
        """When the last decision was, how full the queue was then, and how full it was at the last step."""
        return self._last

    @property
    def m(self) -> float:
        """To how many matchers a post is sent at most, at this level."""
        return self.levels.limit(self.level)

    @property
    def fraction(self) -> float:
        """What part of the posts is kept at this level, where there is only one matcher."""
        return self.levels.fraction(self.level)

    def step(self, fullness: float, now_s: float) -> int:
        """The level from now on; ``fullness``: the posts that wait, divided by those that may. It may exceed 1.

        Within ``period_s`` of the last decision nothing changes.
        """
        if not fullness >= 0:
            raise DataError(f"fullness is waiting posts by those that may wait, 0 or more, got {fullness}")
        last_s, before, at_step = self._last or (-math.inf, math.nan, math.inf)
        if now_s - last_s < self.levels.period_s:
            return self.level
        way = self._way(fullness)
        on_its_way = self._way(before) == way and (before - fullness) * way > 0
        too_soon = way < 0 and fullness > max(_HARDLY, at_step - _CLEARLY)
        if way and not on_its_way and not too_soon:
            self.level = min(max(self.level + way, 0), self.levels.top)
            at_step = fullness
        elif too_soon:
            at_step += _PATIENCE
        self._last = now_s, fullness, at_step
        return self.level

    def _way(self, fullness: float) -> int:
        """1 in overload, -1 in the ideal segment, 0 in the stable one and for no number."""
        return (fullness >= 1) - (fullness < self.levels.ideal)
