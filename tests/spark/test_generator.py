"""Are the made-up posts of a stream the same rows, however they are cut, run again or read?"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.model import DataError
from tidings.workloads import Posts
from tidings.workloads.posts import BLOCK_ROWS

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from tidings.cluster.journal import Report
from tidings.cluster.notes import Notes
from tidings.cluster.overload import Governor, Overload, admitted
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.spark.generator import NAME, Options, StreamReader, register


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def stream(spark: SparkSession, **options: object) -> DataFrame:
    register(spark)
    return spark.readStream.format(NAME).options(**{key: str(value) for key, value in options.items()}).load()


def offsets(checkpoint: Path) -> list[int]:
    """Where each batch ended, by Spark's own log."""
    logs = sorted(
        (file for file in (checkpoint / "offsets").iterdir() if file.name.isdigit()), key=lambda f: int(f.name)
    )
    return [json.loads(log.read_text().splitlines()[-1])["row"] for log in logs]


@given(start=st.integers(0, 4 * BLOCK_ROWS), count=st.integers(0, 3 * BLOCK_ROWS), partitions=st.integers(1, 5))
def test_pieces_are_all_rows_once_and_few(start: int, count: int, partitions: int) -> None:
    pieces = [piece.value for piece in Options(partitions=partitions).pieces(start, start + count)]
    assert [row for piece in pieces for row in range(*piece)] == list(range(start, start + count))
    assert len(pieces) <= partitions and all(first < end for first, end in pieces)


def test_pieces_are_the_rows_of_the_workload() -> None:
    options = Options(seed=3, rate=10, partitions=3)
    pieces = options.pieces(4000, 9000)
    assert len(pieces) == 3
    batches = [batch for piece in pieces for batch in options.batches(piece)]
    assert pa.Table.from_batches(batches) == Posts(seed=3, rate_per_s=10).table(5000, start=4000)


def test_a_stream_is_as_far_as_its_rate_says_and_no_batch_is_larger() -> None:
    clock = Clock()
    reader = StreamReader(Options(rate=50, rows=1000), clock)
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(50)
    assert reader.latestOffset({"row": 10}, limit) == {"row": 10}  # goes on there, and does not catch up
    clock.now += 0.5
    assert reader.latestOffset({"row": 10}, limit) == {"row": 35}
    clock.now += 3
    assert reader.latestOffset({"row": 35}, limit) == {"row": 85}
    assert reader.latestOffset({"row": 35}, ReadAllAvailable()) == {"row": 185}
    clock.now += 1e6
    assert reader.latestOffset({"row": 990}, limit) == reader.latestOffset({"row": 1000}, limit) == {"row": 1000}


def test_it_says_how_far_it_is_and_gives_no_more_than_is_admitted(tmp_path: Path) -> None:
    clock = Clock()
    reader = StreamReader(Options(rate=1000, rows_per_batch=800, admission=str(tmp_path)), clock)
    limit = reader.getDefaultReadLimit()
    assert reader.reportLatestOffset() is None
    assert reader.latestOffset({"row": 0}, limit) == {"row": 0}
    clock.now += 5
    assert reader.reportLatestOffset() == {"row": 5000}
    assert reader.latestOffset({"row": 0}, limit) == {"row": 800}  # nothing has been measured yet
    governor = Governor(PipelineFolder(tmp_path), Overload(delay_s=4.0))
    for batch in range(20):  # 300 posts a second, where 10,000 were admitted at first
        posts = admitted(tmp_path)
        governor.learn(Report(batch, 1, posts, 0, 0, posts / 0.3), Notes((), ()), is_usual=True)
    assert 400 <= admitted(tmp_path) < 900  # those of half the delay
    assert reader.latestOffset({"row": 800}, limit) == {"row": 800 + admitted(tmp_path)}


def test_rows_per_batch_goes_before_the_rate() -> None:
    assert StreamReader(Options(rate=50, rows_per_batch=7)).getDefaultReadLimit() == ReadMaxRows(7)
    assert StreamReader(Options(rate=0.1)).getDefaultReadLimit() == ReadMaxRows(1)


@pytest.mark.parametrize(
    ("given_options", "complaint"),
    [
        ({"rate": "0"}, "above 0"),
        ({"rate": "nan"}, "above 0"),
        ({"rate": "fast"}, "cannot be 'fast'"),
        ({"rows": "-1"}, "0 or more"),
        ({"places": "maybe"}, "cannot be 'maybe'"),
        ({"seeds": "1"}, "no option 'seeds'; it has seed, rate"),
    ],
)
def test_options_that_make_no_sense_are_refused(given_options: dict[str, str], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        Options.read(given_options)


def test_a_stream_without_an_end_has_nothing_to_take_at_once() -> None:
    with pytest.raises(DataError, match="how many"):
        StreamReader(Options()).prepareForTriggerAvailableNow()


@pytest.mark.spark
def test_a_stream_that_takes_what_there_is_ends_and_a_replay_has_the_same_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    seen: list[tuple[int, list[str]]] = []
    tables: dict[int, pa.Table] = {}

    def take(rows: DataFrame, batch: int) -> None:
        tables[batch] = rows.toArrow().sort_by("id")
        seen.append((batch, tables[batch]["id"].to_pylist()))
        if len(seen) == 2:
            raise OSError("the receiver is away")

    def run() -> None:
        posts = stream(spark, seed=4, rate=5000, rows=12_000, rows_per_batch=5000)
        query = posts.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path))
        query.trigger(availableNow=True).start().awaitTermination()

    with pytest.raises(Exception, match="the receiver is away"):
        run()
    run()
    assert [batch for batch, _ in seen] == [0, 1, 1, 2]
    assert seen[1] == seen[2]
    assert offsets(tmp_path) == [5000, 10_000, 12_000]
    expected = Posts(seed=4, rate_per_s=5000).table(12_000)
    found = pa.concat_tables(tables.values()).sort_by("id").cast(expected.schema)
    assert found == expected.sort_by("id")


@pytest.mark.spark
def test_a_table_has_the_rows_of_the_stream(spark: SparkSession) -> None:
    register(spark)
    reader = spark.read.format(NAME).option("seed", 4).option("rows", 9000).option("partitions", 3)
    table = reader.option("places", "false").load()
    assert table.columns == ["id", "ts", "text", "topic", "author", "lang", "likes"]
    expected = Posts(seed=4).table(9000).drop_columns(["lat", "lon"])
    assert table.toArrow().cast(expected.schema).sort_by("id") == expected.sort_by("id")
    with pytest.raises(Exception, match="a table ends; say where"):
        spark.read.format(NAME).load().count()
