"""How do publications and changes of subscriptions come out of Kafka? As JSON, a record each.

Matches go there by :class:`tidings.spark.sinks.KafkaSink`. Spark needs the connector (:mod:`tidings.spark.jars`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it
from pyspark.sql.types import StructType

from tidings.model import DataError
from tidings.spark.sources import UNREAD, check_batch_size, with_unread, without_unread

POST = "id string, text string, ts string, lat double, lon double, topic string"
"""The fields of a publication; instants are ISO 8601 text, and in UTC without a zone. Attributes are added to it."""

CHANGE = "op string, id string, query string, subscriber string, tag string, since string, until string"


def posts_from_kafka(
    spark: SparkSession,
    servers: str,
    topic: str,
    schema: str | StructType = POST,
    *,
    records_per_batch: int | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """A stream of the publications in a topic, from its beginning on: the columns of ``schema``.

    ``schema`` names what is read, for instance ``POST + ", likes bigint"``; ``topic array<string>`` takes lists. A
    record that is not such JSON has no id and all of it as its text, so that a pipeline rejects it and its owner sees
    it. ``records_per_batch`` bounds a batch; ``options`` are those of Spark's Kafka source.

    A pipeline that sheds takes :class:`KafkaPosts` instead, if it can: then it reads no JSON of what it drops.
    """
    source = KafkaPosts(spark, servers, topic, schema, records_per_batch, options)
    return source.read(source.records)


@dataclass(frozen=True, slots=True)
class KafkaPosts:
    """The publications of :func:`posts_from_kafka`, for a pipeline that reads them itself.

    In an overload it drops records before their JSON is parsed (:mod:`tidings.spark.dropping`). Otherwise both are the
    same; posts that Spark has something to do with before, such as a join, come from the function.
    """

    spark: SparkSession
    servers: str
    topic: str
    schema: str | StructType = POST
    records_per_batch: int | None = None
    options: Mapping[str, str] | None = None

    @property
    def records(self) -> DataFrame:
        """The stream of the records: a column ``value``."""
        return _records(self.spark, self.servers, self.topic, self.records_per_batch, self.options).select("value")

    def read(self, records: DataFrame, *beside: str) -> DataFrame:
        """The publications in some of the records, with these other columns of them."""
        rows = records.select(_read(self.schema).alias("read"), *beside)
        posts = without_unread(rows.select("read.*", *beside), *beside)
        if "id" not in posts.columns:
            raise DataError(f"publications have an id, and the schema reads {', '.join(posts.columns)}; add: id string")
        return posts


def changes_from_kafka(
    spark: SparkSession,
    servers: str,
    topic: str,
    *,
    records_per_batch: int | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """A stream of the changes in a topic, from its beginning on, for :class:`tidings.spark.changes.ApplyChanges`.

    A record is ``{"op": "add", "id": "s1", "query": "fire"}``, with subscriber, tag, since and until if need be, or
    ``{"op": "remove", "id": "s1"}``; one without a value removes the subscription that its key names. Write those of
    one subscription under one key, or to a topic of one partition: Kafka keeps no other order.
    """
    records = _records(spark, servers, topic, records_per_batch, options)
    read = records.select("key", "partition", "offset", _raw().alias("raw"), _read(CHANGE).alias("read"))
    removed = F.col("raw").isNull()
    instead: dict[str, Column] = {"op": F.lit("remove"), "id": F.col("key").cast("string")}
    names = [part.split()[0] for part in CHANGE.split(", ")]
    known = F.when(F.col(f"read.{UNREAD}").isNull(), F.col("read.op")).alias("op")
    return read.select(
        *(
            F.when(removed, instead.get(name)).otherwise(known if name == "op" else F.col(f"read.{name}")).alias(name)
            for name in names
        ),
        F.col("raw").alias("source"),
        "partition",
        "offset",
    )


def _records(
    spark: SparkSession, servers: str, topic: str, records_per_batch: int | None, options: Mapping[str, str] | None
) -> DataFrame:
    check_batch_size("records_per_batch", records_per_batch)
    asked = {"kafka.bootstrap.servers": servers, "subscribe": topic, "startingOffsets": "earliest"}
    if records_per_batch is not None:
        asked["maxOffsetsPerTrigger"] = str(records_per_batch)
    return spark.readStream.format("kafka").options(**asked | dict(options or {})).load()


def _raw() -> Column:
    return F.col("value").cast("string")


def _read(schema: str | StructType) -> Column:
    """The JSON of a record; what could not be read is told there."""
    return F.from_json(_raw(), with_unread(schema), {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": UNREAD})
