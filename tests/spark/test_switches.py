"""Does a stream find what brute force finds while its mapping and the number of its matchers change, killed or not?

A run can be repeated by its seed: ``pytest -m slow tests/spark/test_switches.py -k "killed and 17"``.
"""

from __future__ import annotations

import random
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark import oracle
from tests.spark.plays import killed, shuffled_point
from tests.spark.switches import FIRST_MOVING, MOVING_POINTS, POINTS, SCENES, SwitchPlay
from tidings.cluster.journal import Pin
from tidings.cluster.learning import Learn
from tidings.cluster.mappings import MappingPage
from tidings.cluster.releases import Plan, Release
from tidings.model import DataError
from tidings.placement import PlacerName
from tidings.spark import batches
from tidings.spark.matching import matched as as_it_is
from tidings.spark.pipeline import Pipeline
from tidings.spark.sinks import MemorySink
from tidings.spark.sources import posts_from_files

pytestmark = pytest.mark.spark
SEEDS = range(FIRST_MOVING + len(MOVING_POINTS))


def check(play: SwitchPlay) -> list[Pin]:
    """What the sink and the reports hold is what brute force finds; the pins of all batches."""
    expected = oracle.expected(play.home.path, play.registry)
    assert len(play.check(expected, SCENES)) > 100
    pins = [pin for batch in sorted(expected) if (pin := play.home.journal.pin(batch))]
    assert play.is_prepared or len(list(play.home.releases.glob("release-*.json"))) <= 2
    return pins


def point_of(seed: int) -> str:
    """Where a run is killed: all points in turn."""
    if seed >= FIRST_MOVING:
        return MOVING_POINTS[seed - FIRST_MOVING]
    return shuffled_point(POINTS, seed)


@pytest.mark.timeout(600)
def test_a_switch_in_a_stream_that_is_killed_loses_and_doubles_nothing(tmp_path: Path, spark: SparkSession) -> None:
    assert killed("switches", tmp_path, 9, "after place 2") == 9
    play = SwitchPlay(tmp_path, spark, 9)
    play.play()
    pins = check(play)
    assert len({pin.mapping for pin in pins}) >= 3 and len({pin.matchers for pin in pins}) >= 2


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", SEEDS)
def test_switches_and_moves_in_streams_that_are_killed_at_any_point_lose_and_double_nothing(
    tmp_path: Path, spark: SparkSession, java: str, seed: int
) -> None:
    how = killed("switches", tmp_path, seed, point_of(seed), java)
    play = SwitchPlay(tmp_path, spark, seed)
    play.play()
    pins = check(play)
    print(
        f"run {seed}: {'killed' if how == 9 else 'never'} {point_of(seed)}; {[pin.mapping for pin in pins]}", flush=True
    )


def test_a_rule_learns_in_the_background_and_the_next_batch_has_it(tmp_path: Path, spark: SparkSession) -> None:
    play = SwitchPlay(tmp_path, spark, 1)
    play.registry.add(oracle.subscriptions(random.Random(1), 150))
    oracle.write_posts(play.posts, 0)
    stream = posts_from_files(spark, play.posts, files_per_batch=1)
    sink, rule = MemorySink(), Learn("salb", after_posts=200)
    with Pipeline(stream, play.registry, sink, play.home.path, plan=Plan("partitioned", 4), learn=rule).start() as runs:
        for number in range(1, 40):
            runs.process_all()
            oracle.write_posts(play.posts, number)
            if play.home.mappings.newest(4) == "learned-1":
                break
        runs.process_all()
    expected = oracle.expected(play.home.path, play.registry)
    assert {batch: oracle.rows_of(table) for batch, table in sink.batches.items()} == expected
    first, last = play.home.journal.pin(0), play.home.journal.pin(max(expected))
    assert first and last and (first.mapping, last.mapping) == ("hash-4", "learned-1")
    page = play.home.mappings.page("learned-1")
    assert isinstance(page, MappingPage) and page.posts >= 160 and page.after.throughput > page.before.throughput


def test_a_batch_that_failed_is_run_again_with_the_placement_of_its_pin(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    play, rng = SwitchPlay(tmp_path, spark, 1), random.Random(1)
    play.registry.add(oracle.subscriptions(rng, 150))
    oracle.write_posts(play.posts, 0)
    stream, plan = posts_from_files(spark, play.posts, files_per_batch=1), Plan("partitioned", 4)
    used: list[tuple[int, str]] = []
    found: dict[int, list[oracle.Row]] = {}

    def matched(publications: DataFrame, release: Release, *rest: Any, **more: Any) -> DataFrame:
        used.append((release.version, release.placement))
        return as_it_is(publications, release, *rest, **more)

    def take(rows: DataFrame, batch: int) -> None:
        if len(used) == 2:
            raise ValueError("the disk is full")
        found[batch] = oracle.rows_of(rows.toArrow())

    monkeypatch.setattr(batches, "matched", matched)
    placements: list[PlacerName] = ["lasp", "lasp", "random"]
    for number, placement in enumerate(placements):
        oracle.write_posts(play.posts, number)
        oracle.change(play.registry, rng)
        pipeline = Pipeline(stream, play.registry, take, play.home.path, plan=plan, placement=placement)
        with pytest.raises(DataError, match="disk is full") if number == 1 else nullcontext():
            pipeline.run()
    names = [placement for _, placement in used]
    assert names == ["lasp-1.0,200.0"] * 3 + ["random-0"] and used[1] == used[2]
    assert found == oracle.expected(play.home.path, play.registry) and len(found) == 3
