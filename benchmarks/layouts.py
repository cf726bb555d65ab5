"""How fast does Spark match in each layout, and do matchers get what the mapping promises?"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from benchmarks.matching import Advance, Workload, best_and_median, silent
from benchmarks.spark import Bench, in_turn, seconds
from tidings.analysis import ENGLISH
from tidings.cluster import Router, place
from tidings.model import DataError
from tidings.partitioning import Mapping
from tidings.partitioning.learning import Incidence, Quality, Refined, Salb, measure
from tidings.registry.validation import check_subscriptions
from tidings.terms.sample import Sample

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SIZES = (10_000, 100_000, 1_000_000)
MATCHERS = (2, 8, 16)
LEARNED_FROM = 8
"""From so many matchers on, a layout is also made by mappings that were learned."""

PARTITIONERS = ("salb", "refined")


def sizes(most: int) -> list[int]:
    """Those up to ``most``."""
    found = [size for size in SIZES if size <= most]
    if not found:
        raise DataError(f"layouts begin with {SIZES[0]:,} subscriptions, got {most:,} as the most")
    return found


def laid_out_by() -> list[tuple[int, str]]:
    """The matchers and the partitioner of each layout; the replicated one has 0 and none."""
    learned = [(matchers, name) for matchers in MATCHERS if matchers >= LEARNED_FROM for name in PARTITIONERS]
    return sorted([(0, ""), *((matchers, "hash") for matchers in MATCHERS), *learned], key=lambda way: way[0])


def layouts(
    made: Callable[[int], Workload], counts: list[int], bench: Bench, rounds: int = 3, advance: Advance = silent
) -> dict[str, Any]:
    """Both layouts for each count, as columns; ``advance`` is told of each run.

    The replicated layout has 0 matchers. Mappings are learned from posts that are not matched; what they promise is
    predicted without Spark, and each matcher has to get as many posts as that says.
    """
    from tidings.spark import Plan

    rows: list[dict[str, Any]] = []
    for count in counts:
        workload = made(count)
        checked = check_subscriptions(workload.subscriptions, ENGLISH).accepted
        auto = Plan().chosen(checked)
        posts = bench.written("posts", workload.posts)
        found = [_laid_out(workload, checked, posts, bench.folder, way) for way in laid_out_by()]
        if len({each.matches for each in found}) > 1:
            raise DataError(f"{workload.name}: the layouts give different matches; this is a bug, please report it")
        ways = {f"{each.matchers} {each.partitioner}": (each.frame, workload.posts.num_rows) for each in found}
        rates = in_turn(ways, rounds, advance)
        for each in found:
            best = best_and_median("posts_per_s", rates[f"{each.matchers} {each.partitioner}"])
            rows.append({"subscriptions": count, "matchers": each.matchers, **best, **each.figures(), "auto": auto})
    return {
        "workload": "words",
        "posts": workload.posts.num_rows,
        "rounds": rounds,
        **{name: [row[name] for row in rows] for name in rows[0]},
    }


@dataclass(frozen=True, slots=True)
class _Layout:
    """One layout, compiled. ``measured``: what came to each matcher, ``predicted``: what should."""

    matchers: int
    partitioner: str
    frame: DataFrame
    compiled_s: float
    learned_s: float
    measured: Quality
    predicted: Quality
    slowest_ms: float
    matches: int

    def figures(self) -> dict[str, Any]:
        return {
            "partitioner": self.partitioner,
            "spread": round(self.measured.spread, 2),
            "predicted_spread": round(self.predicted.spread, 2),
            "imbalance": round(self.measured.imbalance, 3),
            "predicted_imbalance": round(self.predicted.imbalance, 3),
            "slowest_matcher_ms": round(self.slowest_ms),
            "posts_shuffled": int(self.measured.loads.sum()),
            "learned_s": round(self.learned_s, 2),
            "compiled_s": round(self.compiled_s, 2),
        }


def _laid_out(
    workload: Workload, subscriptions: pa.Table, posts: DataFrame, home: Path, way: tuple[int, str]
) -> _Layout:
    from pyspark.sql import Observation

    from tidings.cluster.notes import Notes
    from tidings.spark import Plan, Releases
    from tidings.spark.matching import matched, matches, observed

    matchers, partitioner = way
    folder = home / f"{subscriptions.num_rows}-{matchers}-{partitioner}"
    mapping, learned_s = _learned(workload, subscriptions, matchers, partitioner)
    plan = Plan("partitioned", matchers) if matchers else Plan("replicated")
    began = time.perf_counter()
    release = Releases(folder, ENGLISH, workload.sample, plan).compiled(subscriptions, mapping)
    compiled_s = time.perf_counter() - began
    found = matched(posts, release)
    observation = Observation()
    seconds(observed(found, observation))
    notes = Notes.read(observation.get["notes"])
    measured = predicted = Quality(workload.posts.num_rows, np.zeros(0, dtype=np.int64))
    slowest_ms = 0.0
    if mapping is not None:
        tallies = [tally for tally in notes.tallies if tally.stage == "match"]
        loads = np.bincount(
            [tally.matcher for tally in tallies], [tally.posts for tally in tallies], minlength=matchers
        )
        slowest_ms = max(tally.ms for tally in tallies)
        measured = Quality(workload.posts.num_rows, loads.astype(np.int64))
        router = Router.open(*(folder / name for name in release.routers))
        predicted = measure(mapping, Incidence.of(workload.posts, router.terms))
        if not np.array_equal(measured.loads, predicted.loads):
            raise DataError("matchers did not get the posts that were predicted; this is a bug, please report it")
    return _Layout(
        matchers, partitioner, matches(found), compiled_s, learned_s, measured, predicted, slowest_ms, notes.matches
    )


def _learned(
    workload: Workload, subscriptions: pa.Table, matchers: int, partitioner: str
) -> tuple[Mapping | None, float]:
    """The mapping, if there are matchers, and how long it took to learn from posts that are not matched."""
    if not matchers or partitioner == "hash":
        return Mapping.hashed(matchers) if matchers else None, 0.0
    began = time.perf_counter()
    terms = place(subscriptions, Mapping.hashed(matchers), Sample(ENGLISH, workload.sample)).router.terms
    seen = Incidence.of(pa.concat_tables([workload.sample, workload.others]), terms)
    mapping = (Salb() if partitioner == "salb" else Refined()).partition(seen, matchers)
    return mapping, time.perf_counter() - began
