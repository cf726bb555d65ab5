"""Which matcher is the best for the next word, if the frequent ones go first? SALB, spread-aware load balancing.

Implements [S3TM] 3.3, Alg. 1. Symbols: w a word, f(w) its publications, L the loads, N the matchers, R the spread. The
utility of Alg. 1 is -R · sd(L) / mean(L). As R is sum(L) / |P| and the mean is sum(L) / N, that is -sd(L) · N / |P|:
the spread cancels, and SALB chooses the matcher after which the standard deviation is the least. It sees the spread
only in so far as a word that brings less load to a matcher also makes the loads less uneven.

The listing of the thesis prints sqrt(variance / mean) for the imbalance, where article and prose have sd / mean. Read
so, the utility is -R · sqrt(var(L) / mean(L)), the spread does not cancel, and SALB minimises sum(L) · var(L).

Departs from the paper: one pass over the publications of a word gives its extra load on all matchers, and the sums of
the loads and of their squares give the deviation of each choice at once, so the cost hardly grows with N. And
``attraction``, 0 in the paper, adds so many times the sum of all loads to what is to be the least: with 1 it is
R · (1 + sd / mean).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from tidings.arrays import IdArray, IntArray
from tidings.model import DataError
from tidings.partitioning.learning import kernels
from tidings.partitioning.learning.partitioner import Partitioner
from tidings.partitioning.learning.words import Words

Imbalance = Literal["sd/mean", "sqrt(var/mean)"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Salb(Partitioner):
    """Words by falling frequency, each where the loads are the least uneven with it. Cost: some 5 µs a publication.

    ``imbalance`` is how Alg. 1 measures it: as the article says, or as the listing of the thesis prints.
    """

    attraction: float = 0.0
    imbalance: Imbalance = "sd/mean"

    def __post_init__(self) -> None:
        if self.imbalance not in get_args(Imbalance):
            raise DataError(f"an imbalance is {' or '.join(get_args(Imbalance))}, got {self.imbalance!r}; choose one")
        if not self.attraction >= 0:
            raise DataError(f"an attraction is not below 0, got {self.attraction}; 0 is that of the paper")

    def place(self, words: Words) -> IdArray:
        return place_greedily(words, self.attraction, self.imbalance)[0]


def place_greedily(words: Words, attraction: float, imbalance: Imbalance = "sd/mean") -> tuple[IdArray, IntArray]:
    """Where each word goes, and the loads of the matchers, int64."""
    placed, loads = words.start(), np.zeros(words.matchers, dtype=np.int64)
    order = np.concatenate([np.arange(words.matchers), words.order()])
    lows, highs = words.siblings()
    offsets, weights = words.sets.offsets, words.weights
    kernels.place_greedily(
        order, words.starts, words.rows, offsets, weights, lows, highs, attraction, imbalance == "sqrt(var/mean)",
        placed, loads,
    )  # fmt: skip
    return placed, loads
