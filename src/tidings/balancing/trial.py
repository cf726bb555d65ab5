"""What if these parcels went there? Owners that are tried out, with loads that follow each change.

To begin costs a pass over all posts and subscriptions, and a table of them for each matcher. What goes costs what it is
touched by.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tidings.arrays import IdArray, IntArray
from tidings.balancing import kernels
from tidings.balancing.estimate import Estimate
from tidings.partitioning import Move
from tidings.partitioning.load import FloatArray

MINOR = 0.01
"""What makes the largest load less by a smaller part is left alone."""

TRIES = 50
"""How often an exchange tries each parcel somewhere else, on average."""

_POWER = 32.0
"""The norm of loads that an exchange makes smaller: nearly the largest load, but others count as well."""

_OF_SUM = 0.3
"""So much of the mean load counts beside the norm: else all would be tossed about where one load cannot be lowered."""

_FAR = 0.1
_SEED = 1


class Given(NamedTuple):
    """The loads of two matchers after each of some parcels has gone from the one to the other."""

    heavy: FloatArray
    light: FloatArray


class Parts(NamedTuple):
    """What parcels have of their matcher: a part of its load, and of its subscriptions that another one lacks."""

    loads: FloatArray
    sizes: FloatArray


def _there(rows: IntArray, parcels: IdArray, weights: FloatArray, owner: IdArray, matchers: int) -> kernels.There:
    """What comes to matchers for the sake of parcels, posts or subscriptions, and counts once at each of them."""
    order = np.argsort(parcels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(parcels, minlength=len(owner)))]).astype(np.int64)
    flat = owner[parcels].astype(np.int64) * len(weights) + rows
    counts = np.bincount(flat, minlength=matchers * len(weights)).astype(np.int32).reshape(matchers, len(weights))
    before, none = counts > 0, np.zeros(matchers)
    return kernels.There(
        starts, rows[order].astype(np.int64), weights, counts, before, before @ weights, none, none.copy()
    )


class Trial:
    """Begins with the owners of the mapping of an estimate; ``owner`` is that of now.

    ``times``: how many times the remembered posts matchers have got since the last move; infinity if nobody counted.
    """

    def __init__(self, estimate: Estimate) -> None:
        touches, standing = estimate.loads.touches, estimate.loads.standing
        count = estimate.mapping.matchers
        self.estimate = estimate
        self.owner: IdArray = estimate.mapping.owner.copy()
        self._posts = _there(touches.rows, touches.parcels, np.ones(touches.posts), self.owner, count)
        self._standing = _there(standing.rows, standing.parcels, standing.weights, self.owner, count)
        self._sums = estimate.sums_at(self.owner)
        self._largest = float(self.loads().max())
        got = estimate.loads.posts
        self.times = got / max(float(self._posts.sums.sum()), 1.0) if got else np.inf

    def loads(self) -> FloatArray:
        """The load of each matcher."""
        every = np.arange(len(self._posts.sums))
        return self.estimate.load_of(every, self._posts.sums, self._standing.sums, self._sums)

    def moving(self) -> FloatArray:
        """What each matcher has to do once, for the subscriptions that come and those that go."""
        costs, standing = self.estimate.costs, self._standing
        return np.asarray(costs.insertion * standing.come + costs.deletion * standing.gone)

    def parts(self, parcels: IntArray, heavy: int, light: int) -> Parts:
        """What parcels of ``heavy`` have of it, and what ``light`` would get."""
        posts, standing = (_divided(there, parcels, heavy, light) for there in (self._posts, self._standing))
        return Parts(self.estimate.share_of(heavy, parcels, posts.heavy, standing.heavy), standing.light)

    def pairs(self, parcels: IntArray, heavy: int, light: int) -> Given:
        """How many pairs ``heavy`` would have less without each of its parcels, and ``light`` more with it."""
        standing = _divided(self._standing, parcels, heavy, light)
        pairs_at = self.estimate.pairs_at
        return Given(pairs_at(heavy, parcels, standing.heavy), pairs_at(light, parcels, standing.light))

    def give(self, parcels: IntArray, heavy: int, light: int) -> Given:
        """Let parcels of ``heavy`` go to ``light``, in that order."""
        posts, standing = (np.empty((2, len(parcels))) for _ in range(2))
        kernels.give(parcels, heavy, light, self._posts, *posts)
        kernels.give(parcels, heavy, light, self._standing, *standing)
        self.owner[parcels] = light
        gone = np.cumsum(self.estimate.sums[:, parcels], axis=1)
        found = []
        for place, (matcher, sign) in enumerate(((heavy, -1), (light, 1))):
            sums = self._sums[:, matcher, None] + sign * gone
            found.append(self.estimate.load_of(matcher, posts[place], standing[place], sums))
            self._sums[:, matcher] = sums[:, -1] if len(parcels) else self._sums[:, matcher]
        return Given(*found)

    def price(self) -> float:
        """What an exchange makes smaller: the largest load, with what moves, and beside it a part of the mean."""
        loads = self.loads() + self.moving() / self.times
        return float(loads.max() + _OF_SUM * loads.mean())

    def moves(self) -> list[Move]:
        """What belongs to others now, if it is worth that: if all would have been ready earlier with the posts since
        the last move, had each of them made its insertions and deletions before."""
        if (self.loads() + self.moving() / self.times).max() > (1 - MINOR) * self._largest:
            return []
        parcels = np.flatnonzero(self.owner != self.estimate.mapping.owner)
        return [Move(int(parcel), int(self.owner[parcel])) for parcel in parcels]

    def exchange(self, tries: int, takes: npt.NDArray[np.bool_]) -> None:
        """Exchange parcels between the matchers that take part (bool[matchers]), so that the largest loads, with what
        moves, become as small as ``tries`` for each parcel can make them; and their sum, as what belongs together comes
        together. A local search, by chance and always the same.
        """
        estimate, costs = self.estimate, self.estimate.costs
        places = np.flatnonzero((estimate.loads.filed > 0) | (estimate.posts > 0))
        regions = np.arange(len(self.owner)) if estimate.regions is None else estimate.regions
        places = places[np.argsort(regions[places], kind="stable")]
        ends = np.append(np.flatnonzero(np.diff(regions[places])) + 1, len(places))
        region_at = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        if not (len(places) and takes.any() and self.loads().any()):
            return
        moving = costs.insertion / self.times, costs.deletion / self.times
        loading = kernels.Loading(
            estimate.rates, float(costs.post), *moving, estimate.filed_for_one, self._sums, estimate.sums
        )
        search = kernels.Search(tries * len(places), _SEED, _POWER, _OF_SUM, _FAR)
        kernels.exchange(self.owner, places, region_at, ends, takes, self._posts, self._standing, loading, search)


def _divided(there: kernels.There, parcels: IntArray, heavy: int, light: int) -> Given:
    """What ``heavy`` has, divided between its parcels; and of that what ``light`` has not."""
    found = np.zeros((2, len(parcels)))
    kernels.shares(parcels, heavy, light, there, *found)
    return Given(*found)
