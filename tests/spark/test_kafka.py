"""Do posts and changes go in, and matches come out, through a real Kafka broker?"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import nested
from tests.spark import oracle
from tidings.model import DataError
from tidings.registry import Registry
from tools.kafka import Broker

pytestmark = pytest.mark.spark
pytest.importorskip("pyspark")

from pyspark.sql import DataFrame, SparkSession  # noqa: E402

from tidings.spark.changes import ApplyChanges  # noqa: E402
from tidings.spark.jars import add_connector  # noqa: E402
from tidings.spark.kafka import POST, KafkaPosts, changes_from_kafka, posts_from_kafka  # noqa: E402
from tidings.spark.pipeline import Pipeline  # noqa: E402
from tidings.spark.sinks import KafkaSink  # noqa: E402

SCHEMA = f"{POST}, author string, lang string, likes bigint"

Record = tuple[str | None, str | None]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    if shutil.which("mvn") is None and not os.environ.get("CI"):
        pytest.skip("there is no mvn on PATH: a Kafka broker needs a JDK 17 and Maven")
    with Broker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


class Topics:
    """A broker and the session that talks to it."""

    def __init__(self, spark: SparkSession, broker: Broker) -> None:
        self.spark, self.broker, self.servers = spark, broker, broker.servers
        add_connector(spark)

    def new(self, *records: Record) -> str:
        name = f"topic-{uuid4().hex}"
        self.write(name, *records)
        return name

    def write(self, topic: str, *records: Record) -> None:
        """All into one partition, so that their order is kept."""
        rows = self.spark.createDataFrame(list(records), "key string, value string").coalesce(1)
        where = {"kafka.bootstrap.servers": self.servers, "topic": topic}
        rows.selectExpr("*", "0 AS partition").write.format("kafka").options(**where).save()

    def write_posts(self, topic: str, posts: pa.Table) -> None:
        """Under their ids, over all partitions."""
        rows = self.spark.createDataFrame(posts).selectExpr("id AS key", "to_json(struct(*)) AS value")
        rows.write.format("kafka").options(**{"kafka.bootstrap.servers": self.servers, "topic": topic}).save()

    def read(self, topic: str) -> DataFrame:
        where = {"kafka.bootstrap.servers": self.servers, "subscribe": topic}
        records = self.spark.read.format("kafka").options(**where).option("includeHeaders", "true").load()
        return records.selectExpr("CAST(key AS string) key", "CAST(value AS string) value", "headers")


@pytest.fixture
def topics(spark: SparkSession, broker: Broker) -> Topics:
    return Topics(spark, broker)


def add(name: str, query: str, **more: str) -> Record:
    return name, json.dumps({"op": "add", "id": name, "query": query, **more})


def remove(name: str) -> Record:
    return name, json.dumps({"op": "remove", "id": name})


def follow(topics: Topics, topic: str, registry: Registry, checkpoint: Path) -> None:
    changes = changes_from_kafka(topics.spark, topics.servers, topic)
    ApplyChanges(registry, checkpoint).start(changes, available_now=True).awaitTermination()


def queries(registry: Registry) -> dict[str, str]:
    return {row["id"]: row["query"] for row in registry.snapshot().to_pylist()}


def test_posts_and_changes_go_in_and_matches_come_out(topics: Topics, tmp_path: Path) -> None:
    registry = Registry.create(tmp_path / "registry")
    asked = oracle.subscriptions(random.Random(7), 60).to_pylist()
    rows = [{name: str(value) for name, value in row.items() if value} for row in asked]
    changes = topics.new(*((row["id"], json.dumps({"op": "add"} | row)) for row in rows))
    posts, matches = f"topic-{uuid4().hex}", f"topic-{uuid4().hex}"
    expected = []
    for table in (oracle.POSTS.table(400), oracle.POSTS.table(400, start=400)):
        topics.write_posts(posts, table)
        follow(topics, changes, registry, tmp_path / "changes")
        source = KafkaPosts(topics.spark, topics.servers, posts, SCHEMA)
        Pipeline(source, registry, KafkaSink(topics.servers, matches), tmp_path / "state").run()
        expected += oracle.brute(table, registry, registry.version)
        topics.write(changes, remove(rows[0]["id"]), add(rows[1]["id"], "likes:>5"), add("new", "lang:fr"))
    found = [(json.loads(row["key"]), json.loads(row["value"])) for row in topics.read(matches).collect()]
    assert sorted(tuple(str(part) for part in key) for key, _ in found) == sorted(
        (str(row[0]), str(row[1]), str(row[4])) for row in expected
    )
    assert len(expected) > 100 and {"new"} < {row[1] for row in expected}
    assert {value["publication_id"] for _, value in found} == {row[0] for row in expected}


def test_nested_records_match_as_a_plain_evaluation_says(topics: Topics, tmp_path: Path) -> None:
    posts = topics.new(*((event["id"], json.dumps(event)) for event in nested.EVENTS))
    registry = Registry(tmp_path / "registry")
    registry.add(nested.ASKED)
    matches: list[tuple[str, str]] = []

    def take(rows: DataFrame, batch: int) -> None:
        matches.extend((row["publication_id"], row["subscription_id"]) for row in rows.collect())

    Pipeline(
        posts_from_kafka(topics.spark, topics.servers, posts, nested.SCHEMA), registry, take, tmp_path / "state"
    ).run()
    assert sorted(matches) == nested.expected()


def test_nested_records_are_kept_for_the_past_of_later_subscriptions(topics: Topics, tmp_path: Path) -> None:
    posts = topics.new(*((event["id"], json.dumps(event)) for event in nested.EVENTS))
    registry, matches = Registry(tmp_path / "registry"), f"topic-{uuid4().hex}"
    stream = posts_from_kafka(topics.spark, topics.servers, posts, nested.SCHEMA)
    sink, keep = KafkaSink(topics.servers, matches), timedelta(hours=1)
    Pipeline(stream, registry, sink, tmp_path / "state", keep=keep).run()
    since = pa.repeat(pa.scalar("2020-01-01"), len(nested.ASKED))
    registry.add(nested.ASKED.append_column("since", since))
    topics.write(posts, ("later", json.dumps({"id": "later", "text": "rain"})))
    Pipeline(stream, registry, sink, tmp_path / "state", keep=keep).run()
    keys = [json.loads(row["key"]) for row in topics.read(matches).collect()]
    assert sorted((post, name) for post, name, _ in keys) == nested.expected()


def test_what_is_no_post_is_kept_aside_and_its_neighbours_go_on(topics: Topics, tmp_path: Path) -> None:
    good = json.dumps({"id": "p1", "text": "fire", "lat": 1, "lon": 2})
    far = json.dumps({"id": "p2", "text": "fire", "lat": "north", "lon": 2})
    posts = topics.new((None, good), (None, '{"id": "p3", "te'), (None, far), (None, "[1]"), ("p4", None))
    registry = Registry(tmp_path / "registry")
    registry.add(pa.table({"id": ["s1"], "query": ["fire"]}))
    matches: list[str] = []

    def take(rows: DataFrame, batch: int) -> None:
        matches.extend(row["publication_id"] for row in rows.collect())

    pipeline = Pipeline(KafkaPosts(topics.spark, topics.servers, posts), registry, take, tmp_path / "state")
    with pipeline.start(available_now=True) as running:
        running.wait()
    assert matches == ["p1"]
    report = running.journal.report(0)
    assert report is not None and (report.posts, report.rejected) == (5, 4)
    kept = str([pq.read_table(file).to_pylist() for file in (tmp_path / "state" / "rejected").rglob("*.parquet")])
    assert "north" in kept and "p3" in kept


def test_a_batch_is_bounded_by_its_records(topics: Topics, tmp_path: Path) -> None:
    posts = topics.new(*((None, json.dumps({"id": f"p{i}", "text": "fire"})) for i in range(10)))
    sizes: list[int] = []
    stream = posts_from_kafka(topics.spark, topics.servers, posts, records_per_batch=4)
    query = stream.writeStream.foreachBatch(lambda rows, _: sizes.append(rows.count()))
    query.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start().awaitTermination()
    assert sum(sizes) == 10 and len(sizes) == 3


def test_changes_of_one_subscription_keep_their_order(topics: Topics, tmp_path: Path) -> None:
    registry = Registry(tmp_path / "registry")
    changes = topics.new(
        *(add("a", "fire"), add("b", "fire"), remove("a"), add("c", "fire"), add("a", "smoke", tag="x")),
        *(add("b", "smoke OR"), remove("c"), add("d", "fire"), ("d", None), ("e", '{"op": "delete", "id": "e"}')),
        ("f", '{"op": "add", "id"'),
    )
    follow(topics, changes, registry, tmp_path / "changes")
    assert queries(registry) == {"a": "smoke", "b": "fire"}
    assert {row["id"]: row["tag"] for row in registry.snapshot().to_pylist()} == {"a": "x", "b": ""}
    rejected = {row["id"]: row for row in registry.rejected().to_pylist()}
    assert set(rejected) == {"b", "e", ""}
    assert "'delete'" in rejected["e"]["reason"] and rejected[""]["query"] == '{"op": "add", "id"'
    version = registry.version
    topics.write(changes, add("e", "rain"))
    follow(topics, changes, registry, tmp_path / "changes")
    assert queries(registry) == {"a": "smoke", "b": "fire", "e": "rain"} and registry.version == version + 1


@pytest.mark.slow
def test_a_broker_that_was_killed_has_kept_what_it_took(topics: Topics, tmp_path: Path) -> None:
    changes = topics.new(add("a", "fire"), add("b", "smoke"))
    registry = Registry(tmp_path / "registry")
    follow(topics, changes, registry, tmp_path / "changes")
    topics.broker.kill()
    topics.broker.start()
    topics.write(changes, remove("a"))
    follow(topics, changes, registry, tmp_path / "changes")
    assert queries(registry) == {"b": "smoke"}


def test_a_schema_without_an_id_is_refused(topics: Topics) -> None:
    with pytest.raises(DataError, match="add: id string"):
        posts_from_kafka(topics.spark, topics.servers, "posts", "text string")
