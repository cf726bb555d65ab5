"""How good is a mapping for a workload? Counts of posts and queries at each matcher, and so loads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IntArray
from tidings.model import DataError
from tidings.partitioning.gridt.gridt import Gridt
from tidings.partitioning.hybrid.workload import Workload
from tidings.partitioning.load import FloatArray, LoadCosts
from tidings.partitioning.mapping import Mapping, Owners, hash_names
from tidings.partitioning.sets import MatcherSets
from tidings.terms.local_terms import LocalTerms


@dataclass(frozen=True, slots=True, eq=False)
class Division:
    """Of ``all_posts`` and ``all_queries``, ``posts[m]`` and ``queries[m]`` (int64) are at matcher m.

    ``dropped`` posts are sent to nobody. Of each query that is inserted so many are deleted: ``deleted``.
    """

    all_posts: int
    all_queries: int
    posts: IntArray
    queries: IntArray
    dropped: int
    deleted: float

    def loads(self, costs: LoadCosts) -> FloatArray:
        """[PS2] Def. 1 for each matcher."""
        return np.asarray(costs.load(self.posts, self.queries, self.deleted * self.queries))

    @property
    def post_copies(self) -> float:
        """How many matchers a post is sent to, of those that are sent."""
        return float(self.posts.sum() / max(self.all_posts - self.dropped, 1))

    @property
    def query_copies(self) -> float:
        """How many matchers a query is at."""
        return float(self.queries.sum() / max(self.all_queries, 1))


def measure(mapping: Mapping, workload: Workload) -> Division:
    """What a mapping of :class:`Gridt` makes of a workload: what a router and homes would do, counted."""
    gridt = mapping.parcels
    if not isinstance(gridt, Gridt):
        raise DataError(f"places are divided by a grid of regions, got {type(gridt).__name__}; learn such a mapping")
    entries, regions = _filed(gridt, workload)
    words = workload.entry_word[entries]
    keys, places = np.unique(regions * np.int64(len(workload.names)) + words, return_index=True)
    hashes = hash_names(workload.names)
    own = mapping.owner[gridt.parcels_of(regions[places].astype(np.int32), hashes[words[places]])]
    pairs = LocalTerms()
    pairs.put(regions[places].astype(np.int32), words[places], np.arange(len(keys), dtype=np.int32))
    sets = pairs.local(gridt.grid.cells(workload.lon, workload.lat), gridt.region, workload.posts, gridt.borders)
    routes = MatcherSets.owning(sets, Owners.single(own), mapping.matchers)
    at = own[np.searchsorted(keys, regions * np.int64(len(workload.names)) + words)]
    homes = np.unique(workload.entry_query[entries] * np.int64(mapping.matchers) + at)
    return Division(
        len(workload.posts),
        len(workload.queries),
        np.bincount(routes.pairs()[1], minlength=mapping.matchers),
        np.bincount(homes % mapping.matchers, minlength=mapping.matchers),
        int(np.count_nonzero(routes.sizes() == 0)),
        workload.deletions / max(workload.insertions, 1),
    )


def _filed(gridt: Gridt, workload: Workload) -> tuple[IntArray, IntArray]:
    """Each entry, and each region that it is filed in, side by side."""
    has_box = ~np.isnan(workload.entry_box[:, 0])
    offsets = np.concatenate([[0], np.cumsum(has_box, dtype=np.int64)])
    sets: TermSets = gridt.regions_of(workload.entry_box[has_box], offsets)
    return np.repeat(np.arange(len(sets)), np.diff(sets.offsets)), sets.ids.astype(np.int64)
