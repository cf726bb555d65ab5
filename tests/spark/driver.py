"""What does a driver of the fault tests do? What it is told, line by line, until somebody kills it.

``python -m tests.spark.driver FOLDER MASTER [SERVERS]`` takes orders on stdin and answers on stdout:

=================  =================================================================================================
run                match all posts there are, by one pipeline into Parquet and one into Delta; ``done``, or
                   ``failed`` and why
aim WHEN STEP N    in the next run, before or after the Nth time that it takes this step, say ``there`` and wait for
                   a line; meanwhile anything may happen to it
post FILE          write the rows of a file of Parquet to the topic ``posts``; ``done``
topics             write what the topics hold to ``posts.parquet`` and ``matches.parquet``; ``done``
=================  =================================================================================================

With SERVERS, those of Kafka, posts are read from there, and the second pipeline writes there too. The environment
variable ``DRIVER_JAVA`` has more options for its JVM; with ``DRIVER_SHEDS`` the pipelines shed at the level that their
checkpoints say.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pyspark
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tidings.cluster.delta import DeltaSink
from tidings.cluster.journal import Journal
from tidings.cluster.overload import Overload
from tidings.cluster.releases import Plan, Releases
from tidings.cluster.sinks import ParquetSink
from tidings.model import DataError
from tidings.registry import Registry
from tidings.spark import batches
from tidings.spark.jars import add_connector
from tidings.spark.kafka import POST, posts_from_kafka
from tidings.spark.pipeline import Pipeline
from tidings.spark.sinks import KafkaSink
from tidings.spark.sources import posts_from_files

STEPS: dict[str, tuple[Any, str]] = {
    "pin": (Journal, "put"),
    "release": (Releases, "release"),
    "match": (batches.Handler, "_write"),
    "files": (batches, "collected"),
    "rename": (Path, "rename"),
    "commit": (DeltaTable, "create_write_transaction"),
    "keep": (batches.Handler, "_keep"),
    "report": (Journal, "close"),
    "forget": (Releases, "forget_before"),
}
INSTANT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
SCHEMA = f"{POST}, author string, lang string, likes bigint"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A driver lives for some batches of some hundred rows: what makes it fast makes it late."""

SHEDS = bool(os.environ.get("DRIVER_SHEDS"))
IMPATIENT = {
    "kafka.request.timeout.ms": "3000",
    "kafka.default.api.timeout.ms": "4000",
    "kafkaConsumer.pollTimeoutMs": "4000",
    "fetchOffset.numRetries": "2",
}
"""So that a pipeline whose broker is away for long fails, and does not wait for minutes."""


def aim(target: str, reached: Callable[[], None], steps: dict[str, tuple[Any, str]] = STEPS) -> None:
    """Call ``reached`` at a step of this process."""
    when, step, count = target.split()
    owner, name = steps[step]
    call: Callable[..., Any] = getattr(owner, name)
    calls = itertools.count(1)

    def watched(*args: Any, **options: Any) -> Any:
        is_it = next(calls) == int(count)
        if is_it and when == "before":
            reached()
        result = call(*args, **options)
        if is_it and when == "after":
            reached()
        return result

    setattr(owner, name, watched)


def session_of(master: str) -> SparkSession:
    builder: Any = SparkSession.builder
    return (
        (builder.remote(master.split()[1]) if master.startswith("connect ") else builder.master(master))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.driver.extraJavaOptions", f"{QUICK} {os.environ.get('DRIVER_JAVA', '')}")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.executor.memory", "512m")
        .getOrCreate()
    )


class Driver:
    """Carries out the orders."""

    def __init__(self, folder: Path, session: SparkSession, servers: str = "") -> None:
        self.folder, self.disk = folder, folder / "disk"
        self.session, self.servers = session, servers
        if servers:
            add_connector(session)

    def obey(self, order: str) -> str:
        match order.split(maxsplit=1):
            case ["run"]:
                return self.run()
            case ["post", file]:
                value = f'to_json(struct(*), map("timestampFormat", "{INSTANT}")) AS value'
                rows = self.session.read.parquet(file).selectExpr("id AS key", value)
                rows.write.format("kafka").options(**self._at("topic", "posts")).save()
            case ["topics"]:
                for topic in ("posts", "matches"):
                    read = self.session.read.format("kafka").options(**self._at("subscribe", topic)).load()
                    columns = "CAST(key AS string)", "CAST(value AS string)", "partition", "offset"
                    pq.write_table(read.selectExpr(*columns).toArrow(), self.folder / f"{topic}.parquet")
            case _:
                return f"failed: what is {order!r}?"
        return "done"

    def run(self) -> str:
        goes_on = bool(self.servers) or SHEDS
        running = [pipeline.start(available_now=not goes_on) for pipeline in self._pipelines()]
        told = []
        for each in running:
            try:
                with each:
                    each.process_all() if goes_on else each.wait()
            except DataError as error:
                told.append(" ".join(str(error).split()))
        return f"failed: {'; '.join(told)}" if told else "done"

    def _pipelines(self) -> list[Pipeline]:
        registry, sink = Registry(self.folder / "registry"), ParquetSink(self.disk / "in parquet")
        other: KafkaSink | DeltaSink
        if self.servers:
            posts = posts_from_kafka(
                self.session, self.servers, "posts", SCHEMA, records_per_batch=300, options=IMPATIENT
            )
            other = KafkaSink(self.servers, "matches", {"kafka.delivery.timeout.ms": "4000"} | IMPATIENT)
        else:
            posts = posts_from_files(self.session, self.folder / "the posts", files_per_batch=1)
            other = DeltaSink(self.disk / "in delta")
        overload: Any = Overload("random", spared=0.1, control="levels") if SHEDS else "block"
        return [
            Pipeline(posts, registry, sink, self.disk / "first", overload=overload),
            Pipeline(posts, registry, other, self.disk / "second", plan=Plan("partitioned", 3), overload=overload),
        ]

    def _at(self, how: str, topic: str) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self.servers, how: topic}


def main() -> None:
    os.setsid()  # a group of its own, to be killed together
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what Spark prints is no answer
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    folder, master, *servers = sys.argv[1:]
    if master.startswith("local-cluster"):
        os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)

    def there() -> None:
        print("there", file=answers)
        sys.stdin.readline()

    session = session_of(master)
    driver = Driver(Path(folder), session, *servers)
    for line in iter(sys.stdin.readline, ""):
        order = line.strip()
        if order.startswith("aim "):
            aim(order.removeprefix("aim "), there)
        else:
            print(driver.obey(order), file=answers)
    session.stop()


if __name__ == "__main__":
    main()
