"""How many copies of posts and queries does each partitioner of [PS2] make, and what load does that give?

Partitioners learn from half of the posts and all queries, and are measured with the other half. A sample of queries
stands for all standing ones: each for ``standing`` / ``queries``. In the time of the posts there is an insertion and a
deletion for every 10 of them ([PS2] VI-A).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidings.analysis import ENGLISH
from tidings.model import DataError
from tidings.partitioning import Mapping
from tidings.partitioning.hybrid import Hybrid, Space, Text, Workload, measure
from tidings.partitioning.load import LoadCosts
from tidings.workloads import squares

WORKLOADS = {"q1": squares.q1, "q2": squares.q2, "q3": squares.q3}
WIDTH_DEGREES = {"world": None, "country": 9.0, "city": 0.45}
"""To how many degrees, at the equator, the map of all posts is scaled: 1,000 km and 50 km."""

_POSTS_PER_INSERTION = 10
_BASES = ("frequency", "hypergraph", "metric", "grid", "kd-tree", "r-tree")


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is learned from and measured with, for how many matchers, and what it costs: [PS2] Def. 1."""

    posts: int = 40_000
    queries: int = 20_000
    matchers: int = 8
    standing: int = 1_000_000
    seed: int = 1
    costs: LoadCosts = LoadCosts()  # noqa: RUF009  (frozen)

    def sample_costs(self) -> LoadCosts:
        """The costs where a query of the sample stands for many, and half of the posts are measured with."""
        churn = self.posts / 2 / _POSTS_PER_INSERTION / self.queries
        each = self.costs
        return LoadCosts(
            each.pair * self.standing / self.queries, each.post, each.insertion * churn, each.deletion * churn
        )

    def partitioners(self) -> dict[str, Callable[[Workload, int], Mapping]]:
        """By name, the bases first."""
        costs = self.sample_costs()
        return {
            "frequency": Text(method="frequency", costs=costs).partition,
            "hypergraph": Text(method="hypergraph", costs=costs).partition,
            "metric": Text(method="metric", costs=costs).partition,
            "grid": Space(method="grid", costs=costs).partition,
            "kd-tree": Space(method="kd-tree", costs=costs).partition,
            "r-tree": Space(method="r-tree", costs=costs).partition,
            "hybrid": Hybrid(costs=costs).partition,
            "as in the paper": Hybrid(costs=costs, compare=False).partition,
        }


def read_notes(data: Path, rows: int, seed: int, map_name: str) -> pa.Table:
    """Independent notes by chance, on a map of that size."""
    table = pq.read_table(data / "notes.parquet", columns=["id", "lat", "lon", "text", "kind", "app"])
    table = table.filter(pc.and_(pc.equal(table["kind"], "opened"), pc.equal(table["app"], "none")))
    if table.num_rows < rows:
        raise DataError(f"there are {table.num_rows:,} notes, and {rows:,} are asked for; ask for fewer")
    table = table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)[:rows]))
    width = WIDTH_DEGREES[map_name]
    lon, lat = table["lon"].to_numpy(), table["lat"].to_numpy()
    if width is not None:
        lon, lat = lon * width / 360, lat * width / 180
    return pa.table({"id": table["id"].cast(pa.string()), "lat": lat, "lon": lon, "text": table["text"]})


def figures(data: Path, plan: Plan, maps: list[str], kinds: list[str]) -> Iterator[dict[str, Any]]:
    """A row for each map, workload and partitioner."""
    for map_name in maps:
        posts = read_notes(data, plan.posts, plan.seed, map_name)
        learned = posts.slice(0, plan.posts // 2)
        for kind in kinds:
            asked = WORKLOADS[kind](learned, plan.queries, plan.seed, ENGLISH)
            work = Workload.of(posts, asked)
            yield from _rows(work, plan, {"map": map_name, "queries": kind})


def _rows(work: Workload, plan: Plan, about: dict[str, Any]) -> Iterator[dict[str, Any]]:
    half = plan.posts // 2
    learn, held_out = work.taken(np.arange(half)), work.taken(np.arange(half, plan.posts))
    best = np.inf
    for name, partition in plan.partitioners().items():
        began = time.perf_counter()
        mapping = partition(learn, plan.matchers)
        seconds = time.perf_counter() - began
        found = measure(mapping, held_out)
        loads = found.loads(plan.sample_costs())
        if name in _BASES:
            best = min(best, float(loads.max()))
        yield {
            **about,
            "partitioner": name,
            "parcels": mapping.parcels.count,
            "post_copies": round(found.post_copies, 2),
            "query_copies": round(found.query_copies, 2),
            "dropped": round(found.dropped / half, 2),
            "sum_of_loads": round(float(loads.sum())),
            "largest_load": round(float(loads.max())),
            "max_by_min": round(float(loads.max() / max(loads.min(), 1e-9)), 2),
            "by_best_base": round(best / float(loads.max()), 3),
            "seconds": round(seconds, 1),
        }
