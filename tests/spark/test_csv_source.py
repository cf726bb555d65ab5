"""CSV files on Spark: columns by name, types by what the cells write, and nothing lost in silence."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from tidings.model import DataError
from tidings.registry import Registry
from tidings.spark import Pipeline, posts_from_files
from tidings.spark.csv_source import ReadCsv
from tidings.tables.csv_files import CsvFile, inferred

pytestmark = pytest.mark.spark


def _pairs(found: DataFrame) -> list[tuple[str, str]]:
    return sorted((row["publication_id"], row["subscription_id"]) for row in found.collect())


def test_files_are_read_by_their_headers_and_codes_stay_text(spark: SparkSession, tmp_path: Path) -> None:
    posts = tmp_path / "the posts"
    posts.mkdir()
    (posts / "0.csv").write_text("id,text,lat,lon,zip,likes,day\na,fire,1.5,2.5,01234,7,2024-01-31\n")
    registry = Registry(tmp_path / "registry")
    queries = ["bounding_box:[2 1 3 2]", "likes:>6", "zip:01234", "zip:1234", "zip:>1", "day:>2024-01-01", "fire"]
    registry.add(pa.table({"id": queries, "query": queries}))
    stream = posts_from_files(spark, posts, files_per_batch=1)
    assert [field.dataType.simpleString() for field in stream.schema.fields] == [
        "string", "string", "double", "double", "string", "bigint", "timestamp"
    ]  # fmt: skip
    (posts / "1.csv").write_text("likes,more,text,zip,id,lon,lat\n9,x,smoke,90210,b,2.5,1.5\nmany,x,fire,1,c,1,1\n")
    (posts / "2.csv").write_text('text,id\n"fire,\nfire",d\n"odd"\n')
    (posts / "3.csv").touch()
    got: list[tuple[str, str]] = []
    Pipeline(stream, registry, lambda found, _: got.extend(_pairs(found)), tmp_path / "state").run()
    all_of_a = [("a", query) for query in queries if query not in ("zip:1234", "zip:>1")]
    assert sorted(got) == sorted([*all_of_a, ("b", "bounding_box:[2 1 3 2]"), ("b", "likes:>6"), ("d", "fire")])
    kept = pq.read_table(tmp_path / "state" / "rejected")
    assert sorted(kept["reason"].to_pylist()) == ["a publication needs an id that is not empty"] * 2
    assert "many,x,fire,1,c,1,1" in kept["source"].to_pylist()[0] + kept["source"].to_pylist()[1]


def test_a_schema_says_what_cells_hold(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("id|zip|n\na|1234|5\n")
    stream = posts_from_files(spark, tmp_path, schema="id string, zip string, n int", options={"sep": "|"})
    assert [field.dataType.simpleString() for field in stream.schema.fields] == ["string", "string", "bigint"]
    query = stream.writeStream.format("memory").queryName("csv_cells").trigger(availableNow=True).start()
    query.awaitTermination()
    assert [tuple(row) for row in spark.table("csv_cells").collect()] == [("a", "1234", 5)]
    spark.catalog.dropTempView("csv_cells")
    with pytest.raises(DataError, match="'n' is to be a array<int>; give it one of these types"):
        posts_from_files(spark, tmp_path, schema="id string, n array<int>")


def test_what_cannot_be_read_is_told_in_a_row(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """In this process."""
    (tmp_path / "0.csv").write_text("id,text,n\na,fire,1\n")
    kinds = inferred(CsvFile(tmp_path / "0.csv").cells())
    (tmp_path / "1.csv").write_bytes(b"n,id,new\n2,b,x\n\xff,c,x\n1,2,3,4\n")
    paths = pa.RecordBatch.from_pydict({"path": [f"file:{tmp_path}/1.csv"]})
    rows = pa.Table.from_batches(list(ReadCsv(kinds, {})(iter([paths])))).to_pylist()
    assert [(row["id"], row["n"]) for row in rows] == [(None, None), ("b", 2), (None, None)]
    assert rows[2]["text"] == "1,2,3,4"
    assert "not in the schema, and so not read: new" in caplog.text
