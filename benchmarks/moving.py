"""Does a stream go on while parcels move? A pipeline of many batches, two moves beside it, and how long batches take.

Posts lie in files, one for each batch. The figures are what the journal of the pipeline says of each batch: the time
of a batch is that of reading, routing, matching and writing, whatever else goes on beside it.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.matching import Advance, Workload, silent
from benchmarks.moves import chosen_parcels
from benchmarks.spark import SESSION, session
from tidings.analysis import ENGLISH
from tidings.cluster.journal import Journal
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.placing import place
from tidings.cluster.releases import Plan
from tidings.cluster.sinks import ParquetSink
from tidings.partitioning import Mapping, Move
from tidings.registry import Registry
from tidings.terms.sample import Sample

WARM_BATCHES = 3
"""The first batches compile the index and load kernels: they are not counted."""


@dataclass(frozen=True, slots=True)
class Settings:
    """``batches`` of ``rows`` posts among ``matchers``; each move takes ``share`` of the load."""

    matchers: int = 8
    share: float = 0.01
    batches: int = 24
    rows: int = 10_000
    wait_s: float = 900.0


def measure(workload: Workload, settings: Settings, folder: Path, advance: Advance = silent) -> dict[str, Any]:
    """Times of all batches, the mapping of each, and the longest beside the usual."""
    from tidings.spark import Pipeline, posts_from_files

    registry = Registry.create(folder / "registry")
    registry.add(workload.subscriptions)
    (folder / "posts").mkdir()
    for number in range(settings.batches):
        rows = workload.posts.slice(number * settings.rows, settings.rows)
        pq.write_table(rows, folder / "posts" / f"{number:06}.parquet")
    moves = _moves(workload, settings)
    plan = Plan("partitioned", settings.matchers)
    with session(SESSION) as spark:
        posts = posts_from_files(spark, folder / "posts", files_per_batch=1)
        pipeline = Pipeline(
            posts,
            registry,
            ParquetSink(folder / "matches"),
            folder / "checkpoint",
            plan=plan,
            sample=workload.sample,
        )
        journal, done = PipelineFolder(folder / "checkpoint").journal, 0
        with pipeline.start() as running:
            for number, move in zip((settings.batches // 3, 2 * settings.batches // 3), moves, strict=True):
                done = _reached(journal, number, done, settings.wait_s, advance)
                running.move(move)
            _reached(journal, settings.batches - 1, done, settings.wait_s, advance)
    return _figures(workload, settings, journal, [len(move) for move in moves])


def _moves(workload: Workload, settings: Settings) -> list[list[Move]]:
    """Two moves by chance, each of that share of the load."""
    mapping, rng = Mapping.hashed(settings.matchers), np.random.default_rng(1)
    loads = place(workload.subscriptions, mapping, Sample(ENGLISH, workload.sample)).router.touched(workload.posts)
    found = []
    for _ in range(2):
        parcels = chosen_parcels(loads, settings.share, rng)
        to = rng.integers(settings.matchers, size=len(parcels))
        found.append([Move(*move) for move in zip(parcels.tolist(), to.tolist(), strict=True)])
    return found


def _reached(journal: Journal, batch: int, done: int, wait_s: float, advance: Advance) -> int:
    """Wait until a batch has ended; returns how many have."""
    ends = time.monotonic() + wait_s
    while journal.report(batch) is None:
        if time.monotonic() > ends:
            raise TimeoutError(f"batch {batch} has not ended after {wait_s:g} s")
        time.sleep(0.02)
    advance(batch + 1 - done)
    return batch + 1


def _figures(workload: Workload, settings: Settings, journal: Journal, parcels: list[int]) -> dict[str, Any]:
    reports = [journal.report(number) for number in range(settings.batches)]
    pins = [journal.pin(number) for number in range(settings.batches)]
    ms = [round(report.ms) for report in reports if report is not None]
    counted = ms[WARM_BATCHES:]
    usual = statistics.median(counted)
    return {
        "subscriptions": workload.subscriptions.num_rows,
        "matchers": settings.matchers,
        "posts_per_batch": settings.rows,
        "parcels_moved": parcels,
        "mapping": [pin.mapping for pin in pins if pin is not None],
        "batch_ms": ms,
        "usual_ms": round(usual),
        "longest_ms": max(counted),
        "longest_by_usual": round(max(counted) / usual, 2),
    }
