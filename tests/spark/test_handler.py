"""Does a batch find what its registry has, or say what to do, whatever happened to registry, files and checkpoint?

Without a session: batches run in this process (:mod:`tests.spark.local`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

from tests.damages import DAMAGES, replace_registry
from tests.spark.local import Local
from tidings.cluster import steps
from tidings.cluster.delta import DeltaSink
from tidings.cluster.learning import Learn
from tidings.cluster.opened import Opened
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.releases import Plan
from tidings.cluster.sinks import Batch, ParquetSink
from tidings.model import DataError
from tidings.registry import Registry
from tidings.spark.batches import ATTEMPTS, Handler
from tidings.spark.columns import Columns
from tidings.spark.matching import match
from tidings.spark.sinks import CallableSink, Sink
from tidings.tables.matches import IN_FILES

NOW = datetime(2024, 5, 1, tzinfo=UTC)
PLANS = [Plan("replicated"), Plan("partitioned", 3)]
by_layout = pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.layout)
POSTS = pa.table({"id": [f"p{n}" for n in range(20)], "text": [f"fire w{n % 7} w{n % 5}" for n in range(20)]})
Pairs = list[tuple[str, str]]


def made(path: Path, *ids: str) -> Registry:
    registry = Registry.create(path, clock=lambda: NOW)  # a clock that stands still: commits are not told apart by it
    for name in ids:
        registry.add(pa.table({"id": [name], "query": [f"fire (w1 OR w2 OR w{len(name)})"]}))
    return registry


def expected(registry: Registry, posts: pa.Table = POSTS) -> Pairs:
    """By hand: all queries ask for fire and one of some words."""
    found = []
    for row in registry.snapshot().to_pylist():
        words = set(row["query"].strip("fire ()").split(" OR "))
        texts = zip(posts["id"].to_pylist(), posts["text"].to_pylist(), strict=True)
        found += [(post, row["id"]) for post, text in texts if words & set(text.split())]
    return sorted(found)


def new_workers() -> None:
    """Let nothing be open."""
    steps._opened = Opened()


class Place:
    """A pipeline's folder, its registry and its sink, and whoever is the driver now."""

    def __init__(self, path: Path, plan: Plan, kind: str = "parquet", *ids: str) -> None:
        self.path, self.plan = path, plan
        self.registry = made(path / "registry", *(ids or ("first",)))
        self.sink: Sink = (ParquetSink if kind == "parquet" else DeltaSink)(path / "matches")
        self.home = PipelineFolder(path / "state")
        self.restart()

    def restart(self) -> None:
        """Let the driver and the workers be new processes."""
        new_workers()
        plan, learn = self.plan, Learn(keep_posts=0)
        self.handler = Handler(self.home, "pipeline", self.registry, self.sink, Columns(), plan, None, False, learn)

    def run(self, number: int, posts: pa.Table = POSTS, before: Callable[[], object] = lambda: None) -> Pairs:
        """Run a batch as Spark does; its matches."""
        file = self.home.checkpoint / "offsets" / str(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(posts["id"].to_pylist()))
        frame: Any = Local.of(posts, before)
        self.handler(frame, number)
        return self.found(number)

    def found(self, number: int) -> Pairs:
        if isinstance(self.sink, DeltaSink):
            table = DeltaTable(self.path / "matches").to_pyarrow_table()
        else:
            table = ds.dataset(self.path / "matches" / "pipeline=pipeline" / f"batch={number}").to_table()
        return sorted(zip(table["publication_id"].to_pylist(), table["subscription_id"].to_pylist(), strict=True))

    def begin(self, number: int) -> None:
        """Run a batch that dies before the sink has it."""

        def die() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            self.run(number, before=die)
        self.restart()


@by_layout
@pytest.mark.parametrize("is_live", [True, False])
def test_batches_follow_a_registry_that_is_restored_made_anew_or_swapped(
    plan: Plan, is_live: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = Place(tmp_path, plan)
    registry, path = place.registry, tmp_path / "registry"

    def check(number: int) -> None:
        if not is_live:
            place.restart()
        found = place.run(number)
        assert found == expected(registry) and found

    check(0)
    shutil.copytree(path, tmp_path / "backup")
    made(path, "ghost", "other ghost")
    check(1)
    assert "again" not in caplog.text
    replace_registry(path, tmp_path / "backup")
    check(2)  # version 1, after 3
    made(path, "new", "newer")
    check(3)  # version 3 again
    shutil.rmtree(path)
    made(path, "a", "bb", "ccc")
    check(4)  # another version 3
    made(tmp_path / "other", "x", "yyyy", "z")
    replace_registry(path, tmp_path / "other")
    check(5)
    assert "registry" in caplog.text


@by_layout
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("is_live", [True, False])
def test_batches_mend_files_that_are_damaged_between_them(
    plan: Plan, damage: str, is_live: bool, tmp_path: Path
) -> None:
    place = Place(tmp_path, plan, "parquet", "first", "second")
    place.run(0)
    made(tmp_path / "registry", "third")
    assert place.run(1) == expected(place.registry)
    files = sorted(place.home.releases.glob("*.tidings"))
    for file, other in zip(files[::2], files[1::2], strict=False):
        DAMAGES[damage](file, other)
    if not is_live:
        place.restart()
    assert place.run(2) == expected(place.registry)
    made(tmp_path / "registry", "fourth")
    assert place.run(3) == expected(place.registry)


@by_layout
@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_a_batch_whose_index_is_overwritten_while_it_runs_is_run_again(
    plan: Plan, kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place, calls = Place(tmp_path, plan, kind), list[int]()

    def damage() -> None:
        calls.append(1)
        if len(calls) == 1:
            for file in place.home.releases.glob("*.tidings"):
                DAMAGES["flipped"](file, file)

    assert place.run(0, before=damage) == expected(place.registry)
    assert "is run again" in caplog.text and len(calls) == 2


def test_a_batch_whose_index_is_damaged_again_and_again_fails(tmp_path: Path) -> None:
    place, calls = Place(tmp_path, PLANS[0]), list[int]()

    def damage() -> None:
        calls.append(1)
        for file in place.home.releases.glob("*.tidings"):
            DAMAGES["flipped"](file, file)

    with pytest.raises(DataError, match="damaged"):
        place.run(0, before=damage)
    assert len(calls) == ATTEMPTS and not place.sink.has(Batch("pipeline", 0))
    assert place.run(0) == expected(place.registry)


def test_a_failure_that_is_no_damage_is_raised_at_once(tmp_path: Path) -> None:
    place, calls = Place(tmp_path, PLANS[0]), list[int]()

    def fail() -> None:
        calls.append(1)
        raise OSError("the network is away")

    with pytest.raises(OSError, match="the network is away"):
        place.run(0, before=fail)
    assert len(calls) == 1


# ------------------------------------------------------------------------------------------------------- replays


@by_layout
def test_a_replay_is_exact_as_long_as_its_release_is_there(plan: Plan, tmp_path: Path) -> None:
    place = Place(tmp_path, plan)
    before = expected(place.registry)
    place.begin(0)
    shutil.rmtree(tmp_path / "registry")
    made(tmp_path / "registry", "other")
    assert place.run(0) == before != expected(place.registry)
    assert place.run(1) == expected(place.registry)


@by_layout
def test_a_replay_whose_history_is_gone_is_begun_anew_where_nothing_was_delivered(
    plan: Plan, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = Place(tmp_path, plan)
    place.begin(0)
    shutil.rmtree(tmp_path / "registry")
    shutil.rmtree(place.home.releases)
    made(tmp_path / "registry", "other")
    assert place.run(0) == expected(place.registry)
    assert "batch 0 is begun anew" in caplog.text


def test_a_replay_whose_history_is_gone_and_that_was_delivered_is_not_refused(tmp_path: Path) -> None:
    place = Place(tmp_path, PLANS[0], "delta")
    place.run(0)
    shutil.rmtree(tmp_path / "registry")
    shutil.rmtree(place.home.releases)
    made(tmp_path / "registry", "other")
    place.restart()
    assert place.handler._pin(Batch("pipeline", 0)) is None and place.sink.has(Batch("pipeline", 0))


def test_a_replay_whose_history_is_gone_is_refused_where_it_may_have_been_delivered_in_part(tmp_path: Path) -> None:
    place = Place(tmp_path, PLANS[0])
    place.begin(0)
    shutil.rmtree(tmp_path / "registry")
    shutil.rmtree(place.home.releases)
    made(tmp_path / "registry", "other")
    place.sink = CallableSink(lambda rows, batch: None)
    place.restart()
    with pytest.raises(DataError, match=r"version 1 that it saw; put that registry back, or delete its pin"):
        place.handler._pin(Batch("pipeline", 0))
    next((tmp_path / "state" / "journal").glob("*0.pin.json")).unlink()
    assert place.handler._pin(Batch("pipeline", 0)) is None


# ------------------------------------------------------------------------------------------ batches that begin anew


OTHERS = POSTS.slice(0, 7).set_column(0, "id", pa.array([f"q{n}" for n in range(7)]))


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_a_batch_that_the_sink_has_but_the_journal_does_not_know_is_refused(kind: str, tmp_path: Path) -> None:
    place = Place(tmp_path, PLANS[0], kind)
    place.run(0)
    shutil.rmtree(tmp_path / "state" / "journal")
    place.restart()
    for _ in range(2):
        with pytest.raises(DataError, match=r"put it back as it was last, or name a new checkpoint folder"):
            place.run(0, OTHERS)


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_a_batch_that_comes_again_with_other_posts_is_refused_if_the_sink_has_it(kind: str, tmp_path: Path) -> None:
    place = Place(tmp_path, PLANS[0], kind)
    place.run(0)
    place.restart()
    for _ in range(2):
        with pytest.raises(DataError, match=r"other posts for it now; put Spark's checkpoint back.*or name a new"):
            place.run(0, OTHERS)


def test_a_batch_that_comes_again_with_other_posts_is_begun_anew_if_nothing_of_it_was_delivered(tmp_path: Path) -> None:
    place = Place(tmp_path, PLANS[0])
    place.begin(0)
    assert place.run(0, OTHERS) == expected(place.registry, OTHERS)


def test_batches_that_go_back_are_refused_whatever_the_sink(tmp_path: Path) -> None:
    place = Place(tmp_path, PLANS[0])
    for number in (0, 1):
        place.run(number)
    next((tmp_path / "state" / "journal").glob("*0.pin.json")).unlink()
    place.sink = CallableSink(lambda rows, batch: None)
    place.restart()
    with pytest.raises(DataError, match="batch 0 was done before, and now it comes again"):
        place.handler._pin(Batch("pipeline", 0))


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_a_sink_that_is_deleted_gets_the_batches_from_then_on(kind: str, tmp_path: Path) -> None:
    place = Place(tmp_path, PLANS[0], kind)
    place.run(0)
    shutil.rmtree(tmp_path / "matches")
    assert place.run(1, OTHERS) == expected(place.registry, OTHERS)


# ------------------------------------------------------------------------------------------------ match in a folder


def matched(registry: Registry | Path, folder: Path, plan: Plan) -> Pairs:
    frame: Any = Local.of(POSTS)
    rows = match(frame, registry, layout=plan.layout, matchers=3, folder=folder).rows()
    table = pa.Table.from_batches(rows, IN_FILES)
    return sorted(zip(table["publication_id"].to_pylist(), table["subscription_id"].to_pylist(), strict=True))


@by_layout
def test_match_in_a_folder_finds_what_its_registry_has(plan: Plan, tmp_path: Path) -> None:
    registry, other = made(tmp_path / "registry", "a", "bb"), made(tmp_path / "other", "ccc", "dddd")
    folder = tmp_path / "folder"
    for _ in range(2):
        for each in (registry, other):
            assert matched(each, folder, plan) == expected(each) == matched(Path(each.path), folder, plan)
    shutil.copytree(registry.path, tmp_path / "backup")
    made(tmp_path / "registry", "ghost")
    assert matched(registry, folder, plan) == expected(registry)
    replace_registry(tmp_path / "registry", tmp_path / "backup")
    assert matched(registry, folder, plan) == expected(registry)
    made(tmp_path / "registry", "new")
    assert matched(registry, folder, plan) == expected(registry)
    shutil.rmtree(tmp_path / "registry")
    made(tmp_path / "registry", "x", "y", "zzzzz")
    assert matched(registry, folder, plan) == expected(registry)


@by_layout
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("is_live", [True, False])
def test_match_in_a_folder_mends_what_is_damaged(plan: Plan, damage: str, is_live: bool, tmp_path: Path) -> None:
    registry, folder = made(tmp_path / "registry", "a", "bb"), tmp_path / "folder"
    assert matched(registry, folder, plan) == expected(registry)
    made(tmp_path / "registry", "ccc")
    assert matched(registry, folder, plan) == expected(registry)
    files = sorted(folder.glob("*.tidings"))
    for file, other in zip(files[::2], files[1::2], strict=False):
        DAMAGES[damage](file, other)
    if not is_live:
        new_workers()
    assert matched(registry, folder, plan) == expected(registry)
