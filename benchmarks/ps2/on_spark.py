"""Is the order of partitioners the same on Spark? Posts, candidates and milliseconds of each matcher, beside the loads.

A quarter of the posts is learned from, one says what to expect, one is matched, and queries are from the last. All of
them subscribe and are learned from. All matchers share one machine, one after another on one core, so
that none disturbs another.

Nobody subscribes while posts are matched, so loads here are without the costs of insertions and deletions, and so are
those by which mappings are learned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.ps2.corpus import read_notes
from benchmarks.ps2.division import WORKLOADS, Plan, Setting
from benchmarks.s3tm.on_spark import Layouts, Run, run
from benchmarks.spark import SESSION, Bench, session
from tidings.analysis import ENGLISH
from tidings.arrays import IntArray
from tidings.model import DataError
from tidings.partitioning import Mapping
from tidings.partitioning.hybrid import Workload, measure
from tidings.partitioning.load import LoadCosts
from tidings.registry.validation import check_subscriptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITIONERS = ("metric", "metric, near", "kd-tree", "grid", "hybrid")
_ONE_CORE = {"spark.master": "local[1]"}

Tell = Callable[[str], None]
"""Is told what is done."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Each mapping is run ``rounds`` times in each of some ``passes`` over all mappings, after one run not counted."""

    passes: int = 2
    rounds: int = 1


def by_spark(data: Path, plan: Plan, settings: list[Setting], timing: Timing, tell: Tell) -> Iterator[dict[str, Any]]:
    """A row for each setting and partitioner: the load that is expected, and what its matchers told."""
    tell("Spark starts")
    with session(SESSION | _ONE_CORE) as spark:
        for setting in settings:
            with TemporaryDirectory(prefix="tidings-bench-") as folder:
                yield from _Comparison(Path(folder), spark, plan, timing, tell).rows(data, setting)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """All partitioners in one setting."""

    folder: Path
    spark: SparkSession
    plan: Plan
    timing: Timing
    tell: Tell

    def rows(self, data: Path, setting: Setting) -> list[dict[str, Any]]:
        plan, part = self.plan, self.plan.posts // 2
        posts = read_notes(data, 4 * part, plan.seed, setting.map_name, setting.length)
        asked = WORKLOADS[setting.kind](posts.slice(3 * part), plan.standing, plan.seed, ENGLISH)
        work = Workload.of(posts.slice(0, 2 * part), asked)
        asked = check_subscriptions(asked, ENGLISH).accepted
        plan = replace(plan, costs=replace(plan.costs, insertion=0, deletion=0))
        costs = plan.costs
        learn, expect = work.taken(np.arange(part)), work.taken(np.arange(part, 2 * part))
        mappings: dict[str, Mapping] = {}
        for name in PARTITIONERS:
            self.tell(f"{setting.kind}: {name} is learned")
            mappings[name] = plan.partitioners()[name](learn, plan.matchers)
        layouts = Layouts(self.folder, asked, posts.slice(0, part))
        runs = self._runs(
            layouts, Bench(self.spark, self.folder).written("posts", posts.slice(2 * part, part)), mappings
        )
        labels = {"map": setting.map_name, "length": setting.length, "queries": setting.kind}
        rows = []
        for name, own in runs.items():
            expected = round(float(measure(mappings[name], expect).loads(costs).max()))
            homes = measure(mappings[name], work).queries
            rows.append(labels | {"partitioner": name, "expected_load": expected} | told(own, homes, costs))
        return ranked(rows)

    def _runs(self, layouts: Layouts, stream: DataFrame, mappings: dict[str, Mapping]) -> dict[str, list[Run]]:
        """The runs of each mapping, those to warm up left out; a DataError if one finds other matches."""
        whole = run(stream, layouts.release(None))
        self.tell(f"{whole.matches:,} matches without matchers")
        releases = {name: layouts.release(mapping) for name, mapping in mappings.items()}
        runs: dict[str, list[Run]] = {name: [] for name in releases}
        for number in range(self.timing.passes):
            for name, release in releases.items():
                found = [run(stream, release) for _ in range(1 + self.timing.rounds)]
                if any((one.matches, one.checksum) != (whole.matches, whole.checksum) for one in found):
                    raise DataError(f"{name}: other matches than without matchers; this is a bug, please report it")
                runs[name] += found[1:]
                slowest_ms = min(float(one.ms.max()) for one in found)
                self.tell(f"pass {number + 1} of {self.timing.passes}, {name}: slowest matcher {slowest_ms:.0f} ms")
        return runs


def told(runs: list[Run], homes: IntArray, costs: LoadCosts) -> dict[str, Any]:
    """What the matchers told; of their milliseconds, the least of all runs. ``homes``: of the queries learned from."""
    posts, ms = runs[0].loads, np.min([found.ms for found in runs], axis=0)
    return {
        "load": round(float(costs.load(posts, homes, homes).max())),
        "posts_shuffled": int(posts.sum()),
        "most_posts": int(posts.max()),
        "most_queries": int(homes.max()),
        "most_candidates": int(runs[0].candidates.max()),
        "slowest_ms": round(float(ms.max()), 1),
        "sum_ms": round(float(ms.sum()), 1),
        "matches": runs[0].matches,
    }


def ranked(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with their places by the load that is expected, by that which was counted, and by the slowest matcher.

    >>> [row["rank_by_load"] for row in ranked([{"expected_load": 1, "load": 9, "slowest_ms": 1.0},
    ...                                         {"expected_load": 2, "load": 5, "slowest_ms": 2.0}])]
    [2, 1]
    """
    for name, column in (("expected", "expected_load"), ("by_load", "load"), ("by_ms", "slowest_ms")):
        order = sorted(range(len(rows)), key=lambda at, column=column: rows[at][column])  # type: ignore[misc]
        for rank, at in enumerate(order, 1):
            rows[at][f"rank_{name}"] = rank
    return rows
