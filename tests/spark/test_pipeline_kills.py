"""Is nothing lost and nothing doubled when a driver is killed, whatever it is about to do, and another one goes on?"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from itertools import cycle
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

from tests.spark import oracle
from tests.spark.driver import STEPS
from tidings.registry import Registry
from tidings.spark.batches import Home

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
FIRST_AIMS = ["after rename 2", "after commit 2", "after report 3"]
AIMS = [f"{when} {step}" for step in STEPS for when in ("before", "after")]
FILES_PER_KILL = 2


def drive(folder: Path, aim: str = "", kill_after_s: float | None = None) -> int:
    """Run a driver to its end, which may be a violent one; its exit status."""
    (folder / "started").unlink(missing_ok=True)
    with (folder / "driver.log").open("w") as log:
        process = start(folder, log, "local[2,4]", aim)
        if kill_after_s is not None:
            while process.poll() is None and not (folder / "started").exists():
                time.sleep(0.01)
            time.sleep(kill_after_s)  # nothing is waited for: the moment of the kill is what varies
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


def start(folder: Path, log: IO[str], master: str, aim: str = "") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.spark.driver", str(folder), master, *([aim] if aim else [])]
    return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)


def outcome(folder: Path) -> None:
    """Both sinks have what brute force finds, row for row."""
    registry = Registry(folder / "registry")
    parquet = ds.dataset(folder / "in parquet", partitioning="hive").to_table()
    delta = pa.table(DeltaTable(folder / "in delta").to_pyarrow_table())
    for name, found in (("parquet", parquet), ("delta", delta)):
        batches = oracle.expected(folder / f"{name} state", registry)
        expected = sorted(row for rows in batches.values() for row in rows)
        files = [file.name for files in batches_of(folder, name) for file in files]
        assert sorted(files) == sorted(file.name for file in (folder / "the posts").glob("*.parquet"))
        assert expected and oracle.rows_of(found) == expected, name
        reports = [Home(folder / f"{name} state").journal.report(batch) for batch in batches]
        assert [report.posts for report in reports if report] == [oracle.ROWS] * len(batches)
        assert sum(report.matches for report in reports if report) == len(expected)


def batches_of(folder: Path, name: str) -> list[list[Path]]:
    return list(oracle.batches_of_files(folder / f"{name} state").values())


class Subscribers(threading.Thread):
    """Other people, who change the registry as long as drivers come and go."""

    def __init__(self, registry: Registry, rng: random.Random) -> None:
        super().__init__(daemon=True)
        self._registry, self._rng = registry, rng
        self._enough = threading.Event()

    def run(self) -> None:
        while not self._enough.wait(0.2):
            oracle.change(self._registry, self._rng)

    def end(self) -> None:
        self._enough.set()
        self.join()


def kill_many(folder: Path, aims: list[str], seed: int, window_s: float = 8) -> int:
    """Kill a driver at each aim, "" for a random time; then let one work to its end. How many were killed."""
    rng, killed = random.Random(seed), 0
    registry = Registry(folder / "registry")
    registry.add(oracle.subscriptions(rng, 150))
    others = Subscribers(registry, random.Random(seed))
    others.start()
    try:
        for number, target in enumerate(aims):
            for file in range(FILES_PER_KILL):
                oracle.write_posts(folder / "the posts", number * FILES_PER_KILL + file, bad=number % 2)
            after_s = None if target else rng.uniform(0, window_s)
            status = drive(folder, target, after_s)
            killed += status == -signal.SIGKILL
            assert status == -signal.SIGKILL or not target, (target, (folder / "driver.log").read_text()[-3000:])
        assert drive(folder) == 0, (folder / "driver.log").read_text()[-3000:]
    finally:
        others.end()
    outcome(folder)
    return killed


@pytest.mark.timeout(600)
def test_killed_drivers_lose_and_double_nothing(tmp_path: Path) -> None:
    assert kill_many(tmp_path, FIRST_AIMS, seed=1) == len(FIRST_AIMS)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_fifty_killed_drivers_lose_and_double_nothing(tmp_path: Path) -> None:
    rng, targets = random.Random(2), cycle(AIMS)
    killed = 0
    for number in range(5):
        folder = tmp_path / str(number)
        folder.mkdir()
        aims = [f"{next(targets)} {rng.randint(1, 4)}" if kill % 2 else "" for kill in range(10)]
        killed += kill_many(folder, aims, seed=number)
    assert killed > 40


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_over_connect_each_batch_finds_what_brute_force_finds(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio: pip install 'pyspark[connect]'")
    registry = Registry(tmp_path / "registry")
    registry.add(oracle.subscriptions(random.Random(4), 150))
    for number in range(3):
        oracle.write_posts(tmp_path / "the posts", number)
    with (tmp_path / "driver.log").open("w") as log:
        assert start(tmp_path, log, "connect local[2]").wait() == 0, (tmp_path / "driver.log").read_text()[-3000:]
    outcome(tmp_path)


def executors(driver: int) -> list[int]:
    """The executors below a driver, by /proc."""
    found, waiting = [], [driver]
    while waiting:
        process = waiting.pop()
        try:
            children = Path(f"/proc/{process}/task").glob("*/children")
            waiting += [int(child) for file in children for child in file.read_text().split()]
            if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{process}/cmdline").read_bytes():
                found.append(process)
        except FileNotFoundError:
            continue
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes by /proc")
def test_killed_executors_lose_and_double_nothing(tmp_path: Path) -> None:
    rng = random.Random(3)
    registry = Registry(tmp_path / "registry")
    registry.add(oracle.subscriptions(rng, 150))
    for number in range(12):
        oracle.write_posts(tmp_path / "the posts", number)
    killed = 0
    with (tmp_path / "driver.log").open("w") as log:
        process = start(tmp_path, log, "local-cluster[2,1,512]")
        while process.poll() is None and not (tmp_path / "started").exists():
            time.sleep(0.05)
        while process.poll() is None and killed < 3:
            time.sleep(rng.uniform(2, 5))  # nothing is waited for: the moment of the kill is what varies
            for victim in executors(process.pid)[:1]:
                os.kill(victim, signal.SIGKILL)
                killed += 1
        assert process.wait() == 0, (tmp_path / "driver.log").read_text()[-3000:]
    assert killed
    outcome(tmp_path)
