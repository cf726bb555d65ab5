"""Does a stream find what brute force finds while a mapping of words and places takes the place of the hash?"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark import oracle
from tidings.cluster.learning import Learn, MappingLearner
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.releases import Plan
from tidings.registry import Registry
from tidings.spark.pipeline import Pipeline
from tidings.spark.sinks import MemorySink
from tidings.spark.sources import posts_from_files

pytestmark = pytest.mark.spark


def test_a_stream_goes_over_to_the_hybrid_and_finds_what_brute_force_finds(
    tmp_path: Path, spark: SparkSession, registry: Registry
) -> None:
    oracle.write_posts(tmp_path / "posts", 0)
    posts = posts_from_files(spark, tmp_path / "posts", files_per_batch=1)
    sink, rng, home = MemorySink(), random.Random(2), PipelineFolder(tmp_path / "state")
    with Pipeline(posts, registry, sink, tmp_path / "state", plan=Plan("partitioned", 3)).start() as running:
        for number, partitioner in enumerate(("", "hybrid", "kd-tree"), start=1):
            oracle.write_posts(tmp_path / "posts", number)
            running.process_all()
            if partitioner:
                home.mappings.put(*MappingLearner(home, Learn(partitioner), registry).learn())  # type: ignore[arg-type]
            oracle.change(registry, rng)
            oracle.write_posts(tmp_path / "posts", 10 + number)
            running.process_all()
    expected = oracle.expected(tmp_path / "state", registry)
    assert {batch: oracle.rows_of(table) for batch, table in sink.batches.items()} == expected
    mappings = [pin.mapping for batch in expected if (pin := running.journal.pin(batch))]
    assert {"hash-3", "learned-1", "learned-2"} <= set(mappings) and all(expected.values())
