"""Do workers that read Parquet files themselves find what Spark finds when it reads them?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import TaskContext
from pyspark.sql import SparkSession

from tidings.model import DataError
from tidings.spark import Columns, ParquetFiles, match, parquet
from tidings.workloads import Posts

pytestmark = pytest.mark.spark

POSTS = Posts(seed=8).table(600)
ASKED = pa.table(
    {
        "id": ["word", "place", "likes", "past", "day", "topic"],
        "query": [
            POSTS["text"][0].as_py().split()[0],
            "bounding_box:[-180 -90 0 90]",
            "likes:>3 lang:en",
            "ts:<2030-01-01 has:topic",
            "day:>2024-01-01 -day:2024-01-03 score:>0.1",
            "topic:technology OR topic:sport",
        ],
    }
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The posts of some days; one of them is nowhere on earth."""
    for day, start in ((1, 0), (2, 200), (3, 400)):
        home = tmp_path / "posts" / f"day=2024-01-0{day}" / "score=0.5"
        home.mkdir(parents=True)
        table = POSTS.slice(start, 200)
        if day == 2:
            table = table.set_column(3, "lat", pa.array([95.0, *table["lat"].to_pylist()[1:]], pa.float64()))
        pq.write_table(table, home / "part.parquet", row_group_size=60, use_deprecated_int96_timestamps=day == 3)
    return tmp_path / "posts"


def _tasks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    context = TaskContext.get()
    assert context is not None
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"task": pa.array([context.partitionId()], pa.int32())})


def rows(publications: object, **options: object) -> list[dict[str, object]]:
    found = match(publications, ASKED, **options)  # type: ignore[arg-type]
    return sorted(found.toArrow().to_pylist(), key=lambda row: (row["publication_id"], row["subscription_id"]))


@pytest.mark.parametrize("options", [{"layout": "replicated"}, {"layout": "partitioned", "matchers": 3}], ids=str)
@pytest.mark.parametrize("piece_bytes", [0, 1 << 30])
def test_workers_that_read_files_find_what_spark_finds(
    spark: SparkSession, folder: Path, options: dict[str, object], piece_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "PIECE_BYTES", piece_bytes)
    expected = rows(spark.read.parquet(str(folder)), **options)
    assert {row["subscription_id"] for row in expected} == set(ASKED["id"].to_pylist())
    assert rows(ParquetFiles(spark, folder), **options) == expected


def test_many_bytes_are_read_by_many_tasks(spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ParquetFiles(spark, folder)
    expected = rows(files)
    monkeypatch.setattr(parquet, "PIECE_BYTES", 0)
    monkeypatch.setattr(parquet, "TASK_BYTES", 1)
    monkeypatch.setattr(parquet, "FEW_TASKS", 0)
    numbers = files.selected({"id": ("id",)}).mapInArrow(_tasks, "task int")
    assert len({row["task"] for row in numbers.collect()}) == 3 * 4  # each file has four row groups
    assert rows(files) == expected


def test_a_path_may_be_relative_or_a_uri(spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers run elsewhere, and have to find it too."""
    expected = rows(ParquetFiles(spark, folder))
    monkeypatch.chdir(folder.parent)
    assert rows(ParquetFiles(spark, "posts")) == expected
    assert rows(ParquetFiles(spark, folder.as_uri())) == expected


def test_columns_may_have_other_names(spark: SparkSession, tmp_path: Path) -> None:
    table = POSTS.select(["id", "text"]).rename_columns(["tweet", "body"])
    pq.write_table(table, tmp_path / "posts.parquet")
    columns = Columns(id="tweet", text="body")
    expected = rows(spark.read.parquet(str(tmp_path / "posts.parquet")), columns=columns)
    assert expected and rows(ParquetFiles(spark, tmp_path / "posts.parquet"), columns=columns) == expected


def test_what_are_no_files_of_posts_is_told(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read Parquet files at"):
        ParquetFiles(spark, tmp_path / "nowhere")
    with pytest.raises(DataError, match="there are no Parquet files at"):
        ParquetFiles(spark, tmp_path)
    (tmp_path / "text.parquet").write_text("fire")
    with pytest.raises(DataError, match="cannot read Parquet files at"):
        ParquetFiles(spark, tmp_path)


def test_a_delta_table_is_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Its folder may hold files that were removed from the table."""
    pq.write_table(POSTS, tmp_path / "part.parquet")
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(DataError, match="is a Delta table"):
        ParquetFiles(spark, tmp_path)
