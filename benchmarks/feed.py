"""How do posts come into Kafka at a steady rate, each with the instant at which it was due?

A thread of this process says when, and a small Java program, ``benchmarks/feed_java`` of the checkout, is the producer:
Kafka's own client. Broker and jars are those of ``make kafka``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from benchmarks.spark import session
from tidings.model import DataError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHECKOUT = Path(__file__).parents[1]
TICK_S = 0.005
"""Posts are written so often, those that are due together: half of it is added to the latency of a post, on average."""

_PATIENCE_S = 60.0
_SOURCE = CHECKOUT / "benchmarks" / "feed_java" / "Feed.java"
_JVM = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
_SESSION = {
    "spark.master": "local[2,4]",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
}


@dataclass(frozen=True, slots=True)
class Broker:
    """Where a broker is, and its process if we have started it."""

    servers: str
    pid: int | None = None


@contextmanager
def broker(servers: str | None = None) -> Iterator[Broker]:
    """The broker that is named, or one that lives for as long as this is used."""
    if servers is not None:
        yield Broker(servers)
        return
    script = CHECKOUT / "tools" / "kafka.py"
    if not script.is_file():
        raise DataError("a Kafka broker is started from a checkout of tidings; run it there, or name one by --servers")
    command = [sys.executable, str(script), "start", "--for-s", str(24 * 3600)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            if not address:
                raise DataError("the Kafka broker did not start; try it alone: make kafka")
            yield Broker(address, process.pid)
        finally:
            process.terminate()


def settings() -> dict[str, str]:
    """Two cores, and the connector to Kafka."""
    from tidings.spark.jars import connector_jars, jar_folder

    jars = connector_jars()
    if not jars:
        raise DataError(f"there is no Kafka connector in {str(jar_folder())!r}; run: make kafka ARGS=install")
    return _SESSION | {"spark.jars": ",".join(map(str, jars))}


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a run takes place: a session, a broker, and a folder for its files."""

    spark: SparkSession
    broker: Broker
    folder: Path


@contextmanager
def stage(servers: str | None = None) -> Iterator[Stage]:
    """All of it, for as long as it is used."""
    with (
        tempfile.TemporaryDirectory(prefix="tidings-bench-") as folder,
        broker(servers) as found,
        session(settings()) as spark,
    ):
        yield Stage(spark, found, Path(folder))


def bodies(posts: pa.Table) -> list[str]:
    """The rest of the JSON of each post, after id and instant.

    >>> bodies(pa.table({"id": ["p1"], "text": ["fire"], "likes": [None]}))
    [', "text": "fire"}']
    """
    rows = posts.drop_columns([name for name in ("id", "ts") if name in posts.column_names]).to_pylist()
    kept = [{name: value for name, value in row.items() if value is not None} for row in rows]
    return [f", {json.dumps(row)[1:]}" if row else "}" for row in kept]


@dataclass(slots=True)
class Feed:
    """Writes posts to a new topic, ``rate`` a second, again and again from the first of ``bodies``.

    It does so in a ``with`` block, which begins when the broker has the first post.

    Ids are p0, p1 and so on; :meth:`change` changes the rate. The ``ts`` of a post is the instant at which it is due,
    even if it is written later, so that whatever keeps the feed waiting counts; ``late_s`` is the most that it was
    behind.
    """

    servers: str
    bodies: Sequence[str]
    rate: float
    topic: str = field(init=False, default_factory=lambda: f"tidings-{uuid4().hex}")
    sent: int = field(init=False, default=0)
    late_s: float = field(init=False, default=0.0)
    _paces: list[tuple[int, float, float]] = field(init=False, default_factory=list)
    _done: threading.Event = field(init=False, default_factory=threading.Event)
    _thread: threading.Thread = field(init=False)
    _process: subprocess.Popen[bytes] = field(init=False)
    _log: IO[bytes] = field(init=False)

    def __enter__(self) -> Feed:
        from tidings.spark.jars import jar_folder

        jars = jar_folder() / "broker" / "lib"
        if not (_SOURCE.is_file() and jars.is_dir()):
            raise DataError(
                "posts are fed from a checkout of tidings with the jars of Kafka; run: make kafka ARGS=install"
            )
        command = ["java", *_JVM, "-cp", f"{jars}/*", str(_SOURCE), self.servers, self.topic]
        self._log = tempfile.TemporaryFile()  # closed where the feed ends
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            self._end(is_wanted=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(is_wanted=error is not None)

    def _end(self, *, is_wanted: bool) -> None:
        """Let the broker have all; what went wrong is told, unless something else did already."""
        self._done.set()
        self._thread.join(_PATIENCE_S)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE_S)
        self._process.kill()
        with self._log, self._process:
            self._log.seek(0)
            told = self._log.read().decode(errors="replace").strip()
        if self._process.returncode and not is_wanted:
            raise DataError(f"the feed of posts failed: {told[-1000:]}; is there a broker at {self.servers}?")

    @property
    def pid(self) -> int:
        return self._process.pid

    def change(self, rate: float) -> None:
        """Go on with so many posts a second."""
        self.rate = rate

    def due(self, number: int) -> float:
        """When post ``number`` is due, in seconds since 1970: exact for those that were sent."""
        first, at, rate = next(pace for pace in reversed(self._paces) if pace[0] <= number)
        return at + (number - first) / rate

    def _run(self) -> None:
        assert self._process.stdin is not None
        self._paces.append((0, time.time(), self.rate))
        with suppress(BrokenPipeError), self._process.stdin as out:
            while not self._done.wait(TICK_S):
                rate = self._paces[-1][2]
                behind_s = time.time() - self.due(self.sent)
                if behind_s > 0:
                    posts = int(behind_s * rate) + 1
                    self.late_s = max(self.late_s, behind_s)
                    out.write("".join(map(self._line, range(self.sent, self.sent + posts))).encode())
                    out.flush()
                    self.sent += posts
                if self.rate != rate:
                    self._paces.append((self.sent, self.due(self.sent), self.rate))

    def _line(self, number: int) -> str:
        due = datetime.fromtimestamp(self.due(number), UTC).isoformat(timespec="microseconds")
        return f'p{number}\t{{"id": "p{number}", "ts": "{due}"{self.bodies[number % len(self.bodies)]}\n'
