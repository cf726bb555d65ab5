"""Does a stream that keeps posts give new subscriptions their past and their future, as brute force finds them?

A run can be repeated by its seed: ``pytest -m slow -s tests/spark/test_past_streams.py -k "driver-17 or worker"``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark import oracle
from tests.spark.faults import stay_at
from tests.spark.pasts import IN_A_JOB, KEEP, POINTS, SCENES, PastPlay
from tests.spark.plays import killed, played, shuffled_point
from tidings.cluster.overload import Overload
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.releases import Plan
from tidings.registry import Registry
from tidings.spark.pipeline import Pipeline
from tidings.spark.sinks import MemorySink, Sink
from tidings.spark.sources import posts_from_files

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes by /proc"),
]
DRIVERS, OTHERS = range(len(POINTS) + 2), range(5)


def check(play: PastPlay) -> int:
    """What the sink and the reports hold is what brute force finds; how many matches are past."""
    expected = oracle.expected(play.home.path, play.registry, keep=KEEP)
    play.check(expected, SCENES)
    reports = [play.home.journal.report(batch) for batch in expected]
    return sum(report.past.matches for report in reports if report is not None and report.past is not None)


@pytest.mark.timeout(600)
def test_new_subscriptions_of_a_stream_that_is_killed_have_their_past_once(tmp_path: Path, spark: SparkSession) -> None:
    assert killed("pasts", tmp_path, 1, "after match 3") == 9
    play = PastPlay(tmp_path, spark, 1)
    play.play()
    assert check(play) > 0


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", DRIVERS, ids="driver-{}".format)
def test_past_and_future_of_streams_that_are_killed_at_any_point_are_exact(
    tmp_path: Path, spark: SparkSession, java: str, seed: int
) -> None:
    point = shuffled_point(POINTS, seed)
    how = killed("pasts", tmp_path, seed, point, java)
    play = PastPlay(tmp_path, spark, seed)
    play.play()
    past = check(play)
    print(f"run {seed}: {'killed' if how == 9 else 'never'} {point}; {past} matches are past", flush=True)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("who", ["worker", "executor"])
@pytest.mark.parametrize("seed", OTHERS)
def test_workers_and_executors_that_are_killed_lose_and_double_no_past(
    tmp_path: Path, spark: SparkSession, java: str, who: str, seed: int
) -> None:
    point = IN_A_JOB[seed % len(IN_A_JOB)]
    code = played("pasts", tmp_path, str(seed), who, point, java="" if who == "executor" else java)
    assert code == 0 and (tmp_path / "killed").exists(), (tmp_path / "log").read_text()[-3000:]
    past = check(PastPlay(tmp_path, spark, seed))
    print(f"run {seed}: killed one {who} {point}; {past} matches are past", flush=True)


def rows_taken(found: dict[int, list[oracle.Row]]) -> Callable[[DataFrame, int], None]:
    def take(rows: DataFrame, batch: int) -> None:
        assert rows.count() >= 0  # a callable may look twice
        found[batch] = oracle.rows_of(rows.toArrow())

    return take


@pytest.mark.parametrize("plan", [Plan("replicated"), Plan("partitioned", 3)], ids=lambda plan: plan.layout)
@pytest.mark.parametrize("kind", ["memory", "callable"])
def test_sinks_that_take_rows_get_past_and_future_too(
    plan: Plan, kind: str, tmp_path: Path, spark: SparkSession
) -> None:
    registry, posts, found = Registry(tmp_path / "registry"), tmp_path / "posts", dict[int, list[oracle.Row]]()
    memory, rng = MemorySink(), random.Random(3)
    sink: Sink | Callable[[DataFrame, int], Any] = memory if kind == "memory" else rows_taken(found)
    registry.add(oracle.subscriptions(rng, 60))
    oracle.write_posts(posts, 0)
    pipeline = Pipeline(
        posts_from_files(spark, posts, files_per_batch=1), registry, sink, tmp_path / "state", plan=plan, keep=KEEP
    )
    for number in range(1, 4):
        pipeline.run()
        oracle.ask_for_the_past(registry, rng)
        oracle.write_posts(posts, number)
    pipeline.run()
    got = {batch: oracle.rows_of(table) for batch, table in memory.batches.items()} or found
    expected = oracle.expected(tmp_path / "state", registry, keep=KEEP)
    assert got == expected and len(got) == 4
    reports = [PipelineFolder(tmp_path / "state").journal.report(batch) for batch in got]
    pasts = [report.past for report in reports if report is not None and report.past is not None]
    assert sum(past.matches for past in pasts) > 0 and all(past.incomplete == past.subscriptions for past in pasts)


def test_what_is_shed_is_kept_and_found_later(tmp_path: Path, spark: SparkSession) -> None:
    registry, posts, rng, memory = Registry(tmp_path / "registry"), tmp_path / "posts", random.Random(3), MemorySink()
    registry.add(oracle.subscriptions(rng, 60))
    oracle.write_posts(posts, 0)
    overload = Overload("random", spared=0.1, control="levels")
    stay_at(3, tmp_path / "state")
    stream = posts_from_files(spark, posts, files_per_batch=1)
    with Pipeline(stream, registry, memory, tmp_path / "state", overload=overload, keep=KEEP).start() as running:
        for number in range(1, 4):
            running.process_all()
            oracle.ask_for_the_past(registry, rng)
            oracle.write_posts(posts, number)
        running.process_all()
    got = {batch: oracle.rows_of(table) for batch, table in memory.batches.items()}
    assert got == oracle.expected(tmp_path / "state", registry, keep=KEEP)
    pins = [PipelineFolder(tmp_path / "state").journal.pin(batch) for batch in got]
    assert all(pin is not None and pin.cut is not None for pin in pins)


def test_a_short_keep_is_obeyed(tmp_path: Path, spark: SparkSession) -> None:
    registry, posts, rng, memory = Registry(tmp_path / "registry"), tmp_path / "posts", random.Random(3), MemorySink()
    keep = timedelta(microseconds=1)
    registry.add(oracle.subscriptions(rng, 60))
    oracle.write_posts(posts, 0)
    pipeline = Pipeline(
        posts_from_files(spark, posts, files_per_batch=1), registry, memory, tmp_path / "state", keep=keep
    )
    for number in range(1, 4):
        pipeline.run()
        oracle.ask_for_the_past(registry, rng)
        oracle.write_posts(posts, number)
    pipeline.run()
    got = {batch: oracle.rows_of(table) for batch, table in memory.batches.items()}
    assert got == oracle.expected(tmp_path / "state", registry)
    assert len(PipelineFolder(tmp_path / "state").kept.sections()) <= 2
