"""What does a driver of the kill tests do? It runs a pipeline into Parquet and one into Delta, until it dies.

``python -m tests.spark.driver FOLDER MASTER [AIM]``: with an aim, such as "after rename 3", the driver and its JVM are
killed before or after the third time it does that, and Spark's Python workers end with them. Without one it works
until all posts that are there are matched, or somebody else kills it.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tidings.registry import Registry
from tidings.spark import batches, sinks
from tidings.spark.delta import DeltaSink
from tidings.spark.journal import Journal
from tidings.spark.pipeline import Pipeline
from tidings.spark.releases import Plan, Releases
from tidings.spark.sinks import ParquetSink
from tidings.spark.sources import posts_from_files

STEPS: dict[str, tuple[Any, str]] = {
    "pin": (Journal, "pinned"),
    "release": (Releases, "release"),
    "match": (batches.Handler, "_write"),
    "files": (sinks, "write_parquet"),
    "rename": (Path, "rename"),
    "commit": (DeltaTable, "create_write_transaction"),
    "keep": (batches.Handler, "_keep"),
    "report": (Journal, "close"),
    "forget": (Releases, "forget_before"),
}


def aim(target: str) -> None:
    """Kill all processes of this group at a step."""
    when, step, count = target.split()
    owner, name = STEPS[step]
    call: Callable[..., Any] = getattr(owner, name)
    calls = itertools.count(1)

    def deadly(*args: Any, **options: Any) -> Any:
        is_last = next(calls) == int(count)
        if is_last and when == "before":
            os.killpg(0, signal.SIGKILL)
        result = call(*args, **options)
        if is_last and when == "after":
            os.killpg(0, signal.SIGKILL)
        return result

    setattr(owner, name, deadly)


def drive(folder: Path, master: str) -> None:
    builder: Any = SparkSession.builder
    session = (
        (builder.remote(master.split()[1]) if master.startswith("connect ") else builder.master(master))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.executor.memory", "512m")
        .getOrCreate()
    )
    posts = posts_from_files(session, folder / "the posts", files_per_batch=1)
    registry = Registry(folder / "registry")
    pipelines = [
        Pipeline(posts, registry, ParquetSink(folder / "in parquet"), folder / "parquet state"),
        Pipeline(posts, registry, DeltaSink(folder / "in delta"), folder / "delta state", plan=Plan("partitioned", 3)),
    ]
    running = [pipeline.start(available_now=True) for pipeline in pipelines]
    (folder / "started").touch()
    for each in running:
        each.wait()
    session.stop()


if __name__ == "__main__":
    os.setsid()  # a group of its own, to be killed together
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    if sys.argv[2].startswith("local-cluster"):
        os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    if len(sys.argv) > 3:
        aim(sys.argv[3])
    drive(Path(sys.argv[1]), sys.argv[2])
