"""What load would each matcher have if parcels had other owners? Counted on the latest posts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from tidings.arrays import IdArray, IntArray
from tidings.balancing.loads import Loads
from tidings.partitioning import Mapping
from tidings.partitioning.load import FloatArray, LoadCosts, cell_load

Formula = Literal["measured", "counted", "paper"]
"""Which pairs of posts and queries cost something: ``paper``, all of them ([PS2] Def. 1 and 3); ``measured``, of all
pairs of a matcher the part that its index has looked at; ``counted``, those that a router sees, which are fewer: a
matcher files by word, and looks at what other regions filed under the words of a post as well."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """The load of parcels and of matchers for posts like the latest, with changes as there were between them."""

    loads: Loads
    mapping: Mapping
    costs: LoadCosts
    formula: Formula = "counted"

    @cached_property
    def posts(self) -> IntArray:
        """The posts of each parcel."""
        return self.loads.touches.by_parcel(len(self.loads.filed))

    @cached_property
    def _entries(self) -> IntArray:
        return self.loads.touches.entries_by_parcel(len(self.loads.filed))

    @cached_property
    def _looked_at(self) -> FloatArray:
        """Of each matcher, the part of all its pairs that its index has looked at; of all of them together where one
        has no pairs, and what the router sees where no matcher has counted anything."""
        work, count = self.loads.matchers, self.mapping.matchers
        posts, standing = self._there
        pairs = cell_load(posts, standing)
        each: FloatArray = work.compared / np.maximum(work.posts, 1) * posts
        if not each.any():
            each = np.bincount(self.mapping.owner, self._entries, count).astype(np.float64)
        found: FloatArray = np.where(pairs > 0, each / np.maximum(pairs, 1), each.sum() / max(float(pairs.sum()), 1.0))
        return found

    @cached_property
    def _pairs(self) -> FloatArray:
        """The pairs of each parcel. Where pairs are measured, half of those of its posts with all queries of its owner,
        and of its queries with all posts."""
        if self.formula == "counted":
            return self._entries.astype(np.float64)
        if self.formula == "paper":
            found: FloatArray = cell_load(self.posts, self.loads.filed)
            return found
        owner = self.mapping.owner
        posts, standing = (own[owner] for own in self._there)
        return np.asarray(self._looked_at[owner] * (self.posts * standing + posts * self.loads.filed) / 2)

    @cached_property
    def _there(self) -> tuple[FloatArray, FloatArray]:
        """The posts and the subscriptions of each matcher, each of them once."""
        owner, count = self.mapping.owner, self.mapping.matchers
        posts = self.loads.touches.by_matcher(owner, count).astype(np.float64)
        return posts, self.loads.standing.by_matcher(owner, count)

    def pairs_at(self, matcher: int, parcels: IntArray, standing: FloatArray) -> FloatArray:
        """The measured pairs that a matcher would have more with each of some parcels, or less without it: of its posts
        with all queries of the matcher, and of so many queries with all posts."""
        posts, queries = (own[matcher] for own in self._there)
        return np.asarray(self._looked_at[matcher] * (self.posts[parcels] * queries + posts * standing))

    @cached_property
    def _changes(self) -> FloatArray:
        """What insertions and deletions cost, of each parcel. A subscription comes to a matcher once, however many of
        its terms are there: parcels count it for each of them, so their sum is scaled to that of the matchers."""
        work, churn = self.loads.matchers, self.loads.churn
        once = work.insertions.sum() / max(int(self.loads.parcels.insertions.sum()), 1)
        found: FloatArray = once * self.costs.of(0.0, 0.0, churn.inserted, churn.deleted)
        return found

    @cached_property
    def _matches(self) -> FloatArray:
        """What the matches found for each parcel cost: those of its owner are divided by the entries that the router
        sees."""
        work, owner, count = self.loads.matchers, self.mapping.owner, self.mapping.matchers
        each: FloatArray = work.found / np.maximum(work.posts, 1) * self._there[0]
        entries = np.maximum(np.bincount(owner, self._entries, count), 1)
        return np.asarray(self.costs.match * (each / entries)[owner] * self._entries)

    @cached_property
    def parcels(self) -> FloatArray:
        """The load of each parcel, as if it were alone."""
        found: FloatArray = self.costs.of(self._pairs, self.posts, 0, 0) + self._changes + self._matches
        return found

    @cached_property
    def rates(self) -> FloatArray:
        """What one pair of a post and a subscription of each matcher costs; nothing where pairs are counted."""
        if self.formula == "counted":
            return np.zeros(self.mapping.matchers)
        looked_at = self._looked_at if self.formula == "measured" else np.ones(self.mapping.matchers)
        return np.asarray(self.costs.pair * looked_at)

    @cached_property
    def sums(self) -> FloatArray:
        """float64[3, parcels]: what the parcels of a matcher add up to. How often subscriptions are filed there, what
        changes cost, and what matches and counted pairs cost."""
        flat = self._matches + (self.formula == "counted") * self.costs.pair * self._entries
        return np.stack([self.loads.filed.astype(np.float64), self._changes, flat])

    @cached_property
    def filed_for_one(self) -> float:
        """In how many parcels of a matcher a subscription is filed that is there, on average."""
        return float(self.loads.filed.sum() / max(self._there[1].sum(), 1e-300))

    def load_of(self, matcher: int | IntArray, posts: FloatArray, standing: FloatArray, sums: FloatArray) -> FloatArray:
        """The load of a matcher that gets so many posts and has so many subscriptions, and whose parcels have these
        :attr:`sums`; of several at once."""
        filed, changes, flat = sums
        copies = self.filed_for_one * standing / np.maximum(filed, 1.0)
        found: FloatArray = self.rates[matcher] * cell_load(posts, standing) + copies * changes + flat
        return found + self.costs.post * posts

    def share_of(self, matcher: int, parcels: IntArray, posts: FloatArray, standing: FloatArray) -> FloatArray:
        """The parts that parcels have in the load of a matcher, if its posts and its subscriptions are divided between
        them in that way: of the pairs, half of those of their posts and half of those of their subscriptions."""
        pairs = (cell_load(posts, standing.sum()) + cell_load(posts.sum(), standing)) / 2
        _, changes, flat = self.sums[:, parcels]
        return np.asarray(self.rates[matcher] * pairs + self.costs.post * posts + changes + flat)

    def matchers(self, owner: IdArray) -> FloatArray:
        """The load of each matcher if ``owner[p]`` has parcel p. Cost: a pass over the latest posts; where little
        changes, a :class:`tidings.balancing.trial.Trial` costs less."""
        count = self.mapping.matchers
        posts = self.loads.touches.by_matcher(owner, count).astype(np.float64)
        standing = self.loads.standing.by_matcher(owner, count)
        return self.load_of(np.arange(count), posts, standing, self.sums_at(owner))

    def sums_at(self, owner: IdArray) -> FloatArray:
        """The :attr:`sums` of each matcher."""
        return np.stack([np.bincount(owner, own, self.mapping.matchers) for own in self.sums]).astype(np.float64)

    @cached_property
    def regions(self) -> IntArray | None:
        """The region of each parcel; None where places are not divided."""
        gridt = self.mapping.parcels.gridt
        if gridt is None:
            return None
        finer = self.mapping.parcels.count // gridt.count
        return np.repeat(np.arange(gridt.regions), finer * np.diff(gridt.first))
