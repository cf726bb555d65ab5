"""Does a stream find what brute force finds through local and global adjustments, whoever is killed meanwhile?

A run can be repeated by its seed: ``pytest -m slow -s tests/spark/test_adjustments.py -k "driver-7"``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.spark import oracle
from tests.spark.adjustments import IN_A_JOB, POINTS, SCENES, Play
from tests.spark.faults import ROOT, archived
from tidings.cluster.mappings import MappingPage

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes by /proc"),
]
DRIVERS, WORKERS, EXECUTORS = range(20), range(20, 25), range(25, 30)


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> str:
    return archived(tmp_path_factory.mktemp("archive"))


def point_of(seed: int) -> str:
    """Where something is killed: all points in turn."""
    return POINTS[seed % len(POINTS)] if seed in DRIVERS else IN_A_JOB[seed % len(IN_A_JOB)]


def suffer(folder: Path, seed: int, kind: str, java: str = "") -> int:
    """How a play ended in which something was killed."""
    command = [sys.executable, "-m", "tests.spark.adjustments", str(folder), str(seed), kind, point_of(seed)]
    with (folder / "log").open("w") as log:
        ended = subprocess.run(
            command, cwd=ROOT, env=os.environ | {"DRIVER_JAVA": java}, stdout=log, stderr=log, check=False
        )
    return ended.returncode


def check(play: Play) -> None:
    """What the sink and the reports hold is what brute force finds, and both adjustments were made."""
    expected = oracle.expected(play.home.path, play.registry)
    files = [file for files in oracle.batches_of_files(play.home.path).values() for file in files]
    assert sorted(files) == sorted(play.posts.glob("*.parquet")) and len(files) == SCENES
    matches = play.folder / "matches"
    found = (
        pa.table(DeltaTable(matches).to_pyarrow_table())
        if play.seed % 2
        else ds.dataset(matches, partitioning="hive").to_table()
    )
    rows = oracle.rows_of(found)
    assert rows == sorted(row for rows in expected.values() for row in rows) and len(rows) > 100
    pins = [pin for batch in sorted(expected) if (pin := play.home.journal.pin(batch))]
    for pin in pins:
        report = play.home.journal.report(pin.batch)
        assert report is not None and report.matches == len(expected[pin.batch])
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
    play = Play(tmp_path, spark, 6)
    play.play()
    check(play)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", DRIVERS, ids="driver-{}".format)
def test_drivers_that_are_killed_in_adjustments_lose_and_double_nothing(
    tmp_path: Path, spark: SparkSession, java: str, seed: int
) -> None:
    how, play = suffer(tmp_path, seed, "driver", java), Play(tmp_path, spark, seed)
    assert how == -9 or (how == 0 and play.is_prepared), (tmp_path / "log").read_text()[-3000:]
    if how:
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
    play = Play(tmp_path, spark, seed)
    assert (tmp_path / "killed").exists() or play.is_prepared
    check(play)
