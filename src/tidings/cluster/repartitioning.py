"""How does a cluster get a new partitioning while it goes on? The global load adjustment of PS2Stream.

Implements [PS2] V-B. Now and then a mapping is learned from recent posts and some of the subscriptions. If it is
clearly better on posts that were held out, what comes from then on is placed by it, and what is there stays. When few
are left that the older mapping placed, these are placed anew as well and the older one is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tidings.analysis import ENGLISH, Analyser
from tidings.balancing import Global
from tidings.cluster.cluster import Carried, Cluster
from tidings.cluster.counting import promised
from tidings.partitioning import Mapping
from tidings.partitioning.load import COUNTED, LoadCosts

Learned = Callable[[pa.Table, pa.Table, int], Mapping]
"""A mapping to so many matchers, from a table of posts and one of subscriptions."""


@dataclass(slots=True)
class Repartitioner:
    """Adjusts a cluster globally. ``most``: from so many subscriptions, at most, a mapping is learned."""

    cluster: Cluster
    learn: Learned
    policy: Global = field(default_factory=Global)
    most: int = 20_000
    costs: LoadCosts = COUNTED
    analyser: Analyser = ENGLISH

    def look(self, posts: pa.Table) -> Carried | None:
        """Adopt a new mapping if that is clearly better for posts like these, or retire an older one of which few are
        left: then what had to be carried is returned. The paper does it once a day."""
        cluster, older = self.cluster, self.cluster.older
        if older is not None:
            is_few = self.policy.is_few(len(older), of=cluster.count())
            return cluster.retire() if is_few else None
        mapping = self.better(posts)
        if mapping is not None:
            cluster.adopt(mapping)
        return None

    def better(self, posts: pa.Table) -> Mapping | None:
        """A mapping that is clearly better than the one in use; None if there is none. Every other post is held out."""
        asked, in_use = self.cluster.some(self.most), self.cluster.mapping
        if in_use is None or not asked.num_rows:
            return None
        rows = np.arange(posts.num_rows)
        learned, held_out = (posts.take(pa.array(rows[rows % 2 == half])) for half in (0, 1))
        mapping = self.learn(learned, asked, in_use.matchers)
        stands_for = self.cluster.count() / asked.num_rows
        before, after = (
            promised(own, held_out, asked, stands_for, self.analyser, self.costs) for own in (in_use, mapping)
        )
        return mapping if self.policy.is_better(before, after) else None
