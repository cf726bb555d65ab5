"""How long does a batch take, and how much memory do the router and the matchers need? [PS2] Fig. 8, 9 and 10.

For each partitioner there is a cluster of real matchers in this process, with the same subscriptions. Batches of posts
go to all clusters in turn. The matchers of a cluster work one after another here, and each is timed on its own; they
would work at the same time, so a batch takes as long as it is routed, and then as long as its slowest matcher.

After each batch as many subscriptions come and go as there would be in that time: one each for every 10 posts ([PS2]
VI-A). That counts for the whole run: it takes as long as the matcher that is busiest with posts and changes.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.ps2.corpus import read_notes
from benchmarks.ps2.division import COMPARED, POSTS_PER_CHANGE, WORKLOADS, Plan, Setting
from tidings.analysis import ENGLISH
from tidings.cluster import Cluster, Router
from tidings.index.subscribers import with_all_columns
from tidings.model import DataError
from tidings.partitioning.hybrid import Workload
from tidings.partitioning.load import FloatArray

_WARM = 4
_MB = 1e6


@dataclass(frozen=True, slots=True)
class Stream:
    """``batches`` of ``rows`` posts, after a few that are not counted."""

    batches: int = 24
    rows: int = 1_000

    @property
    def posts(self) -> int:
        """Those of all batches."""
        return (_WARM + self.batches) * self.rows

    @property
    def changes(self) -> int:
        """So many subscriptions come after each batch, and as many go."""
        return self.rows // POSTS_PER_CHANGE


@dataclass(slots=True)
class _Side:
    """The cluster of one partitioner; what each batch took it, ``busy_ms`` by matcher and with changes."""

    cluster: Cluster
    routing_ms: list[float] = field(default_factory=list)
    slowest_ms: list[float] = field(default_factory=list)
    busy_ms: list[FloatArray] = field(default_factory=list)
    matches: int = 0

    def take(self, posts: pa.Table, come: pa.Table, go: list[str]) -> None:
        before, began = self.cluster.loads().matchers.ms, time.perf_counter()
        routes = router_of(self.cluster).route(posts)
        self.routing_ms.append((time.perf_counter() - began) * 1e3)
        self.matches += len(self.cluster.deliver(posts, routes).rows)
        self.slowest_ms.append(float((self.cluster.loads().matchers.ms - before).max()))
        self.cluster.change(come, go)
        self.busy_ms.append(self.cluster.loads().matchers.ms - before)

    def figures(self) -> dict[str, Any]:
        routing, slowest = self.routing_ms[_WARM:], self.slowest_ms[_WARM:]
        batches = [one + other for one, other in zip(routing, slowest, strict=True)]
        indexes = [member.index for member in self.cluster.members]
        sizes = [index.size_bytes / _MB for index in indexes]
        return {
            "query_copies": round(sum(len(index) for index in indexes) / self.cluster.count(), 2),
            "batch_ms": round(statistics.median(batches), 2),
            "routing_ms": round(statistics.median(routing), 2),
            "busiest_ms": round(float(np.sum(self.busy_ms[_WARM:], axis=0).max())),
            "router_mb": round(_router_bytes(router_of(self.cluster)) / _MB, 3),
            "matcher_mb": round(statistics.mean(sizes), 3),
            "largest_matcher_mb": round(max(sizes), 3),
            "matches": self.matches,
        }


def figures(data: Path, plan: Plan, setting: Setting, stream: Stream) -> list[dict[str, Any]]:
    """A row for each partitioner: half of the ``plan.posts`` are learned from, with all ``plan.standing``
    subscriptions; those that come later are others."""
    learned = plan.posts // 2
    notes = read_notes(data, learned + stream.posts + learned, plan.seed, setting.map_name, setting.length)
    coming = (_WARM + stream.batches) * stream.changes
    source = notes.slice(learned + stream.posts)
    asked = WORKLOADS[setting.kind](source, plan.standing + coming, plan.seed, ENGLISH)
    learn = Workload.of(notes.slice(0, learned), asked.slice(0, plan.standing))
    asked, sides = with_all_columns(asked), dict[str, _Side]()
    for name in COMPARED:
        sides[name] = _Side(Cluster(plan.partitioners()[name](learn, plan.matchers), sample=notes.slice(0, learned)))
        sides[name].cluster.change(asked.slice(0, plan.standing))
    for number in range(_WARM + stream.batches):
        posts, at = notes.slice(learned + number * stream.rows, stream.rows), number * stream.changes
        come, go = asked.slice(plan.standing + at, stream.changes), asked["id"].slice(at, stream.changes).to_pylist()
        turn = list(sides.values())
        for side in turn if number % 2 else reversed(turn):
            side.take(posts, come, go)
    if len({side.matches for side in sides.values()}) > 1:
        raise DataError(f"{setting.kind}: partitioners find other matches; this is a bug, please report it")
    labels = {"map": setting.map_name, "length": setting.length, "queries": setting.kind}
    return [labels | {"partitioner": name} | side.figures() for name, side in sides.items()]


def router_of(cluster: Cluster) -> Router:
    """That of a cluster with subscriptions."""
    if cluster.router is None:
        raise DataError("nobody has subscribed, so there is no router; subscribe first")
    return cluster.router


def _router_bytes(router: Router) -> int:
    """What one that routes has in memory: the file, which it maps, and what it builds when it opens that."""
    with TemporaryDirectory(prefix="tidings-bench-") as folder:
        path = Path(folder, "router")
        router.save(path)
        tracemalloc.start()
        try:
            opened = Router.open(path)
            built = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        del opened
        return path.stat().st_size + built
