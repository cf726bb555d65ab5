"""Where do the matches of a batch go, and what happens if the batch is run again?

There are two kinds of sinks. A :class:`FileSink` takes files that Python workers write while they match: the matches
pass neither through Spark nor through the driver. A :class:`RowSink` takes a DataFrame.

A batch that was under way when a driver died is run again by the next one, with the same publications and the same
subscriptions. What a sink promises then:

===============  =============================================================================================
ParquetSink      each match once: a batch is a folder that appears at once, and is not written a second time
DeltaSink        each match once: a batch is one commit, which carries the batch as its application transaction
KafkaSink        each match at least once: a repeat has the same key and value, and the headers of its batch
MemorySink       each match once, as long as the process lives
ConsoleSink      each batch at least once
a callable       what it does of itself: it is called again with the same batch number and the same rows
===============  =============================================================================================
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

from tidings.model import DataError
from tidings.spark.rows import MATCH

KEY = ("publication_id", "subscription_id", "query_version")
"""What makes two matches the same one."""

NEW_PLACE = "name a new or an empty folder for the matches"
_INSTANT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"  # Spark's own has milliseconds
_ASIDE = "_aside"  # what begins with an underscore is seen by no reader of Parquet


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of a pipeline. No other has its name, whatever is run again."""

    pipeline: str
    number: int


@runtime_checkable
class FileSink(Protocol):
    """Takes the matches of a batch as files of Parquet."""

    def has(self, batch: Batch) -> bool:
        """Whether all of a batch is there for good, so that it is not to be written again."""

    def aside(self, batch: Batch) -> Path:
        """A new folder for the files of a batch, which no reader sees; what attempts that died have left is removed."""

    def take(self, files: Sequence[Path], batch: Batch) -> None:
        """Let readers see these files of ``aside``, one or more; others that are there are of tasks that failed."""


class RowSink(Protocol):
    """Takes the matches of a batch as a DataFrame.

    ``once`` says that ``write`` runs exactly one action over all rows, so that they are made while they are written;
    for any other sink they are kept until it is done.
    """

    @property
    def once(self) -> bool: ...

    def has(self, batch: Batch) -> bool:
        """Whether all of a batch is there for good, so that it is not to be written again."""

    def write(self, rows: DataFrame, batch: Batch) -> None:
        """Take all of a batch, or fail."""


Sink: TypeAlias = FileSink | RowSink


@runtime_checkable
class Checking(Protocol):
    """What a sink has besides, if there is a place that may hold something else."""

    def check(self) -> None:
        """Refuse a place that matches cannot go to, before there are any."""


def check_sink(sink: Sink) -> None:
    """Let a sink refuse the place that it writes to, if it has one."""
    if isinstance(sink, Checking):
        sink.check()


@dataclass(frozen=True, slots=True)
class ParquetSink:
    """Files of Parquet in ``path/pipeline=…/batch=…``, for any reader of partitioned Parquet.

    A batch is written aside by the executors and moved into place by the driver, so readers see all of it or nothing;
    ``path`` is a folder that both see.
    """

    path: str | Path

    def __post_init__(self) -> None:
        check_path("the folder of a sink", self.path)

    def check(self) -> None:
        """Refuse a folder that holds something else than batches of matches."""
        path = Path(self.path)
        if path.exists() and not path.is_dir():
            raise DataError(f"{str(path)!r} is a file, and matches go to a folder; name a new or an empty one")
        names = sorted(entry.name for entry in path.iterdir()) if path.exists() else []
        for name in names:
            if name == "_delta_log" or not name.startswith(("pipeline=", "_", ".")):
                raise DataError(f"{str(path)!r} holds {name!r}, which is no batch of matches; {NEW_PLACE}")
        file = next(path.glob("pipeline=*/batch=*/*.parquet"), None)
        if file is not None:
            check_columns(path, _schema(file))

    def has(self, batch: Batch) -> bool:
        return self._home(batch).exists()

    def aside(self, batch: Batch) -> Path:
        attempts = Path(self.path).absolute() / _ASIDE / batch.pipeline
        shutil.rmtree(attempts, ignore_errors=True)
        folder = attempts / uuid4().hex
        folder.mkdir(parents=True)
        return folder

    def take(self, files: Sequence[Path], batch: Batch) -> None:
        home, whole = self._home(batch), files[0].parent / "whole"
        whole.mkdir()
        for file in files:
            file.rename(whole / file.name)
        home.parent.mkdir(parents=True, exist_ok=True)
        whole.rename(home)

    def put(self, rows: pa.Table, batch: Batch) -> None:
        """Write a batch that the driver has; one that is there already stays."""
        if not self.has(batch):
            file = self.aside(batch) / "part-0.parquet"
            pq.write_table(rows, file)
            self.take([file], batch)

    def _home(self, batch: Batch) -> Path:
        return Path(self.path) / f"pipeline={batch.pipeline}" / f"batch={batch.number}"


@dataclass(slots=True)
class MemorySink:
    """Arrow tables in the memory of this process, by batch; for notebooks and tests. Not over Spark Connect, where a
    batch is handled by another process."""

    batches: dict[int, pa.Table] = field(default_factory=dict)
    once = True

    def has(self, batch: Batch) -> bool:  # noqa: ARG002
        return False  # what is written again replaces itself

    def write(self, rows: DataFrame, batch: Batch) -> None:
        self.batches[batch.number] = rows.toArrow()

    def table(self) -> pa.Table:
        """All matches so far."""
        return pa.concat_tables([self.batches[number] for number in sorted(self.batches)])


@dataclass(frozen=True, slots=True)
class KafkaSink:
    """A record for each match: the match as JSON, under the key [publication, subscription, query version].

    Each match is there at least once. It is there again if a task or the batch had to be run again; such a repeat has
    the same key and value, so a consumer that remembers the keys of a batch (headers ``pipeline`` and ``batch``) can
    drop it.
    """

    servers: str
    topic: str
    options: Mapping[str, str] = field(default_factory=dict)
    once = False  # Spark's writer for Kafka does not tell what was observed in the rows

    def __post_init__(self) -> None:
        for name, value in (("servers", self.servers), ("topic", self.topic)):
            if not isinstance(value, str) or not value:
                raise DataError(f"a Kafka sink names its {name} as text, got {value!r}")

    def has(self, batch: Batch) -> bool:  # noqa: ARG002
        return False

    def write(self, rows: DataFrame, batch: Batch) -> None:
        headers = [_header("pipeline", batch.pipeline), _header("batch", str(batch.number))]
        records = rows.select(
            F.to_json(F.array(*(F.col(name).cast("string") for name in KEY))).alias("key"),
            F.to_json(F.struct("*"), {"timestampFormat": _INSTANT}).alias("value"),
            F.array(*headers).alias("headers"),
        )
        writer = records.write.format("kafka").options(**self.options)
        writer.options(**{"kafka.bootstrap.servers": self.servers, "topic": self.topic}).save()


@dataclass(frozen=True, slots=True)
class ConsoleSink:
    """The first ``shown`` matches of each batch on stdout."""

    shown: int = 20
    once = False

    def __post_init__(self) -> None:
        if type(self.shown) is not int or self.shown < 0:
            raise DataError(f"a console shows 0 or more matches, got {self.shown!r}")

    def has(self, batch: Batch) -> bool:  # noqa: ARG002
        return False

    def write(self, rows: DataFrame, batch: Batch) -> None:  # noqa: ARG002
        rows.show(self.shown, truncate=60)


@dataclass(frozen=True, slots=True)
class CallableSink:
    """Calls ``take(rows, batch number)``, which may do with the DataFrame what it likes."""

    take: Callable[[DataFrame, int], object]
    once = False

    def has(self, batch: Batch) -> bool:  # noqa: ARG002
        return False

    def write(self, rows: DataFrame, batch: Batch) -> None:
        self.take(rows, batch.number)


def check_path(what: str, path: object) -> None:
    """Refuse what names no folder."""
    if not isinstance(path, str | Path) or not str(path):
        raise DataError(f"{what} is named by a text or a Path, got {path!r}")


def check_columns(path: Path, found: pa.Schema, expected: pa.Schema = MATCH) -> None:
    """Refuse a place whose columns are not those of matches, in whatever order."""
    has, wanted = ([f"{field.name} {field.type}" for field in schema] for schema in (found, expected))
    if sorted(has) != sorted(wanted):
        raise DataError(
            f"{str(path)!r} has the columns {', '.join(has)}, and matches have {', '.join(wanted)}; {NEW_PLACE}"
        )


def _schema(file: Path) -> pa.Schema:
    try:
        return pq.read_schema(file)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{str(file)!r} is no file of Parquet ({error}); remove it, or name another folder") from None


def spark_path(path: Path) -> str:
    """A path of this machine as Spark wants it, whatever its own default is: with its blanks, and not as a URI."""
    return f"file://{path.absolute()}"


def _header(name: str, value: str) -> F.Column:
    return F.struct(F.lit(name).alias("key"), F.lit(value.encode()).alias("value"))
