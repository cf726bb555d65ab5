"""Which matcher should own which term? A partitioner learns a mapping from a sample of publications."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from tidings.arrays import IdArray
from tidings.partitioning.learning.incidence import Incidence
from tidings.partitioning.learning.splitting import split
from tidings.partitioning.learning.words import Words
from tidings.partitioning.mapping import Mapping, hash_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioner(ABC):
    """``share`` and ``copies`` say which terms are split (:func:`split`); nothing is, unless they are given.

    The same sample, number of matchers and fields give the same mapping.
    """

    share: float = math.inf
    copies: float = 0.0

    def partition(self, incidence: Incidence, matchers: int) -> Mapping:
        """A mapping of all terms to so many matchers: those of the sample are in its table, others are hashed."""
        Mapping.hashed(matchers)  # refuses a number that is no good
        words = Words.of(incidence, matchers, split(incidence, matchers, self.share, self.copies))
        return words.mapping(self.place(words))

    @abstractmethod
    def place(self, words: Words) -> IdArray:
        """The matcher of each word, int32; versions of a term at different ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hashed(Partitioner):
    """By a hash of the name, and the next ones for further versions: what [S3TM] starts with, and the base."""

    def place(self, words: Words) -> IdArray:
        terms = words.terms()
        versions = np.arange(words.matchers, len(words)) - words.first[terms]
        placed = words.start()
        hashed = hash_names(words.names)[terms] % np.uint64(words.matchers)
        placed[words.matchers :] = (hashed.astype(np.int64) + versions) % words.matchers
        return placed
