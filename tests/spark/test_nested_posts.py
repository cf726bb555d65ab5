"""Nested posts, odd names and bad columns on Spark: is everything matched as a plain evaluation says?"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tests.nested import ASKED, EVENTS, SCHEMA, expected
from tidings.model import DataError
from tidings.registry import Registry
from tidings.spark import Columns, ParquetFiles, Pipeline, match, posts_from_files

pytestmark = pytest.mark.spark

LAYOUTS: list[dict[str, Any]] = [{"layout": "replicated"}, {"layout": "partitioned", "matchers": 3}]


def _pairs(found: DataFrame) -> list[tuple[str, str]]:
    return sorted((row["publication_id"], row["subscription_id"]) for row in found.collect())


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(EVENTS, SCHEMA)


@pytest.mark.parametrize("how", LAYOUTS, ids=lambda how: how["layout"])
def test_nested_events_match_as_a_plain_evaluation_says(
    spark: SparkSession, events: DataFrame, tmp_path: Path, how: dict[str, Any]
) -> None:
    assert _pairs(match(events, ASKED, **how)) == expected()
    pq.write_table(events.toArrow(), tmp_path / "events.parquet")
    assert _pairs(match(ParquetFiles(spark, tmp_path / "events.parquet"), ASKED, **how)) == expected()


def test_only_the_fields_that_somebody_asks_about_are_read(spark: SparkSession, events: DataFrame) -> None:
    posts = Columns().selected(events, {"user.name", "items.price", "items.tags", "user", "nothing"})
    assert posts.names == ("id", "text", "items.price", "items.tags", "user.name")  # type: ignore[union-attr]
    assert [field.dataType.simpleString() for field in posts.frame.schema] == [  # type: ignore[union-attr]
        "string", "string", "array<double>", "array<array<string>>", "string"
    ]  # fmt: skip


def test_all_fields_are_read_where_words_are_looked_for_anywhere(spark: SparkSession) -> None:
    posts = spark.sql("SELECT 'p' id, 'rain' text, named_struct('name', 'Fire brigade') user, 7 n")
    asked = pa.table({"id": ["1", "2", "3", "4"], "query": ["any:fire", "any:7", "any:smoke", "#rain OR any:rain"]})
    for how in LAYOUTS:
        assert _pairs(match(posts, asked, **how)) == [("p", "1"), ("p", "2"), ("p", "4")]


def test_lists_in_lists_are_taken_apart_by_the_workers(spark: SparkSession, tmp_path: Path) -> None:
    deep = spark.sql("SELECT 'p' id, array(array(named_struct('n', 1)), array(named_struct('n', 7))) a, 'x' `a.b.c`")
    deep = deep.withColumn("o", F.expr("array(named_struct('i', array(named_struct('n', 2), named_struct('n', 5))))"))
    asked = pa.table({"id": ["1", "2", "3"], "query": ["a.n:7 a.b.c:x", "o.i.n:>4", "a.n:[2 TO 6] OR o.i.n:[3 TO 4]"]})
    assert _pairs(match(deep, asked)) == [("p", "1"), ("p", "2")]
    pq.write_table(deep.toArrow(), tmp_path / "deep.parquet")
    assert _pairs(match(ParquetFiles(spark, tmp_path / "deep.parquet"), asked)) == [("p", "1"), ("p", "2")]


def test_one_subscriber_silences_nobody(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    """Columns that can be no attributes, asked for by name."""
    posts = spark.sql(
        "SELECT id, 'fire' text, named_struct('name', 'ada', 'photo', unhex('ff')) user, unhex('ff') raw, "
        "make_interval(1) months, INTERVAL '1' DAY days, parse_json('{}') free, map('a', 1) words "
        "FROM VALUES ('p1'), ('p2') AS t(id)"
    )
    queries = ["fire", *(f"has:{name} OR {name}:x" for name in ("user", "raw", "months", "days", "free", "words"))]
    asked = pa.table({"id": queries, "query": queries})
    with caplog.at_level(logging.WARNING):
        assert _pairs(match(posts, asked)) == [("p1", "fire"), ("p2", "fire")]
    told = [record.message for record in caplog.records]
    assert len(told) == 6 and told[0] == (
        "the column 'raw' is no attribute, and queries find nothing in it: it is of type binary"
    )
    assert {message.split("'")[1] for message in told} == {"raw", "months", "days", "free", "words", "user.photo"}


def test_any_name_that_spark_allows_works(spark: SparkSession, tmp_path: Path) -> None:
    names = ["user.name", "back`tick", "two words", "größe", "a.b.`c`", "x:y", "0"]
    posts = spark.createDataFrame([("p", "fire", *names)], ["id", "text", *names])
    posts = posts.withColumn("user", F.struct(F.lit("nested").alias("name"), F.lit("eve").alias("first.last")))
    queries = ["fire", "user.name:user.name", "user.name:nested", "größe:größe", "user.first.last:eve"]
    asked = pa.table({"id": queries, "query": queries})
    found = [("p", query) for query in sorted(queries) if query != "user.name:nested"]  # the column wins
    assert _pairs(match(posts, asked)) == found
    pq.write_table(posts.toArrow(), tmp_path / "posts.parquet")
    assert _pairs(match(ParquetFiles(spark, tmp_path / "posts.parquet"), asked)) == found


def test_fields_may_be_in_structs_where_columns_say_so(spark: SparkSession, tmp_path: Path) -> None:
    posts = spark.sql("SELECT named_struct('id', 'p', 'body', 'fire', 'at', struct(1 lat, 2 lon), 'n', 5) post")
    columns = Columns(id="post.id", text="post.body", lat="post.at.lat", lon="post.at.lon")
    asked = pa.table({"id": ["a", "b"], "query": ["fire post.n:5 bounding_box:[2 1 2 1]", "has:post.body"]})
    assert _pairs(match(posts, asked, columns=columns)) == [("p", "a")]
    pq.write_table(posts.toArrow(), tmp_path / "posts.parquet")
    assert _pairs(match(ParquetFiles(spark, tmp_path / "posts.parquet"), asked, columns=columns)) == [("p", "a")]
    with pytest.raises(DataError, match=r"a column 'post\.key', got post;"):
        match(posts, asked, columns=Columns(id="post.key"))


def test_a_pipeline_of_nested_files_goes_on_whatever_is_asked(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "posts").mkdir()
    lines = [json.dumps(event | {"user.name": "dotted"} if event["id"] == "order-1" else event) for event in EVENTS]
    for number, line in enumerate(lines):
        (tmp_path / "posts" / f"{number}.jsonl").write_text(line + "\n")
    registry = Registry(tmp_path / "registry")
    queries = ["user.name:dotted", "user.address.city:Sydney", "codes:>100 codes:<10", "has:user", "fire"]
    registry.add(pa.table({"id": queries, "query": queries}))
    got: list[tuple[str, str]] = []
    stream = posts_from_files(spark, tmp_path / "posts", files_per_batch=1)
    columns = Columns()
    Pipeline(
        stream, registry, lambda found, _: got.extend(_pairs(found)), tmp_path / "checkpoint", columns=columns
    ).run()
    assert sorted(got) == [
        ("alert-1", "fire"),
        ("order-1", "codes:>100 codes:<10"),
        ("order-1", "user.address.city:Sydney"),
        ("order-1", "user.name:dotted"),
        ("order-2", "fire"),
        ("order-3", "codes:>100 codes:<10"),
    ]


def test_a_registry_that_is_not_there_is_an_error(events: DataFrame, tmp_path: Path) -> None:
    for missing in (tmp_path / "missing", str(tmp_path / "missing"), Registry(tmp_path / "missing")):
        with pytest.raises(DataError, match=r"there is no registry at .*missing'; name the folder"):
            match(events, missing)
    assert not (tmp_path / "missing").exists()
