"""What does a Python worker of Spark spend its time on? Its steps, profiled in this process."""

from __future__ import annotations

import cProfile
import pstats
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.matching import Workload
from tidings.analysis import ENGLISH
from tidings.registry.validation import check_subscriptions

_STEPS = {
    "reading": ("worker_steps.py", "_read"),
    "sifting": ("sifting.py", "sift"),
    "analysis": ("reader.py", "read"),
    "matching": ("scanning.py", "_matched"),
    "fan_out": ("scanning.py", "fanned_out"),
    "output": ("rows.py", "_written"),
    "writing": ("worker_steps.py", "_write"),
}
"""What a worker does, and the functions in which it does it."""


def worker_steps(workload: Workload, folder: Path, batch_rows: int) -> dict[str, float]:
    """Microseconds a post that the steps of a worker take, in this process, words known; and all of them together."""
    from tidings.cluster.steps import MatchAll
    from tidings.spark import Releases
    from tidings.spark.tasks import OnlyMatches

    checked = check_subscriptions(workload.subscriptions, ENGLISH).accepted
    work = OnlyMatches(MatchAll(Releases(folder, ENGLISH, workload.sample).compiled(checked)))
    sent = [_write([batch]) for batch in workload.posts.combine_chunks().to_batches(max_chunksize=batch_rows)]
    for _ in work(batch for data in sent for batch in _read(data)):
        pass
    profile = cProfile.Profile()
    began = time.perf_counter()
    profile.enable()
    for found in work(batch for data in sent for batch in _read(data)):
        _write([found])
    profile.disable()
    all_s = time.perf_counter() - began
    spent = {(Path(file).name, name): total for (file, _, name), (*_, total, _) in _stats(profile).items()}
    each_us = 1e6 / workload.posts.num_rows
    steps = {f"worker_{step}_us": round(each_us * spent.get(function, 0.0), 2) for step, function in _STEPS.items()}
    return {**steps, "worker_all_us": round(each_us * all_s, 2)}


def _stats(profile: cProfile.Profile) -> dict[tuple[str, int, str], tuple[int, int, float, float, Any]]:
    return pstats.Stats(profile).stats  # type: ignore[attr-defined,no-any-return]


def _read(data: pa.Buffer) -> list[pa.RecordBatch]:
    with pa.ipc.open_stream(data) as stream:
        return list(stream)


def _write(batches: list[pa.RecordBatch]) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    return sink.getvalue()
