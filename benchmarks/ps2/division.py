"""What load does each partitioner of [PS2] give, on maps of all sizes and with posts of all lengths?

Partitioners learn from half of the posts and all queries, and are measured with the other half. Queries are drawn from
half as many other posts: drawn from those that are learned from, each rare word that is asked for would occur there,
and hardly any of them in the posts that are measured with. A sample of queries stands for all standing ones: each for
``standing`` / ``queries``. In the time of the posts there is an insertion and a deletion for every 10 of them ([PS2]
VI-A).

Text partitioners are there twice. As in the paper a post is sent if one of its words is asked for anywhere. ``near``
means: only if one is asked for near it, as all partitioners of places do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ps2.bound import least_load
from benchmarks.ps2.corpus import WIDTH_KM, read_notes
from tidings.analysis import ENGLISH
from tidings.partitioning import Mapping
from tidings.partitioning.hybrid import Hybrid, Space, Text, Workload, measure, sample_costs
from tidings.partitioning.hybrid.bases import LEVEL
from tidings.partitioning.load import COSTS, LoadCosts
from tidings.workloads import squares

WORKLOADS = {"q1": squares.q1, "q2": squares.q2, "q3": squares.q3}
MEAN_SIDE_KM = {"q1": 25.5, "q2": 50.5, "q3": 38.0}
HYBRIDS = ("hybrid", "as in the paper")
COMPARED = ("metric", "metric, near", "kd-tree", "hybrid")
"""The best base of words and the one of places, as the paper chooses them, and the hybrid."""

Partition = Callable[[Workload, int], Mapping]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is learned from and measured with, for how many matchers, and what it costs: [PS2] Def. 1."""

    posts: int = 20_000
    queries: int = 10_000
    matchers: int = 8
    standing: int = 1_000_000
    seed: int = 1
    costs: LoadCosts = COSTS

    def sample_costs(self) -> LoadCosts:
        """The costs where a query of the sample stands for many, and half of the posts are measured with."""
        return sample_costs(self.costs, self.posts // 2, self.queries, self.standing)

    def partitioners(self) -> dict[str, Partition]:
        """By name, the bases first."""
        costs, found = self.sample_costs(), dict[str, Partition]()
        for text in ("frequency", "hypergraph", "metric"):
            found[text] = Text(method=text, costs=costs).partition
            found[f"{text}, near"] = Text(method=text, level=LEVEL, costs=costs).partition
        for space in ("grid", "kd-tree", "r-tree"):
            found[space] = Space(method=space, costs=costs).partition
        found["hybrid"] = Hybrid(costs=costs).partition
        found["as in the paper"] = Hybrid(costs=costs, compare=False).partition
        return found


@dataclass(frozen=True, slots=True)
class Setting:
    """A map, a length of posts, and a kind of queries."""

    map_name: str
    length: str
    kind: str


def figures(data: Path, plan: Plan, settings: list[Setting]) -> Iterator[dict[str, Any]]:
    """A row for each setting and partitioner."""
    for setting in settings:
        yield from _rows(*samples(data, plan, setting), plan, setting)


def samples(data: Path, plan: Plan, setting: Setting) -> tuple[Workload, Workload]:
    """What is learned from, and what is measured with: the same queries, and other posts."""
    posts = read_notes(data, plan.posts + plan.posts // 2, plan.seed, setting.map_name, setting.length)
    asked = WORKLOADS[setting.kind](posts.slice(plan.posts), plan.queries, plan.seed, ENGLISH)
    work, half = Workload.of(posts.slice(0, plan.posts), asked), plan.posts // 2
    return work.taken(np.arange(half)), work.taken(np.arange(half, plan.posts))


def _rows(learn: Workload, held_out: Workload, plan: Plan, setting: Setting) -> list[dict[str, Any]]:
    half, costs = len(held_out.posts), plan.sample_costs()
    bound = least_load(held_out, costs, plan.matchers)
    rows: list[dict[str, Any]] = []
    for name, partition in plan.partitioners().items():
        began = time.perf_counter()
        mapping = partition(learn, plan.matchers)
        seconds = time.perf_counter() - began
        found = measure(mapping, held_out)
        loads = found.loads(costs)
        largest = float(loads.max())
        row = {
            "map": setting.map_name,
            "length": setting.length,
            "queries": setting.kind,
            "partitioner": name,
            "words_per_post": round(len(held_out.posts.ids) / half, 1),
            "side_by_width": MEAN_SIDE_KM[setting.kind] / WIDTH_KM[setting.map_name],
            "parcels": mapping.parcels.count,
            "post_copies": round(found.post_copies, 2),
            "query_copies": round(found.query_copies, 2),
            "dropped": round(found.dropped / half, 2),
            "sum_of_loads": round(float(loads.sum())),
            "largest_load": round(largest),
            "max_by_min": round(largest / max(float(loads.min()), 1e-9), 2),
            "bound": round(bound.load),
            "by_bound": round(largest / bound.load, 3),
            "pairs_that_must_meet": bound.pairs,
            "indivisible": round(bound.indivisible, 1),
            "seconds": round(seconds, 1),
        }
        rows.append(row)
    return [row | _ahead(row, rows) for row in rows]


def _ahead(row: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, float]:
    """The largest load of the best base by that of a row: of all bases, and of those that are as in the paper."""
    bases = [own for own in rows if own["partitioner"] not in HYBRIDS]
    plain = [own for own in bases if not own["partitioner"].endswith("near")]
    best, best_plain = (min(own["largest_load"] for own in some) for some in (bases, plain))
    return {
        "by_best_base": round(best / row["largest_load"], 3),
        "by_best_plain_base": round(best_plain / row["largest_load"], 3),
    }
