"""Where do the matches of a batch go, and what happens if the batch is run again?

There are two kinds of sinks. A :class:`FileSink` (:mod:`tidings.cluster.sinks`) takes files that Python workers write
while they match: the matches pass neither through Spark nor through the driver. A :class:`RowSink` takes a DataFrame.

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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

from tidings.cluster.sinks import Batch, FileSink
from tidings.model import DataError

KEY = ("publication_id", "subscription_id", "query_version")
"""What makes two matches the same one."""

_INSTANT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"  # Spark's own has milliseconds


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


def spark_path(path: Path) -> str:
    """A path of this machine as Spark wants it, whatever its own default is: with its blanks, and not as a URI."""
    return f"file://{path.absolute()}"


def _header(name: str, value: str) -> F.Column:
    return F.struct(F.lit(name).alias("key"), F.lit(value.encode()).alias("value"))
