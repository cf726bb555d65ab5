"""Is it time to move something? A detector that is slow to act, so that noise and its own moves do not move it.

Implements the check of [PS2] V-A, max/min > σ. Departs from the paper, which says nothing of damping: loads have to be
uneven in several batches in a row, and after a move some batches are not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tidings.model import DataError
from tidings.partitioning.load import FloatArray

UNEVEN = 1.2


class Detects(Protocol):
    """Says when a move is due."""

    def is_due(self, history: Sequence[FloatArray]) -> bool:
        """``history``: the load of each matcher in each batch since the last move."""


@dataclass(frozen=True, slots=True)
class Detector:
    """``uneven`` σ; ``hits`` batches in a row have to be uneven; ``pause`` batches after a move are not looked at.

    >>> import numpy as np
    >>> even, uneven = np.array([10.0, 9]), np.array([10.0, 5])
    >>> Detector(pause=1).is_due([even, uneven, uneven, uneven]), Detector(pause=2).is_due([even, *[uneven] * 3])
    (True, False)
    """

    uneven: float = UNEVEN
    hits: int = 3
    pause: int = 3

    def __post_init__(self) -> None:
        if not (self.uneven > 1 and self.hits >= 1 and self.pause >= 0):
            raise DataError(f"σ is above 1, hits are 1 or more and a pause is 0 or more, got {self}; choose others")

    def is_due(self, history: Sequence[FloatArray]) -> bool:
        """Whether a move is due. ``history``: the load of each matcher in each batch since the last move."""
        seen = history[self.pause :]
        return len(seen) >= self.hits and all(is_uneven(loads, self.uneven) for loads in seen[-self.hits :])


def is_uneven(loads: FloatArray, uneven: float) -> bool:
    """Whether the largest load is more than ``uneven`` times the smallest."""
    return bool(loads.max(initial=0.0) > uneven * loads.min(initial=float("inf")))
