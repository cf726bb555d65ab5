"""Is what Spark would answer with a page of Java told in a sentence?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from tidings.cluster.delta import DeltaSink
from tidings.cluster.releases import Plan
from tidings.cluster.sinks import ParquetSink
from tidings.model import DataError
from tidings.registry import Registry
from tidings.spark.config import Config
from tidings.spark.matching import match
from tidings.spark.pipeline import Pipeline
from tidings.spark.sinks import ConsoleSink, KafkaSink, MemorySink
from tidings.spark.sources import posts_from_files, with_unread


@pytest.mark.parametrize("size", [0, -1, "3", 1.0, True])
def test_a_batch_of_no_files_is_refused(size: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="files_per_batch is a whole number of 1 or more, or None for no bound, got"):
        posts_from_files(None, tmp_path, files_per_batch=size)


@pytest.mark.parametrize(
    "schema",
    ["id string, _unread string", "`_unread` INT", StructType().add("id", "string").add("_UNREAD", "string")],
)
def test_a_column_in_the_place_of_bad_lines_is_refused(schema: str | StructType) -> None:
    with pytest.raises(DataError, match=r"a column cannot be named '_unread'.*rename it"):
        with_unread(schema)


@pytest.mark.parametrize("schema", ["id string, was_unread string", "id string, _unread2 int", "id string"])
def test_other_columns_are_not(schema: str) -> None:
    assert with_unread(schema) == f"{schema}, _unread string"


def one_line(caught: pytest.ExceptionInfo[DataError]) -> str:
    told = str(caught.value)
    assert "\n" not in told and "\tat " not in told and len(told) < 600
    return told


@pytest.mark.spark
def test_a_source_that_spark_does_not_know_is_told_in_a_line(spark: SparkSession, tmp_path: Path) -> None:
    config = Config(
        tmp_path / "alerts", tmp_path / "state", {"format": "carrier-pigeon"}, ParquetSink(tmp_path / "matches")
    )
    with pytest.raises(DataError, match="the source of format 'carrier-pigeon' cannot be read") as caught:
        config.pipeline(spark)
    assert "files, kafka, or one that Spark knows" in one_line(caught)


@pytest.mark.spark
@pytest.mark.parametrize("damage", ["not json", "", '{"id": 5}'])
def test_a_damaged_checkpoint_is_told_in_a_line(
    spark: SparkSession, registry: Registry, tmp_path: Path, damage: str
) -> None:
    (tmp_path / "posts").mkdir()
    (tmp_path / "posts" / "a.jsonl").write_text('{"id": "p1", "text": "fire"}\n')
    pipeline = Pipeline(
        posts_from_files(spark, tmp_path / "posts"), registry, ParquetSink(tmp_path / "found"), tmp_path / "state"
    )
    pipeline.run()
    metadata = tmp_path / "state" / "spark" / "metadata"
    metadata.write_text(damage)
    for checksum in metadata.parent.glob(".metadata.crc"):
        checksum.unlink()
    with pytest.raises(DataError, match=r"; put (it|the right one) back, or name a new checkpoint folder") as caught:
        pipeline.run()
    one_line(caught)
    with pytest.raises(DataError):
        pipeline.run()  # the lock was let go


@pytest.mark.spark
def test_whole_numbers_as_ids_in_json_stay_exact_however_large(spark: SparkSession, tmp_path: Path) -> None:
    registry = Registry(tmp_path / "alerts")
    registry.add(pa.table({"id": ["s1"], "query": ["fire"]}))
    for folder, ids in {"small": [9007199254740993, 7], "large": [9007199254740993, 2**64 + 1]}.items():
        (tmp_path / folder).mkdir()
        lines = [json.dumps({"id": number, "text": "fire"}) for number in ids]
        (tmp_path / folder / "a.jsonl").write_text("\n".join(lines))
        sink = ParquetSink(tmp_path / f"{folder}-found")
        Pipeline(posts_from_files(spark, tmp_path / folder), registry, sink, tmp_path / f"{folder}-state").run()
        found = [row["publication_id"] for row in spark.read.parquet(str(sink.path)).collect()]
        assert sorted(found) == sorted(map(str, ids))


WRONG: list[tuple[str, Callable[[], object]]] = [
    ("folder of a sink is named by a text or a Path, got None", lambda: ParquetSink(None)),  # type: ignore[arg-type]
    ("folder of a sink is named by a text or a Path, got ''", lambda: DeltaSink("")),
    ("names its topic as text, got 5", lambda: KafkaSink("host:9092", 5)),  # type: ignore[arg-type]
    ("shows 0 or more matches, got -1", lambda: ConsoleSink(-1)),
    ("matchers is a whole number of 1 or more, got 0", lambda: Plan(matchers=0)),
    ("replicated_bytes is a whole number of 0 or more, got 1.5", lambda: Plan(replicated_bytes=1.5)),  # type: ignore[arg-type]
    ("DataFrame or KafkaPosts, got a str", lambda: Pipeline("posts", "alerts", MemorySink(), "state").start()),
    ("a DataFrame or ParquetFiles, got a NoneType", lambda: match(None, "alerts")),
    ("folder of a source is named by a text or a Path, got 5", lambda: posts_from_files(None, 5)),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("problem", "call"), WRONG)
def test_a_wrong_type_is_told_in_a_sentence(problem: str, call: Callable[[], object]) -> None:
    with pytest.raises(DataError, match=problem):
        call()
