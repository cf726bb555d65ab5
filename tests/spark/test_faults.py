"""Is nothing lost and nothing doubled, whatever is killed, full or away while pipelines run?

Each chain of faults can be repeated by its seed: ``pytest -m slow -s tests/spark/test_faults.py -k "files-2"``.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.driver import STEPS, Driver, aim
from tests.spark.faults import FILES, POINTS, Fault, Trial, faults, stay_at
from tools.kafka import Broker

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes by /proc"),
]
OF_FILES, OF_KAFKA, OF_CLUSTER = range(4), range(4, 6), range(6, 7)
OF_SHEDDING = range(7, 9)
IN_A_JOB = ["before match", "before files"]
WITH_KAFKA = [point for point in POINTS if "commit" not in point]


def chain(seed: int) -> list[Fault]:
    """The faults that befall one trial; all chains together have each kind, and kill a driver at each point."""
    rng = random.Random(seed)
    if seed in OF_FILES:
        found = [
            *faults("driver", POINTS[seed :: len(OF_FILES)], rng),
            *faults("driver", rng.choices(POINTS, k=2), rng, latest_s=4),
            *faults("worker", rng.choices(IN_A_JOB, k=2), rng, latest_s=2),
            *faults("disk", rng.sample(POINTS, k=3), rng),
        ]
    elif seed in OF_KAFKA:
        found = [
            *faults("broker", rng.sample(WITH_KAFKA, k=3), rng),
            *faults("broker", rng.choices(IN_A_JOB, k=2), rng, latest_s=2),
            *faults("driver", rng.sample(WITH_KAFKA, k=2), rng),
        ]
    else:
        found = faults("executor", rng.choices(IN_A_JOB, k=5), rng, latest_s=3)
    rng.shuffle(found)
    return found


def endure(trial: Trial, seed: int) -> None:
    for fault in chain(seed):
        began = time.monotonic()
        answer = trial.suffer(fault) or "died"
        trial.run()
        print(f"chain {seed}: {fault}: {time.monotonic() - began:.0f} s, {answer[:300]}", flush=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, which can be full in earnest."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounts a small file system, which takes a Linux and its root")
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_the_chains_have_all_kinds_of_faults_and_kill_a_driver_at_each_point() -> None:
    found = [fault for seed in (*OF_FILES, *OF_KAFKA, *OF_CLUSTER) for fault in chain(seed)]
    counts = Counter(fault.kind for fault in found)
    assert min(counts[kind] for kind in ("driver", "worker", "executor", "disk", "broker")) >= 5
    assert {fault.point for fault in found if fault.kind == "driver" and not fault.late_s} == set(POINTS)
    assert len(found) >= 60


@pytest.mark.timeout(600)
def test_a_driver_that_is_killed_loses_and_doubles_nothing(tmp_path: Path, spark: SparkSession) -> None:
    with Trial(tmp_path, seed=1) as trial:
        assert trial.suffer(Fault("driver", "after commit")) == ""
        assert Driver(tmp_path, spark).run() == "done"
        trial.check()


@pytest.mark.timeout(600)
def test_a_pipeline_that_fails_at_any_of_several_points_loses_and_doubles_nothing(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a kill, so that no driver has to be started: a step fails, and the next run finds what that has left."""

    def fail() -> None:
        raise OSError("the disk is full")

    rng, driver = random.Random(2), Driver(tmp_path, spark)
    points = ["before rename", *rng.sample(POINTS, k=2)]
    with Trial(tmp_path, seed=2) as trial:
        for point in points:
            trial.post()
            owner, name = STEPS[point.split()[1]]
            with monkeypatch.context() as patch:
                patch.setattr(owner, name, getattr(owner, name))  # so that it is put back
                aim(f"{point} {rng.randint(1, FILES)}", fail)
                assert "the disk is full" in driver.run()
            assert driver.run() == "done"
        trial.check()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", OF_SHEDDING, ids="shedding-{}".format)
def test_a_killed_driver_sheds_again_what_it_shed_and_nothing_else(tmp_path: Path, java: str, seed: int) -> None:
    """Whatever level is decided after the kill: what was pinned with a batch stays."""
    rng = random.Random(seed)
    with Trial(tmp_path, seed, java=java, sheds=True) as trial:
        for fault in faults("driver", rng.sample(POINTS, k=5), rng):
            for name in ("first", "second"):
                stay_at(rng.randint(1, 11), tmp_path / "disk" / name)
            assert trial.suffer(fault) == ""
            for name in ("first", "second"):
                stay_at(rng.randint(0, 11), tmp_path / "disk" / name)
            trial.run()
            print(f"shedding {seed}: {fault}", flush=True)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", OF_FILES, ids="files-{}".format)
def test_killed_drivers_and_workers_and_full_disks_lose_and_double_nothing(
    small_disk: Path, java: str, seed: int
) -> None:
    with Trial(small_disk, seed, java=java) as trial:
        endure(trial, seed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", OF_KAFKA, ids="kafka-{}".format)
def test_brokers_that_come_and_go_lose_and_double_nothing(tmp_path: Path, java: str, seed: int) -> None:
    if shutil.which("mvn") is None and not os.environ.get("CI"):
        pytest.skip("there is no mvn on PATH: a Kafka broker needs a JDK 17 and Maven")
    with Broker(tmp_path / "broker") as broker, Trial(tmp_path, seed, broker=broker, java=java) as trial:
        endure(trial, seed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", OF_CLUSTER, ids="cluster-{}".format)
def test_killed_executors_lose_and_double_nothing(tmp_path: Path, seed: int) -> None:
    with Trial(tmp_path, seed, "local-cluster[2,1,512]") as trial:
        endure(trial, seed)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_over_connect_each_batch_finds_what_brute_force_finds(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio: pip install 'pyspark[connect]'")
    with Trial(tmp_path, 4, "connect local[2]") as trial:
        trial.post()
        trial.run()
