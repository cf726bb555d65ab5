"""What does the most loaded matcher give to the least loaded one? The local load adjustment of PS2Stream.

Implements [PS2] V-A, Phase I and Phase II. Symbols: wo and wl the most and the least loaded matcher; σ ``uneven``; p
``heaviest`` cells; a cell is a region of the grid, and may have several parcels, each with some of its words.

Departs from the paper:

* A move changes owners and nothing else. So a cell that is to be split by text has several parcels beforehand
  (:class:`tidings.partitioning.finer.FinerParcels`): some of them go to wl. To merge is to move all that wo has of a
  cell that wl has a part of.
* Not only one pair of matchers is looked at: whoever is heaviest by then gives to the lightest one, until the largest
  load is as near to the mean as is aimed at, or nothing lowers it any more. Nobody gives more than it has above the
  mean, nor gets more than it has below, so what is carried once is not carried on.
* What triggers a move and what it aims at are not the same: a plan is made where the largest load is more than σ times
  the smallest, and it aims at less. The paper leaves τ open. By σ alone loads would be uneven again by the next post.
* A matcher gives at most half of the difference: after a move wl is never more loaded than wo, as counted on the latest
  posts. A post that comes for several parcels counts once, so what is given away may relieve wo by less than its load.
* What changes little is left alone, and so is what is not worth it yet: parcels move when the posts since the last move
  would have been quicker by as much as the move costs, an insertion and a deletion for each subscription. Who waits so
  long never loses more than twice what it could not avoid, whatever comes (the ski rental problem).
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
from tidings.balancing.trial import Trial
from tidings.model import DataError
from tidings.partitioning import Mapping, Move
from tidings.partitioning.load import COUNTED, FloatArray, LoadCosts

_MINOR = 0.01
_ROUNDS = 4


class Balancer(Protocol):
    """A policy: what to move, if something is to be moved now. Pure; the same loads and mapping give the same moves."""

    def plan(self, loads: Loads, mapping: Mapping) -> list[Move]:
        """The moves, none where nothing can be made better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """Local adjustment; ``select`` is the algorithm of Phase II."""

    uneven: float = UNEVEN
    aim: float = 1.02
    heaviest: int = 8
    select: SelectorName = "gr"
    costs: LoadCosts = COUNTED
    formula: Formula = "measured"

    def __post_init__(self) -> None:
        if self.select not in SELECTORS or not self.uneven > 1 or self.heaviest < 0:
            raise DataError(f"choose dp, gr, si or ra, σ above 1 and p of 0 or more, got {self}")
        if not 1 <= self.aim <= self.uneven:
            raise DataError(f"a move aims at loads that differ by 1 to σ = {self.uneven:g} times, got {self.aim!r}")

    def plan(self, loads: Loads, mapping: Mapping) -> list[Move]:
        """Cost: a pass over the latest posts, and what the parcels that are tried out were touched by."""
        trial = Trial(Estimate(loads, mapping, self.costs, self.formula))
        before, remembered = trial.loads(), trial.posts
        if not is_uneven(before, self.uneven):
            return []
        for _ in range(_ROUNDS * mapping.matchers):
            now = trial.loads()
            rising = np.argsort(now, kind="stable").tolist()
            if now[rising[-1]] <= self.aim * now.mean():
                break
            if not any(_Pair(trial, rising[-1], light).relieved(self) for light in rising[: len(rising) // 2]):
                break
        parcels = np.flatnonzero(trial.owner != mapping.owner)
        gain = before.max() - trial.loads().max()
        times = loads.posts / max(remembered, 1) if loads.posts else np.inf
        each = self.costs.insertion + self.costs.deletion
        if gain <= _MINOR * before.max() or gain * times < each * loads.filed[parcels].sum():
            return []
        return [Move(int(parcel), int(trial.owner[parcel])) for parcel in parcels]


@dataclass(slots=True)
class _Pair:
    """Two matchers, ``heavy`` wo and ``light`` wl, while it is tried out who owns what."""

    trial: Trial
    heavy: int
    light: int

    def relieved(self, policy: Local) -> bool:
        """Both phases; whether that has relieved wo. If not, nothing is changed."""
        before, owner = self._loads(), self.trial.owner.copy()
        self._phase_1(policy.heaviest)
        self._phase_2(policy)
        if self._loads()[0] < (1 - _MINOR) * before[0]:
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
        estimate, owner = self.trial.estimate, self.trial.owner
        regions = estimate.regions
        if regions is None or not heaviest:
            return
        own = np.where(owner == self.heavy, estimate.parcels_of(owner), 0.0)
        for cell in np.argsort(-np.bincount(regions, own), kind="stable")[:heaviest].tolist():
            offered = self._part_of(np.flatnonzero((regions == cell) & (estimate.loads.filed > 0)), own)
            before = sum(self._loads())
            self.trial.give(offered, self.heavy, self.light)
            heavy, light = self._loads()
            if heavy + light >= before or light > heavy:
                self._take_back(offered)

    def _part_of(self, cell: IntArray, loads: FloatArray) -> IntArray:
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
        filed = self.trial.estimate.loads.filed
        smaller = min(halves, key=lambda half: int(filed[half].sum()))
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
        loads = self.trial.estimate.parcels_of(self.trial.owner)[own]
        sizes = self.trial.estimate.loads.filed[own]
        loads = loads * heavy / max(float(loads.sum()), 1e-300)  # a post that came for two of them was one
        fits = loads <= (heavy - light) / 2
        places = SELECTORS[policy.select](sizes, np.where(fits, loads, 0.0), amount)
        chosen = own[places[np.argsort(sizes[places] / loads[places], kind="stable")]]
        given = self.trial.give(chosen, self.heavy, self.light)
        too_much = np.flatnonzero(given.light > given.heavy)
        if len(too_much):
            self._take_back(chosen[too_much[0] :])
