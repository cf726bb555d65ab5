"""Is the order of partitioners the same on Spark? Posts, candidates and milliseconds of each matcher, beside the loads.

A quarter of the posts is learned from, one says what to expect, one is matched, and queries are from the last. All
matchers share one machine, one after another on one core, so that none disturbs another.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.ps2.corpus import read_notes
from benchmarks.ps2.division import WORKLOADS, Plan, Setting
from benchmarks.s3tm.on_spark import Layouts, Run, run
from benchmarks.spark import SESSION, Bench, session
from tidings.analysis import ENGLISH
from tidings.model import DataError
from tidings.partitioning.hybrid import Workload, measure
from tidings.partitioning.load import LoadCosts
from tidings.registry.validation import check_subscriptions

PARTITIONERS = ("metric", "metric, near", "kd-tree", "grid", "hybrid")
PASSES, ROUNDS = 2, 2
_ONE_CORE = {"spark.master": "local[1]"}


def by_spark(data: Path, plan: Plan, setting: Setting) -> list[dict[str, Any]]:
    """A row for each partitioner: the load that is expected, and what its matchers told."""
    part = plan.posts // 2
    posts = read_notes(data, 4 * part, plan.seed, setting.map_name, setting.length)
    asked = WORKLOADS[setting.kind](posts.slice(3 * part), plan.queries, plan.seed, ENGLISH)
    asked = check_subscriptions(asked, ENGLISH).accepted
    work, costs = Workload.of(posts.slice(0, 2 * part), asked), plan.sample_costs()
    learn, expect = work.taken(np.arange(part)), work.taken(np.arange(part, 2 * part))
    mappings = {name: plan.partitioners()[name](learn, plan.matchers) for name in PARTITIONERS}
    with TemporaryDirectory(prefix="tidings-bench-") as folder, session(SESSION | _ONE_CORE) as spark:
        layouts = Layouts(Path(folder), asked, posts.slice(0, part))
        stream = Bench(spark, Path(folder)).written("posts", posts.slice(2 * part, part))
        whole = run(stream, layouts.release(None))
        releases = {name: layouts.release(mapping) for name, mapping in mappings.items()}
        runs: dict[str, list[Run]] = {name: [] for name in releases}
        for _ in range(PASSES):
            for name, release in releases.items():
                runs[name] += [run(stream, release) for _ in range(1 + ROUNDS)][1:]
    rows = []
    for name, own in runs.items():
        if any((found.matches, found.checksum) != (whole.matches, whole.checksum) for found in own):
            raise DataError(f"{name}: other matches than without matchers; this is a bug, please report it")
        division = measure(mappings[name], expect)
        homes = measure(mappings[name], work).queries
        told = _told(own, homes, costs)
        rows.append(
            {
                "map": setting.map_name,
                "length": setting.length,
                "queries": setting.kind,
                "partitioner": name,
                "expected_load": round(float(division.loads(costs).max())),
                **told,
            }
        )
    return rows


def _told(runs: list[Run], homes: Any, costs: LoadCosts) -> dict[str, Any]:
    """What the matchers told; of their milliseconds, the least of all runs."""
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
