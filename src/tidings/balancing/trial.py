"""What if these parcels went there? Owners that are tried out, with loads that follow each change.

A trial costs what the parcels that go were touched by, and not a pass over all posts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tidings.arrays import IdArray, IntArray
from tidings.balancing import kernels
from tidings.balancing.estimate import Estimate
from tidings.partitioning.load import FloatArray


class Given(NamedTuple):
    """The loads of two matchers after each of some parcels has gone from the one to the other."""

    heavy: FloatArray
    light: FloatArray


class Parts(NamedTuple):
    """What parcels have of their matcher: a part of its load, and of its subscriptions that another one lacks."""

    loads: FloatArray
    sizes: FloatArray


class _There:
    """What comes to matchers for the sake of parcels, posts or subscriptions, and counts once at each of them."""

    def __init__(self, rows: IntArray, parcels: IdArray, weights: FloatArray, owner: IdArray, matchers: int) -> None:
        order = np.argsort(parcels, kind="stable")
        self._rows = rows[order].astype(np.int64)
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(parcels, minlength=len(owner)))]).astype(np.int64)
        self._weights = weights
        flat = owner[parcels].astype(np.int64) * len(weights) + rows
        counts = np.bincount(flat, minlength=matchers * len(weights)).astype(np.int32)
        self._counts = counts.reshape(matchers, len(weights))
        self._before = self._counts > 0
        self.sums: FloatArray = self._before @ weights

    def give(self, parcels: IntArray, heavy: int, light: int) -> Given:
        """Let parcels go; how much both matchers have after each of them."""
        found = np.empty((2, len(parcels)))
        tables = self._starts, self._rows, self._weights, self._counts, self.sums
        kernels.give(parcels, heavy, light, *tables, *found)
        return Given(*found)

    def divided(self, parcels: IntArray, heavy: int, light: int) -> Given:
        """What ``heavy`` has, divided between its parcels; and of that what ``light`` has not."""
        found = np.zeros((2, len(parcels)))
        kernels.shares(parcels, heavy, light, self._starts, self._rows, self._weights, self._counts, *found)
        return Given(*found)

    def come(self) -> float:
        """How much matchers have that they had not at first."""
        return float((((self._counts > 0) & ~self._before) @ self._weights).sum())


class Trial:
    """Begins with the owners of the mapping of an estimate; ``owner`` and ``loads`` are those of now."""

    def __init__(self, estimate: Estimate) -> None:
        touches, standing = estimate.loads.touches, estimate.loads.standing
        count = estimate.mapping.matchers
        self.estimate = estimate
        self.owner: IdArray = estimate.mapping.owner.copy()
        self._posts = _There(touches.rows, touches.parcels, np.ones(touches.posts), self.owner, count)
        self._standing = _There(standing.rows, standing.parcels, standing.weights, self.owner, count)
        self._sums = {
            name: np.bincount(self.owner, own, count).astype(np.float64) for name, own in estimate.sums.items()
        }

    @property
    def posts(self) -> int:
        """How many posts all matchers get: one that goes to two counts twice."""
        return round(float(self._posts.sums.sum()))

    @property
    def carried(self) -> float:
        """How many subscriptions have to go to matchers that have not had them."""
        return self._standing.come()

    def loads(self) -> FloatArray:
        """The load of each matcher."""
        every = np.arange(len(self._posts.sums))
        return self.estimate.load_of(every, self._posts.sums, self._standing.sums, **self._sums)

    def parts(self, parcels: IntArray, heavy: int, light: int) -> Parts:
        """What parcels of ``heavy`` have of it, and what ``light`` would get."""
        posts, standing = (there.divided(parcels, heavy, light) for there in (self._posts, self._standing))
        return Parts(self.estimate.share_of(heavy, parcels, posts.heavy, standing.heavy), standing.light)

    def pairs(self, parcels: IntArray, heavy: int, light: int) -> Given:
        """How many pairs ``heavy`` would have less without each of its parcels, and ``light`` more with it."""
        standing = self._standing.divided(parcels, heavy, light)
        pairs_at = self.estimate.pairs_at
        return Given(pairs_at(heavy, parcels, standing.heavy), pairs_at(light, parcels, standing.light))

    def give(self, parcels: IntArray, heavy: int, light: int) -> Given:
        """Let parcels of ``heavy`` go to ``light``, in that order."""
        posts, standing = (there.give(parcels, heavy, light) for there in (self._posts, self._standing))
        self.owner[parcels] = light
        found = []
        for place, (matcher, sign) in enumerate(((heavy, -1), (light, 1))):
            gone = {name: sign * np.cumsum(own[parcels]) for name, own in self.estimate.sums.items()}
            sums = {name: self._sums[name][matcher] + own for name, own in gone.items()}
            found.append(self.estimate.load_of(matcher, posts[place], standing[place], **sums))
            for name, own in gone.items():
                self._sums[name][matcher] += own[-1] if len(own) else 0
        return Given(*found)
