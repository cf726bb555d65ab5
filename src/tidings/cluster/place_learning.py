"""How is a mapping learned that divides places too? From posts and queries together ([PS2] IV-B).

A query counts for what it costs, so subscriptions are read as well, a sample of them. What a mapping does is measured
with the router and the homes that a pipeline would have, so that any two mappings can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.cluster.counting import promised
from tidings.cluster.mappings import Figures
from tidings.cluster.placing import place
from tidings.partitioning import Mapping
from tidings.partitioning.hybrid import Workload, place_partitioner, sample_costs
from tidings.partitioning.load import COSTS, FloatArray, LoadCosts
from tidings.terms.sample import Sample

MOST_QUERIES = 100_000
"""So many subscriptions are learned from: all, in most cases. More of them would hardly change what is learned."""


@dataclass(frozen=True, slots=True)
class PlaceLearner:
    """``posts``: to learn from; ``held_out``: to measure with; both tables of publications. ``subscriptions``: all."""

    posts: pa.Table
    held_out: pa.Table
    subscriptions: pa.Table
    analyser: Analyser

    def learn(self, name: str, matchers: int) -> Mapping:
        """The mapping of the partitioner of that name. Cost: seconds for 100,000 posts."""
        asked = self._asked()
        workload = Workload.of(self.posts, asked, self.analyser)
        costs = self._costs(self.posts.num_rows, asked.num_rows)
        return place_partitioner(name, costs).partition(workload, matchers)

    def figures(self, mapping: Mapping) -> Figures:
        """What a mapping does to posts that it has not seen, by the load of [PS2] Def. 1."""
        asked = self._asked()
        placed = place(asked, mapping, Sample(self.analyser, self.posts), self.analyser)
        posts = np.bincount(placed.router.route(self.held_out).pairs()[1], minlength=mapping.matchers)
        queries = np.bincount(placed.homes.pairs()[1], minlength=mapping.matchers)
        rows, costs = self.held_out.num_rows, self._costs(self.held_out.num_rows, asked.num_rows)
        loads, alone = costs.load(posts, queries, queries), costs.load(rows, asked.num_rows, asked.num_rows)
        spread, largest, mean = posts.sum() / max(rows, 1), float(loads.max()), float(loads.mean())
        imbalance, throughput = (largest / mean, alone / largest) if largest else (1.0, float(mapping.matchers))
        return Figures(round(float(spread), 4), round(imbalance, 4), round(throughput, 4))

    def promised(self, mapping: Mapping) -> FloatArray:
        """The load of each matcher for posts that were held out, by what an index looks at."""
        asked = self._asked()
        stands_for = self.subscriptions.num_rows / max(asked.num_rows, 1)
        return promised(mapping, self.held_out, asked, stands_for, self.analyser)

    def _asked(self) -> pa.Table:
        """A sample of the subscriptions, by chance; the same one each time."""
        rows = self.subscriptions.num_rows
        if rows <= MOST_QUERIES:
            return self.subscriptions
        return self.subscriptions.take(pa.array(np.sort(np.random.default_rng(0).permutation(rows)[:MOST_QUERIES])))

    def _costs(self, posts: int, queries: int) -> LoadCosts:
        return sample_costs(COSTS, posts, queries, self.subscriptions.num_rows)
