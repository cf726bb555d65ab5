"""Which matchers does a post still reach when there is too much to do? Those where most is expected, at most m of them.

Implements [S3TM] 5.2.1. Symbols: m is ``limit``. A fraction of m is left to chance: the last matcher is kept with that
probability, by a coin of the post's key, so a replay decides alike. With a lower limit a post keeps some of
the matchers that it keeps with a higher one.

What is kept must also be what :func:`tidings.placement.once` is told as the route: then the lowest of the matchers
that still have post and subscription delivers, and what is found is never doubled and never wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray, IntArray
from tidings.model import DataError
from tidings.partitioning.sets import MatcherSets
from tidings.shedding import kernels
from tidings.shedding.coins import FloatArray, HashArray, coins, scattered

PER_POST = ("subscription", "consensus", "random")
POLICIES = ("threshold", *PER_POST)
_COIN, _TIE = 0, 1
_ALIKE = np.zeros(0, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Routed:
    """Posts with the matchers that they should go to.

    ``terms`` of each post, -1 for one that nobody asks for; ``owners`` int32, one for each of ``terms.ids``: the
    matcher of that occurrence, or -1; ``keys`` uint64[posts]: a hash of what names the post, the same whenever it is
    read again.
    """

    terms: TermSets
    owners: IdArray
    keys: HashArray
    matchers: int

    @classmethod
    def of(cls, terms: TermSets, owners: IdArray, keys: HashArray, matchers: int) -> Routed:
        """Where each term has one owner: ``owners`` int32 by term."""
        found = np.where(terms.ids >= 0, owners[terms.ids], -1) if len(owners) else np.full(len(terms.ids), -1)
        return cls(terms, found.astype(np.int32), keys, matchers)

    def __len__(self) -> int:
        return len(self.terms)

    def route(self) -> MatcherSets:
        """All the matchers of each post."""
        route = MatcherSets.empty(len(self), self.matchers)
        kernels.mark(self.terms.offsets, self.owners, route.words)
        return route

    def expected(self, rates: FloatArray) -> FloatArray:
        """The matches to expect of each post, float64[posts]; ``rates``: of an occurrence of each term."""
        self.check(rates)
        sums = np.empty(len(self), dtype=np.float64)
        kernels.add_up(self.terms.offsets, self.terms.ids, self.owners, rates, sums)
        return sums

    def check(self, by_term: FloatArray | IntArray) -> None:
        """Whether that has a number for each term that is here; a DataError if not."""
        most = int(self.terms.ids.max(initial=-1))
        if most >= len(by_term):
            raise DataError(f"there are numbers for {len(by_term)} terms, and a post has term {most}; give all of them")


@dataclass(frozen=True, slots=True, eq=False)
class Shed:
    """What was kept, and what was not. A *copy* is a post as it is sent to one matcher.

    ``kept``: the matchers of each post; ``posts_cut``: how many posts go to fewer matchers than they should,
    ``posts_dropped``: how many of these go nowhere; ``copies`` int64[matchers]: the copies that a matcher is spared;
    ``lost`` float64[matchers]: the matches that they would have given, by the rates. A subscription with several homes
    may still be matched at another one, so this rather says too much.
    """

    kept: MatcherSets
    posts_cut: int
    posts_dropped: int
    copies: IntArray
    lost: FloatArray

    @classmethod
    def of(cls, routed: Routed, kept: MatcherSets, copies: IntArray, lost: FloatArray) -> Shed:
        """Where that is kept of what was routed."""
        left = kept.sizes()
        cut = left < routed.route().sizes()
        return cls(kept, int(cut.sum()), int((cut & (left == 0)).sum()), copies, lost)


class Shedder(Protocol):
    """Decides which matchers a post still goes to."""

    def shed(self, routed: Routed, limit: float, rates: FloatArray) -> Shed:
        """Keep about ``limit`` matchers of each post that has more; infinity, or as many as there are, keeps all.

        ``rates`` float64[terms]: matches to expect of an occurrence of a term; they only count what is lost.
        """


@dataclass(frozen=True, slots=True)
class Consensus:
    """Keeps the matchers that own most of the post's terms.

    >>> posts = TermSets(np.array([0, 4]), np.array([0, 1, 2, 3], dtype=np.int32))
    >>> routed = Routed.of(posts, np.array([5, 8, 8, 9], dtype=np.int32), np.array([77], dtype=np.uint64), 16)
    >>> result = Consensus().shed(routed, 1, rates=np.array([0.5, 0.0, 0.25, 2.0]))
    >>> result.kept.pairs()[1].tolist(), result.posts_cut, result.copies.sum(), result.lost.sum()
    ([8], 1, np.int64(2), np.float64(2.5))
    """

    seed: int = 0

    def shed(self, routed: Routed, limit: float, rates: FloatArray) -> Shed:
        return _kept(routed, _limited(routed, limit, self.seed), _ALIKE, rates, self.seed)


@dataclass(frozen=True, slots=True, eq=False)
class BySubscriptions:
    """Keeps the matchers that have most subscriptions for the post's terms; ``filed[t]`` are filed under term t.

    Learned rates (:meth:`Rates.estimate`) may take the place of ``filed``: then those matchers are kept where most
    matches are expected. A replay needs the same ones.
    """

    filed: IntArray | FloatArray
    seed: int = 0

    def shed(self, routed: Routed, limit: float, rates: FloatArray) -> Shed:
        routed.check(self.filed)
        return _kept(routed, _limited(routed, limit, self.seed), self.filed, rates, self.seed)


@dataclass(frozen=True, slots=True)
class Random:
    """Drops whole posts at random, as the base that [S3TM] compares with does.

    A post of s matchers is kept, with all of them, with probability m / s: on average as many of its copies as the
    others keep, and by its own coin alone, whatever posts are beside it.
    """

    seed: int = 0

    def shed(self, routed: Routed, limit: float, rates: FloatArray) -> Shed:
        _check_limit(limit)
        sizes = routed.route().sizes()
        quotas = np.where(coins(routed.keys, 2 * self.seed + _COIN) * sizes < limit, sizes, 0)
        return _kept(routed, quotas, _ALIKE, rates, self.seed)


def shedder(policy: str, filed: IntArray | FloatArray, seed: int = 0) -> Shedder:
    """The shedder of that name, one of PER_POST; ``filed[t]`` subscriptions are filed under term t."""
    match policy:
        case "subscription":
            return BySubscriptions(filed, seed)
        case "consensus":
            return Consensus(seed)
        case "random":
            return Random(seed)
    raise DataError(f"there is no shedding policy {policy!r}; choose one of {', '.join(PER_POST)}")


def _check_limit(limit: float) -> None:
    if not limit >= 0:
        raise DataError(f"a post is sent to at most so many matchers, 0 or more, got {limit}; give such a limit")


def _limited(routed: Routed, limit: float, seed: int) -> IntArray:
    """How many matchers each post may keep: the whole part of the limit, and one more by chance."""
    _check_limit(limit)
    whole, rest = divmod(min(limit, float(routed.matchers)), 1.0)
    quotas: IntArray = int(whole) + (coins(routed.keys, 2 * seed + _COIN) < rest).astype(np.int64)
    return quotas


def _kept(routed: Routed, quotas: IntArray, weights: IntArray | FloatArray, rates: FloatArray, seed: int) -> Shed:
    routed.check(rates)
    kept, copies, lost = nothing_shed(routed)
    ties, terms = scattered(routed.keys, 2 * seed + _TIE), routed.terms
    kernels.keep_best(terms.offsets, terms.ids, routed.owners, weights, rates, quotas, ties, kept.words, copies, lost)
    return Shed.of(routed, kept, copies, lost)


def nothing_shed(routed: Routed) -> tuple[MatcherSets, IntArray, FloatArray]:
    """What a kernel fills: the matchers that are kept, the copies shed and the matches lost; empty, 0 and 0."""
    kept = MatcherSets.empty(len(routed), routed.matchers)
    return kept, np.zeros(routed.matchers, dtype=np.int64), np.zeros(routed.matchers)
