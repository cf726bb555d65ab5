"""Does a stream find what brute force finds, batch by batch, while subscriptions come and go?"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import QueryProgressEvent, StreamingQueryProgress

from tests.spark import oracle
from tidings.cluster.delta import DeltaSink
from tidings.cluster.journal import Journal, Pin, Report
from tidings.cluster.releases import Plan
from tidings.cluster.sinks import Batch, FileSink, ParquetSink
from tidings.model import DataError
from tidings.registry import Registry
from tidings.spark.pipeline import Pipeline
from tidings.spark.progress import Progress, ProgressListener
from tidings.spark.sinks import ConsoleSink, MemorySink
from tidings.spark.sources import posts_from_files

pytestmark = pytest.mark.spark


@pytest.fixture
def posts(tmp_path: Path, spark: SparkSession) -> DataFrame:
    """A stream of files, one a batch."""
    oracle.write_posts(tmp_path / "posts", 0)
    return posts_from_files(spark, tmp_path / "posts", files_per_batch=1)


@pytest.mark.parametrize(
    "plan",
    [Plan("replicated"), Plan("partitioned", 3)],
    ids=lambda plan: plan.layout,
)
def test_each_batch_finds_what_brute_force_finds_at_its_version(
    plan: Plan, tmp_path: Path, posts: DataFrame, registry: Registry
) -> None:
    sink, rng = MemorySink(), random.Random(2)
    with Pipeline(posts, registry, sink, tmp_path / "state", plan=plan).start() as running:
        for number in range(1, 5):
            oracle.write_posts(tmp_path / "posts", number)
            running.process_all()
            oracle.change(registry, rng)
    expected = oracle.expected(tmp_path / "state", registry)
    assert {batch: oracle.rows_of(table) for batch, table in sink.batches.items()} == expected
    assert len(expected) == 5 and all(expected.values())
    pins = [running.journal.pin(batch) for batch in expected]
    assert len({pin.version for pin in pins if pin}) == 4  # two files were there before the first change


def parquet_batches(path: Path) -> dict[int, list[oracle.Row]]:
    table = ds.dataset(path, partitioning="hive", exclude_invalid_files=False).to_table()
    found = {batch: table.filter(ds.field("batch") == batch) for batch in table["batch"].unique().to_pylist()}
    return {batch: oracle.rows_of(rows) for batch, rows in found.items()}


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_a_pipeline_goes_on_where_the_last_one_stopped(
    kind: str, tmp_path: Path, posts: DataFrame, registry: Registry
) -> None:
    sink = ParquetSink(tmp_path / "matches") if kind == "parquet" else DeltaSink(tmp_path / "matches")
    rng = random.Random(3)
    for number in range(1, 4):
        Pipeline(posts, registry, sink, tmp_path / "state").run()
        oracle.write_posts(tmp_path / "posts", number)
        oracle.change(registry, rng)
    Pipeline(posts, registry, sink, tmp_path / "state").run()
    expected = oracle.expected(tmp_path / "state", registry)
    assert len(expected) == 4
    if kind == "parquet":
        assert parquet_batches(tmp_path / "matches") == expected
    else:
        table = pa.table(DeltaTable(tmp_path / "matches").to_pyarrow_table())
        assert oracle.rows_of(table) == sorted(row for rows in expected.values() for row in rows)
    releases = tmp_path / "state" / "releases"
    (newest,) = releases.glob("release-*.json")
    named = {name for part in json.loads(newest.read_text())["parts"] for name in part["segments"]}
    assert newest.name == f"release-{registry.version}-whole.json"
    assert {file.name for file in releases.glob("segment-*")} == named


@pytest.mark.parametrize("make", [ParquetSink, DeltaSink])
def test_a_batch_is_written_once_whatever_is_run_again(make: Callable[[Path], FileSink], tmp_path: Path) -> None:
    sink = make(tmp_path / "matches")
    first, second, other = Batch("one", 0), Batch("one", 1), Batch("other", 0)
    assert not sink.has(first)
    for batch in (first, second, other):
        died = sink.aside(batch)
        folder = sink.aside(batch)
        assert not died.exists() and folder.exists()
        taken, failed = folder / "taken.parquet", folder / "of-a-task-that-failed.parquet"
        for file in (taken, failed):
            pq.write_table(pa.table({"who": [batch.pipeline], "what": [batch.number]}), file)
        sink.take([taken], batch)
    folder = tmp_path / "matches"
    rows = DeltaTable(folder).to_pyarrow_table() if make is DeltaSink else ds.dataset(folder).to_table()
    assert sorted(rows["who"].to_pylist()) == ["one", "one", "other"]
    assert sink.has(first) and sink.has(second) and sink.has(other)
    assert not sink.has(Batch("one", 2)) and not sink.has(Batch("other", 1)) and not sink.has(Batch("third", 0))


def test_a_replay_sees_the_subscriptions_that_were_pinned(tmp_path: Path, posts: DataFrame, registry: Registry) -> None:
    calls: list[tuple[int, list[oracle.Row]]] = []

    def take(matches: DataFrame, batch: int) -> None:
        calls.append((batch, oracle.rows_of(matches.toArrow())))
        if len(calls) == 1:
            raise OSError("the receiver is away")

    pipeline = Pipeline(posts, registry, take, tmp_path / "state")
    with pytest.raises(DataError, match="the receiver is away"):
        pipeline.run()
    oracle.change(registry, random.Random(4))
    pipeline.run()
    assert calls == [(0, oracle.expected(tmp_path / "state", registry)[0])] * 2


def test_bad_rows_are_counted_and_kept_and_the_stream_goes_on(
    tmp_path: Path, spark: SparkSession, registry: Registry
) -> None:
    good = oracle.write_posts(tmp_path / "posts", 0)
    oracle.write_posts(tmp_path / "posts", 1, bad=7)
    oracle.write_posts(tmp_path / "posts", 2)
    pq.write_table(good.slice(0, 5), tmp_path / "posts" / "again.parquet")  # the ids of file 0
    told: list[Progress] = []
    sink = MemorySink()
    stream = posts_from_files(spark, tmp_path / "posts").repartition(5)  # so that equal ids are apart
    Pipeline(stream, registry, sink, tmp_path / "state").run(progress=told.append)
    rejected = pq.read_table(tmp_path / "state" / "rejected").to_pylist()
    assert [row["batch"] for row in rejected] == [0] * 12
    assert sum("lat is between" in row["reason"] for row in rejected) == 7
    assert sorted(row["id"] for row in rejected if "its id came before" in row["reason"]) == [f"p{i}" for i in range(5)]
    (progress,) = told
    assert (progress.report.posts, progress.report.rejected) == (3 * oracle.ROWS + 5, 12)
    everything = pa.concat_tables([pq.read_table(file) for file in sorted((tmp_path / "posts").glob("0*"))])
    assert oracle.rows_of(sink.table()) == oracle.brute(everything, registry, registry.version)


def test_a_batch_of_bad_rows_is_kept_as_a_whole(tmp_path: Path, spark: SparkSession, registry: Registry) -> None:
    count = 20_000
    oracle.write_posts(tmp_path / "posts", 0, rows=count + 10, bad=count)
    told: list[Progress] = []
    stream = posts_from_files(spark, tmp_path / "posts")
    Pipeline(stream, registry, MemorySink(), tmp_path / "state").run(progress=told.append)
    rejected = pq.read_table(tmp_path / "state" / "rejected")
    assert told[0].report.rejected == rejected.num_rows == len(rejected["id"].unique()) == count


def test_publications_without_an_instant_have_that_of_the_pin(
    tmp_path: Path, posts: DataFrame, registry: Registry
) -> None:
    then = datetime(2020, 6, 1, tzinfo=UTC)
    query = "topic:sports OR lang:es"
    terms = {"since": [None, then, None], "until": [None, None, then]}
    version = registry.add(pa.table({"id": ["any", "later", "earlier"], "query": [query] * 3} | terms)).version
    journal = Journal(tmp_path / "state" / "journal")
    journal.put(Pin(0, version, "replicated", 1, then - timedelta(seconds=1)))
    journal.put(Pin(1, version, "replicated", 1, then))
    oracle.write_posts(tmp_path / "posts", 1)
    sink = MemorySink()
    Pipeline(posts.drop("ts"), registry, sink, tmp_path / "state").run()
    found = [set(sink.batches[batch]["subscription_id"].to_pylist()) for batch in (0, 1)]
    assert [names & {"any", "later", "earlier"} for names in found] == [{"any", "earlier"}, {"any", "later"}]


def test_counters_and_progress_tell_of_each_batch(tmp_path: Path, posts: DataFrame, registry: Registry) -> None:
    oracle.write_posts(tmp_path / "posts", 1)
    told: list[Progress] = []
    sink = MemorySink()
    Pipeline(posts, registry, sink, tmp_path / "state").run(progress=told.append)
    assert [progress.report.batch for progress in told] == [0, 1]
    for progress in told:
        report = progress.report
        assert report.posts == sum(load.posts for load in report.loads) == oracle.ROWS
        assert report.matches == sum(load.matches for load in report.loads) == sink.batches[report.batch].num_rows
        assert sum(load.candidates for load in report.loads) >= report.matches
        assert progress.rows_per_s > 0 and report.ms > 0 and json.dumps(progress.record())


def test_an_exporter_that_fails_stops_nothing(tmp_path: Path, posts: DataFrame, registry: Registry) -> None:
    def fail(progress: Progress) -> None:
        raise ValueError("no monitoring today")

    sink = MemorySink()
    Pipeline(posts, registry, sink, tmp_path / "state").run(progress=fail)
    assert sink.batches.keys() == {0}


def test_two_pipelines_cannot_share_a_checkpoint(tmp_path: Path, posts: DataFrame, registry: Registry) -> None:
    pipeline = Pipeline(posts, registry, MemorySink(), tmp_path / "state")
    with pipeline.start(), pytest.raises(DataError, match="is running with the checkpoint"):
        pipeline.start()
    pipeline.run()


def test_a_table_is_refused(tmp_path: Path, spark: SparkSession, registry: Registry) -> None:
    with pytest.raises(DataError, match=r"tidings\.spark\.match"):
        Pipeline(spark.range(3), registry, MemorySink(), tmp_path / "state").start()


def test_the_console_shows_matches(
    tmp_path: Path, posts: DataFrame, registry: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    Pipeline(posts, registry, ConsoleSink(3), tmp_path / "state").run()
    assert "only showing top 3 rows" in capsys.readouterr().out


def die_once(flag: Path) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Hands rows on; the first task of all kills each Python worker of this machine's Spark, itself among them."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            try:
                flag.touch(exist_ok=False)
            except FileExistsError:
                continue
            daemon = os.getppid()
            workers = Path(f"/proc/{daemon}/task/{daemon}/children").read_text().split()
            for worker in {int(worker) for worker in workers} - {os.getpid()}:
                os.kill(worker, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

    return work


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes by /proc")
def test_python_workers_that_are_killed_lose_and_double_nothing(
    tmp_path: Path, posts: DataFrame, registry: Registry
) -> None:
    sink = MemorySink()
    deadly = posts.mapInArrow(die_once(tmp_path / "flag"), posts.schema)
    Pipeline(deadly, registry, sink, tmp_path / "state").run()
    assert (tmp_path / "flag").exists()
    assert oracle.rows_of(sink.table()) == oracle.expected(tmp_path / "state", registry)[0]


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits the files of another process, as Linux can")
@pytest.mark.parametrize("make", [ParquetSink, DeltaSink])
def test_a_sink_on_a_full_disk_has_all_when_there_is_room_again(
    make: Callable[[Path], Any], tmp_path: Path, posts: DataFrame, registry: Registry, spark: SparkSession
) -> None:
    pipeline = Pipeline(posts, registry, make(tmp_path / "matches"), tmp_path / "state")
    java = spark.sparkContext._gateway.proc.pid
    before = resource.prlimit(java, resource.RLIMIT_FSIZE)
    resource.prlimit(java, resource.RLIMIT_FSIZE, (8_000, before[1]))  # the matches have more, offsets less
    try:
        with pytest.raises(DataError, match="File too large"):
            pipeline.run()
    finally:
        resource.prlimit(java, resource.RLIMIT_FSIZE, before)
    assert not list((tmp_path / "matches").glob("**/*.parquet"))
    pipeline.run()
    found = (
        pa.table(DeltaTable(tmp_path / "matches").to_pyarrow_table())
        if make is DeltaSink
        else ds.dataset(tmp_path / "matches", partitioning="hive").to_table()
    )
    assert oracle.rows_of(found) == oracle.expected(tmp_path / "state", registry)[0]


def test_bad_lines_of_all_kinds_are_kept_with_a_reason_and_the_stream_goes_on(
    tmp_path: Path, spark: SparkSession, registry: Registry
) -> None:
    registry.add(pa.table({"id": ["fire"], "query": ["fire"]}))
    good: dict[str, Any] = {"text": "fire", "lat": 1.5, "lon": 2.5}
    lines = [
        json.dumps({"id": "good"} | good),
        json.dumps({"id": "good", "text": "fire"}),
        json.dumps({"id": "null", "text": None}),
        json.dumps({"id": "long", "text": "fire " * 2_000_000}),
        json.dumps({"id": "north", "text": "fire", "lat": 999, "lon": 0}),
        json.dumps({"id": "typed", "text": "fire", "lat": "up", "lon": "down"}),
        '{"id": "half", "text": "fi',
    ]
    (tmp_path / "posts").mkdir()
    (tmp_path / "posts" / "0.jsonl").write_text("\n".join(lines))
    stream = posts_from_files(
        spark, tmp_path / "posts", files_per_batch=1, schema="id string, text string, lat double, lon double"
    )
    sink, told = MemorySink(), list[Progress]()
    with Pipeline(stream, registry, sink, tmp_path / "state").start(progress=told.append) as running:
        running.process_all()
        (tmp_path / "posts" / "1.jsonl").write_text(json.dumps({"id": "next"} | good))
        running.process_all()
    found = [set(sink.batches[batch]["publication_id"].to_pylist()) for batch in (0, 1)]
    assert found == [{"good"}, {"next"}]
    assert [(each.report.posts, each.report.rejected) for each in told] == [(7, 6), (1, 0)]
    kept = pq.read_table(tmp_path / "state" / "rejected").to_pylist()
    reasons = sorted((row["id"], row["reason"].split(": its ")[-1]) for row in kept)
    assert reasons == [
        ("", "a publication needs an id that is not empty"),
        ("", "a publication needs an id that is not empty"),
        ("good", "id came before"),
        ("long", "text has 10,000,000 characters; at most 1,000,000 are taken"),
        ("north", "lat is between -90 and 90 degrees, got 999"),
        ("null", "text is null, and it has nothing else"),
    ]
    unread = " ".join(row["source"] for row in kept if not row["id"])
    assert '\\"typed\\"' in unread and '\\"half\\"' in unread


def test_a_listener_that_hears_of_batches_too_late_says_so_once_and_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal, told = Journal(tmp_path), list[int]()
    journal.close(Report(7, 1, 10, 0, 3, 5.0))
    listener = ProgressListener("q", journal, lambda progress: told.append(progress.report.batch))
    for batch in (4, 5, 7):  # 4 and 5 are forgotten
        listener.onQueryProgress(QueryProgressEvent(progress_of(batch)))
    assert told == [7]
    assert [record.message.split(" so late")[0] for record in caplog.records] == ["Spark tells of batch 4"]


def progress_of(batch: int) -> StreamingQueryProgress:
    """What Spark would tell of a batch, as it writes it in JSON."""
    nobody = str(UUID(int=1))
    rates = {"inputRowsPerSecond": 1.0, "processedRowsPerSecond": 1.0}
    sink = {"description": "ours", "numOutputRows": -1, "metrics": {}}
    return StreamingQueryProgress.fromJson(
        {"id": nobody, "runId": nobody, "name": "q", "timestamp": "2026-01-01T00:00:00.000Z", "batchId": batch,
         "batchDuration": 5, "stateOperators": [], "sources": [], "sink": sink, "numInputRows": 10, **rates}
    )  # fmt: skip
