"""What do plays have in common? A play is what befalls a pipeline in some scenes, until somebody kills it.

The seed says what happens, and which sink takes the matches. Whoever plays it again with the same folder and seed goes
on where it was. ``python -m tests.spark.MODULE FOLDER SEED [WHO] POINT`` plays one of a module. When it is at the
point, or a little later, its driver is killed with all its processes, or one Python worker, or one executor, by WHO.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyspark
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from tests.spark import oracle
from tests.spark.driver import STEPS, aim, session_of
from tests.spark.faults import ROOT, of_session
from tidings.cluster.delta import DeltaSink
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.sinks import ParquetSink
from tidings.registry import Registry
from tidings.spark.sinks import Sink
from tidings.spark.sources import posts_from_files

VICTIMS = {"worker": b"pyspark.daemon", "executor": b"CoarseGrainedExecutorBackend"}
"""What processes have in their command that are killed alone."""


@dataclass(frozen=True, slots=True)
class Play(ABC):
    """What it has is in its folder: posts, a registry, the state of the pipeline, and matches."""

    folder: Path
    session: SparkSession
    seed: int

    @property
    def registry(self) -> Registry:
        return Registry(self.folder / "registry")

    @property
    def home(self) -> PipelineFolder:
        return PipelineFolder(self.folder / "state")

    @property
    def posts(self) -> Path:
        return self.folder / "posts"

    @abstractmethod
    def play(self) -> None:
        """From the scene that was under way to the last."""

    def stream(self) -> DataFrame:
        """The posts, a file a batch."""
        return posts_from_files(self.session, self.posts, files_per_batch=1)

    def sink(self) -> Sink:
        return (DeltaSink if self.seed % 2 else ParquetSink)(self.folder / "matches")

    def check(self, expected: dict[int, list[oracle.Row]], scenes: int) -> list[oracle.Row]:
        """The sink and the reports hold what brute force finds in the posts of all scenes; the rows of the sink."""
        files = [file for files in oracle.batches_of_files(self.home.path).values() for file in files]
        assert sorted(files) == sorted(self.posts.glob("*.parquet")) and len(files) == scenes
        matches = self.folder / "matches"
        found = (
            pa.table(DeltaTable(matches).to_pyarrow_table())
            if self.seed % 2
            else ds.dataset(matches, partitioning="hive").to_table()
        )
        rows = oracle.rows_of(found)
        assert rows == sorted(row for rows in expected.values() for row in rows)
        for batch, of_batch in expected.items():
            report = self.home.journal.report(batch)
            assert report is not None and report.matches == len(of_batch)
        return rows


def play_until_killed(kind: type[Play], steps: dict[str, tuple[Any, str]], late_every: int = 0) -> None:
    """The ``main`` of a module with a play: somebody is killed at a step of a driver or at one of these.

    One of ``late_every`` drivers is killed up to three seconds later; a worker or an executor up to one.
    """
    os.setsid()  # a group and a session of its own
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    folder, seed, *who, point = sys.argv[1:]
    rng, is_driver = random.Random(seed), who in ([], ["driver"])
    if who == ["executor"]:
        os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    session = session_of("local-cluster[2,1,512]" if who == ["executor"] else "local[2,4]")
    if is_driver:
        late_s = rng.uniform(0, 3) if late_every and int(seed) % late_every == late_every - 1 else 0.0
        kill = partial(os.killpg, 0, signal.SIGKILL)
    else:
        late_s, kill = rng.uniform(0, 1), partial(kill_one, VICTIMS[who[0]], rng, Path(folder))
    timer = threading.Timer(late_s, kill)
    aim(point, timer.start if late_s else kill, STEPS | steps)
    kind(Path(folder), session, int(seed)).play()
    if is_driver:  # it never came there, which is told by how it ends
        time.sleep(late_s)
        os.killpg(0, signal.SIGTERM)
    if timer.ident is not None:  # workers go with the session: whoever is to be killed has to be there
        timer.join()
    session.stop()


def kill_one(name: bytes, rng: random.Random, folder: Path) -> None:
    """Kill one process of this session that has a name, as soon as there is one, and leave a file that says so."""
    while not (victims := of_session(os.getpid(), name)):
        time.sleep(0.01)
    os.kill(rng.choice(victims), signal.SIGKILL)
    (folder / "killed").touch()


def played(module: str, folder: Path, *words: str, java: str = "") -> int:
    """The exit code of a play in a process of its own, which gets these words after its folder."""
    command = [sys.executable, "-m", f"tests.spark.{module}", str(folder), *words]
    with (folder / "log").open("w") as log:
        ended = subprocess.run(
            command, cwd=ROOT, env=os.environ | {"DRIVER_JAVA": java}, stdout=log, stderr=log, check=False
        )
    return ended.returncode


def killed(module: str, folder: Path, seed: int, point: str, java: str = "") -> int:
    """The signal that ended a play."""
    code = played(module, folder, str(seed), point, java=java)
    assert code in (-9, -15), (folder / "log").read_text()[-3000:]
    return -code


def shuffled_point(points: list[str], seed: int) -> str:
    """Where a play is killed: all points in turn, in another order than what the seed says otherwise."""
    points = points.copy()
    random.Random(5).shuffle(points)
    return points[seed % len(points)]
