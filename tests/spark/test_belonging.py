"""Is a pipeline refused whose checkpoint was deleted in part, restored, swapped or copied, and a sink that is not ours?

What needs no session comes first.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import DataFrame, SparkSession

from tests.damages import DAMAGES, replace_registry
from tests.spark import oracle
from tidings.cluster.belonging import claimed, tie
from tidings.cluster.delta import DeltaSink
from tidings.cluster.journal import Journal, Pin
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.releases import Plan
from tidings.cluster.sinks import Batch, FileSink, ParquetSink
from tidings.model import DataError
from tidings.model.values import utc_now
from tidings.registry import Registry
from tidings.spark.matching import match
from tidings.spark.pipeline import Pipeline
from tidings.spark.sinks import MemorySink, Sink, check_sink
from tidings.spark.sources import posts_from_files
from tidings.tables.matches import IN_FILES

PIN = Pin(7, 3, "replicated", 1, utc_now(), "whole", mark="m", offsets="o")


def home_of(path: Path, query: str = "q1") -> PipelineFolder:
    """The folder of a pipeline that has run."""
    home = PipelineFolder(path)
    home.checkpoint.mkdir(parents=True)
    claimed(home)
    spark_writes(home, query)
    tie(home, query)
    home.journal.put(PIN)
    return home


def spark_writes(home: PipelineFolder, query: str) -> None:
    home.checkpoint.mkdir(parents=True, exist_ok=True)
    (home.checkpoint / "metadata").write_text(json.dumps({"id": query}))


def test_a_pipeline_keeps_its_name(tmp_path: Path) -> None:
    home = home_of(tmp_path / "state")
    assert claimed(home) == claimed(home)
    moved = PipelineFolder((tmp_path / "state").rename(tmp_path / "moved"))
    name = claimed(moved)
    tie(moved, "q1")
    assert json.loads((tmp_path / "moved" / "pipeline.json").read_text()) == {
        "name": name, "query": "q1", "path": str(moved.path)
    }  # fmt: skip


def test_a_pipeline_from_before_there_were_ties_is_tied(tmp_path: Path) -> None:
    home = home_of(tmp_path / "state")
    (home.path / "pipeline.json").write_text('{"name": "old"}')
    assert claimed(home) == "old"
    (home.checkpoint / "metadata").unlink()
    with pytest.raises(DataError, match=r"Spark's checkpoint .* is gone"):
        claimed(home)


def lose_spark(home: PipelineFolder) -> None:
    shutil.rmtree(home.checkpoint)


def lose_the_page(home: PipelineFolder) -> None:
    (home.path / "pipeline.json").unlink()


def swap_spark(home: PipelineFolder) -> None:
    spark_writes(home, "q2")


def copy_all(home: PipelineFolder) -> None:
    shutil.move(home.path, home.path.with_name("original"))
    shutil.copytree(home.path.with_name("original"), home.path)
    page = home.path / "pipeline.json"
    for file in (page, home.path.with_name("original") / "pipeline.json"):
        file.write_text(page.read_text().replace("/state", "/original"))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lose_spark, "Spark's checkpoint .* is gone"),
        (lose_the_page, "pipeline.json' is gone"),
        (swap_spark, "is that of another query"),
        (copy_all, "is a copy of"),
    ],
)
def test_a_checkpoint_whose_parts_do_not_belong_together_is_refused(
    change: Callable[[PipelineFolder], None], problem: str, tmp_path: Path
) -> None:
    home = home_of(tmp_path / "state")
    change(home)
    with pytest.raises(DataError, match=f"{problem}.*(name a new checkpoint folder|remove one)"):
        claimed(home)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"7", b"\xff", b"{}", b"[" * 100_000])
@pytest.mark.parametrize("name", ["pipeline.json", "spark/metadata"])
def test_a_page_that_is_none_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    home = home_of(tmp_path / "state")
    (home.path / name).write_bytes(content)
    with pytest.raises(DataError, match="put it back, or name a new checkpoint folder"):
        claimed(home)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 4},
        {"batch": 8},
        {"at": "soon"},
        {"mark": 5},
        {"cut": 5},
        {"version": "3"},
        {"x": 1},
        {"layout": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("has_checksum", [True, False])
def test_a_pin_with_foreign_values_is_refused(change: dict[str, Any], has_checksum: bool, tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert journal.put(PIN) == PIN == journal.pin(7)
    (file,) = tmp_path.glob("*.pin.json")
    content = json.loads(file.read_text()) | change
    if not has_checksum:
        if change == {"version": 4}:
            pytest.skip("it could be true, and only the checksum tells that it is not")
        del content["crc"]
    file.write_text(json.dumps(content))
    with pytest.raises(DataError, match="put it back, or begin with a new checkpoint folder"):
        journal.pin(7)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"7", b"\xff", b"{}", b"[" * 100_000])
def test_a_pin_that_is_none_is_refused(content: bytes, tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.put(PIN)
    next(tmp_path.glob("*.pin.json")).write_bytes(content)
    with pytest.raises(DataError, match="put it back, or begin with a new checkpoint folder"):
        journal.pin(7)


def test_a_pin_from_before_there_were_marks_is_read(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.put(PIN)
    (file,) = tmp_path.glob("*.pin.json")
    content = json.loads(file.read_text())
    file.write_text(json.dumps({name: content[name] for name in content.keys() - {"mark", "offsets", "crc"}}))
    pin = journal.pin(7)
    assert pin is not None and (pin.version, pin.mark, pin.offsets) == (3, "", "")


# ------------------------------------------------------------------------------------------------------------ sinks

ROW = {"publication_id": "p", "subscription_id": "s", "subscriber": "", "tag": "", "query_version": 1, "ts": None}
OURS = pa.Table.from_pylist([ROW], IN_FILES)


def with_column(name: str, kind: pa.DataType, nullable: bool = True) -> pa.Table:
    return OURS.append_column(pa.field(name, kind, nullable), pa.array([None if nullable else 1], kind))


def with_constraint(path: Path) -> None:
    write_deltalake(path, OURS)
    DeltaTable(path).alter.add_constraint({"new": "query_version > 0"})


def damaged(path: Path) -> None:
    write_deltalake(path, OURS)
    (path / "_delta_log" / f"{0:020}.json").write_text("{")


def notes(path: Path) -> None:
    path.mkdir()
    (path / "notes.txt").write_text("mine")


def parquet(path: Path) -> None:
    path.mkdir()
    pq.write_table(OURS, path / "part-0.parquet")


DELTAS: dict[str, Callable[[Path], object]] = {
    "foreign": lambda path: write_deltalake(path, pa.table({"a": [1], "b": ["x"]})),
    "more": lambda path: write_deltalake(path, with_column("extra", pa.int64())),
    "fewer": lambda path: write_deltalake(path, OURS.drop_columns(["tag"])),
    "types": lambda path: write_deltalake(path, OURS.set_column(4, "query_version", pa.array(["1"]))),
    "partitioned": lambda path: write_deltalake(path, OURS, partition_by=["subscriber"]),
    "not null": lambda path: DeltaTable.create(path, IN_FILES.set(5, IN_FILES.field(5).with_nullable(False))),
    "constraint": with_constraint,
    "files": notes,
    "parquet": parquet,
    "file": lambda path: path.write_text("mine"),
    "damaged": damaged,
}


@pytest.mark.parametrize("kind", DELTAS)
def test_a_delta_sink_refuses_what_is_no_table_of_matches(kind: str, tmp_path: Path) -> None:
    DELTAS[kind](tmp_path / "target")
    with pytest.raises(DataError, match=r"target' .*name a new or an empty"):
        check_sink(DeltaSink(tmp_path / "target"))


PARQUETS: dict[str, Callable[[Path], object]] = {
    "files": DELTAS["files"],
    "parquet": DELTAS["parquet"],
    "file": DELTAS["file"],
    "delta": lambda path: write_deltalake(path, OURS),
    "columns": lambda path: batch_of(path, pa.table({"a": [1]})),
    "rejected": lambda path: ParquetSink(path).put(pa.table({"id": ["p"], "reason": ["why"]}), Batch("one", 0)),
}


def batch_of(path: Path, table: pa.Table) -> None:
    ParquetSink(path).put(table, Batch("one", 0))


@pytest.mark.parametrize("kind", PARQUETS)
def test_a_parquet_sink_refuses_what_are_no_matches(kind: str, tmp_path: Path) -> None:
    PARQUETS[kind](tmp_path / "target")
    with pytest.raises(DataError, match=r"target' .*name a new or an empty"):
        check_sink(ParquetSink(tmp_path / "target"))


@pytest.mark.parametrize("make", [ParquetSink, DeltaSink])
def test_a_sink_takes_a_new_an_empty_and_its_own_target(make: Callable[[Path], Any], tmp_path: Path) -> None:
    sink: Sink = make(tmp_path / "target")
    check_sink(sink)
    (tmp_path / "target").mkdir()
    check_sink(sink)
    assert isinstance(sink, FileSink)
    for number in range(2):
        file = sink.aside(Batch("one", number)) / "a.parquet"
        check_sink(sink)  # what an attempt that died has left is no hindrance
        pq.write_table(OURS, file, store_schema=False)
        sink.take([file], Batch("one", number))
        check_sink(sink)


def test_a_delta_table_of_matches_in_another_order_is_taken(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "target", OURS.select(list(reversed(IN_FILES.names))))
    check_sink(DeltaSink(tmp_path / "target"))


# ------------------------------------------------------------------------------------------------- with a session


@pytest.fixture
def posts(tmp_path: Path, spark: SparkSession) -> DataFrame:
    """A stream of files, one a batch."""
    oracle.write_posts(tmp_path / "posts", 0)
    return posts_from_files(spark, tmp_path / "posts", files_per_batch=1)


def found_in(folder: Path) -> list[oracle.Row]:
    return oracle.rows_of(ds.dataset(folder, partitioning="hive").to_table())


def all_expected(folder: Path, registry: Registry) -> list[oracle.Row]:
    table = pa.concat_tables([pq.read_table(file) for file in sorted(folder.glob("*.parquet"))])
    return oracle.brute(table, registry, registry.version)


@pytest.mark.spark
def test_a_foreign_table_is_refused_before_the_first_batch(
    tmp_path: Path, posts: DataFrame, registry: Registry
) -> None:
    DELTAS["foreign"](tmp_path / "matches")
    with pytest.raises(DataError, match=r"has the columns a .*name a new or an empty folder"):
        Pipeline(posts, registry, DeltaSink(tmp_path / "matches"), tmp_path / "state").run()
    assert DeltaTable(tmp_path / "matches").to_pyarrow_table().num_rows == 1


def delete_spark(home: PipelineFolder, backup: Path) -> None:
    shutil.rmtree(home.checkpoint)


def delete_offsets(home: PipelineFolder, backup: Path) -> None:
    for name in ("offsets", "commits", "sources"):
        shutil.rmtree(home.checkpoint / name)


def restore_spark(home: PipelineFolder, backup: Path) -> None:
    shutil.rmtree(home.checkpoint)
    shutil.copytree(PipelineFolder(backup).checkpoint, home.checkpoint)


def restore_all(home: PipelineFolder, backup: Path) -> None:
    shutil.rmtree(home.path)
    shutil.copytree(backup, home.path)


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["parquet", "delta"])
@pytest.mark.parametrize("change", [delete_spark, delete_offsets, restore_spark, restore_all])
def test_batches_that_begin_anew_are_refused_and_nothing_is_lost_with_a_new_checkpoint(
    change: Callable[[PipelineFolder, Path], None], kind: str, tmp_path: Path, posts: DataFrame, registry: Registry
) -> None:
    sink = ParquetSink(tmp_path / "matches") if kind == "parquet" else DeltaSink(tmp_path / "matches")
    pipeline = Pipeline(posts, registry, sink, tmp_path / "state")
    pipeline.run()
    shutil.copytree(tmp_path / "state", tmp_path / "backup")
    oracle.write_posts(tmp_path / "posts", 1)
    pipeline.run()
    change(PipelineFolder(tmp_path / "state"), tmp_path / "backup")
    (tmp_path / "posts" / "000000.parquet").unlink()
    oracle.write_posts(tmp_path / "posts", 2)
    with pytest.raises(DataError, match=r"put (it|Spark's checkpoint) back.* or name a new checkpoint folder"):
        pipeline.run()
    with pytest.raises(DataError, match="or name a new checkpoint folder"):  # still
        pipeline.run()
    Pipeline(posts, registry, ParquetSink(tmp_path / "anew"), tmp_path / "new state").run()
    assert found_in(tmp_path / "anew") == all_expected(tmp_path / "posts", registry)


@pytest.mark.spark
@pytest.mark.parametrize("plan", [Plan("replicated"), Plan("partitioned", 3)], ids=lambda plan: plan.layout)
def test_a_running_pipeline_follows_a_registry_that_is_restored_or_replaced_and_mends_its_files(
    plan: Plan, tmp_path: Path, posts: DataFrame, registry: Registry
) -> None:
    sink, path, versions = MemorySink(), Path(registry.path), list[int]()
    other = Registry(tmp_path / "other")
    for name in ("x", "y"):
        other.add(pa.table({"id": [name], "query": ["has:likes"]}))
    expected: dict[int, list[oracle.Row]] = {}

    def run(number: int) -> None:
        table = oracle.write_posts(tmp_path / "posts", number)
        running.process_all()
        expected[number] = oracle.brute(table, registry, registry.version)
        versions.append(registry.version)

    with Pipeline(posts, registry, sink, tmp_path / "state", plan=plan).start() as running:
        running.process_all()
        run(1)
        shutil.copytree(path, tmp_path / "backup")
        registry.add(pa.table({"id": ["ghost", "s1"], "query": ["has:likes", "fire"]}))
        run(2)
        replace_registry(path, tmp_path / "backup")
        registry.add(pa.table({"id": ["new"], "query": ["has:lang"]}))
        run(3)
        replace_registry(path, other.path)  # type: ignore[arg-type]
        run(4)
        for number, damage in enumerate(["zeros", "cut off", "swapped", "deleted"], start=5):
            first, *others = (file for file in running.home.releases.glob("*.tidings"))
            DAMAGES[damage](first, others[0] if others else Path(shutil.copy(first, first.with_suffix(".copy"))))
            run(number)
    assert versions[1:4] == [2, 2, 2] and expected[2] != expected[3]
    assert {batch: oracle.rows_of(sink.batches[batch]) for batch in expected} == expected


def overwrite_once(flag: Path, releases: Path) -> Callable[[Any], Any]:
    """Hands rows on; the first task of all overwrites the index under itself and all others."""

    def work(batches: Any) -> Any:
        for batch in batches:
            yield batch
            try:
                flag.touch(exist_ok=False)
            except FileExistsError:
                continue
            for file in releases.glob("segment-*"):
                with file.open("r+b") as out:
                    out.write(bytes(file.stat().st_size))

    return work


@pytest.mark.spark
@pytest.mark.parametrize("plan", [Plan("replicated"), Plan("partitioned", 3)], ids=lambda plan: plan.layout)
def test_an_index_that_is_overwritten_while_a_batch_runs_is_compiled_again_and_the_batch_run_again(
    plan: Plan, tmp_path: Path, posts: DataFrame, registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    wild = posts.mapInArrow(overwrite_once(tmp_path / "flag", tmp_path / "state" / "releases"), posts.schema)
    Pipeline(wild, registry, ParquetSink(tmp_path / "matches"), tmp_path / "state", plan=plan).run()
    assert (tmp_path / "flag").exists() and "is run again" in caplog.text
    assert found_in(tmp_path / "matches") == all_expected(tmp_path / "posts", registry)


class Away:
    """A receiver that is away at first."""

    def __init__(self) -> None:
        self.is_away = True
        self.rows: list[oracle.Row] = []

    def __call__(self, matches: DataFrame, batch: int) -> None:
        self.rows = oracle.rows_of(matches.toArrow())
        if self.is_away:
            self.is_away = False
            raise OSError("the receiver is away")


@pytest.mark.spark
def test_a_replay_whose_history_is_gone_is_exact_or_refused(
    tmp_path: Path, posts: DataFrame, registry: Registry
) -> None:
    receiver = Away()
    pipeline = Pipeline(posts, registry, receiver, tmp_path / "state")
    with pytest.raises(DataError, match="the receiver is away"):
        pipeline.run()
    before = receiver.rows
    shutil.copytree(tmp_path / "state", tmp_path / "backup")
    shutil.rmtree(registry.path)
    registry.add(pa.table({"id": ["other"], "query": ["has:likes"]}))
    shutil.rmtree(tmp_path / "state" / "releases")
    with pytest.raises(DataError, match=r"no longer has the version 1 .*put that registry back, or delete its pin"):
        pipeline.run()
    shutil.rmtree(tmp_path / "state" / "releases")
    shutil.copytree(tmp_path / "backup" / "releases", tmp_path / "state" / "releases")
    pipeline.run()
    assert receiver.rows == before  # what it was begun with was still there
    oracle.write_posts(tmp_path / "posts", 1)
    pipeline.run()
    assert {row[1] for row in receiver.rows} == {"other"}


@pytest.mark.spark
def test_a_batch_of_which_nothing_was_delivered_is_begun_anew_with_another_registry(
    tmp_path: Path, posts: DataFrame, registry: Registry
) -> None:
    sink = ParquetSink(tmp_path / "matches")
    pipeline = Pipeline(posts, registry, sink, tmp_path / "state")
    journal = PipelineFolder(tmp_path / "state").journal
    journal.put(Pin(0, 1, "replicated", 1, utc_now(), "whole", mark=registry.mark(1)))
    shutil.rmtree(registry.path)
    registry.add(pa.table({"id": ["other"], "query": ["has:likes"]}))
    pipeline.run()
    assert found_in(tmp_path / "matches") == all_expected(tmp_path / "posts", registry)


@pytest.mark.spark
@pytest.mark.parametrize("layout", ["replicated", "partitioned"])
def test_match_in_a_folder_follows_registries_and_mends_files(
    layout: Any, tmp_path: Path, spark: SparkSession, registry: Registry
) -> None:
    table = oracle.write_posts(tmp_path / "posts", 0)
    frame, folder = spark.read.parquet(str(tmp_path / "posts")), tmp_path / "folder"
    other = Registry(tmp_path / "other")
    other.add(pa.table({"id": ["x"], "query": ["has:likes"]}))

    def check(registry: Registry) -> None:
        found = match(frame, registry, layout=layout, matchers=3, folder=folder).toArrow()
        assert oracle.rows_of(found) == oracle.brute(table, registry, registry.version)

    check(registry)
    check(other)
    shutil.copytree(registry.path, tmp_path / "backup")
    registry.add(pa.table({"id": ["ghost"], "query": ["has:likes"]}))
    check(registry)
    replace_registry(Path(registry.path), tmp_path / "backup")
    registry.add(pa.table({"id": ["new"], "query": ["has:lang"]}))
    check(registry)
    for damage in ("zeros", "cut off", "deleted"):
        (page,) = folder.glob(f"release-{registry.version}-*.json")
        named = json.loads(page.read_text())["parts"][0]["segments"]
        DAMAGES[damage](folder / named[0], folder / named[0])
        check(registry)
