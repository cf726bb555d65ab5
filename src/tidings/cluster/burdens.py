"""How much does each matcher have to carry? Its subscriptions, their words, and what a trie of them would do."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa

from tidings.analysis import ENGLISH, Analyser
from tidings.arrays import IntArray
from tidings.cluster.placing import Placement
from tidings.placement.cost import Nodes, paths_of, texts_of


@dataclass(frozen=True, slots=True, eq=False)
class Burdens:
    """By matcher, int64: publications sent to it, its subscriptions, their different words, look-ups of its trie."""

    publications: IntArray
    subscriptions: IntArray
    words: IntArray
    operations: IntArray

    def figures(self) -> dict[str, tuple[int, float]]:
        """For each of them what all matchers have together, and the largest divided by the mean (1 is best)."""
        each = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: (int(own.sum()), float(own.max() / max(own.mean(), 1e-9))) for name, own in each.items()}


def burdens_of(placement: Placement, posts: pa.Table, analyser: Analyser = ENGLISH) -> Burdens:
    """The burdens of all matchers, for posts like these. Cost: some 20 µs for each subscription at each home."""
    routes, texts = placement.router.route(posts), texts_of(posts, analyser)
    counts = []
    for matcher in range(placement.router.matchers):
        table, rows = placement.share(matcher).table, routes.with_matcher(matcher).tolist()
        paths, trie = paths_of(table["query"], analyser), Nodes()
        trie.grow(paths)
        words = {word for path in paths for word in path}
        counts.append((len(rows), table.num_rows, len(words), sum(trie.look_ups(texts[row]) for row in rows)))
    return Burdens(*np.array(counts, dtype=np.int64).T)
