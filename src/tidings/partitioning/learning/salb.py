"""Which matcher is the best for the next word, if the frequent ones go first? SALB, spread-aware load balancing.

Implements [S3TM] 3.3, Alg. 1. Symbols: w a word, f(w) its publications, L the loads, N the matchers, R the spread. The
utility of Alg. 1 is -R · sd(L) / mean(L). As R is sum(L) / |P| and the mean is sum(L) / N, that is -sd(L) · N / |P|:
the spread cancels, and SALB chooses the matcher after which the standard deviation is the least. It sees the spread
only in so far as a word that brings less load to a matcher also makes the loads less uneven.

Departs from the paper: one pass over the publications of a word gives its extra load on all matchers, and the sums of
the loads and of their squares give the deviation of each choice at once, so the cost hardly grows with N. And
``attraction``, 0 in the paper, adds so many times the sum of all loads to what is to be the least: with 1 it is
R · (1 + sd / mean).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidings.model import DataError
from tidings.partitioning.learning import kernels
from tidings.partitioning.learning.partitioner import Partitioner
from tidings.partitioning.learning.words import Words
from tidings.terms.vocabulary import IdArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Salb(Partitioner):
    """Words by falling frequency, each where the loads are the least uneven with it. Cost: some 5 µs a publication."""

    attraction: float = 0.0

    def __post_init__(self) -> None:
        if not self.attraction >= 0:
            raise DataError(f"an attraction is not below 0, got {self.attraction}; 0 is that of the paper")

    def place(self, words: Words) -> IdArray:
        return place_greedily(words, self.attraction)[0]


def place_greedily(words: Words, attraction: float) -> tuple[IdArray, IntArray]:
    """Where each word goes, and the loads of the matchers, int64."""
    placed, loads = words.start(), np.zeros(words.matchers, dtype=np.int64)
    order = np.concatenate([np.arange(words.matchers), words.order()])
    lows, highs = words.siblings()
    offsets, weights = words.sets.offsets, words.weights
    kernels.place_greedily(order, words.starts, words.rows, offsets, weights, lows, highs, attraction, placed, loads)
    return placed, loads
