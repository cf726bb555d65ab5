"""One pipeline in a process of its own, on one core, as ``benchmarks shedding live`` starts it two at a time.

It reads posts from Kafka until its standard input ends, and then what is left. All that it tells is in its journal.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Literal

from benchmarks.feed import CHECKOUT
from benchmarks.kafka_latency import SCHEMA, pause
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.model import DataError

MATCHERS = 8
SAMPLE = "sample.parquet"
_STOPPING_S = 600.0


@dataclass(frozen=True, slots=True)
class Side:
    """What one process does: matches the posts of a topic with the registry of the ``stage``, in a ``folder`` of it."""

    stage: str
    name: str
    mode: str
    core: int
    servers: str
    topic: str
    batch_posts: int
    delay_s: float

    @property
    def folder(self) -> Path:
        return Path(self.stage, self.name)

    @property
    def home(self) -> PipelineFolder:
        return PipelineFolder(self.folder / "state")

    @contextmanager
    def running(self) -> Iterator[Process]:
        """The process, for as long as it is used."""
        self.folder.mkdir()
        with tempfile.TemporaryFile() as log:
            command = [sys.executable, "-m", "benchmarks.shedding.side", json.dumps(asdict(self))]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=CHECKOUT) as popen:
                try:
                    yield Process(popen, log)
                finally:
                    popen.kill()


@dataclass(frozen=True, slots=True)
class Process:
    """A side that runs."""

    popen: subprocess.Popen[bytes]
    log: IO[bytes]

    def check(self) -> None:
        """Raise what made it fail."""
        if self.popen.poll() is not None:
            self.log.seek(0)
            told = self.log.read().decode(errors="replace").strip()
            raise DataError(f"a pipeline has ended too early: {told[-2000:]}")

    def finish(self) -> None:
        """Let it do what is left."""
        self.check()
        assert self.popen.stdin is not None
        self.popen.stdin.close()
        if self.popen.wait(_STOPPING_S):
            self.check()


def run(side: Side) -> None:
    """Do it, in this process."""
    os.sched_setaffinity(0, {side.core})  # the JVM and its workers inherit it
    import pyarrow.parquet as pq

    from benchmarks import feed
    from benchmarks.spark import session
    from tidings.registry import Registry
    from tidings.spark import Overload, ParquetSink, Pipeline, Plan
    from tidings.spark.kafka import KafkaPosts

    overloads: dict[str, Overload | Literal["block"]] = {
        "shed": Overload("threshold", delay_s=side.delay_s),
        "random": Overload("random", delay_s=side.delay_s),
        "block": "block",
    }
    with session(feed.settings() | {"spark.master": "local[1,4]"}) as spark:
        pipeline = Pipeline(
            KafkaPosts(spark, side.servers, side.topic, SCHEMA, records_per_batch=side.batch_posts),
            Registry(Path(side.stage, "registry")),
            ParquetSink(side.folder / "matches"),
            side.home.path,
            plan=Plan("partitioned", MATCHERS),
            sample=pq.read_table(Path(side.stage, SAMPLE)),
            distinct_ids=False,
            overload=overloads[side.mode],
        )
        with pipeline.start() as running:
            while not select.select([sys.stdin], [], [], 0)[0]:
                pause(running, 0.5)
            running.process_all()


if __name__ == "__main__":
    run(Side(**json.loads(sys.argv[1])))
