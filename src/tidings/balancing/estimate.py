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

Formula = Literal["counted", "paper"]
"""Which pairs of posts and queries cost something: those that an index looks at, or all ([PS2] Def. 1 and 3)."""


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
    def _changes(self) -> FloatArray:
        """What insertions and deletions cost, of each parcel. A subscription comes to a matcher once, however many of
        its terms are there: parcels count it for each of them, so their sum is scaled to that of the matchers."""
        work, churn = self.loads.matchers, self.loads.churn
        once = work.insertions.sum() / max(int(self.loads.parcels.insertions.sum()), 1)
        found: FloatArray = once * self.costs.of(0.0, 0.0, churn.inserted, churn.deleted)
        return found

    @cached_property
    def parcels(self) -> FloatArray:
        """The load of each parcel, as if it were alone."""
        pairs = self._entries if self.formula == "counted" else cell_load(self.posts, self.loads.filed)
        found: FloatArray = self.costs.of(pairs, self.posts, 0, 0) + self._changes
        return found

    def matchers(self, owner: IdArray) -> FloatArray:
        """The load of each matcher if ``owner[p]`` has parcel p. Cost: a pass over the latest posts."""
        count = self.mapping.matchers
        posts = self.loads.touches.by_matcher(owner, count)
        entries, filed = (np.bincount(owner, own, count) for own in (self._entries, self.loads.filed))
        pairs = entries if self.formula == "counted" else cell_load(posts, filed)
        found: FloatArray = self.costs.of(pairs, posts, 0, 0) + np.bincount(owner, self._changes, count)
        return found

    @cached_property
    def regions(self) -> IntArray | None:
        """The region of each parcel; None where places are not divided."""
        gridt = self.mapping.parcels.gridt
        if gridt is None:
            return None
        finer = self.mapping.parcels.count // gridt.count
        return np.repeat(np.arange(gridt.regions), finer * np.diff(gridt.first))
