"""Is what an overload drops dropped before it is read, the same each time, and counted?"""

from __future__ import annotations

import json
import random
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark import oracle
from tests.spark.test_batches import Governed
from tidings.cluster.cut import CHOSEN, Cut
from tidings.cluster.journal import Report
from tidings.cluster.learning import Learn
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.releases import Plan
from tidings.cluster.sinks import ParquetSink
from tidings.registry import Registry
from tidings.spark.batches import Handler
from tidings.spark.columns import Columns
from tidings.spark.dropping import Remaining
from tidings.spark.kafka import POST, KafkaPosts

SCHEMA = f"{POST}, author string, lang string, likes bigint"
POSTS = oracle.POSTS.table(2_000)


def records(spark: SparkSession, parts: int = 3) -> DataFrame:
    """The posts as Kafka has them."""
    rows = [(json.dumps(row, default=datetime.isoformat).encode(),) for row in POSTS.to_pylist()]
    return spark.createDataFrame(rows, "value binary").repartition(parts)


def capacity(looked_at: float, spared: float = 0.05) -> Cut:
    """All of those that are looked at is kept."""
    return Cut(30, "random", 1e9, 1.0, spared, looked_at=looked_at)


def run(
    spark: SparkSession, folder: Path, cut: Cut, layout: str, parts: int = 3
) -> tuple[set[tuple[str, str]], Report]:
    """One batch: its matches and its report."""
    home, sink = PipelineFolder(folder / "home"), ParquetSink(folder / "matches")
    options: dict[str, Any] = {"sample": None, "distinct_ids": True, "learn": Learn(), "governor": Governed(cut)}
    plan = Plan(layout, 4)  # type: ignore[arg-type]
    handler = Handler(home, "one", Registry(folder / "registry"), sink, Columns(), plan, **options)
    handler.source = KafkaPosts(spark, "nowhere", "nothing", SCHEMA)
    handler(records(spark, parts), 0)
    found = pq.read_table(folder / "matches").select(["publication_id", "subscription_id"]).to_pylist()
    report = home.journal.report(0)
    assert report is not None
    return {(row["publication_id"], row["subscription_id"]) for row in found}, report


@pytest.mark.parametrize("layout", ["replicated", "partitioned"])
def test_what_is_looked_at_has_all_its_matches_and_the_rest_is_counted(
    spark: SparkSession, tmp_path: Path, layout: str
) -> None:
    found = {}
    for parts in (2, 5):
        registry = Registry(tmp_path / str(parts) / "registry")
        registry.add(oracle.subscriptions(random.Random(3), 150))
        found[parts], report = run(spark, tmp_path / str(parts), capacity(0.4), layout, parts)
        assert report.posts == POSTS.num_rows
        dropped = POSTS.num_rows * 0.6 * 0.95
        assert report.posts_dropped <= 1.2 * dropped
        asked = {row[:2] for row in oracle.brute(POSTS, registry, registry.version)}
        met = {post for post, _ in found[parts]}
        assert found[parts] == {(post, name) for post, name in asked if post in met}
        assert 0.3 < len(met) / len({post for post, _ in asked}) < 0.55
        lost = len(asked) - len(found[parts])
        assert report.lost == pytest.approx(lost, rel=0.6)
    assert found[2] == found[5]


def test_coins_are_fair_and_stay_with_the_record_that_cannot_be_read(spark: SparkSession) -> None:
    source, rows = KafkaPosts(spark, "nowhere", "nothing", SCHEMA), [(f"broken {n}".encode(),) for n in range(4_000)]
    remaining = Remaining.of(source, spark.createDataFrame(rows, "value binary"), capacity(0.3, spared=0.2))
    left = remaining.posts.toArrow()
    assert left.num_rows + remaining.dropped == 4_000
    assert left["id"].null_count == left.num_rows and left["text"][0].as_py().startswith("broken ")
    codes = left[CHOSEN].to_numpy()
    shares = [(codes & 1 > 0).sum() / 4_000, (codes & 2 > 0).sum() / 4_000, (codes == 3).sum() / 4_000]
    assert shares == pytest.approx([0.3, 0.2, 0.06], abs=0.03) and codes.min() > 0
