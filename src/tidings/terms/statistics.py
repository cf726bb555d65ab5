"""How often does a term occur? The rarest term of a conjunction is its best guard."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IntArray


class Statistics:
    """How many publications were seen, and how many of them had each term.

    >>> statistics = Statistics()
    >>> statistics.update(TermSets(np.array([0, 2, 3]), np.array([0, 1, 1], dtype=np.int32)))
    >>> statistics.publications, statistics.frequency(1), statistics.frequency(7)
    (2, 2, 0)
    """

    def __init__(self) -> None:
        self.publications = 0
        self._counts: IntArray = np.zeros(0, dtype=np.int64)

    @property
    def frequencies(self) -> IntArray:
        """By term id; a term beyond the end was never seen."""
        return self._counts

    def frequency(self, term_id: int) -> int:
        return int(self._counts[term_id]) if 0 <= term_id < len(self._counts) else 0

    def update(self, sets: TermSets) -> None:
        """Count a batch of publications."""
        self._count(len(sets), np.bincount(sets.ids))

    def merge(self, other: Statistics) -> None:
        """Add what was counted elsewhere over the same vocabulary."""
        self._count(other.publications, other._counts)

    def decay(self, factor: float) -> None:
        """Let the past weigh less: multiply all counts by ``factor`` (0 to 1), so that drift shows sooner."""
        if not 0 <= factor <= 1:
            raise ValueError(f"a decay factor is between 0 and 1, got {factor}")
        self.publications = int(self.publications * factor)
        self._counts = (self._counts * factor).astype(np.int64)

    def _count(self, publications: int, counts: npt.NDArray[np.signedinteger]) -> None:
        self.publications += publications
        if len(counts) > len(self._counts):
            self._counts = np.pad(self._counts, (0, len(counts) - len(self._counts)))
        self._counts[: len(counts)] += counts
