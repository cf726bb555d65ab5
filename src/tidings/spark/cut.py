"""What of a batch is left undone in an overload? What its cut says, and each post decides it by itself.

A :class:`Cut` is pinned with a batch before that runs. What becomes of a post follows from it, the post and the release
alone, whatever posts are beside it: a batch that is run again in other pieces leaves out the same.

Some posts are *spared*, chosen by a coin: they go everywhere. What they find where the others are not sent is a
sample of what the others lose, fair for every policy, and counts a match that is found elsewhere too as not lost. It
costs that share of what is saved, and nothing has to be learned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.index import GuardIndex
from tidings.partitioning import MatcherSets, Router
from tidings.partitioning.mapping import HashArray, hash_names
from tidings.shedding import Routed, shedder
from tidings.shedding.coins import FloatArray, coins
from tidings.spark.notes import Shed
from tidings.terms.vocabulary import IntArray

_SPARED, _KEPT = 1001, 1002
"""Seeds of coins; the policies have those of small numbers."""

_STEPS = 4
"""A score that doubles is so many grades higher."""

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Cut:
    """How much is left undone, and what: ``limit`` matchers of each post are kept at most, by ``policy``.

    In the replicated layout a ``fraction`` of the posts is kept instead: those whose grade is above ``floor``, and of
    those that have it a share of ``chance``. Where no floor is known yet, or by the policy ``random``, any. ``spared``:
    the share of posts of which nothing is left out.
    """

    level: int
    policy: str
    limit: float
    fraction: float
    spared: float
    floor: int | None = None
    chance: float = 1.0

    def at(self, grades: Mapping[int, int]) -> Cut:
        """The same where posts of these grades, so many of each, are expected.

        >>> cut = Cut(1, "subscription", 7.0, fraction=0.3, spared=0.0).at({0: 5, 9: 3, 12: 2})
        >>> cut.floor, round(cut.chance, 3)
        (9, 0.333)
        """
        left = self.fraction * sum(grades.values())
        for grade in sorted(grades, reverse=True):
            if left <= grades[grade]:
                return replace(self, floor=grade, chance=left / grades[grade])
            left -= grades[grade]
        return self


@dataclass(frozen=True, slots=True, eq=False)
class Cutting:
    """What a cut makes of some posts: where they go, and where they would go if none were spared.

    ``wanted``: where they should. ``grades`` int64[posts]: of the replicated layout, none where nobody looked.
    """

    wanted: MatcherSets
    kept: MatcherSets
    is_spared: BoolArray
    grades: IntArray

    @property
    def routes(self) -> MatcherSets:
        """Where they go."""
        return MatcherSets(np.where(self.is_spared[:, None], self.wanted.words, self.kept.words))

    def missing(self, spared: bool) -> MatcherSets:
        """Where posts are not sent that should be; with ``spared``, where only those are sent that are spared."""
        is_so = (self.is_spared == spared)[:, None]
        return MatcherSets(np.where(is_so, self.wanted.words & ~self.kept.words, np.uint64(0)))


class Undone:
    """Adds up what a task leaves undone."""

    def __init__(self) -> None:
        self._posts_cut = self._posts_dropped = self._spared = 0
        self._copies: Counter[int] = Counter()
        self._grades: Counter[int] = Counter()

    def add(self, cutting: Cutting) -> None:
        missing = cutting.missing(spared=False)
        is_cut = missing.sizes() > 0
        self._posts_cut += int(is_cut.sum())
        self._posts_dropped += int((is_cut & (cutting.kept.sizes() == 0)).sum())
        self._spared += int(cutting.missing(spared=True).sizes().sum())
        self._copies.update(missing.pairs()[1].tolist())
        self._grades.update(cutting.grades.tolist())

    def shed(self, matcher: int | None = None) -> Shed:
        """All of it; of one matcher, if a number is given to it."""
        copies = self._copies if matcher is None else {matcher: self._copies.total()}
        grades = sorted(self._grades.items())
        return Shed(self._posts_cut, self._posts_dropped, tuple(sorted(copies.items())), self._spared, tuple(grades))


def cut_routes(posts: pa.Table, router: Router, cut: Cut) -> Cutting:
    """Posts without bad rows in the partitioned layout."""
    routed = Routed(*router.occurrences(posts), router.matchers)
    shed = shedder(cut.policy, router.filed).shed(routed, cut.limit, router.filed.astype(np.float64))
    return Cutting(routed.route(), shed.kept, _is_spared(routed.keys, cut), np.zeros(0, dtype=np.int64))


def cut_posts(posts: pa.Table, index: GuardIndex, cut: Cut) -> Cutting:
    """Posts without bad rows in the replicated layout: there is one matcher, and each post goes to it or nowhere."""
    keys = hash_names(posts["id"])
    wanted = MatcherSets(np.ones((len(keys), 1), dtype=np.uint64))
    drawn = coins(keys, _KEPT)
    grades = np.zeros(0, dtype=np.int64) if cut.policy == "random" else _grades(posts, keys, index, cut.policy)
    if cut.floor is None or not len(grades):
        is_kept = drawn < cut.fraction
    else:
        is_kept = (grades > cut.floor) | ((grades == cut.floor) & (drawn < cut.chance))
    return Cutting(wanted, MatcherSets(wanted.words * is_kept[:, None]), _is_spared(keys, cut), grades)


def _is_spared(keys: HashArray, cut: Cut) -> BoolArray:
    spared: BoolArray = coins(keys, _SPARED) < cut.spared
    return spared


def _grades(posts: pa.Table, keys: HashArray, index: GuardIndex, policy: str) -> IntArray:
    """How much is asked about each post, in steps: the more, the more matches are to be expected."""
    terms, filed = index.terms(posts), index.filed()
    worths: FloatArray = (filed if policy == "subscription" else filed > 0).astype(np.float64)
    asked = Routed(terms, terms.ids, keys, 1).expected(worths)
    grades: IntArray = (_STEPS * np.log2(1.0 + asked)).astype(np.int64)
    return grades
