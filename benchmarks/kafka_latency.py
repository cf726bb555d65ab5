"""How long after a post was due in Kafka are its matches at the sink, and when does a new subscription begin to match?

Posts come at a steady rate; a match has arrived when ``write`` of the sink has returned, its files in place. Each post
carries a word to which a *probe* subscribes now and then: the first batch that begins after that has to match it with
every post, or the run fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.feed import Feed, Stage, bodies
from benchmarks.matching import Advance, Workload, silent
from tidings.model import DataError
from tidings.registry import Registry

if TYPE_CHECKING:
    from tidings.cluster.journal import Journal, Report
    from tidings.cluster.sinks import Batch, ParquetSink
    from tidings.spark.pipeline import Running
    from tidings.spark.progress import Progress

SCHEMA = "id string, text string, ts timestamp"
PROBE = "tidingsprobe"
"""The word of every post."""

_PHASES = ("latestOffset", "queryPlanning", "walCommit", "addBatch", "commitOffsets", "triggerExecution")
_FIRST_BATCH_S = 300.0
_MOST_BATCHES = 10_000

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Settings:
    """Posts a second, how long is measured after how long a warm-up, and the time of a probe and of the pause after."""

    rate: float = 2_000.0
    seconds: float = 60.0
    warmup_s: float = 60.0
    probe_s: float = 3.0


@dataclass(slots=True)
class Clocked:
    """A sink, and when it had each batch."""

    sink: ParquetSink
    done: dict[int, float] = field(default_factory=dict)

    def has(self, batch: Batch) -> bool:
        return self.sink.has(batch)

    def aside(self, batch: Batch) -> Path:
        return self.sink.aside(batch)

    def take(self, files: Sequence[Path], batch: Batch) -> None:
        self.sink.take(files, batch)
        self.done[batch.number] = time.time()


@dataclass(frozen=True, slots=True)
class Probe:
    """A subscription that was there from ``since`` on, in the versions [first, last)."""

    id: str
    since: float
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Arrived:
    """A batch: when it began, when the sink had it, what was told of it, and for each match its wait in seconds and its
    subscription."""

    began: float
    done: float
    told: Progress
    waits_s: FloatArray
    subscriptions: pa.ChunkedArray


def measure(workload: Workload, settings: Settings, stage: Stage, advance: Advance = silent) -> dict[str, Any]:
    """The figures of a run, those of each second as lists; ``advance`` is told of seconds."""
    from tidings.spark import ParquetSink, Pipeline  # Spark only where something is measured
    from tidings.spark.kafka import posts_from_kafka
    from tidings.spark.progress import Progress

    folder, servers = stage.folder, stage.broker.servers
    registry = Registry.create(folder / "registry")
    registry.add(workload.subscriptions)
    sink = Clocked(ParquetSink(folder / "matches"))
    reports: dict[int, Report] = {}
    stage.spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", str(_MOST_BATCHES))
    with Feed(servers, bodies(with_probe(workload.posts)), settings.rate) as feed:
        posts = posts_from_kafka(stage.spark, servers, feed.topic, SCHEMA)
        pipeline = Pipeline(posts, registry, sink, folder / "state", sample=workload.sample, distinct_ids=False)
        with pipeline.start() as running:
            for _ in until(lambda: bool(sink.done), _FIRST_BATCH_S, running):
                pass
            pause(running, settings.warmup_s)
            feed.late_s, since, probes = 0.0, time.time(), list[Probe]()
            for probe in _probes(registry, running, settings):
                probes.append(probe)
                reports |= _reported(running.journal)
                advance(round(2 * settings.probe_s))
            end = time.time()
            told = [
                Progress.of(reports[progress.batchId], progress)
                for progress in running.query.recentProgress
                if progress.numInputRows and progress.batchId in reports
            ]
    batches = list(_arrived(folder / "matches", sink, told, since, end))
    return {
        "workload": workload.name,
        "subscriptions": workload.subscriptions.num_rows,
        "rate": settings.rate,
        "seconds": round(end - since, 1),
        "warmup_s": settings.warmup_s,
        "sink": "Parquet",
        "feed_late_ms_max": round(1e3 * feed.late_s, 1),
        **_latency(batches),
        **_subscribed(probes, batches),
        **_by_second(batches, since, settings.seconds),
    }


def with_probe(posts: pa.Table) -> pa.Table:
    """The posts with the word of the probes at the end of their texts."""
    texts = pc.binary_join_element_wise(pc.fill_null(posts["text"], ""), PROBE, " ")
    return posts.set_column(posts.column_names.index("text"), "text", texts)


def until(done: Callable[[], bool], patience_s: float, running: Running) -> Iterator[None]:
    """Yield now and then until something is done; a pipeline that ends before that is an error."""
    end = time.monotonic() + patience_s
    while not done():
        if time.monotonic() > end:
            raise DataError(f"nothing came of the pipeline in {patience_s:g} s; try a lower rate, or a quieter machine")
        pause(running, 0.1)
        yield


def pause(running: Running, seconds: float) -> None:
    """Let a pipeline run; raises what made it fail."""
    if running.wait(seconds):
        raise DataError("the pipeline has ended, though nobody stopped it")


def draw(figures: dict[str, Any], path: Path) -> None:
    """Latency, batches and what came, second by second, as the picture ``path``."""
    from tidings.cli.plot import Panel, save  # matplotlib loads only where something is drawn

    across = figures["second"]
    titles = {
        "median_ms": "Median latency of the matches, ms",
        "p99_ms": "99th percentile, ms",
        "batch_ms": "Longest batch, ms",
        "second_posts": "Posts delivered in that second",
    }
    save(path, "seconds", [Panel(title, across, figures[name]) for name, title in titles.items()], log=False)


def _reported(journal: Journal) -> dict[int, Report]:
    """The batches that the journal remembers."""
    reports = [journal.report(batch) for batch in journal.batches]
    return {report.batch: report for report in reports if report is not None}


def _probes(registry: Registry, running: Running, settings: Settings) -> Iterator[Probe]:
    """Subscribe, wait, unsubscribe, wait, and so on."""
    began = time.monotonic()
    number = 0
    while time.monotonic() - began < settings.seconds:
        name = f"probe-{number}"
        first = registry.add(pa.table({"id": [name], "query": [PROBE]})).version
        since = time.time()
        pause(running, settings.probe_s)
        last = registry.remove([name]).version
        pause(running, settings.probe_s)
        yield Probe(name, since, first, last)
        number += 1


def _arrived(folder: Path, sink: Clocked, told: list[Progress], since: float, end: float) -> Iterator[Arrived]:
    """The batches that the sink had in that time, in order."""
    for batch in told:
        done = sink.done.get(batch.report.batch)
        if done is None or not since <= done < end:
            continue
        files = folder.glob(f"pipeline=*/batch={batch.report.batch}/*.parquet")
        rows = [pq.read_table(file, columns=["ts", "subscription_id"], partitioning=None) for file in files]
        table = pa.concat_tables(rows)
        due_us = table["ts"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy()
        yield Arrived(began(batch), done, batch, done - due_us / 1e6, table["subscription_id"])


def began(batch: Progress) -> float:
    """When Spark began with a batch."""
    return datetime.fromisoformat(batch.at).timestamp()


def _latency(batches: list[Arrived]) -> dict[str, Any]:
    waits_ms = 1e3 * np.concatenate([np.zeros(0), *(batch.waits_s for batch in batches)])
    if not len(waits_ms):
        raise DataError("no match arrived while it was measured; measure for longer, or with more subscriptions")
    posts = [batch.told.report.posts for batch in batches]
    quantiles = dict(zip(("median", "p90", "p99", "max"), np.percentile(waits_ms, [50, 90, 99, 100]), strict=True))
    phases = {name: [batch.told.phases.get(name, 0) for batch in batches] for name in _PHASES}
    return {
        "posts": sum(posts),
        "matches": len(waits_ms),
        "batches": len(batches),
        **{f"latency_{name}_ms": round(float(value), 1) for name, value in quantiles.items()},
        "batch_posts_median": round(float(np.median(posts))),
        "batch_handler_ms_median": round(float(np.median([batch.told.report.ms for batch in batches])), 1),
        **{f"batch_{name}_ms_median": round(float(np.median(spent)), 1) for name, spent in phases.items()},
        "batch_triggerExecution_ms_p99": round(float(np.percentile(phases["triggerExecution"], 99)), 1),
    }


def _subscribed(probes: list[Probe], batches: list[Arrived]) -> dict[str, Any]:
    """How long it takes until a probe matches, which has to be in the first batch that begins after it."""
    waits_ms = []
    for probe in probes:
        first = next((batch for batch in batches if batch.began >= probe.since), None)
        if first is None or first.told.report.version >= probe.last:
            continue  # the batches are longer than the probe
        report = first.told.report
        found = int(pc.sum(pc.equal(first.subscriptions, probe.id)).as_py() or 0)
        if found != report.posts - report.rejected:
            raise DataError(
                f"batch {report.batch} began after {probe.id!r} had subscribed to all of its {report.posts:,} posts, "
                f"and matched {found:,}; this is a bug, please report it"
            )
        waits_ms.append(1e3 * (first.done - probe.since))
    return {
        "new_subscriptions_tried": len(waits_ms),
        "new_subscription_matches_in_batch": 1 if waits_ms else None,
        "new_subscription_ms_median": round(float(np.median(waits_ms)), 1) if waits_ms else None,
        "new_subscription_ms_max": round(max(waits_ms), 1) if waits_ms else None,
    }


def _by_second(batches: list[Arrived], since: float, seconds: float) -> dict[str, list[float]]:
    """What arrived in each second in which something did."""
    rows: dict[int, list[Arrived]] = {}
    for batch in batches:
        rows.setdefault(int(batch.done - since), []).append(batch)
    columns: dict[str, list[float]] = {
        name: [] for name in ("second", "median_ms", "p99_ms", "batch_ms", "second_posts")
    }
    for second, found in sorted(rows.items()):
        waits_ms = 1e3 * np.concatenate([batch.waits_s for batch in found])
        if second < seconds and len(waits_ms):
            median, p99 = np.percentile(waits_ms, [50, 99])
            longest = max(batch.told.phases.get("triggerExecution", 0) for batch in found)
            values = second, round(median, 1), round(p99, 1), longest, sum(batch.told.report.posts for batch in found)
            for name, value in zip(columns, values, strict=True):
                columns[name].append(value)
    return columns
