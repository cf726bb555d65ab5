"""Does a stream find what brute force finds through local and global adjustments, whoever is killed meanwhile?

A run can be repeated by its seed: ``pytest -m slow -s tests/spark/test_adjustments.py -k "driver-7"``.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark import oracle
from tests.spark.adjustments import IN_A_JOB, POINTS, SCENES, AdjustmentPlay
from tests.spark.plays import played
from tidings.cluster.mappings import MappingPage

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes by /proc"),
]
DRIVERS, WORKERS, EXECUTORS = range(20), range(20, 25), range(25, 30)


def point_of(seed: int) -> str:
    """Where something is killed: all points in turn."""
    return POINTS[seed % len(POINTS)] if seed in DRIVERS else IN_A_JOB[seed % len(IN_A_JOB)]


def suffer(folder: Path, seed: int, kind: str, java: str = "") -> int:
    """How a play ended in which something was killed."""
    return played("adjustments", folder, str(seed), kind, point_of(seed), java=java)


def check(play: AdjustmentPlay) -> None:
    """What the sink and the reports hold is what brute force finds, and both adjustments were made."""
    expected = oracle.expected(play.home.path, play.registry)
    assert len(play.check(expected, SCENES)) > 100
    pins = [pin for batch in sorted(expected) if (pin := play.home.journal.pin(batch))]
    names = [pin.mapping for pin in pins]
    kinds = {name.partition("-")[0] for name in names}
    assert kinds == {"hash", "learned", "moved"}
    page = play.home.mappings.page(play.home.mappings.parcels(play.home.mappings.newest(3)))
    assert isinstance(page, MappingPage) and page.beside and page.partitioner == "hybrid"
    print(f"run {play.seed}: {point_of(play.seed)}; {names}", flush=True)


@pytest.mark.timeout(600)
def test_a_driver_that_is_killed_between_two_mappings_loses_and_doubles_nothing(
    tmp_path: Path, spark: SparkSession
) -> None:
    assert point_of(6) == "before anew 1" and suffer(tmp_path, 6, "driver") == -9, (tmp_path / "log").read_text()
    play = AdjustmentPlay(tmp_path, spark, 6)
    play.play()
    check(play)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", DRIVERS, ids="driver-{}".format)
def test_drivers_that_are_killed_in_adjustments_lose_and_double_nothing(
    tmp_path: Path, spark: SparkSession, java: str, seed: int
) -> None:
    how, play = suffer(tmp_path, seed, "driver", java), AdjustmentPlay(tmp_path, spark, seed)
    assert how == -9 or (how == -15 and play.is_prepared), (tmp_path / "log").read_text()[-3000:]
    if how == -9:
        play.play()
    check(play)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("kind", "seed"),
    [*(("worker", seed) for seed in WORKERS), *(("executor", seed) for seed in EXECUTORS)],
    ids=str,
)
def test_workers_and_executors_that_are_killed_in_adjustments_lose_and_double_nothing(
    tmp_path: Path, spark: SparkSession, java: str, kind: str, seed: int
) -> None:
    assert suffer(tmp_path, seed, kind, "" if kind == "executor" else java) == 0, (tmp_path / "log").read_text()[-3000:]
    play = AdjustmentPlay(tmp_path, spark, seed)
    assert (tmp_path / "killed").exists() or play.is_prepared
    check(play)
