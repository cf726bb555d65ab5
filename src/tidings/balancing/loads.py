"""What did the matchers do, and for which parcels? Counters, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from tidings.arrays import IdArray, IntArray
from tidings.partitioning.load import COUNTED, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class WorkDone:
    """Counters side by side: element i is of matcher i, or of parcel i. int64, but for ``ms`` (float64).

    ``posts`` came, ``compared`` times an entry was looked at (one of a region with up to 32 posts at once), ``found``
    matches were found, also those that another matcher delivers, ``insertions`` and ``deletions`` of subscriptions
    were made, all of that in ``ms`` milliseconds.
    """

    posts: IntArray
    compared: IntArray
    found: IntArray
    insertions: IntArray
    deletions: IntArray
    ms: FloatArray

    @classmethod
    def none(cls, count: int) -> WorkDone:
        """No work of so many."""
        posts, compared, found, insertions, deletions = (np.zeros(count, dtype=np.int64) for _ in range(5))
        return cls(posts, compared, found, insertions, deletions, np.zeros(count))

    def __len__(self) -> int:
        return len(self.posts)

    def __sub__(self, before: WorkDone) -> WorkDone:
        """What was done since then."""
        return WorkDone(*(getattr(self, field.name) - getattr(before, field.name) for field in fields(self)))

    def __add__(self, other: WorkDone) -> WorkDone:
        """What was done in both."""
        return WorkDone(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    def copy(self) -> WorkDone:
        """The same in arrays of its own."""
        return WorkDone(*(getattr(self, field.name).copy() for field in fields(self)))


@dataclass(frozen=True, slots=True, eq=False)
class Touches:
    """Post ``rows[i]`` (int64, never falling) was sent for parcel ``parcels[i]`` (int32); each pair is there once.

    ``entries[i]`` (int64): so many subscriptions are filed there under terms of the post.

    >>> touches = Touches.of(np.array([1, 0, 1, 1]), np.array([3, 5, 3, 0]), np.array([7, 1, 2, 1]))
    >>> touches.rows.tolist(), touches.parcels.tolist(), touches.entries.tolist()
    ([0, 1, 1], [5, 0, 3], [1, 1, 9])
    >>> touches.by_matcher(np.array([0, 0, 0, 0, 0, 1]), 2).tolist()
    [1, 1]
    """

    rows: IntArray
    parcels: IdArray
    entries: IntArray

    @classmethod
    def of(cls, rows: IntArray, parcels: npt.NDArray[np.integer], entries: IntArray) -> Touches:
        """Those of pairs in any order, of which some may be there several times."""
        most = int(parcels.max(initial=0)) + 1
        pairs, places = np.unique(rows * most + parcels, return_inverse=True)
        sums = np.bincount(places, entries, len(pairs)).astype(np.int64)
        return cls(pairs // most, (pairs % most).astype(np.int32), sums)

    @classmethod
    def joined(cls, parts: Sequence[Touches]) -> Touches:
        """Those of several batches, of which each numbers its posts from 0."""
        ends = np.cumsum([0, *(part.posts for part in parts)])
        none = cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64))
        rows = [part.rows + end for part, end in zip(parts, ends[:-1], strict=True)]
        return cls(
            np.concatenate([none.rows, *rows]),
            np.concatenate([none.parcels, *(part.parcels for part in parts)]),
            np.concatenate([none.entries, *(part.entries for part in parts)]),
        )

    @property
    def posts(self) -> int:
        """How many posts there are, up to the last one that was sent."""
        return int(self.rows[-1]) + 1 if len(self.rows) else 0

    def by_parcel(self, count: int) -> IntArray:
        """How many posts were sent for each of ``count`` parcels."""
        return np.bincount(self.parcels, minlength=count)

    def entries_by_parcel(self, count: int) -> IntArray:
        """How many entries there were for posts in each of ``count`` parcels."""
        return np.bincount(self.parcels, self.entries, count).astype(np.int64)

    def by_matcher(self, owner: npt.NDArray[np.integer], matchers: int) -> IntArray:
        """How many posts each matcher gets where ``owner[p]`` has parcel p: a post once."""
        found = np.zeros((matchers, self.posts), dtype=np.bool_)
        found[owner[self.parcels], self.rows] = True
        counts: IntArray = found.sum(axis=1, dtype=np.int64)
        return counts


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """Subscription ``rows[i]`` (int64) is filed in parcel ``parcels[i]``; each pair is there once. It stands for
    ``weights[rows[i]]`` (float64) others like it.

    A matcher has a subscription once, for however many of its parcels: one that is filed in two regions is kept twice
    where they belong to two matchers, and once where they belong to one.

    >>> standing = Standing(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([10.0, 10.0]))
    >>> [standing.by_matcher(np.array(owner), 2).tolist() for owner in ([0, 0], [0, 1])]
    [[20.0, 0.0], [10.0, 20.0]]
    """

    rows: IntArray
    parcels: IdArray
    weights: FloatArray

    @classmethod
    def apart(cls, filed: IntArray) -> Standing:
        """Those of which nothing is told but how many are filed in each parcel: as if each were in one alone."""
        numbers = np.arange(len(filed))
        return cls(numbers, numbers.astype(np.int32), filed.astype(np.float64))

    def by_matcher(self, owner: npt.NDArray[np.integer], matchers: int) -> FloatArray:
        """How many each matcher has where ``owner[p]`` has parcel p: a subscription once."""
        is_there = np.zeros((matchers, len(self.weights)), dtype=np.bool_)
        is_there[owner[self.parcels], self.rows] = True
        found: FloatArray = is_there @ self.weights
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Churn:
    """Under terms of parcel i ``inserted[i]`` (int64) subscriptions were filed, and ``deleted[i]`` no longer are."""

    inserted: IntArray
    deleted: IntArray

    @classmethod
    def none(cls, count: int) -> Churn:
        """No change in so many parcels."""
        return cls(np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64))

    def __add__(self, other: Churn) -> Churn:
        return Churn(self.inserted + other.inserted, self.deleted + other.deleted)


@dataclass(frozen=True, slots=True, eq=False)
class Loads:
    """What each matcher did, and what was done for each parcel since the last move.

    ``filed`` (int64): so many times a subscription is filed under a term of the parcel now. ``touches``: for which
    parcels the latest posts were sent; a post counts at a matcher once, for however many parcels it comes. ``churn``:
    what changed between these posts; a bulk before the first of them is not in it. ``standing``: which subscriptions
    are filed in several parcels.
    """

    matchers: WorkDone
    parcels: WorkDone
    filed: IntArray
    touches: Touches
    churn: Churn
    standing: Standing

    @property
    def posts(self) -> int:
        """How many posts matchers got since the last move: one that goes to two counts twice."""
        return int(self.matchers.posts.sum())

    @classmethod
    def attributed(
        cls,
        matchers: WorkDone,
        parcels: WorkDone,
        filed: IntArray,
        touches: Touches,
        churn: Churn,
        standing: Standing,
        owner: IdArray,
    ) -> Loads:
        """Loads in which each parcel has its part of the matches and milliseconds of its owner.

        Matchers count these for all their parcels together. Matches are divided by entries, milliseconds by
        entries and posts, at what these cost.
        """
        weights = COUNTED.of(parcels.compared, parcels.posts, parcels.insertions, parcels.deletions)
        found = _divided(matchers.found, parcels.compared, owner).astype(np.int64)
        ms = _divided(matchers.ms, weights, owner)
        return cls(matchers, replace(parcels, found=found, ms=ms), filed, touches, churn, standing)


def _divided(
    sums: npt.NDArray[np.int64] | FloatArray, weights: npt.NDArray[np.int64] | FloatArray, owner: IdArray
) -> FloatArray:
    """The sum of each matcher, divided between its parcels in proportion to their weights."""
    whole = np.bincount(owner, weights, len(sums))
    return np.asarray(sums[owner] * weights / np.maximum(whole[owner], 1e-300))
