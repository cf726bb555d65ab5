"""Do changes get into the registry once, in their order, whatever is run again?"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.model import DataError
from tidings.registry import History, Receipt, Registry

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame, SparkSession

from tidings.spark.changes import ApplyChanges, ChangesPage, steps

SCHEMA = "op string, id string, query string, partition int, offset bigint"
ROWS = st.lists(st.tuples(st.sampled_from(["add", "remove", "mend"]), st.sampled_from("abc"), st.sampled_from("xyz")))


@given(rows=ROWS)
def test_steps_leave_what_one_change_after_the_other_leaves(rows: list[tuple[str, str, str]]) -> None:
    one_by_one: dict[str, str] = {}
    for op, name, query in rows:
        if op == "add":
            one_by_one[name] = query
        elif op == "remove":
            one_by_one.pop(name, None)
    in_steps: dict[str, str] = {}
    found = steps([{"op": op, "id": name, "query": query} for op, name, query in rows])
    for step in found:
        for row in step.rows.to_pylist():
            if step.op == "add":
                in_steps[row["id"]] = row["query"]
            else:
                in_steps.pop(row["id"], None)
    assert in_steps == one_by_one
    assert sum(step.rows.num_rows for step in found) == sum(op != "mend" for op, _, _ in rows)
    assert all(first.op != second.op for first, second in pairwise(found))


def test_commits_that_the_registry_has_forgotten_are_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry(tmp_path / "registry", history=History(versions=1))
    for query in ("fire", "smoke", "rain"):
        registry.add(pa.table({"id": ["a"], "query": [query]}))
    taking = ApplyChanges(registry, tmp_path / "state")
    assert len(taking._made(ChangesPage(3, after=1))) == 2
    registry.tidy()
    assert len(taking._made(ChangesPage(3, after=1))) == 1
    assert "has forgotten version 1" in caplog.text and "batch 3 that were made already may be made" in caplog.text


@dataclass(frozen=True)
class Dying(Registry):
    """The process dies before it can remove anything."""

    def remove(self, ids: object) -> Receipt:
        raise OSError("killed")


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.create(tmp_path / "registry")


@pytest.fixture
def changes(spark: SparkSession) -> DataFrame:
    """To be read by their offsets: a is added twice, b comes and goes and comes again."""
    rows = [("add", "b", "rain", 0, 4), ("add", "a", "fire", 0, 0), ("remove", "b", None, 0, 3)]
    rows += [("add", "a", "smoke", 0, 1), ("add", "b", "fire", 0, 2), ("add", "c", "fire OR", 1, 0)]
    return spark.createDataFrame(rows, SCHEMA)


def log(registry: Registry) -> list[tuple[str, str, str | None]]:
    return [(row["op"], row["id"], row["query"]) for row in registry.changes().to_pylist()]


EXPECTED = [
    ("add", "a", "fire"),
    ("add", "a", "smoke"),
    ("add", "b", "fire"),
    ("remove", "b", None),
    ("add", "b", "rain"),
]


@pytest.mark.spark
def test_a_batch_that_is_run_again_changes_nothing(registry: Registry, changes: DataFrame, tmp_path: Path) -> None:
    ApplyChanges(registry, tmp_path / "state")(changes, 0)
    assert log(registry) == EXPECTED
    registry.remove(["a"])  # somebody else, in between: not to be undone
    ApplyChanges(registry, tmp_path / "state")(changes, 0)
    assert log(registry) == [*EXPECTED, ("remove", "a", None)]
    ApplyChanges(registry, tmp_path / "state")(changes, 1)
    assert log(registry) == [*EXPECTED, ("remove", "a", None), *EXPECTED]


@pytest.mark.spark
def test_a_batch_that_died_half_way_goes_on_where_it_was(
    registry: Registry, changes: DataFrame, tmp_path: Path
) -> None:
    with pytest.raises(OSError, match="killed"):
        ApplyChanges(Dying(registry.path), tmp_path / "state")(changes, 7)
    assert log(registry) == EXPECTED[:3]
    registry.remove(["a"])  # somebody else, in between: not to be undone
    ApplyChanges(registry, tmp_path / "state")(changes, 7)
    assert log(registry) == [*EXPECTED[:3], ("remove", "a", None), *EXPECTED[3:]]
    assert {row["id"] for row in registry.rejected().to_pylist()} == {"c"}


@dataclass(frozen=True)
class Rows:
    """As much of a DataFrame as changes need."""

    rows: list[dict[str, str]]

    def toArrow(self) -> pa.Table:  # noqa: N802  # as a DataFrame calls it
        return pa.Table.from_pylist(self.rows)


FIRE = Rows([{"op": "add", "id": "a", "query": "fire"}])


def test_a_checkpoint_of_spark_that_was_begun_anew_is_refused(registry: Registry, tmp_path: Path) -> None:
    """Its batch 0 is another one than that which was done."""
    metadata = tmp_path / "state" / "metadata"
    metadata.parent.mkdir()
    metadata.write_text('{"id": "one"}')
    apply = ApplyChanges(registry, tmp_path / "state")
    apply(FIRE, 0)
    metadata.write_text('{"id": "other"}')
    with pytest.raises(DataError, match="begin with a new folder"):
        apply(Rows([{"op": "add", "id": "b", "query": "rain"}]), 0)


def test_a_batch_that_died_is_applied_anew_to_a_registry_that_was_restored(registry: Registry, tmp_path: Path) -> None:
    registry.add(pa.table({"id": ["x", "y"], "query": ["rain"] * 2}))
    rows = Rows([*FIRE.rows, {"op": "remove", "id": "x", "query": ""}])
    with pytest.raises(OSError, match="killed"):
        ApplyChanges(Dying(registry.path), tmp_path / "state")(rows, 7)
    shutil.rmtree(registry.path)
    registry.add(pa.table({"id": ["x"], "query": ["rain"]}))
    registry.add(pa.table({"id": ["y"], "query": ["rain"]}))
    ApplyChanges(registry, tmp_path / "state")(rows, 7)
    assert sorted(registry.snapshot()["id"].to_pylist()) == ["a", "y"]


@pytest.mark.spark
def test_the_checkpoint_of_another_stream_is_refused(registry: Registry, changes: DataFrame, tmp_path: Path) -> None:
    ApplyChanges(registry, tmp_path / "state")(changes, 7)
    with pytest.raises(DataError, match="begin with a new folder"):
        ApplyChanges(registry, tmp_path / "state")(changes, 0)
    (tmp_path / "state" / "changes.json").write_text("{")
    with pytest.raises(DataError, match="cannot be read"):
        ApplyChanges(registry, tmp_path / "state")(changes, 8)
