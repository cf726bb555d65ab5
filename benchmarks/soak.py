"""Can it run for long? Memory, lag and files of a pipeline whose subscriptions change all the time, every few seconds.

Posts come from Kafka at a steady rate. Every second some subscriptions are added and as many that were added before are
removed. The sink keeps the last batches only. What counts is the trend over the last two thirds, when all caches are
full.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import threading
import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from benchmarks.feed import Feed, Stage, bodies
from benchmarks.kafka_latency import SCHEMA, pause, until
from benchmarks.matching import Advance, Workload, silent
from benchmarks.resident import usage
from tidings.model import DataError
from tidings.registry import Registry

if TYPE_CHECKING:
    from tidings.cluster.journal import Journal
    from tidings.cluster.pipeline_folder import PipelineFolder
    from tidings.cluster.sinks import Batch, ParquetSink

KEPT_BATCHES = 20
"""The sink keeps the matches of so many."""

MOST_SAMPLES = 120
FLAT = 0.05
"""Memory is flat if its trend over the last two thirds adds less than this part of it."""

_FIRST_BATCH_S = 300.0
_MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    minutes: float = 30.0
    rate: float = 2_000.0
    changes_per_s: float = 20.0
    sample_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Sample:
    """What was seen at one time. ``lag_posts``: posts that were due and whose batch is not over."""

    second: float
    driver_mb: float
    jvm_mb: float
    workers_mb: float
    lag_posts: int
    batch_ms: float
    posts_per_s: float
    matches_so_far: int
    release_files: int
    release_kb: int
    journal_files: int


@dataclass(slots=True)
class Short:
    """A sink that keeps the matches of the last batches only."""

    sink: ParquetSink
    _kept: deque[Path] = field(default_factory=deque)

    def has(self, batch: Batch) -> bool:
        return self.sink.has(batch)

    def aside(self, batch: Batch) -> Path:
        return self.sink.aside(batch)

    def take(self, files: Sequence[Path], batch: Batch) -> None:
        self.sink.take(files, batch)
        self._kept.extend(Path(self.sink.path).glob(f"pipeline=*/batch={batch.number}"))
        while len(self._kept) > KEPT_BATCHES:
            shutil.rmtree(self._kept.popleft())


@dataclass(slots=True)
class _Done:
    """What all batches did, and the last one. It is read in the journal: Spark's listeners tell late on busy cores."""

    journal: Journal
    posts: int = 0
    matches: int = 0
    batches: int = 0
    batch_ms: float = 0.0

    def look(self) -> None:
        """Count the batches that have ended since."""
        for batch in self.journal.batches:
            report = self.journal.report(batch) if batch >= self.batches else None
            if report is not None:
                if batch > self.batches:
                    raise DataError(f"batch {self.batches:,} is forgotten already; look more often: sample_s")
                self.posts += report.posts
                self.matches += report.matches
                self.batches += 1
                self.batch_ms = report.ms


def measure(workload: Workload, settings: Settings, stage: Stage, advance: Advance = silent) -> dict[str, Any]:
    """The figures of a run, with its samples, thinned, as lists; ``advance`` is told of seconds."""
    from tidings.cluster.pipeline_folder import PipelineFolder
    from tidings.spark import ParquetSink, Pipeline  # Spark only where something is measured
    from tidings.spark.kafka import posts_from_kafka

    folder, broker = stage.folder, stage.broker
    registry, home = Registry.create(folder / "registry"), PipelineFolder(folder / "state")
    done = _Done(home.journal)
    registry.add(workload.subscriptions)
    sink = Short(ParquetSink(folder / "matches"))
    samples, seen = list[Sample](), set[str]()
    with Feed(broker.servers, bodies(workload.posts), settings.rate) as feed:
        posts = posts_from_kafka(stage.spark, broker.servers, feed.topic, SCHEMA)
        apart = {pid for pid in (broker.pid, feed.pid) if pid}
        with Pipeline(posts, registry, sink, home.path, sample=workload.sample, distinct_ids=False).start() as running:
            for _ in until(lambda: done.batches > 0, _FIRST_BATCH_S, running):
                done.look()
            with _changing(registry, workload.subscriptions["query"], settings.changes_per_s) as changes:
                began, before = time.monotonic(), 0
                while (second := time.monotonic() - began) < 60 * settings.minutes:
                    done.look()
                    rate, before = (done.posts - before) / settings.sample_s, done.posts
                    samples.append(_sample(second, home, done, feed.sent, rate, apart))
                    seen |= {path.name for path in home.releases.glob("segment-*")}
                    changes.check()
                    pause(running, settings.sample_s)
                    advance(round(settings.sample_s))
    del samples[:1]  # its rate counts what came before
    return {
        "workload": workload.name,
        "subscriptions": workload.subscriptions.num_rows,
        **asdict(settings),
        "posts": done.posts,
        "matches": done.matches,
        "batches": done.batches,
        "changes": changes.made,
        "registry_version": registry.version,
        **_verdicts(samples, settings),
        **_leftovers(home, seen),
        **_thinned(samples),
    }


def draw(figures: dict[str, Any], path: Path) -> None:
    """Memory by process, lag, batches and files over time, as the picture ``path``."""
    from tidings.cli.plot import Panel, save  # matplotlib loads only where something is drawn

    across = [second / 60 for second in figures["second"]]
    titles = {
        "driver_mb": "Memory of the driver's Python, MB",
        "jvm_mb": "Memory of the JVM, MB",
        "workers_mb": "Memory of Python workers, MB",
        "lag_posts": "Lag, posts",
        "batch_ms": "Time of a batch, ms",
        "posts_per_s": "Posts matched per second",
        "release_files": "Files of the index",
        "release_kb": "Their size, kB",
    }
    save(path, "minutes", [Panel(title, across, figures[name]) for name, title in titles.items()], log=False)


class _Changes:
    """Adds and removes subscriptions once a second until it is stopped."""

    def __init__(self, registry: Registry, queries: pa.ChunkedArray, per_s: float) -> None:
        self._registry, self._queries, self._each = registry, queries, max(1, round(per_s / 2))
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._error: Exception | None = None
        self.made = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._done.set()
        self._thread.join()
        self.check()

    def check(self) -> None:
        """Raise what went wrong."""
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._change()
        except Exception as error:  # told by check
            self._error = error

    def _change(self) -> None:
        added: deque[list[str]] = deque()
        for round_number in itertools.count():
            if self._done.wait(1.0):
                return
            start = round_number * self._each
            rows = [(start + i) % len(self._queries) for i in range(self._each)]
            added.append([f"new-{start + i}" for i in range(self._each)])
            self._registry.add(pa.table({"id": added[-1], "query": self._queries.take(pa.array(rows))}))
            if len(added) > KEPT_BATCHES:
                self.made += self._registry.remove(added.popleft()).accepted
            self.made += self._each


@contextmanager
def _changing(registry: Registry, queries: pa.ChunkedArray, per_s: float) -> Iterator[_Changes]:
    changes = _Changes(registry, queries, per_s)
    changes.start()
    try:
        yield changes
    finally:
        changes.stop()


def _sample(second: float, home: PipelineFolder, done: _Done, sent: int, rate: float, apart: Collection[int]) -> Sample:
    memory_mb = {kind: round(size / _MB, 1) for kind, size in usage(os.getpid(), apart).by_kind.items()}
    sizes = [size for path in home.releases.iterdir() if (size := _size(path)) is not None]
    return Sample(
        second=round(second, 1),
        driver_mb=memory_mb["driver"],
        jvm_mb=memory_mb["jvm"],
        workers_mb=memory_mb["workers"],
        lag_posts=max(0, sent - done.posts),
        batch_ms=done.batch_ms,
        posts_per_s=round(rate, 1),
        matches_so_far=done.matches,
        release_files=len(sizes),
        release_kb=round(sum(sizes) / 1024),
        journal_files=sum(1 for _ in home.journal.path.iterdir()),
    )


def _size(path: Path) -> int | None:
    """None of a file that has just gone."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def trend(seconds: list[float], values: list[float]) -> tuple[float, float]:
    """The slope by least squares over the last two thirds, a second, and the mean there.

    >>> slope, mean = trend([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [90.0, 0.0, 10.0, 12.0, 14.0, 16.0])
    >>> round(slope, 3), mean
    (2.0, 13.0)
    """
    if len(seconds) < 3:
        raise DataError(f"a trend needs three samples or more, got {len(seconds)}; measure for longer")
    start = min(len(seconds) // 3, len(seconds) - 2)
    across, up = np.array(seconds[start:]), np.array(values[start:])
    slope = float(np.polyfit(across - across.mean(), up, 1)[0])
    return slope, float(up.mean())


def _verdicts(samples: list[Sample], settings: Settings) -> dict[str, Any]:
    """Whether memory and lag grow, in figures and in words."""
    seconds = [sample.second for sample in samples]
    window_s = 2 / 3 * (seconds[-1] - seconds[0]) if seconds else 0.0
    found: dict[str, Any] = {}
    parts = {kind: [getattr(sample, f"{kind}_mb") for sample in samples] for kind in ("driver", "jvm", "workers")}
    for kind, values in {**parts, "memory": [sum(both) for both in zip(*parts.values(), strict=True)]}.items():
        slope, mean = trend(seconds, values)
        found[f"{kind}_mean_mb"] = round(mean, 1)
        found[f"{kind}_mb_per_hour"] = round(3600 * slope, 1)
        flat = slope * window_s < FLAT * mean
        found[f"{kind}_verdict"] = (
            "flat" if flat else f"grows, {slope * window_s:,.0f} MB in {window_s / 60:.1f} minutes"
        )
    slope, mean = trend(seconds, [float(sample.lag_posts) for sample in samples])
    grows = slope * window_s > settings.rate
    found["lag_mean_posts"] = round(mean)
    found["lag_posts_per_minute"] = round(60 * slope, 1)
    found["lag_verdict"] = f"grows, {slope * window_s:,.0f} posts" if grows else "does not grow"
    return found


def _leftovers(home: PipelineFolder, seen: set[str]) -> dict[str, Any]:
    """Are there segments that no release names, or releases that nobody needs? One batch may have been cut short."""
    releases = list(home.releases.glob("release-*.json"))
    parts = [part for path in releases for part in json.loads(path.read_text())["parts"]]
    there = {path.name for path in home.releases.glob("segment-*")}
    left = len(there - {name for part in parts for name in part["segments"]})
    are_gone = not left and len(releases) <= 2
    return {
        "segments_seen": len(seen | there),
        "segments_at_end": len(there),
        "segments_verdict": "old ones are gone" if are_gone else f"{left} are left over, and {len(releases)} releases",
    }


def _thinned(samples: list[Sample]) -> dict[str, list[Any]]:
    step = -(-len(samples) // MOST_SAMPLES)
    rows = [asdict(sample) for sample in samples[::step]]
    return {name: [row[name] for row in rows] for name in rows[0]}
