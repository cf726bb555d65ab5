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


class Trial:
    """Begins with the owners of the mapping of an estimate; ``owner`` and ``loads`` are those of now."""

    def __init__(self, estimate: Estimate) -> None:
        touches, count = estimate.loads.touches, estimate.mapping.matchers
        self.estimate = estimate
        self.owner: IdArray = estimate.mapping.owner.copy()
        order = np.argsort(touches.parcels, kind="stable")
        self._rows = touches.rows[order]
        self._starts = np.concatenate([[0], np.cumsum(touches.by_parcel(len(self.owner)))]).astype(np.int64)
        flat = self.owner[touches.parcels].astype(np.int64) * touches.posts + touches.rows
        self._counts = np.bincount(flat, minlength=count * touches.posts).astype(np.int32).reshape(count, touches.posts)
        self._posts = np.count_nonzero(self._counts, axis=1).astype(np.int64)
        self._sums = {
            name: np.bincount(self.owner, own, count).astype(np.float64) for name, own in estimate.sums.items()
        }

    @property
    def posts(self) -> int:
        """How many posts all matchers get: one that goes to two counts twice."""
        return int(self._posts.sum())

    def loads(self) -> FloatArray:
        """The load of each matcher."""
        every = np.arange(len(self._posts))
        return self.estimate.load_of(every, self._posts, **self._sums)

    def give(self, parcels: IntArray, heavy: int, light: int) -> Given:
        """Let parcels of ``heavy`` go to ``light``, in that order."""
        posts = np.empty((2, len(parcels)), dtype=np.int64)
        kernels.give(parcels, heavy, light, self._starts, self._rows, self._counts, self._posts, *posts)
        self.owner[parcels] = light
        found = []
        for matcher, own_posts, sign in ((heavy, posts[0], -1), (light, posts[1], 1)):
            gone = {name: sign * np.cumsum(own[parcels]) for name, own in self.estimate.sums.items()}
            sums = {name: self._sums[name][matcher] + own for name, own in gone.items()}
            found.append(self.estimate.load_of(matcher, own_posts, **sums))
            for name, own in gone.items():
                self._sums[name][matcher] += own[-1] if len(own) else 0
        return Given(*found)
