"""Does a registry stay small however often it is written to, and can it still tell its history?"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given
from hypothesis import strategies as st

from tests.registry.test_folding import Change, log, plain_fold
from tidings.model import DataError, HistoryError
from tidings.registry import History, Registry, fold, schemas, tables
from tidings.registry.commits import Grace, commit, forget, newest_version
from tidings.registry.folding import in_order, needed
from tidings.registry.tables import View

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
Live = dict[str, tuple[str, int]]


def add(registry: Registry, name: str, query: str = "fire") -> int:
    return registry.add(pa.table({"id": [name], "query": [query]})).version


def live(registry: Registry, version: int | None = None) -> Live:
    return {row["id"]: (row["query"], row["query_version"]) for row in registry.snapshot(version).to_pylist()}


def files(registry: Registry) -> list[Path]:
    return [path for path in Path(registry.path).rglob("*") if path.is_file()]


@given(
    st.lists(
        st.tuples(st.sampled_from(["add", "add", "remove"]), st.sampled_from(["a", "b", "c"]), st.text(max_size=2)),
        max_size=25,
    ),
    st.integers(0, 26),
    st.lists(st.booleans(), min_size=25, max_size=25),
)
def test_what_is_dropped_changes_no_fold_from_the_horizon_on(
    changes: list[Change], horizon: int, elsewhere: list[bool]
) -> None:
    """Each change is a commit of its own; some of them are in files that are not rewritten."""
    table = log(changes, list(range(1, len(changes))))
    stay = [number for number in range(len(changes)) if elsewhere[number]]
    merged = [number for number in range(len(changes)) if not elsewhere[number]]
    rewritten = table.take(pa.array(merged, pa.int64()))
    first = min((number + 1 for number in stay), default=len(changes) + 1)
    left = rewritten.take(pa.array(needed(rewritten, horizon, first)))
    both = in_order(pa.concat_tables([left, table.take(pa.array(stay, pa.int64()))]))
    for version in range(horizon, len(changes) + 1):
        seen = both.filter(pc.less_equal(both["version"], version))
        found = [(row["id"], row["query"], row["query_version"]) for row in fold(seen).to_pylist()]
        assert found == plain_fold(changes[:version], list(range(1, len(changes))))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_all_versions_of_the_kept_history_can_be_read_and_earlier_ones_are_refused(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "UPKEEP_EVERY", 4)
    monkeypatch.setattr(tables, "SMALL_ROWS", 4)
    rng, registry = random.Random(seed), Registry(tmp_path, history=History(versions=12))
    now: Live = {}
    known: dict[int, Live] = {0: {}}
    for number in range(60):
        names = rng.sample("abcdefgh", rng.randint(1, 3))
        if rng.random() < 0.4:
            version = registry.remove(names).version
            now = {name: row for name, row in now.items() if name not in names}
        else:
            table = pa.table({"id": names, "query": [f"fire {number}"] * len(names)})
            version = registry.add(table).version
            now = now | dict.fromkeys(names, (f"fire {number}", version))
        known[version] = now
    horizon, newest = registry.horizon, registry.version
    assert newest - 12 - 8 <= horizon <= newest - 12
    for version, expected in known.items():
        if version in (0, -1) or version >= horizon:
            assert live(registry, version) == expected
            at_version = {n: row for n, row in now.items() if row[1] > version}
            changes = fold(registry.changes(version))
            assert {r["id"]: (r["query"], r["query_version"]) for r in changes.to_pylist()} == at_version
        else:
            for refused in (registry.snapshot, registry.changes):
                with pytest.raises(HistoryError, match=rf"forgotten version {version}, its history begins with"):
                    refused(version)
    assert {r["id"]: r["query_version"] for r in fold(registry.changes()).to_pylist()} == {
        n: r[1] for n, r in now.items()
    }
    registry.tidy(grace_s=0)
    assert live(registry) == now == live(Registry(tmp_path))


@pytest.mark.thorough
def test_files_and_rows_stay_few_however_often_ids_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "GRACE", Grace(versions=20))
    monkeypatch.setattr(tables, "UPKEEP_EVERY", 8)
    monkeypatch.setattr(tables, "SMALL_ROWS", 4)
    registry = Registry(tmp_path, history=History(versions=30))
    counts, written = [], {}
    for number in range(300):
        written[f"s{number % 5}"] = f"fire {number}", add(registry, f"s{number % 5}", f"fire {number}")
        if number % 100 == 99:
            counts.append((len(files(registry)), registry.changes().num_rows))
    assert live(registry) == written
    assert all(count < 110 and rows < 90 for count, rows in counts), counts
    registry.tidy(grace_s=0)
    assert registry.changes().num_rows <= 36


def test_history_is_forgotten_by_time_as_well(tmp_path: Path) -> None:
    clock = [NOON]
    registry = Registry(tmp_path, clock=lambda: clock[0], history=History(hours=24))
    first, second = add(registry, "a"), add(registry, "a", "smoke")
    clock[0] += timedelta(hours=23)
    third = add(registry, "a", "rain")
    registry.tidy()
    assert registry.horizon == 0 and live(registry, first) == {"a": ("fire", first)}
    clock[0] += timedelta(hours=2)
    assert registry.tidy().dropped == 1
    assert registry.horizon == second
    with pytest.raises(HistoryError):
        registry.snapshot(first)
    assert live(registry, second) == {"a": ("smoke", second)} and live(registry) == {"a": ("rain", third)}


def test_the_newest_rejected_rows_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "UPKEEP_EVERY", 4)
    clock = [NOON]
    registry = Registry(tmp_path, clock=lambda: clock[0], history=History(rejected=10))
    for number in range(40):
        clock[0] += timedelta(seconds=1)
        registry.add(pa.table({"id": [f"bad{number}"], "query": ["("]}))
    found = set(registry.rejected()["id"].to_pylist())
    assert {f"bad{number}" for number in range(30, 40)} <= found and len(found) <= 14
    clock[0] += timedelta(seconds=1)
    registry.add(pa.table({"id": [f"many{number}" for number in range(50)], "query": ["("] * 50}))
    registry.tidy()
    assert registry.rejected()["id"].to_pylist() == [f"many{number}" for number in range(40, 50)]


def test_a_reader_whose_files_are_deleted_meanwhile_reads_again(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    for number in range(5):
        add(registry, f"s{number}")
    tidied: list[object] = []

    def slow(view: View) -> pa.Table:
        assert len(view.files()) == (1 if tidied else 5)
        if not tidied:
            tidied.append(registry.tidy(grace_s=0))
        return view.read(["id"])

    assert sorted(registry._log.read(slow)["id"].to_pylist()) == [f"s{number}" for number in range(5)]
    assert tidied


def test_a_registry_of_an_earlier_tidings_opens_and_shrinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "UPKEEP_EVERY", 10)
    before = {"delta.appendOnly": "true", "delta.checkpointInterval": "10"}
    DeltaTable.create(tmp_path / "log", schemas.LOG, configuration=before)
    for version in range(1, 16):
        row = {"version": version, "position": 0, "op": "add", "id": f"s{version % 3}", "query": "fire", "at": NOON}
        write_deltalake(tmp_path / "log", pa.Table.from_pylist([row], schemas.LOG), mode="append")
    registry = Registry(tmp_path, history=History(versions=3))
    assert {name: version for name, (_, version) in live(registry).items()} == {"s0": 15, "s1": 13, "s2": 14}
    for number in range(5):
        add(registry, f"new{number}")
    assert {name: version for name, (_, version) in live(registry).items()} == {
        "s0": 15, "s1": 13, "s2": 14, "new0": 16, "new1": 17, "new2": 18, "new3": 19, "new4": 20,
    }  # fmt: skip
    assert registry.horizon == 18 and registry.changes().num_rows == 8
    checkpoint = max((tmp_path / "log" / "_delta_log").glob("*.checkpoint.parquet"))
    assert (
        pq.read_table(checkpoint, columns=["remove"])["remove"].null_count
        == pq.read_table(checkpoint, columns=["add"]).num_rows
    )


def test_of_two_commits_of_one_version_one_succeeds(tmp_path: Path) -> None:
    registry = Registry.create(tmp_path)
    assert commit(tmp_path / "log", 1, "WRITE", []) and not commit(tmp_path / "log", 1, "WRITE", [])
    assert registry.version == newest_version(tmp_path / "log") == 1


def test_a_commit_of_a_version_whose_page_is_deleted_fails(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    for number in range(3):
        add(registry, f"s{number}")
    registry.tidy(grace_s=0)
    assert not (tmp_path / "log" / "_delta_log" / f"{1:020}.json").exists()
    assert not commit(tmp_path / "log", 1, "WRITE", []) and registry.snapshot().num_rows == 3


def test_a_hint_of_a_version_that_is_not_there_is_not_believed(tmp_path: Path) -> None:
    registry = Registry.create(tmp_path)
    add(registry, "a")
    hint = tmp_path / "log" / "_delta_log" / "_last_checkpoint"
    for text in ('{"version": 7}', "{", "[]", '{"version": "x"}'):
        hint.write_text(text)
        assert registry.version == 1


@pytest.mark.parametrize("bad", [-1, "7", None, True, float("nan")])
def test_a_history_that_is_none_is_refused(bad: object) -> None:
    make: Callable[..., History] = History
    for name in ("versions", "hours", "rejected"):
        with pytest.raises(DataError, match=f"{name} is a number of 0 or more, got"):
            make(**{name: bad})


def test_the_last_commit_before_the_horizon_leaves_a_row(tmp_path: Path) -> None:
    registry = Registry(tmp_path, history=History(versions=0))
    add(registry, "a")
    last = registry.remove(["a"]).version
    registry.tidy()
    assert registry.changes()["version"].to_pylist() == [last] and live(registry) == {}


def test_a_file_system_without_hard_links_is_written_to_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    registry = Registry(tmp_path)
    assert [registry.add(pa.table({"id": [f"s{n}"], "query": ["fire"]})).version for n in range(3)] == [1, 2, 3]
    assert not commit(tmp_path / "log", 3, "WRITE", []) and registry.snapshot().num_rows == 3


def test_a_file_that_another_tidier_deletes_first_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    file.write_text("")

    class Slow(Grace):
        def is_over(self, file: os.stat_result, later: int) -> bool:
            (tmp_path / "a.parquet").unlink()
            return True

    assert forget(tmp_path, frozenset(), Slow()) == 1 and not file.exists()
