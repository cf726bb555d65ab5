"""Can publications be sent to fewer matchers than SALB sends them to, and the matchers be as even? Our own partitioner.

SALB looks at evenness alone (``salb.py``) and never takes a step back. Here the same greedy pass is made with several
attractions, the best of which is refined: in rounds, each word, the frequent ones first, moves to where the sum of all
loads is the least, while loads beyond (1 + ``slack``) of their mean cost far more than they save. A row knows how many
of its words are at each matcher, so one pass over the rows of a word tells what every move would save.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidings.arrays import IdArray
from tidings.model import DataError
from tidings.partitioning.learning import kernels
from tidings.partitioning.learning.partitioner import Partitioner
from tidings.partitioning.learning.salb import place_greedily
from tidings.partitioning.learning.words import Words

ATTRACTIONS = (8.0, 4.0, 1.0, 0.0)
_WORTH = 0.001
"""Rounds end when the sum of all loads falls by less than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined(Partitioner):
    """SALB with attraction, then at most ``rounds`` of moves. Cost: about ten times that of SALB."""

    rounds: int = 8
    slack: float = 0.003

    def __post_init__(self) -> None:
        if self.rounds < 0 or not self.slack >= 0:
            raise DataError(f"rounds and slack are not below 0, got {self.rounds} and {self.slack}; choose others")

    def place(self, words: Words) -> IdArray:
        starts = [place_greedily(words, attraction) for attraction in ATTRACTIONS]
        placed, loads = min(starts, key=lambda start: int(start[1].max()))
        return self._refine(words, placed, int(loads.max()))

    def _refine(self, words: Words, placed: IdArray, least: int) -> IdArray:
        """The best of all rounds, by the largest load."""
        sets, weights, best = words.sets, words.weights, placed.copy()
        near, counts = np.empty(len(sets.ids), dtype=np.uint8), np.empty(len(sets.ids), dtype=np.uint16)
        sizes, loads = np.zeros(len(sets), dtype=np.int32), np.zeros(words.matchers, dtype=np.int64)
        kernels.settle(sets.offsets, sets.ids, weights, placed, near, counts, sizes, loads)
        order, (lows, highs) = words.order(), words.siblings()
        for _ in range(self.rounds):
            before = int(loads.sum())
            kernels.move_words(
                order, words.starts, words.rows, sets.offsets, weights, lows, highs, self.slack,
                placed, near, counts, sizes, loads,
            )  # fmt: skip
            if loads.max() < least:
                best, least = placed.copy(), int(loads.max())
            if loads.sum() > (1 - _WORTH) * before:
                break
        return best
