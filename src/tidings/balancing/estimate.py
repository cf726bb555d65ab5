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
        posts = self.loads.touches.by_matcher(self.mapping.owner, count)
        pairs = cell_load(posts, np.bincount(self.mapping.owner, self.loads.filed, count))
        each: FloatArray = work.compared / np.maximum(work.posts, 1) * posts
        if not each.any():
            each = np.bincount(self.mapping.owner, self._entries, count).astype(np.float64)
        found: FloatArray = np.where(pairs > 0, each / np.maximum(pairs, 1), each.sum() / max(float(pairs.sum()), 1.0))
        return found

    def _pairs_of(self, owner: IdArray) -> FloatArray:
        """The pairs of each parcel. Where pairs are measured, half of those of its posts with all queries of its owner,
        and of its queries with all posts: so the sum is that of the owner."""
        if self.formula == "counted":
            return self._entries.astype(np.float64)
        if self.formula == "paper":
            found: FloatArray = cell_load(self.posts, self.loads.filed)
            return found
        count = self.mapping.matchers
        posts, filed = (np.bincount(owner, own, count)[owner] for own in (self.posts, self.loads.filed))
        return np.asarray(self._looked_at[owner] * (self.posts * filed + posts * self.loads.filed) / 2)

    def pairs_at(self, matcher: int) -> FloatArray:
        """The measured pairs that a matcher would have more with each parcel, or less without it: of its posts with all
        queries of the matcher, and of its queries with all posts."""
        has = self.mapping.owner == matcher
        posts, filed = self.posts[has].sum(), self.loads.filed[has].sum()
        return np.asarray(self._looked_at[matcher] * (self.posts * filed + posts * self.loads.filed))

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
        """The matches found for each parcel: those of its owner are divided by the entries that the router sees."""
        work, owner, count = self.loads.matchers, self.mapping.owner, self.mapping.matchers
        posts = self.loads.touches.by_matcher(owner, count)
        each: FloatArray = work.found / np.maximum(work.posts, 1) * posts
        entries = np.maximum(np.bincount(owner, self._entries, count), 1)
        return np.asarray((each / entries)[owner] * self._entries)

    @cached_property
    def _moving_along(self) -> FloatArray:
        """What goes with a parcel whoever has it: its changes and its matches."""
        return self._changes + self.costs.match * self._matches

    @cached_property
    def parcels(self) -> FloatArray:
        """The load of each parcel, as if it were alone."""
        return self.parcels_of(self.mapping.owner)

    def parcels_of(self, owner: IdArray) -> FloatArray:
        """The same if ``owner[p]`` has parcel p."""
        found: FloatArray = self.costs.of(self._pairs_of(owner), self.posts, 0, 0) + self._moving_along
        return found

    @cached_property
    def sums(self) -> dict[str, FloatArray]:
        """What the parcels of a matcher add up to, as :meth:`load_of` takes it."""
        return {
            "entries": self._entries.astype(np.float64),
            "filed": self.loads.filed.astype(np.float64),
            "along": self._moving_along,
        }

    def load_of(
        self, matcher: int | IntArray, posts: IntArray, entries: FloatArray, filed: FloatArray, along: FloatArray
    ) -> FloatArray:
        """The load of a matcher that gets so many posts and whose parcels have these sums; of several at once."""
        pairs = entries if self.formula == "counted" else cell_load(posts, filed)
        pairs = self._looked_at[matcher] * pairs if self.formula == "measured" else pairs
        found: FloatArray = self.costs.of(pairs, posts, 0, 0) + along
        return found

    def matchers(self, owner: IdArray) -> FloatArray:
        """The load of each matcher if ``owner[p]`` has parcel p. Cost: a pass over the latest posts; where little
        changes, a :class:`tidings.balancing.trial.Trial` costs less."""
        count = self.mapping.matchers
        posts = self.loads.touches.by_matcher(owner, count)
        sums = {name: np.bincount(owner, own, count).astype(np.float64) for name, own in self.sums.items()}
        return self.load_of(np.arange(count), posts, **sums)

    @cached_property
    def regions(self) -> IntArray | None:
        """The region of each parcel; None where places are not divided."""
        gridt = self.mapping.parcels.gridt
        if gridt is None:
            return None
        finer = self.mapping.parcels.count // gridt.count
        return np.repeat(np.arange(gridt.regions), finer * np.diff(gridt.first))
