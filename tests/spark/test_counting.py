"""Does Spark count what one process counts?"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from tidings.analysis import Analyser
from tidings.cli.main import app
from tidings.cluster import place
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.releases import Plan, Releases
from tidings.partitioning import Mapping
from tidings.partitioning.learning import Incidence, Salb, measure
from tidings.registry import Registry
from tidings.spark.counting import count_terms
from tidings.workloads import Posts, tweet_based

pytestmark = pytest.mark.spark


def sets_of(incidence: Incidence) -> Counter[frozenset[int]]:
    """How many posts have each set of terms."""
    found: Counter[frozenset[int]] = Counter()
    for row, weight in enumerate(incidence.weights.tolist()):
        found[frozenset(incidence.sets.row(row).tolist())] += weight
    return found


def test_spark_counts_what_one_process_counts_and_equal_sets_once(spark: SparkSession) -> None:
    posts = Posts(seed=5, vocabulary=2_200, words=(1, 3)).table(3_000)
    asked = tweet_based(posts["text"], 400, 1, Analyser(), words=(1, 2))["query"].to_pylist()
    queries = [*asked, "topic:sports", "lang:es", "likes:>20", "bounding_box:[-20 -20 40 40]"]
    router = place(pa.table({"id": [f"s{n}" for n in range(len(queries))], "query": queries}), Mapping.hashed(4)).router
    alone = Incidence.of(posts, router.terms)
    frame = spark.createDataFrame(posts).repartition(5)
    found = count_terms(frame, router.terms)
    assert found.names.equals(alone.names) and sets_of(found) == sets_of(alone)
    assert len(found.sets) == len(sets_of(alone)) < found.posts == 3_000
    assert np.array_equal(found.frequencies(), alone.frequencies())
    split = Salb(share=0.2).partition(alone, 8)
    assert split.owners_of(alone.names).counts().max() > 1
    apart = count_terms(frame, router.terms, parts=8)
    assert len(found.sets) < len(apart.sets) and sets_of(apart) == sets_of(alone)
    for mapping in (Mapping.hashed(8), Salb().partition(found, 8), split):
        counted = apart if mapping is split else found
        assert measure(mapping, counted).loads.tolist() == measure(mapping, alone).loads.tolist()


def test_bad_rows_are_left_out_and_nothing_is_nothing(spark: SparkSession) -> None:
    router = place(pa.table({"id": ["s"], "query": ["fire"]}), Mapping.hashed(2)).router
    rows = [("a", "fire", 1.0, 2.0), ("b", "fire", 99.0, 0.0), (None, "fire", None, None), ("c", "rain", None, None)]
    frame = spark.createDataFrame(rows, "id string, text string, lat double, lon double")
    found = count_terms(frame, router.terms)
    assert sets_of(found) == {frozenset({1}): 1, frozenset(): 1}
    assert count_terms(frame.where("id = 'z'"), router.terms).posts == 0


def test_a_mapping_is_learned_from_a_file_of_posts(tmp_path: Path, spark: SparkSession) -> None:
    home, registry = PipelineFolder(tmp_path / "state"), Registry(tmp_path / "registry")
    posts = Posts(seed=3, vocabulary=2_200, words=(4, 9)).table(2_000)
    registry.add(tweet_based(posts["text"], 500, 1, Analyser(), words=(1, 2)))
    Releases(home.releases, plan=Plan("partitioned", 4), mappings=home.mappings).release(registry, 1)
    pq.write_table(posts, tmp_path / "posts.parquet")
    ran = CliRunner().invoke(
        app, ["learn", str(home.path), "--posts", str(tmp_path / "posts.parquet"), "--format", "json"]
    )
    assert ran.exit_code == 0, ran.output
    page = json.loads(ran.stdout)
    assert 1_500 < page["posts"] < 1_700 and page["after"]["throughput"] > page["before"]["throughput"]
    assert home.mappings.newest(4) == page["name"] == "learned-1"
