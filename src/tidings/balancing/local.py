"""What does the most loaded matcher give to the least loaded one? The local load adjustment of PS2Stream.

Implements [PS2] V-A, Phase I and Phase II. Symbols: wo and wl the most and the least loaded matcher; σ ``uneven``; p
``heaviest`` cells; a cell is a region of the grid, and may have several parcels, each with some of its words.

Departs from the paper:

* A move changes owners and nothing else. So a cell that is to be split by text has several parcels beforehand
  (:class:`tidings.partitioning.finer.FinerParcels`): some of them go to wl. To merge is to move all that wo has of a
  cell that wl has a part of.
* Not only one pair of matchers is looked at: the second heaviest gives to the second lightest, and so on.
* What triggers a move and what it aims at are not the same: who is uneven by more than σ gives until the pair is even
  by ``aim``. The paper leaves τ open. By σ alone a pair would end where it is uneven again by the next post.
* A matcher gives at most half of the difference: after a move wl is never more loaded than wo, as counted on the latest
  posts. A post that comes for several parcels counts once, so what is given away may relieve wo by less than its load.
* What changes little is left alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tidings.arrays import IdArray, IntArray
from tidings.balancing.detecting import UNEVEN
from tidings.balancing.estimate import Estimate, Formula
from tidings.balancing.loads import Loads
from tidings.balancing.migration import SELECTORS, SelectorName
from tidings.model import DataError
from tidings.partitioning import Mapping, Move
from tidings.partitioning.load import COUNTED, LoadCosts

_MINOR = 0.01


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
        """Cost: some passes over the latest posts for each pair of matchers."""
        estimate = Estimate(loads, mapping, self.costs, self.formula)
        owner, before = mapping.owner.copy(), estimate.matchers(mapping.owner)
        rising = np.argsort(before, kind="stable").tolist()
        for light, heavy in zip(rising[: len(rising) // 2], reversed(rising), strict=False):
            if before[heavy] > self.uneven * before[light]:
                relieved = _Pair(estimate, heavy, light, owner).relieved(self)
                gain = before[heavy] - estimate.matchers(relieved)[heavy]
                owner = relieved if gain > _MINOR * before[heavy] else owner
        return [Move(int(parcel), int(owner[parcel])) for parcel in np.flatnonzero(owner != mapping.owner)]


@dataclass(slots=True)
class _Pair:
    """Two matchers, ``heavy`` wo and ``light`` wl, and who owns what so far."""

    estimate: Estimate
    heavy: int
    light: int
    owner: IdArray

    def relieved(self, policy: Local) -> IdArray:
        """The owners after both phases."""
        self._phase_1(policy.heaviest)
        heavy, light = self._loads(self.owner)
        if heavy > policy.aim * light:
            self._phase_2(policy, heavy, light)
        return self.owner

    def _loads(self, owner: IdArray) -> tuple[float, float]:
        loads = self.estimate.matchers(owner)
        return float(loads[self.heavy]), float(loads[self.light])

    def _given(self, parcels: IntArray) -> IdArray:
        owner = self.owner.copy()
        owner[parcels] = self.light
        return owner

    # ------------------------------------------------------------------------------------------------ Phase I

    def _phase_1(self, heaviest: int) -> None:
        """Split or merge the heaviest cells, where that lowers the sum of all loads."""
        regions = self.estimate.regions
        if regions is None or not heaviest:
            return
        at_heavy = np.where(self.owner == self.heavy, self.estimate.parcels, 0.0)
        loads = np.bincount(regions, at_heavy)
        for cell in np.argsort(-loads, kind="stable")[:heaviest].tolist():
            offered = self._part_of(np.flatnonzero((regions == cell) & (self.estimate.loads.filed > 0)))
            if not len(offered):
                continue
            before, owner = self.estimate.matchers(self.owner), self._given(offered)
            after = self.estimate.matchers(owner)
            if after.sum() < before.sum() and after[self.light] <= after[self.heavy]:
                self.owner = owner

    def _part_of(self, cell: IntArray) -> IntArray:
        """What wo may give of a cell: all that it has of one that wl has a part of; of one that it has whole, of two
        halves by load the one with the smaller size."""
        own: IntArray = cell[self.owner[cell] == self.heavy]
        if np.any(self.owner[cell] == self.light):
            return own
        if len(own) < max(len(cell), 2):
            return own[:0]
        halves: tuple[list[int], list[int]] = [], []
        sums = [0.0, 0.0]
        loads = self.estimate.parcels
        for parcel in own[np.argsort(-loads[own], kind="stable")].tolist():
            lighter = int(sums[1] < sums[0])
            halves[lighter].append(parcel)
            sums[lighter] += loads[parcel]
        filed = self.estimate.loads.filed
        smaller = min(halves, key=lambda half: int(filed[half].sum()))
        return np.array(sorted(smaller), dtype=np.int64)

    # ------------------------------------------------------------------------------------------------ Phase II

    def _phase_2(self, policy: Local, heavy: float, light: float) -> None:
        """Minimum cost migration of enough load to be as even as is aimed at, and of at most half of the difference."""
        own = np.flatnonzero(self.owner == self.heavy)
        loads, sizes = self.estimate.parcels[own], self.estimate.loads.filed[own]
        loads = loads * heavy / max(float(loads.sum()), 1e-300)  # a post that came for two of them was one
        fits = loads <= (heavy - light) / 2
        amount = (heavy - policy.aim * light) / (1 + policy.aim)
        places = SELECTORS[policy.select](sizes, np.where(fits, loads, 0.0), amount)
        order = places[np.argsort(sizes[places] / loads[places], kind="stable")]
        self.owner = self._given(own[order[: self._most(own[order])]])

    def _most(self, parcels: IntArray) -> int:
        """How many of these parcels wo can give before it has less than wl; they are given in order."""
        low, high = 0, len(parcels)
        while low < high:
            middle = (low + high + 1) // 2
            heavy, light = self._loads(self._given(parcels[:middle]))
            if light <= heavy:
                low = middle
            else:
                high = middle - 1
        return low
