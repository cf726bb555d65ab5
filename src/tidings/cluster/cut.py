"""What of a batch is left undone in an overload? What its cut says, and each post decides it by itself.

A :class:`Cut` is pinned with a batch before that runs. What becomes of a post follows from it, the post and the release
alone, whatever posts are beside it: a batch that is run again in other pieces leaves out the same.

At the highest levels only a part of the posts is *looked at*, chosen by a coin: the others are dropped. How many copies
these would have been is estimated from those that are looked at. The coin is a hash of the post's id, or, where the
source can tell records apart before it reads them (:mod:`tidings.spark.dropping`), of the record: then what is dropped
is not even parsed.

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

from tidings.arrays import IntArray
from tidings.cluster.notes import TaskShed
from tidings.cluster.older import SideBySide
from tidings.cluster.router import Router
from tidings.index import GuardIndex
from tidings.partitioning import MatcherSets
from tidings.partitioning.mapping import HashArray, hash_names
from tidings.shedding import Floor, Kept, Levels, Routed, Threshold, graded, shedder
from tidings.shedding.coins import FloatArray, coins
from tidings.shedding.threshold import GradeArray

_SPARED, _KEPT, _LOOKED_AT = 1001, 1002, 1003
"""Seeds of coins; the policies have those of small numbers."""

_FINE = 64.0
"""Grades tell expected matches apart from this part of one on."""

_ALL = 1e9
"""More matchers than there are."""

CHOSEN = "\0chosen"
"""The column of a post's coins, where they were thrown before it was read: LOOKED_AT, SPARED, or the sum of both."""

LOOKED_AT, SPARED = 1, 2

BoolArray = npt.NDArray[np.bool_]
CodeArray = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Cut:
    """How much is left undone, and what: ``limit`` matchers of each post are kept at most, by ``policy``.

    Where copies compete, a ``fraction`` of all is kept instead: those whose grade is above ``floor``, and of those that
    have it a share of ``chance``. So it is by the policy ``threshold``, but for the first batch, when no floor is known
    yet; and in the replicated layout, where a post is one copy, by all but ``random``. All of that is of the posts that
    are ``looked_at``, a share of all; ``spared``: the share of posts of which nothing is left out.

    ``level`` is that of :class:`tidings.shedding.Levels`; of a cut to capacity, the matches that are expected to be
    lost, in per cent, and at least 1.
    """

    level: int
    policy: str
    limit: float
    fraction: float
    spared: float
    floor: int | None = None
    chance: float = 1.0
    looked_at: float = 1.0

    @classmethod
    def of(cls, level: int, levels: Levels, policy: str, spared: float) -> Cut:
        """
        >>> cut = Cut.of(9, Levels(), "subscription", spared=0.02)
        >>> cut.looked_at, cut.limit, round(cut.fraction, 3)
        (0.5, 1.0, 0.127)
        """
        part = levels.looked_at(level)
        return cls(level, policy, levels.limit(level) / part, levels.fraction(level) / part, spared, looked_at=part)

    @classmethod
    def to_capacity(cls, kept: Kept, policy: str, spared: float, lost: float) -> Cut:
        """What fits into the time of a batch; ``lost``: the share of all matches that is expected to be lost by it.

        >>> cut = Cut.to_capacity(Kept(0.8, Floor(12, 0.5)), "threshold", spared=0.02, lost=0.31)
        >>> cut.level, cut.looked_at, cut.floor, cut.chance
        (31, 0.8, 12, 0.5)
        """
        level = max(1, round(100 * lost))
        cut = cls(level, policy, _ALL, 1.0, spared, looked_at=kept.looked_at)
        return cut if kept.floor is None else replace(cut, floor=kept.floor.grade, chance=kept.floor.chance)

    @classmethod
    def nothing(cls, policy: str) -> Cut:
        """All is done, and graded on the way."""
        return cls(0, policy, _ALL, 1.0, spared=0.0, floor=-1)

    @property
    def others(self) -> float:
        """For each post that is looked at or spared, so many are neither; 0 if all are."""
        neither = (1 - self.looked_at) * (1 - self.spared)
        return neither / (1 - neither) if neither < 1 else 0.0

    def at(self, grades: Mapping[int, int], layout: str) -> Cut:
        """The same where copies of these grades, so many of each, are expected.

        >>> cut = Cut(1, "threshold", 7.0, fraction=0.3, spared=0.0).at({0: 5, 9: 3, 12: 2}, "partitioned")
        >>> cut.floor, round(cut.chance, 3)
        (9, 0.333)
        """
        is_by_post = self.policy == "random" or (layout == "partitioned" and self.policy != "threshold")
        if is_by_post or not grades:
            return self
        floor = Floor.of(grades, self.fraction)
        return replace(self, floor=floor.grade, chance=floor.chance)


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The posts of some that are looked at, or spared, and how many others there are."""

    posts: pa.Table
    is_looked_at: BoolArray
    is_spared: BoolArray
    others: float

    @classmethod
    def of(cls, posts: pa.Table, cut: Cut, codes: CodeArray | None = None) -> Chosen:
        """``codes``: the column CHOSEN of these posts; then the others were dropped before, and are estimated."""
        if codes is not None:
            looked_at, spared = codes & LOOKED_AT > 0, codes & SPARED > 0
            return cls(posts, looked_at, spared, len(codes) * cut.others)
        keys = hash_names(posts["id"])
        looked_at, spared = coins(keys, _LOOKED_AT) < cut.looked_at, coins(keys, _SPARED) < cut.spared
        if cut.looked_at >= 1:
            return cls(posts, looked_at, spared, 0)
        rows = np.flatnonzero(looked_at | spared)
        return cls(posts.take(pa.array(rows)), looked_at[rows], spared[rows], len(keys) - len(rows))


@dataclass(frozen=True, slots=True, eq=False)
class Cutting:
    """What a cut makes of some posts: where they go, and where they would go if none were spared.

    ``wanted``: where they should. ``grades`` uint8[posts, matchers]: that of each copy; None where these do not
    compete.
    """

    wanted: MatcherSets
    kept: MatcherSets
    is_spared: BoolArray
    grades: GradeArray | None

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
        self._posts = self._wanted = 0
        self._others = 0.0
        self._all: Counter[int] = Counter()
        self._copies: Counter[int] = Counter()
        self._grades: Counter[int] = Counter()

    def add(self, cutting: Cutting, others: float) -> None:
        """``others``: how many posts beside these were not looked at."""
        self._posts += len(cutting.is_spared)
        self._wanted += int((cutting.wanted.sizes() > 0).sum())
        self._others += others
        self._all.update(_counted(cutting.wanted.pairs()[1]))
        missing = cutting.missing(spared=False)
        is_cut = missing.sizes() > 0
        self._posts_cut += int(is_cut.sum())
        self._posts_dropped += int((is_cut & (cutting.kept.sizes() == 0)).sum())
        self._spared += int(cutting.missing(spared=True).sizes().sum())
        self._copies.update(_counted(missing.pairs()[1]))
        if cutting.grades is not None:
            self._grades.update(_counted(cutting.grades[cutting.wanted.pairs()].astype(np.int64)))

    def shed(self, matcher: int | None = None) -> TaskShed:
        """All of it; of one matcher, if a number is given to it. Posts that were not seen would go where others do."""
        times = self._others / self._posts if self._posts else 0.0
        more = Counter({owner: round(times * copies) for owner, copies in self._all.items()})
        copies, dropped = self._copies + more, round(times * self._wanted)
        told = copies if matcher is None else {matcher: copies.total()}
        return TaskShed(
            self._posts_cut + dropped,
            self._posts_dropped + dropped,
            tuple(sorted(told.items())),
            self._spared,
            tuple(sorted(self._grades.items())),
            self._posts,
        )


def cut_routes(chosen: Chosen, router: Router | SideBySide, cut: Cut) -> Cutting:
    """Posts without bad rows in the partitioned layout."""
    routed = Routed(*router.occurrences(chosen.posts), router.matchers)
    expected = _FINE * router.expected
    threshold, is_graded = Threshold(expected), cut.policy == "threshold"
    if is_graded and cut.floor is not None:
        shed = threshold.shed(routed, Floor(cut.floor, cut.chance), expected)
    else:
        policy = "subscription" if is_graded else cut.policy
        shed = shedder(policy, router.filed).shed(routed, cut.limit, router.filed.astype(np.float64))
    return _cutting(routed.route(), shed.kept, chosen, threshold.graded(routed) if is_graded else None)


def cut_posts(chosen: Chosen, index: GuardIndex, cut: Cut) -> Cutting:
    """The same in the replicated layout: there is one matcher, and each post goes to it or nowhere."""
    posts = chosen.posts
    keys = hash_names(posts["id"])
    wanted = MatcherSets(np.ones((len(keys), 1), dtype=np.uint64))
    grades = np.zeros(0, dtype=np.int64) if cut.policy == "random" else _grades(posts, keys, index, cut.policy)
    if cut.floor is None or not len(grades):
        is_kept = coins(keys, _KEPT) < cut.fraction
    else:
        is_kept = Floor(cut.floor, cut.chance).is_kept(grades, keys, _KEPT)
    graded = grades[:, None].astype(np.uint8) if len(grades) else None
    return _cutting(wanted, MatcherSets(wanted.words * is_kept[:, None]), chosen, graded)


def _counted(numbers: IntArray) -> dict[int, int]:
    """How often each number, 0 or more, is there."""
    counts = np.bincount(numbers)
    return {int(number): int(counts[number]) for number in np.flatnonzero(counts)}


def _cutting(wanted: MatcherSets, kept: MatcherSets, chosen: Chosen, grades: GradeArray | None) -> Cutting:
    kept = MatcherSets(kept.words * chosen.is_looked_at[:, None])
    return Cutting(wanted, kept, chosen.is_spared, grades)


def _grades(posts: pa.Table, keys: HashArray, index: GuardIndex, policy: str) -> IntArray:
    """How much is asked about each post, in steps: the more, the more matches are to be expected."""
    terms, filed = index.snapshot.terms(posts), index.snapshot.filed()
    worths: FloatArray = (filed > 0 if policy == "consensus" else filed).astype(np.float64)
    return graded(Routed(terms, terms.ids, keys, 1).expected(worths))
