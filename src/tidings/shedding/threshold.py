"""Which copies are kept where those of all posts compete? Those about which most is asked, whoever's they are.

Goes beyond [S3TM] 5.2.1, where each post keeps its m best matchers, and so the worst one of a post that nobody asks
about is kept while a good one of another is shed. Here all copies are graded by the subscriptions that they are sent
for, and one floor for all of them says which are kept. It comes from the grades of posts before: so each copy is
decided by itself, and a replay that knows the floor decides alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidings.arrays import IntArray
from tidings.shedding import kernels
from tidings.shedding.coins import FloatArray, HashArray, coins, scattered
from tidings.shedding.shedder import Routed, Shed, nothing_shed

GRADES = 4 * 64
"""How many grades there are; so they fit into a byte."""

_TIE = 3
"""Seed of a coin for each copy."""

GradeArray = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Floor:
    """What is kept: all whose grade is above ``grade``, and of those that have it a share of ``chance``."""

    grade: int
    chance: float

    @classmethod
    def of(cls, grades: Mapping[int, int], fraction: float) -> Floor:
        """The floor that keeps that fraction where so many have each grade.

        >>> Floor.of({0: 5, 9: 3, 12: 2}, 0.4)
        Floor(grade=9, chance=0.6666666666666666)
        """
        left = fraction * sum(grades.values())
        for grade in sorted(grades, reverse=True):
            if left <= grades[grade]:
                return cls(grade, left / grades[grade] if left else 0.0)
            left -= grades[grade]
        return cls(-1, 1.0)

    def share(self, grade: int) -> float:
        """What part of a grade is kept."""
        return float(grade > self.grade) if grade != self.grade else self.chance

    def is_kept(self, grades: IntArray, keys: HashArray, seed: int) -> npt.NDArray[np.bool_]:
        """Which of some posts with these grades are kept, bool[posts]."""
        kept: npt.NDArray[np.bool_] = (grades > self.grade) | (
            (grades == self.grade) & (coins(keys, seed) < self.chance)
        )
        return kept


def graded(weights: FloatArray) -> IntArray:
    """Grades, int64: one that doubles is four higher.

    >>> graded(np.array([0.0, 1.0, 3.0, 7.0, 7.5])).tolist()
    [0, 4, 8, 12, 12]
    """
    grades = np.empty(len(weights), dtype=np.int64)
    kernels.grade_all(weights, grades)
    return grades


@dataclass(frozen=True, slots=True, eq=False)
class Threshold:
    """Keeps the copies that are sent for most subscriptions; ``filed[t]`` are filed under term t.

    >>> from tidings.analysis.vocabulary import TermSets
    >>> posts = TermSets(np.array([0, 2, 4]), np.array([0, 1, 2, 3], dtype=np.int32))
    >>> keys = np.array([77, 78], dtype=np.uint64)
    >>> routed = Routed.of(posts, np.array([5, 8, 8, 9], dtype=np.int32), keys, 16)
    >>> threshold = Threshold(filed=np.array([70, 90, 3, 1]))
    >>> threshold.grades(routed)
    {4: 1, 8: 1, 24: 1, 26: 1}
    >>> [part.tolist() for part in threshold.shed(routed, Floor(8, 0.0), rates=np.ones(4)).kept.pairs()]
    [[0, 0], [5, 8]]
    """

    filed: IntArray | FloatArray
    seed: int = 0

    def shed(self, routed: Routed, floor: Floor, rates: FloatArray) -> Shed:
        """Keep what the floor says; ``rates`` as those of :meth:`tidings.shedding.Shedder.shed`."""
        kept, copies, lost = nothing_shed(routed)
        self._keep(routed, floor, rates, kept.words, copies, lost)
        return Shed.of(routed, kept, copies, lost)

    def grades(self, routed: Routed) -> dict[int, int]:
        """How many copies have each grade, those of posts that are sent to all their matchers."""
        kept, copies, lost = nothing_shed(routed)
        counts = self._keep(routed, Floor(-1, 1.0), self.filed.astype(np.float64), kept.words, copies, lost)
        return {int(grade): int(counts[grade]) for grade in np.flatnonzero(counts)}

    def graded(self, routed: Routed) -> GradeArray:
        """The grade of each copy, uint8[posts, matchers]; 0 as well where there is none."""
        routed.check(self.filed)
        grades = np.zeros((len(routed), routed.matchers), dtype=np.uint8)
        kernels.grade_copies(routed.terms.offsets, routed.terms.ids, routed.owners, self.filed, grades)
        return grades

    def _keep(
        self, routed: Routed, floor: Floor, rates: FloatArray, words: HashArray, copies: IntArray, lost: FloatArray
    ) -> IntArray:
        routed.check(self.filed)
        routed.check(rates)
        terms, ties = routed.terms, scattered(routed.keys, 2 * self.seed + _TIE)
        counts, chance = np.zeros(GRADES, dtype=np.int64), np.uint64(min(floor.chance * 2.0**64, 2.0**64 - 2048))
        kernels.keep_above(
            terms.offsets, terms.ids, routed.owners, self.filed, rates, floor.grade, chance, ties, words, copies, lost,
            counts,
        )  # fmt: skip
        return counts
