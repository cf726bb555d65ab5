"""Matches posts where driver and workers share nothing but what Spark carries; run by ``test_elsewhere.py``.

``python -m tests.spark.elsewhere connect | cluster``: a session over Spark Connect, or one with two executors that are
processes of their own. In either, ``match`` in both layouts, of a table and of a stream, has to equal brute force.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import DataFrame, Observation, SparkSession

from tidings.analysis import ENGLISH
from tidings.cluster.notes import Notes
from tidings.index import BruteForce
from tidings.language import parse
from tidings.model import DataError, Subscription
from tidings.registry import Registry
from tidings.spark import ParquetFiles, Plan, Releases, match
from tidings.spark.matching import matched, matches, observed
from tidings.spark.shipping import shipped
from tidings.workloads import Posts, tweet_based

POSTS = Posts(seed=9).table(600)
ASKED = tweet_based(POSTS["text"], 100, 1, ENGLISH, words=(1, 3))
LATE = pa.table({"id": ["late"], "query": ["likes:>3 OR has:topic"]})


def session(kind: str) -> SparkSession:
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    builder = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    if kind == "connect":
        return builder.remote("local[2]").getOrCreate()
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    return builder.master("local-cluster[2,1,1024]").getOrCreate()


def expected(*tables: pa.Table) -> set[tuple[str, str]]:
    oracle = BruteForce()
    oracle.add(Subscription(row["id"], parse(row["query"])) for table in tables for row in table.to_pylist())
    names = POSTS["id"].to_pylist()
    return {(names[row], name) for row, name in oracle.match(POSTS).pairs()}


def check(found: DataFrame, wanted: set[tuple[str, str]]) -> None:
    rows = found.toArrow().to_pylist()
    pairs = [(row["publication_id"], row["subscription_id"]) for row in rows]
    assert len(pairs) == len(wanted) and set(pairs) == wanted, f"{len(pairs)} matches, expected {len(wanted)}"


def main(kind: str, home: Path) -> None:
    spark = session(kind)
    posts = spark.createDataFrame(POSTS).repartition(4)
    wanted = expected(ASKED)
    check(match(posts, ASKED), wanted)  # Spark carries the files
    check(match(posts, ASKED, layout="partitioned", matchers=5), wanted)
    check(match(posts, spark.createDataFrame(ASKED), folder=home / "shared"), wanted)
    registry = Registry(home / "registry")
    registry.add(ASKED)
    releases = Releases(home / "carried", plan=Plan("partitioned", 3))
    first = shipped(releases.release(registry, 1), spark)
    check(matches(matched(posts, first)), wanted)
    registry.add(LATE)
    second = shipped(releases.release(registry, 2), spark, first)
    observation = Observation()
    check(matches(observed(matched(posts, second), observation)), expected(ASKED, LATE))
    assert Notes.read(observation.get["notes"]).posts == POSTS.num_rows
    (home / "posts").mkdir()
    pq.write_table(POSTS, home / "posts" / "1.parquet")
    check(match(ParquetFiles(spark, home / "posts"), ASKED), wanted)
    stream = spark.readStream.schema(posts.schema).parquet(str(home / "posts"))
    if kind == "connect":
        try:
            match(stream, ASKED)
        except DataError as error:
            assert "name a folder" in str(error)
        else:
            raise AssertionError("a stream over Spark Connect needs a folder")
    found = match(stream, ASKED, folder=home / "shared" if kind == "connect" else None)
    found.writeStream.format("memory").queryName("found").trigger(availableNow=True).start().awaitTermination()
    check(spark.table("found"), wanted)
    spark.stop()


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        main(sys.argv[1], Path(folder))
    print("equal")
