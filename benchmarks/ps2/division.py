"""What load does each partitioner of [PS2] give, on maps of all sizes and with posts of all lengths?

A pipeline knows all queries that stand, so all of them are learned from, with half of the posts. What is to come is
held out: the load of a partitioner is that of the other posts with the standing queries, of other queries that are
inserted, and of standing ones that are deleted; in the time of the posts one each for every 10 of them ([PS2] VI-A).

Queries are drawn from half as many further posts: drawn from those that are learned from, each rare word that is asked
for would occur there, and hardly any of them in the posts that are measured with.

Text partitioners are there twice. As in the paper a post is sent if one of its words is asked for anywhere. ``near``
means: only if one is asked for near it, as all partitioners of places do. The kd-tree *at home* is one whose queries
are kept once, as the hybrid may keep them; it is part of the hybrid, not a base.
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
from tidings.partitioning.hybrid import Division, Hybrid, PaperHybrid, Space, Text, Workload, measure, sample_costs
from tidings.partitioning.hybrid.bases import LEVEL
from tidings.partitioning.load import COSTS, FloatArray, LoadCosts
from tidings.workloads import squares

WORKLOADS = {"q1": squares.q1, "q2": squares.q2, "q3": squares.q3}
POSTS_PER_CHANGE = 10
MEAN_SIDE_KM = {"q1": 25.5, "q2": 50.5, "q3": 38.0}
HYBRIDS = ("kd-tree, at home", "hybrid", "as in the paper")
COMPARED = ("metric", "metric, near", "kd-tree", "hybrid")
"""The best base of words and the one of places, as the paper chooses them, and the hybrid."""

Partition = Callable[[Workload, int], Mapping]


@dataclass(frozen=True, slots=True)
class Plan:
    """Half of the posts are learned from, with all ``standing`` queries, and half measured with; ``others`` are held
    out, to count what insertions cost."""

    posts: int = 48_000
    standing: int = 100_000
    others: int = 20_000
    matchers: int = 8
    seed: int = 1
    costs: LoadCosts = COSTS

    def sample_costs(self) -> LoadCosts:
        """[PS2] Def. 1 in the time of half of the posts, as partitioners take it."""
        return sample_costs(self.costs, self.posts // 2, self.standing, self.standing)

    def partitioners(self) -> dict[str, Partition]:
        """By name, the bases first."""
        costs, found = self.sample_costs(), dict[str, Partition]()
        for text in ("frequency", "hypergraph", "metric"):
            found[text] = Text(method=text, costs=costs).partition
            found[f"{text}, near"] = Text(method=text, level=LEVEL, costs=costs).partition
        for space in ("grid", "kd-tree", "r-tree"):
            found[space] = Space(method=space, costs=costs).partition
        found["kd-tree, at home"] = Space(costs=costs, homed=True).partition
        found["hybrid"] = Hybrid(costs=costs).partition
        found["as in the paper"] = PaperHybrid(costs=costs).partition
        return found


@dataclass(frozen=True, slots=True)
class Setting:
    """A map, a length of posts, and a kind of queries."""

    map_name: str
    length: str
    kind: str


@dataclass(frozen=True, slots=True)
class Samples:
    """``learn``: posts and the standing queries. ``held_out``: other posts and the same queries. ``others``: other
    queries, without posts."""

    learn: Workload
    held_out: Workload
    others: Workload

    @classmethod
    def of(cls, data: Path, plan: Plan, setting: Setting) -> Samples:
        """Those of a setting."""
        half, count = plan.posts // 2, plan.standing + plan.others
        posts = read_notes(data, 3 * half, plan.seed, setting.map_name, setting.length)
        asked = WORKLOADS[setting.kind](posts.slice(2 * half), count, plan.seed, ENGLISH)
        work = Workload.of(posts.slice(0, 2 * half), asked)
        standing = work.asking(np.arange(plan.standing))
        return cls(
            standing.taken(np.arange(half)),
            standing.taken(np.arange(half, 2 * half)),
            work.asking(np.arange(plan.standing, count)).taken(np.arange(0)),
        )

    def counted(self, mapping: Mapping, costs: LoadCosts) -> Counted:
        """What a mapping makes of what was not learned from."""
        standing, coming = measure(mapping, self.held_out), measure(mapping, self.others)
        changes = standing.all_posts / POSTS_PER_CHANGE
        inserted = changes * coming.queries / max(coming.all_queries, 1)
        deleted = changes * standing.queries / max(standing.all_queries, 1)
        pairs = 1.0 * standing.posts * standing.queries
        loads = np.asarray(costs.of(pairs, standing.posts, inserted, deleted))
        return Counted(loads, standing, coming.query_copies, float(costs.of(pairs, standing.posts, 0, 0).sum()))


@dataclass(frozen=True, slots=True)
class Counted:
    """The load of each matcher; what became of the posts and the standing queries, and of queries to come; and the part
    of the loads that posts have."""

    loads: FloatArray
    standing: Division
    copies_to_come: float
    by_posts: float

    @property
    def largest(self) -> float:
        """The largest load."""
        return float(self.loads.max())


def figures(data: Path, plan: Plan, settings: list[Setting]) -> Iterator[dict[str, Any]]:
    """A row for each setting and partitioner."""
    for setting in settings:
        yield from _rows(Samples.of(data, plan, setting), plan, setting)


def _rows(samples: Samples, plan: Plan, setting: Setting) -> list[dict[str, Any]]:
    half = len(samples.held_out.posts)
    bound = least_load(samples.held_out, plan.sample_costs(), plan.matchers)
    rows: list[dict[str, Any]] = []
    for name, partition in plan.partitioners().items():
        began = time.process_time()
        mapping = partition(samples.learn, plan.matchers)
        seconds = time.process_time() - began
        found = samples.counted(mapping, plan.costs)
        loads, standing = found.loads, found.standing
        row = {
            "map": setting.map_name,
            "length": setting.length,
            "queries": setting.kind,
            "partitioner": name,
            "words_per_post": round(len(samples.held_out.posts.ids) / half, 1),
            "side_by_width": MEAN_SIDE_KM[setting.kind] / WIDTH_KM[setting.map_name],
            "parcels": mapping.parcels.count,
            "post_copies": round(standing.post_copies, 2),
            "query_copies": round(standing.query_copies, 2),
            "copies_to_come": round(found.copies_to_come, 2),
            "dropped": round(standing.dropped / half, 2),
            "sum_of_loads": round(float(loads.sum())),
            "by_posts": round(found.by_posts / float(loads.sum()), 2),
            "largest_load": round(found.largest),
            "largest_by_mean": round(found.largest / float(loads.mean()), 2),
            "bound": round(bound.load),
            "by_bound": round(found.largest / bound.load, 3),
            "pairs_that_must_meet": bound.pairs,
            "indivisible": round(bound.indivisible, 1),
            "cpu_s": round(seconds, 1),
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
