"""Does Spark do what the metrics predict? Rows shuffled and the time of the slowest matcher, beside the prediction.

Posts are divided by chance: one third is matched, a fold of the others says what to expect, the rest is learned from.
The time of a matcher is what it spends with the posts that it gets, as its own task tells. All matchers share one
machine here, one after another on one core, so that none disturbs another; the time of the whole run says nothing about
what they would do apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.names import Model, Sent
from benchmarks.s3tm.corpus import Asking
from benchmarks.s3tm.trials import Plan, Row, columns
from benchmarks.spark import SESSION, Bench, session
from tidings.analysis import ENGLISH
from tidings.arrays import IntArray
from tidings.cluster import Router, place
from tidings.model import DataError
from tidings.partitioning import Mapping
from tidings.partitioning.learning import Hashed, Partitioner, Quality, Refined, Salb, measure
from tidings.registry.validation import check_subscriptions
from tidings.terms.sample import MAX_ROWS, Sample

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidings.spark import Release

PASSES, ROUNDS, TIMED = 2, 3, 30_000
"""So often all mappings are timed in turn, each in so many runs after one that is not counted, with so many posts."""

_ONE_CORE = {"spark.master": "local[1]"}
SPLIT = "refined split"
SHARE = 0.05
"""Of a fair load, beyond which a term is split: less than elsewhere, or nothing would be with so few matchers."""

METHODS: dict[str, Callable[[], Partitioner]] = {
    "hash": Hashed,
    "SALB": Salb,
    "refined": Refined,
    SPLIT: lambda: Refined(share=SHARE),
}


Milliseconds = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """By matcher the posts that came to it and its candidates (int64), and its milliseconds (float64); the matches, and
    a sum over them."""

    loads: IntArray
    candidates: IntArray
    ms: Milliseconds
    matches: int
    checksum: str


def by_spark(asking: Asking, plan: Plan) -> dict[str, Any]:
    """Tweet-based, with one matcher that gets everything and with several, by each mapping.

    ``spread`` is that of the posts which were shuffled, ``time_imbalance`` the time of the slowest matcher where the
    mean is 1, ``time_throughput`` that of one matcher which has and gets everything, divided by that of the slowest.
    """
    corpus = asking.corpus
    drawn = corpus.drawn(plan.seed, 3)
    matched, expected, learned = np.split(drawn, [len(drawn) // 3, len(drawn) // 3 + len(drawn) // plan.folds])
    texts = corpus.table.select(["id", "text"])
    asked = check_subscriptions(asking.subscriptions(Model.tweets, plan.subscriptions), ENGLISH).accepted
    sample = texts.take(pa.array(learned[:MAX_ROWS]))
    guards = place(asked, Mapping.hashed(1), Sample(ENGLISH, sample)).router.terms.term_names()
    seen = corpus.incidence(guards).taken(np.sort(learned))
    all_words = asking.incidence(Model.tweets, plan.subscriptions, Sent.words).taken(np.sort(learned))
    ways = [("hash", 1), *((method, matchers) for matchers in plan.on_spark for method in METHODS)]
    rows: list[Row] = []
    with TemporaryDirectory(prefix="tidings-bench-") as folder, session(SESSION | _ONE_CORE) as spark:
        layouts, bench = Layouts(Path(folder), asked, sample), Bench(spark, Path(folder))
        posts = bench.written("posts", texts.take(pa.array(matched)))
        few = bench.written("few", texts.take(pa.array(matched[:TIMED])))
        mappings = [METHODS[method]().partition(all_words if method == SPLIT else seen, n) for method, n in ways]
        releases = [layouts.release(mapping) for mapping in mappings]
        whole, counted = run(posts, layouts.release(None)), [run(posts, release) for release in releases]
        times = timed(few, releases, plan)
        for way, mapping, release, found, ms in zip(ways, mappings, releases, counted, times, strict=True):
            sent_for = corpus.incidence(layouts.router(release).terms.term_names())
            check(way, found, whole, measure(mapping, sent_for.taken(matched)))
            labels: Row = {"partitioner": way[0], "matchers": way[1]}
            qualities = measure(mapping, sent_for.taken(expected)), Quality(len(matched), found.loads)
            rows.append(labels | beside(*qualities, ms, float(times[0].max())) | {"checksum": found.checksum})
    counts = {"posts": len(matched), "expected_from": len(expected), "learned": len(learned)}
    shared = {
        **counts,
        "subscriptions": asked.num_rows,
        "matches": whole.matches,
        "replicated_checksum": whole.checksum,
    }
    return shared | {"timed_posts": len(matched[:TIMED]), "rounds": PASSES * ROUNDS} | columns(rows)


def check(way: tuple[str, int], found: Run, whole: Run, predicted: Quality) -> None:
    """Matches are those of the replicated layout, and posts went where they should, or the run fails."""
    if (found.matches, found.checksum) != (whole.matches, whole.checksum):
        raise DataError(f"{way[0]}, {way[1]} matchers: other matches than without; this is a bug, please report it")
    if not np.array_equal(found.loads, predicted.loads):
        raise DataError(f"{way[0]}, {way[1]} matchers: posts went elsewhere; this is a bug, please report it")


def timed(posts: DataFrame, releases: list[Release], plan: Plan) -> list[Milliseconds]:
    """The least time that each matcher of each release took. Other work of the machine can only add to it."""
    times: list[list[Milliseconds]] = [[] for _ in releases]
    for _ in range(PASSES):
        for release, own in zip(releases, times, strict=True):
            own.extend([run(posts, release).ms for _ in range(1 + ROUNDS)][1:])
            plan.advance(1)
    return [np.min(own, axis=0) for own in times]


def beside(predicted: Quality, measured: Quality, ms: Milliseconds, alone_ms: float) -> Row:
    """What was predicted beside what was found; ``alone_ms``: the time of a matcher that has and gets everything."""
    row: Row = {"posts_shuffled": int(measured.loads.sum())}
    for name in ("spread", "imbalance", "throughput"):
        row |= {f"predicted_{name}": round(getattr(predicted, name), 3), name: round(getattr(measured, name), 3)}
    slowest_ms, mean_ms = float(ms.max()), float(ms.mean())
    return row | {
        "slowest_ms": round(slowest_ms, 1),
        "mean_ms": round(mean_ms, 1),
        "time_imbalance": round(slowest_ms / mean_ms, 3),
        "time_throughput": round(alone_ms / slowest_ms, 3),
    }


def run(posts: DataFrame, release: Release) -> Run:
    """Match all posts once."""
    from pyspark.sql import Observation  # the JVM starts only where something is measured
    from pyspark.sql import functions as F  # noqa: N812

    from tidings.cluster.notes import Notes
    from tidings.spark.matching import matched, matches, observed

    observation = Observation()
    found = matches(observed(matched(posts, release), observation))
    key = F.xxhash64("publication_id", "subscription_id", "query_version").cast("decimal(38, 0)")
    count, checksum = found.agg(F.count(F.lit(1)), F.sum(key)).toArrow().to_pylist()[0].values()
    tallies = [tally for tally in Notes.read(observation.get["notes"]).tallies if tally.stage == "match"]
    matchers = [tally.matcher for tally in tallies]
    loads, candidates, ms = (
        np.bincount(matchers, [getattr(tally, name) for tally in tallies], minlength=release.matchers)
        for name in ("posts", "candidates", "ms")
    )
    whole = (loads.astype(np.int64), candidates.astype(np.int64))
    return Run(*whole, ms.astype(np.float64), int(count), str(checksum))


@dataclass(frozen=True, slots=True)
class Layouts:
    """Compiles subscriptions, in a folder of its own for each mapping."""

    folder: Path
    subscriptions: pa.Table
    sample: pa.Table

    def release(self, mapping: Mapping | None) -> Release:
        """The release by a mapping; without one, the replicated layout."""
        from tidings.spark import Plan as Layout
        from tidings.spark import Releases

        layout = Layout("replicated") if mapping is None else Layout("partitioned", mapping.matchers)
        folder = self.folder / f"release-{len(list(self.folder.iterdir()))}"
        return Releases(folder, ENGLISH, self.sample, layout).compiled(self.subscriptions, mapping)

    def router(self, release: Release) -> Router:
        """The router of a release."""
        return Router.open(*(Path(release.folder) / name for name in release.routers))
