"""Is it time to move something? A detector that is slow to act, so that noise and its own moves do not move it.

Implements the check of [PS2] V-A, max/min > σ. Departs from the paper, which says nothing of damping: what is compared
are the sums of several batches, the difference has to be more than their noise, and after a move some batches are not
looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np

from tidings.model import DataError
from tidings.partitioning.load import FloatArray

UNEVEN = 1.1


class Detects(Protocol):
    """Says when a move is due."""

    def is_due(self, history: Sequence[FloatArray]) -> bool:
        """``history``: the load of each matcher in each batch since the last move."""


@dataclass(frozen=True, slots=True)
class Detector:
    """``uneven`` σ; ``hits`` batches at least are summed up; ``pause`` batches after a move are not looked at.

    The latest 1, 2, 4, … times ``hits`` batches are looked at, and all of them: what has just begun is seen in a few,
    and what is small in many. Loads are divided by their mean in each batch, and from how much they vary between
    batches follows the standard error of what the heaviest matcher has more than σ times the lightest. With the
    probability ``sure`` noise alone never makes a move due, however many batches come, and whichever two matchers are
    the heaviest and the lightest. From one batch nobody can tell what is noise: with one hit it is not asked.

    >>> import numpy as np
    >>> even, uneven = np.array([10.0, 9]), np.array([10.0, 5])
    >>> Detector(pause=1).is_due([even, uneven, uneven, uneven]), Detector(pause=2).is_due([even, *[uneven] * 3])
    (True, False)
    """

    uneven: float = UNEVEN
    hits: int = 3
    pause: int = 3
    sure: float = 0.99

    def __post_init__(self) -> None:
        if not (self.uneven > 1 and self.hits >= 1 and self.pause >= 0 and 0 < self.sure < 1):
            raise DataError(
                f"σ is above 1, hits are 1 or more, a pause is 0 or more and sure is between 0 and 1, got {self}; "
                "choose others"
            )

    def is_due(self, history: Sequence[FloatArray]) -> bool:
        """Whether a move is due. ``history``: the load of each matcher in each batch since the last move."""
        seen = np.array(history[self.pause :])
        lengths = [self.hits << power for power in range(len(seen).bit_length()) if self.hits << power < len(seen)]
        return len(seen) >= self.hits and any(
            self._is_uneven(seen[-length:], len(seen)) for length in [*lengths, len(seen)]
        )

    def _is_uneven(self, loads: FloatArray, seen: int) -> bool:
        """Whether the sums of some batches are uneven, and by more than noise; ``seen`` batches were looked at."""
        if not is_uneven(loads.sum(axis=0), self.uneven):
            return False
        shares = loads[loads.any(axis=1)]
        shares = shares / shares.mean(axis=1, keepdims=True)
        batches, matchers = shares.shape
        if batches == 1:
            return True
        freedom = (batches - 1) * (matchers - 1)
        means = shares.mean(axis=0)
        error = np.sqrt(((shares - means) ** 2).sum() / freedom * (1 + self.uneven**2) / batches)
        looks = matchers * (matchers - 1) * seen * (seen + 1) * (1 + np.log2(seen))
        excess = means.max() - self.uneven * means.min()
        return bool(excess > error * quantile((1 - self.sure) / looks, freedom))


def quantile(chance: float, freedom: int) -> float:
    """What a t-distributed number is above by that chance, which is small: the expansion of Cornish and Fisher.

    >>> round(quantile(0.001, 14), 2), round(quantile(0.001, 10_000), 2)
    (3.77, 3.09)
    """
    z = -NormalDist().inv_cdf(chance)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def is_uneven(loads: FloatArray, uneven: float) -> bool:
    """Whether the largest load is more than ``uneven`` times the smallest."""
    return bool(loads.max(initial=0.0) > uneven * loads.min(initial=float("inf")))
