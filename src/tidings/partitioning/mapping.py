"""Which matcher owns a term? A mapping says; here by hashing the term's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tidings.index.dictionary import Dictionary
from tidings.model import DataError
from tidings.partitioning import kernels
from tidings.terms.vocabulary import IdArray

MAX_MATCHERS = 256


class Mapping(Protocol):
    """From terms to the matchers that own them: a small value that is passed around, saved and compared.

    The owner of a term follows from its name (:meth:`Dictionary.term_names`) and never from its id, so a term keeps its
    matcher when terms are numbered anew. A mapping that was learned from a sample is another implementation: a table of
    names with their matchers, and hashing for names that it does not have.
    """

    @property
    def matchers(self) -> int:
        """How many there are, at most MAX_MATCHERS; they are numbered from 0."""

    def owners(self, terms: Dictionary) -> IdArray:
        """The matcher of each term, int32 by id; -1 for term 0, which nobody owns."""


@dataclass(frozen=True, slots=True)
class HashMapping:
    """The owner of a term is a hash of its name, the same in every process and version.

    >>> terms = Dictionary()
    >>> terms.word("fire"), terms.word("smoke"), terms.cell(1 << 63)
    (1, 2, 3)
    >>> HashMapping(16).owners(terms).tolist()
    [-1, 13, 2, 5]
    """

    matchers: int

    def __post_init__(self) -> None:
        if not 1 <= self.matchers <= MAX_MATCHERS:
            raise DataError(f"there are 1 to {MAX_MATCHERS} matchers, got {self.matchers}; choose a number of those")

    def owners(self, terms: Dictionary) -> IdArray:
        names = terms.term_names()
        _, offsets, data = names.buffers()
        hashes = np.empty(len(names), dtype=np.uint64)
        kernels.hash_texts(np.frombuffer(offsets, np.int64), np.frombuffer(data or b"", np.uint8), hashes)
        owners = (hashes % np.uint64(self.matchers)).astype(np.int32)
        owners[0] = -1
        return owners
