"""Does ``match`` find in a DataFrame what brute force finds in its rows? In batches and streams, in both layouts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tidings.analysis import ENGLISH
from tidings.cluster.notes import Notes
from tidings.index import BruteForce
from tidings.language import parse
from tidings.model import DataError, Subscription
from tidings.registry import Registry
from tidings.spark import Columns, Plan, Releases, match
from tidings.spark.matching import matched, matches, observed, rejected
from tidings.workloads import Posts, tweet_based

pytestmark = pytest.mark.spark

POSTS = Posts(seed=8).table(400)
NAMES = ["publication_id", "subscription_id", "subscriber", "tag", "query_version", "ts"]
LAYOUTS: list[dict[str, Any]] = [
    {"layout": "replicated"},
    *({"layout": "partitioned", "matchers": matchers} for matchers in (1, 2, 7, 16)),
]
OTHERS = [
    "topic:technology OR likes:>5 OR lang:es",
    "bounding_box:[-180 -90 0 90] -has:topic",
    "has:lang likes:[0 TO 2]",
    "polygon:((-90 -60, 0 -60, 0 80), (-1 0, -2 0, -2 1)) OR polygon:(((1 1, 170 1, 9 80)), ((1 -1, 9 -80, 170 -1)))",
]


@pytest.fixture(scope="module")
def asked() -> pa.Table:
    """Subscriptions of all kinds."""
    words = tweet_based(POSTS["text"], 100, 1, ENGLISH, words=(1, 3))["query"].to_pylist()
    queries = words + OTHERS
    return pa.table({"id": [f"s{i}" for i in range(len(queries))], "query": queries, "tag": ["t"] * len(queries)})


@pytest.fixture(scope="module")
def expected(asked: pa.Table) -> set[tuple[str, str]]:
    return brute(POSTS, asked)


@pytest.fixture
def posts(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(POSTS).repartition(3)


@pytest.fixture
def registry(tmp_path: Path, asked: pa.Table) -> Registry:
    registry = Registry(tmp_path / "registry")
    registry.add(asked)
    return registry


def brute(table: pa.Table, asked: pa.Table) -> set[tuple[str, str]]:
    oracle = BruteForce()
    oracle.add(Subscription(row["id"], parse(row["query"])) for row in asked.to_pylist())
    names = table["id"].to_pylist()
    return {(names[row], name) for row, name in oracle.match(table).pairs()}


def pairs(found: DataFrame) -> list[tuple[str, str]]:
    return [(row["publication_id"], row["subscription_id"]) for row in found.toArrow().to_pylist()]


def same(found: list[tuple[str, str]], expected: set[tuple[str, str]]) -> bool:
    """All that is expected, each once."""
    return len(found) == len(expected) and set(found) == expected


@pytest.mark.parametrize(
    "how",
    [pytest.param(LAYOUTS[0], marks=pytest.mark.quick), *LAYOUTS[1:]],
    ids=lambda how: "-".join(str(value) for value in how.values()),
)
def test_a_batch_equals_brute_force(
    posts: DataFrame, asked: pa.Table, expected: set[tuple[str, str]], how: dict[str, Any]
) -> None:
    found = match(posts, asked, **how)
    assert found.columns == NAMES
    rows = found.toArrow()
    assert same(list(zip(*(rows[name].to_pylist() for name in NAMES[:2]), strict=True)), expected)
    instants = dict(zip(POSTS["id"].to_pylist(), POSTS["ts"].to_pylist(), strict=True))
    assert all(row["ts"] == instants[row["publication_id"]] and row["tag"] == "t" for row in rows.to_pylist())


@pytest.mark.parametrize("how", [LAYOUTS[0], LAYOUTS[3]], ids=["replicated", "partitioned"])
def test_a_stream_equals_brute_force_and_bad_rows_do_not_stop_it(
    spark: SparkSession, tmp_path: Path, registry: Registry, expected: set[tuple[str, str]], how: dict[str, Any]
) -> None:
    (tmp_path / "posts").mkdir()
    for number in range(4):
        pq.write_table(POSTS.slice(100 * number, 100), tmp_path / "posts" / f"{number}.parquet")
    bad = POSTS.slice(0, 2).set_column(3, "lat", pa.array([999.0, -91.0])).set_column(4, "lon", pa.array([0.0, 0.0]))
    pq.write_table(bad, tmp_path / "posts" / "bad.parquet")
    stream = spark.readStream.schema(spark.read.parquet(str(tmp_path / "posts")).schema)
    stream = stream.option("maxFilesPerTrigger", 2).parquet(str(tmp_path / "posts"))
    release = Releases(tmp_path / "releases", plan=Plan(**how)).release(registry, registry.version)
    found = matches(observed(matched(stream, release), "work"))
    registry.remove(["s0"])  # the stream goes on with what was there when it began
    name = f"found_{how['layout']}"
    query = found.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
    query.awaitTermination()
    assert same(pairs(spark.table(name)), expected)
    told = [Notes.read(progress["observedMetrics"]["work"]["notes"]) for progress in query.recentProgress]
    assert len(told) == 3 and sum(notes.posts for notes in told) == 402
    assert sum(notes.matches for notes in told) == len(expected)
    assert {row.reason.split(": its ")[1] for notes in told for row in notes.rejected} == {
        "lat is between -90 and 90 degrees, got 999",
        "lat is between -90 and 90 degrees, got -91",
    }
    assert sum(tally.rejected for notes in told for tally in notes.tallies) == 2


def test_match_takes_a_stream(
    spark: SparkSession, tmp_path: Path, registry: Registry, expected: set[tuple[str, str]]
) -> None:
    pq.write_table(POSTS, tmp_path / "posts.parquet")
    schema = spark.read.parquet(str(tmp_path / "posts.parquet")).schema
    stream = spark.readStream.schema(schema).option("pathGlobFilter", "*.parquet").parquet(str(tmp_path))
    query = (
        match(stream, registry).writeStream.format("memory").queryName("streamed").trigger(availableNow=True).start()
    )
    query.awaitTermination()
    assert same(pairs(spark.table("streamed")), expected)


def test_adaptive_execution_leaves_each_matcher_its_partition(
    spark: SparkSession, tmp_path: Path, posts: DataFrame, registry: Registry
) -> None:
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"
    assert spark.conf.get("spark.sql.adaptive.coalescePartitions.enabled") == "true"
    others = posts.groupBy("id").count().select(F.spark_partition_id().alias("at")).distinct().count()
    assert others < int(spark.conf.get("spark.sql.shuffle.partitions"))  # so small is the data: it coalesces
    release = Releases(tmp_path / "releases", plan=Plan("partitioned", 16)).release(registry, registry.version)
    found = matched(posts, release)
    told = found.where("note IS NOT NULL").select(F.spark_partition_id().alias("at"), "note").collect()
    tallies = [(row["at"], tally) for row in told for tally in Notes.read([row["note"]]).tallies]
    assert sorted(at for at, tally in tallies if tally.stage == "match") == list(range(16))
    assert all(at == tally.matcher for at, tally in tallies if tally.stage == "match")
    assert sum(tally.posts for _, tally in tallies if tally.stage == "match") > 400  # some go to several


@pytest.mark.parametrize("how", [LAYOUTS[0], LAYOUTS[2]], ids=["replicated", "partitioned"])
def test_bad_rows_are_counted_and_kept_in_one_pass(
    spark: SparkSession, tmp_path: Path, registry: Registry, asked: pa.Table, how: dict[str, Any]
) -> None:
    good = POSTS.slice(0, 20)
    rows = good.to_pylist()
    bad = [
        {"id": "null", "text": None},
        {"id": "long", "text": "fire " * 2_000_000},
        {"id": "north", "text": "fire", "lat": 999.0, "lon": 0.0},
        rows[3],
        {"id": None, "text": "nobody"},
    ]
    frame = spark.createDataFrame(pa.Table.from_pylist([*rows, *bad], POSTS.schema)).coalesce(1)
    release = Releases(tmp_path / "releases", plan=Plan(**how)).release(registry, registry.version)
    observation = Observation()
    found = matches(observed(matched(frame, release), observation))
    assert same(pairs(found), brute(good, asked))
    assert same(pairs(match(frame, registry, **how)), brute(good, asked))
    notes = Notes.read(observation.get["notes"])
    assert sorted(row.id for row in notes.rejected) == sorted(["null", "long", "north", rows[3]["id"], ""])
    assert notes.posts == 25 and sum(tally.rejected for tally in notes.tallies) == 5
    assert sum(tally.candidates for tally in notes.tallies) >= notes.matches == found.count()
    assert all((tally.ms > 0) == (tally.stage == "match") for tally in notes.tallies if tally.posts)
    kept = {row["id"]: row for row in rejected(matched(frame, release)).collect()}
    assert kept.keys() == {row.id for row in notes.rejected}
    assert kept["long"]["reason"].endswith("its text has 10,000,000 characters; at most 1,000,000 are taken")
    assert '"lat": 999.0' in kept["north"]["source"] and len(kept["long"]["source"]) == 200


def test_a_text_that_is_no_text_rejects_its_rows(spark: SparkSession, tmp_path: Path, registry: Registry) -> None:
    release = Releases(tmp_path / "releases").release(registry, registry.version)
    frame = spark.sql("SELECT 'a' id, 7 text UNION ALL SELECT 'b', 8")
    found = matched(frame, release)
    assert matches(found).count() == 0
    assert {row["reason"] for row in rejected(found).collect()} == {
        f"publication {name!r}: its text is a int, not text" for name in "ab"
    }


def test_fields_have_the_names_one_says_and_what_nobody_asks_about_is_not_read(
    spark: SparkSession, asked: pa.Table, expected: set[tuple[str, str]]
) -> None:
    renamed = POSTS.rename_columns(
        ["tweet.id", *("body" if name == "text" else name for name in POSTS.column_names[1:])]
    )
    frame = spark.createDataFrame(renamed).withColumn("unreadable", F.expr("make_interval(1)"))
    assert same(pairs(match(frame, asked, columns=Columns(id="tweet.id", text="body"))), expected)
    with pytest.raises(DataError, match=r"a column 'id', got tweet.id, .*Columns\(id='tweet.id'\)"):
        match(frame, asked)
    with pytest.raises(DataError, match="'text' would be read as the field"):
        match(frame.withColumn("text", F.lit("")), asked, columns=Columns(id="tweet.id", text="body"))


def test_subscriptions_come_in_many_forms_and_bad_ones_are_told(
    spark: SparkSession, posts: DataFrame, registry: Registry, asked: pa.Table, caplog: pytest.LogCaptureFixture,
    expected: set[tuple[str, str]],
) -> None:  # fmt: skip
    bad = pa.table({"id": ["x", ""], "query": ["fire OR", "fire"], "tag": ["", ""]})
    both = pa.concat_tables([asked, bad])
    for subscriptions in (registry, str(registry.path), spark.createDataFrame(both), both):
        assert same(pairs(match(posts, subscriptions)), expected)
    assert caplog.text.count("subscription 'x' is left out: query, column 8") == 2
    assert caplog.text.count("a subscription needs an id that is not empty") == 2
    with pytest.raises(DataError, match="not a stream"):
        match(posts, spark.readStream.format("rate").load())


def test_a_folder_that_workers_do_not_see_is_told(tmp_path: Path, posts: DataFrame, registry: Registry) -> None:
    release = Releases(tmp_path / "releases").release(registry, registry.version)
    gone = replace(release, folder=str(tmp_path / "elsewhere"))
    with pytest.raises(PythonException, match="name one that all machines share"):
        matched(posts, gone).count()


@pytest.fixture(autouse=True)
def no_tables_left(spark: SparkSession) -> Iterator[None]:
    yield
    for table in spark.catalog.listTables():
        spark.catalog.dropTempView(table.name)
