"""What does the most loaded matcher give to the least loaded one? The local load adjustment of PS2Stream.

Implements [PS2] V-A, Phase I and Phase II. Symbols: wo and wl the most and the least loaded matcher; σ ``uneven``; p
``heaviest`` cells; a cell is a region of the grid, and may have several parcels, each with some of its words.

Departs from the paper:

* A move changes owners and nothing else. So a cell that is to be split by text has several parcels beforehand
  (:class:`tidings.partitioning.finer.FinerParcels`): some of them go to wl. To merge is to move all that wo has of a
  cell that wl has a part of.
* Not only one pair of matchers is looked at: whoever is heaviest by then gives to who is lightest, until the largest
  load is as near to the mean as is aimed at, or nothing lowers it any more.
* **Then parcels are exchanged between all matchers**, by a local search (:meth:`Trial.exchange`). A subscription of two
  parcels that belong to two matchers is kept twice, and so is a post, so the phases alone make the sum of all loads
  larger with each move. Exchanges let those parcels come together that share posts or subscriptions. They begin with
  what both phases came to, and with the owners of before; the better of both is taken.
* What it costs to carry a parcel are the subscriptions that wl does not have yet. Load is that of posts and
  subscriptions that count once at a matcher, divided between all of its parcels that they are there for.
* What triggers a move and what it aims at are not the same: a plan is made where the largest load is more than σ times
  the smallest, and it aims at less. The paper leaves τ open. By σ alone loads would be uneven again by the next post.
* In a phase a matcher gives at most half of the difference: wl is never more loaded than wo then, as counted on the
  latest posts. A post that comes for several parcels counts once, so what is given away may relieve wo by less than its
  load.
* What changes little is left alone, and so is what is not worth it yet: parcels move when all matchers would have been
  ready earlier with the posts since the last move, if each had made its insertions and deletions of the move before
  them. Who waits so long never loses more than twice what it could not avoid, whatever comes (the ski rental problem).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tidings.arrays import IntArray
from tidings.balancing.detecting import UNEVEN, is_uneven
from tidings.balancing.estimate import Estimate, Formula
from tidings.balancing.loads import Loads
from tidings.balancing.migration import SELECTORS, SelectorName
from tidings.balancing.trial import MINOR, TRIES, Trial
from tidings.model import DataError
from tidings.partitioning import Mapping, Move
from tidings.partitioning.load import COUNTED, FloatArray, LoadCosts

_ROUNDS = 4


class Balancer(Protocol):
    """A policy: what to move, if something is to be moved now. Pure; the same loads and mapping give the same moves."""

    def plan(self, loads: Loads, mapping: Mapping) -> list[Move]:
        """The moves, none where nothing can be made better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """Local adjustment; ``select`` is the algorithm of Phase II. With 0 ``tries`` there are no exchanges."""

    uneven: float = UNEVEN
    aim: float = 1.02
    heaviest: int = 8
    tries: int = TRIES
    select: SelectorName = "gr"
    costs: LoadCosts = COUNTED
    formula: Formula = "measured"

    def __post_init__(self) -> None:
        if self.select not in SELECTORS or not self.uneven > 1 or self.heaviest < 0 or self.tries < 0:
            raise DataError(f"choose dp, gr, si or ra, σ above 1, p of 0 or more and as many tries, got {self}")
        if not 1 <= self.aim <= self.uneven:
            raise DataError(f"a move aims at loads that differ by 1 to σ = {self.uneven:g} times, got {self.aim!r}")

    def plan(self, loads: Loads, mapping: Mapping) -> list[Move]:
        """Cost: some passes over the latest posts, and ``tries`` times what the parcels are touched by."""
        estimate = Estimate(loads, mapping, self.costs, self.formula)
        if not is_uneven(estimate.matchers(mapping.owner), self.uneven):
            return []
        tried = [self._after_phases(estimate), *([Trial(estimate)] if self.tries else [])]
        for trial in tried:
            trial.exchange(self.tries, np.ones(mapping.matchers, dtype=np.bool_))
        return min(tried, key=Trial.price).moves()

    def _after_phases(self, estimate: Estimate) -> Trial:
        """What both phases come to, between the heaviest and the lightest of all in turns."""
        trial = Trial(estimate)
        for _ in range(_ROUNDS * estimate.mapping.matchers):
            now = trial.loads()
            pair = _Pair(trial, int(now.argmax()), int(now.argmin()))
            if now.max() <= self.aim * now.mean() or not pair.relieve(self):
                break
        return trial


@dataclass(slots=True)
class _Pair:
    """Two matchers, ``heavy`` wo and ``light`` wl, while it is tried out who owns what."""

    trial: Trial
    heavy: int
    light: int

    def relieve(self, policy: Local) -> bool:
        """Let both phases do what they can; whether that relieves wo. If not, nothing is changed."""
        before, owner = self._loads(), self.trial.owner.copy()
        self._phase_1(policy.heaviest)
        self._phase_2(policy)
        if self._loads()[0] < (1 - MINOR) * before[0]:
            return True
        self._take_back(np.flatnonzero(self.trial.owner != owner))
        return False

    def _loads(self) -> tuple[float, float]:
        loads = self.trial.loads()
        return float(loads[self.heavy]), float(loads[self.light])

    def _take_back(self, parcels: IntArray) -> None:
        self.trial.give(parcels, self.light, self.heavy)

    # ------------------------------------------------------------------------------------------------ Phase I

    def _phase_1(self, heaviest: int) -> None:
        """Split or merge the heaviest cells, where that lowers the sum of all loads."""
        regions = self.trial.estimate.regions
        if regions is None or not heaviest:
            return
        own = np.flatnonzero(self.trial.owner == self.heavy)
        loads, sizes = np.zeros(len(regions)), np.zeros(len(regions))
        loads[own], sizes[own] = self.trial.parts(own, self.heavy, self.light)
        has_any = self.trial.estimate.loads.filed > 0
        for cell in np.argsort(-np.bincount(regions, loads), kind="stable")[:heaviest].tolist():
            offered = self._part_of(np.flatnonzero((regions == cell) & has_any), loads, sizes)
            before = sum(self._loads())
            self.trial.give(offered, self.heavy, self.light)
            heavy, light = self._loads()
            if heavy + light >= before or light > heavy:
                self._take_back(offered)

    def _part_of(self, cell: IntArray, loads: FloatArray, sizes: FloatArray) -> IntArray:
        """What wo may give of a cell: all that it has of one that wl has a part of; of one that it has whole, of two
        halves by load the one with the smaller size."""
        owner = self.trial.owner[cell]
        own: IntArray = cell[owner == self.heavy]
        if np.any(owner == self.light):
            return own
        if len(own) < max(len(cell), 2):
            return own[:0]
        halves: tuple[list[int], list[int]] = [], []
        sums = [0.0, 0.0]
        for parcel in own[np.argsort(-loads[own], kind="stable")].tolist():
            lighter = int(sums[1] < sums[0])
            halves[lighter].append(parcel)
            sums[lighter] += loads[parcel]
        smaller = min(halves, key=lambda half: float(sizes[half].sum()))
        return np.array(sorted(smaller), dtype=np.int64)

    # ------------------------------------------------------------------------------------------------ Phase II

    def _phase_2(self, policy: Local) -> None:
        """Minimum cost migration of enough load to be as even as is aimed at, and of at most half of the difference."""
        heavy, light = self._loads()
        mean = float(self.trial.loads().mean())
        amount = min((heavy - policy.aim * light) / (1 + policy.aim), heavy - mean, mean - light)
        if amount <= 0:
            return
        own = np.flatnonzero(self.trial.owner == self.heavy)
        loads, carried = self.trial.parts(own, self.heavy, self.light)
        sizes = np.ceil(carried).astype(np.int64)
        fits = loads <= (heavy - light) / 2
        places = SELECTORS[policy.select](sizes, np.where(fits, loads, 0.0), amount)
        chosen = own[places[np.argsort(sizes[places] / loads[places], kind="stable")]]
        given = self.trial.give(chosen, self.heavy, self.light)
        too_much = np.flatnonzero(given.light > given.heavy)[:1]
        enough = np.flatnonzero(given.heavy <= heavy - amount)[:1] + 1
        self._take_back(chosen[min([*too_much, *enough, len(chosen)]) :])
