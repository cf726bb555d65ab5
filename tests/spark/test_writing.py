"""Is a table of matches that workers write what match gives, in both formats, and is it there whole or not at all?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.spark.local import Local
from tidings.model import DataError
from tidings.spark import Columns, DeltaSink, MemorySink, ParquetFiles, ParquetSink, Plan, match, write_matches
from tidings.tables.matches import WITH_INSTANT
from tidings.workloads import Posts

POSTS = Posts(seed=8).table(600).select(["id", "text", "ts", "lat", "lon", "topic"])
ASKED = pa.table(
    {
        "id": ["word", "place", "past", "nobody"],
        "query": ["has:text", "bounding_box:[-180 -90 0 90]", "ts:<2030-01-01 has:topic", "zzzz"],
        "subscriber": ["ada", "bob", "ada", "ada"],
        "tag": ["", "near", "old", ""],
    }
)
LAYOUTS = [Plan("replicated"), Plan("partitioned", 3)]


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in sorted(row)) for row in table.to_pylist())


def posts(table: pa.Table = POSTS) -> Any:
    local = Local.of(table)
    object.__setattr__(local, "isStreaming", False)
    return local


def written(path: Path) -> pa.Table:
    return ds.dataset(path, format="parquet").to_table()


@pytest.mark.spark
@pytest.mark.parametrize("plan", LAYOUTS, ids=lambda plan: plan.layout)
def test_files_that_workers_write_are_what_match_gives(spark: SparkSession, tmp_path: Path, plan: Plan) -> None:
    pq.write_table(POSTS, tmp_path / "posts.parquet", row_group_size=100)
    frame = spark.read.parquet(str(tmp_path / "posts.parquet"))
    expected = match(frame, ASKED, layout=plan.layout, matchers=plan.matchers).toArrow()
    files = ParquetFiles(spark, tmp_path / "posts.parquet")
    told = write_matches(files, ASKED, tmp_path / "matches", plan=plan)
    write_matches(frame, ASKED, DeltaSink(tmp_path / "delta"), plan=plan)
    assert (told.posts, told.matches, told.rejected) == (600, expected.num_rows, ()) and told.matches > 600
    read = spark.read.parquet(str(tmp_path / "matches"))
    assert read.schema.simpleString() == match(frame, ASKED).schema.simpleString()
    assert rows(read.toArrow()) == rows(expected)
    assert rows(pa.table(DeltaTable(tmp_path / "delta").to_pyarrow_table())) == rows(expected)


@pytest.mark.parametrize("plan", LAYOUTS, ids=lambda plan: plan.layout)
def test_some_columns_of_matches_are_written(tmp_path: Path, plan: Plan) -> None:
    whole, few = ("subscription_id", "publication_id"), Columns(output=("subscription_id", "publication_id"))
    write_matches(posts(), ASKED, tmp_path / "all", plan=plan, folder=tmp_path / "index")
    write_matches(posts(), ASKED, tmp_path / "some", plan=plan, columns=few, folder=tmp_path / "index")
    assert written(tmp_path / "some").column_names == ["publication_id", "subscription_id"]
    assert rows(written(tmp_path / "some")) == rows(written(tmp_path / "all").select(whole))
    assert written(tmp_path / "all").column_names == WITH_INSTANT.names
    rows_out: Any = match(posts(), ASKED, columns=few, layout=plan.layout, matchers=3, folder=tmp_path / "index")
    table = pa.Table.from_batches(rows_out.rows())
    assert table.column_names == ["publication_id", "subscription_id"]
    assert rows(table) == rows(written(tmp_path / "some"))


def test_posts_that_nobody_asked_for_leave_an_empty_table(tmp_path: Path) -> None:
    asked = pa.table({"id": ["s"], "query": ["zzzz"]})
    for sink in (tmp_path / "files", DeltaSink(tmp_path / "delta")):
        told = write_matches(posts(), asked, sink, folder=tmp_path / "index")
        assert (told.posts, told.matches) == (600, 0)
    assert written(tmp_path / "files").num_rows == DeltaTable(tmp_path / "delta").to_pyarrow_table().num_rows == 0
    assert written(tmp_path / "files").column_names == WITH_INSTANT.names


def test_bad_rows_are_told(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "b", "a", None], "text": ["fire", "rain", "fire", "fire"]})
    told = write_matches(posts(table), ASKED, tmp_path / "files", folder=tmp_path / "index")
    assert (told.posts, told.matches) == (4, 2)
    assert sorted(row.reason for row in told.rejected) == [
        "a publication needs an id that is not empty",
        "publication 'a': its id came before",
    ]


def test_a_run_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        raise OSError("no more posts")

    local: Any = Local.of(POSTS, before=fail)
    object.__setattr__(local, "isStreaming", False)
    with pytest.raises(OSError, match="no more posts"):
        write_matches(local, ASKED, tmp_path / "out" / "files", folder=tmp_path / "index")
    assert list((tmp_path / "out").iterdir()) == []


def test_misuse_is_told(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    stream: Any = Local.of(POSTS)
    memory: Any = MemorySink()
    for sink, given, words in (
        (tmp_path / "there", posts(), "is there already; name a new folder"),
        (memory, posts(), "a folder, a DeltaSink or a ParquetSink, got a MemorySink"),
        (tmp_path / "new", stream, "for a stream there is Pipeline"),
        (ParquetSink(tmp_path / "there"), None, "publications are a DataFrame or ParquetFiles"),
    ):
        with pytest.raises(DataError, match=words):
            write_matches(given, ASKED, sink, folder=tmp_path / "index")
    with pytest.raises(DataError, match="output names some of publication_id"):
        Columns(output=("id",))
