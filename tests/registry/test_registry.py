"""Does the registry keep what it was given, version by version, and refuse what is none?"""

from __future__ import annotations

import os
import pickle
import time
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.registry.test_folding import Change, plain_fold
from tidings.model import DataError
from tidings.registry import Registry, Tidied, schemas, tables
from tidings.registry import registry as registry_module

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "registry", clock=lambda: NOON)


def bulk(*rows: tuple[str, str], **columns: object) -> pa.Table:
    ids, queries = zip(*rows, strict=True)
    return pa.table({"id": ids, "query": queries, **columns})


def live(registry: Registry, version: int | None = None) -> dict[str, tuple[str, int]]:
    return {row["id"]: (row["query"], row["query_version"]) for row in registry.snapshot(version).to_pylist()}


def test_a_registry_that_is_not_there_yet_is_empty(registry: Registry) -> None:
    assert registry.version == -1
    assert registry.snapshot().schema == schemas.SNAPSHOT and registry.snapshot().num_rows == 0
    assert registry.changes().schema == schemas.LOG and registry.changes().num_rows == 0
    assert registry.rejected().schema == schemas.REJECTED and registry.rejected().num_rows == 0
    assert registry.expire(NOON).accepted == 0 and registry.tidy() == Tidied()
    assert not Path(registry.path).exists()


def test_create_makes_the_tables_and_leaves_existing_ones_alone(tmp_path: Path) -> None:
    registry = Registry.create(str(tmp_path / "new" / "registry"))
    assert registry.version == 0 and registry.snapshot().num_rows == 0
    registry.add(bulk(("a", "fire")))
    assert live(Registry.create(registry.path)) == {"a": ("fire", 1)}


def test_a_query_has_the_version_that_brought_it(registry: Registry) -> None:
    registry.add(bulk(("a", "fire"), ("b", "rain"), ("a", "smoke")))
    versions, positions = (registry.changes()[name].to_numpy() for name in ("version", "position"))
    assert versions.tolist() == [1] * 3 and (positions - positions[0]).tolist() == [0, 1, 2]
    assert live(registry) == {"a": ("smoke", 1), "b": ("rain", 1)}
    assert registry.remove(["a", "nobody"]).accepted == 2
    assert live(registry) == {"b": ("rain", 1)}
    registry.add(bulk(("a", "flood")))
    assert live(registry) == {"b": ("rain", 1), "a": ("flood", 3)}


def test_every_version_can_be_read_also_after_tidying(registry: Registry) -> None:
    steps: list[Change] = [
        ("add", "a", "fire"),
        ("add", "b", "rain"),
        ("remove", "a", ""),
        ("add", "b", "hail OR rain"),
    ]
    versions = []
    for op, name, query in steps:
        receipt = registry.add(bulk((name, query))) if op == "add" else registry.remove([name])
        versions.append(receipt.version)
    assert versions == [1, 2, 3, 4]

    def check() -> None:
        for count, version in enumerate([0, *versions]):
            found = [(name, *rest) for name, rest in live(registry, version).items()]
            assert found == plain_fold(steps[:count], [1, 2, 3])
        ops = [(row["op"], row["id"]) for row in registry.changes().to_pylist()]
        assert ops == [(op, name) for op, name, _ in steps]
        assert registry.changes(after=1, until=3)["version"].to_pylist() == [2, 3]
        assert registry.changes(after=4).num_rows == 0

    check()
    for grace_s in (60, 0):
        tidied = registry.tidy(grace_s)
        assert (tidied.merged, tidied.dropped) == ((4, 0) if grace_s else (0, 0))
        assert bool(tidied.deleted) != bool(grace_s)
        check()
    assert registry.horizon == 0 and registry.version > 4 and live(registry, 0) == {}
    assert live(registry) == {"b": ("hail OR rain", 4)}
    assert registry.tidy(0) == Tidied()
    idle = registry.version
    registry.tidy(0)
    assert registry.version == idle
    assert registry.add(bulk(("c", "wind"))).version == idle + 1


def test_tidying_deletes_what_dead_writers_left_and_spares_what_living_ones_write(registry: Registry) -> None:
    registry.add(bulk(("a", "fire")))
    [data] = (Path(registry.path) / "log").glob("*.parquet")
    fresh, old = (data.with_name(f"part-00000-{name}-c000.snappy.parquet") for name in ("fresh", "old"))
    for copy in (fresh, old):
        copy.write_bytes(data.read_bytes())
    two_minutes_ago = time.time() - 120
    os.utime(old, (two_minutes_ago, two_minutes_ago))
    assert registry.tidy() == Tidied(deleted=1)
    assert fresh.exists() and not old.exists() and live(registry) == {"a": ("fire", 1)}


def test_delta_s_own_time_travel_tells_the_same(registry: Registry) -> None:
    for number in range(4):
        registry.add(bulk((f"s{number}", "fire"), (f"t{number}", "rain")))
    for version in range(5):
        ids = DeltaTable(Path(registry.path) / "log", version=version).to_pyarrow_table()["id"].to_pylist()
        assert sorted(ids) == sorted(registry.changes(until=version)["id"].to_pylist())


def test_the_tables_are_plain_delta_tables(registry: Registry) -> None:
    registry.add(bulk(("a", "fire"), ("", "rain"), subscriber=["ann", "bob"], tag=["t", ""], until=[NOON + HOUR, None]))
    registry.remove(["a"])
    log = DeltaTable(Path(registry.path) / "log")
    assert log.protocol()[:2] == (1, 2) and not log.protocol().reader_features and not log.protocol().writer_features
    added, removed = sorted(log.to_pyarrow_table().to_pylist(), key=lambda row: row["version"])
    assert added == {
        "version": 1, "position": added["position"], "op": "add", "id": "a", "query": "fire", "subscriber": "ann",
        "tag": "t", "since": None, "until": NOON + HOUR, "at": NOON,
    }  # fmt: skip
    assert {name for name, value in removed.items() if value is not None} == {"version", "position", "op", "id", "at"}
    kinds = {str(field.type) for field in log.to_pyarrow_table().schema}
    assert kinds == {"int64", "string", "timestamp[us, tz=UTC]"}
    [rejected] = DeltaTable(Path(registry.path) / "rejected").to_pyarrow_table().to_pylist()
    reason = "a subscription needs an id that is not empty"
    assert rejected == {"id": "", "reason": reason, "query": "rain", "at": NOON}


def test_bad_rows_are_kept_with_the_reason_and_the_others_written(registry: Registry) -> None:
    receipt = registry.add(bulk(("a", "fire"), ("b", "fire OR"), ("c", "rain")))
    assert (receipt.version, receipt.accepted, [row.id for row in receipt.rejected]) == (1, 2, ["b"])
    [row] = registry.rejected().to_pylist()
    assert row == {"id": "b", "reason": receipt.rejected[0].reason, "query": "fire OR", "at": NOON}
    assert list(live(registry)) == ["a", "c"]
    again = registry.remove(["a", ""])
    assert (again.version, again.accepted, len(again.rejected)) == (2, 1, 1)
    assert registry.rejected()["id"].to_pylist() in (["b", ""], ["", "b"])


def test_a_bulk_without_a_good_row_makes_no_version(registry: Registry) -> None:
    assert registry.add(bulk(("a", "("))).version == -1
    registry.add(bulk(("a", "fire")))
    for receipt in (registry.add(bulk(("a", "("))), registry.remove([]), registry.expire(NOON)):
        assert (receipt.version, receipt.accepted) == (1, 0)
    assert registry.version == 1 and registry.rejected().num_rows == 2


def test_a_dry_run_tells_the_same_and_writes_nothing(registry: Registry) -> None:
    table = bulk(("a", "fire"), ("b", "fire OR"))
    dry = registry.add(table, dry_run=True)
    assert (dry.version, dry.accepted) == (-1, 1) and not Path(registry.path).exists()
    wet = registry.add(table)
    assert (wet.accepted, wet.rejected) == (dry.accepted, dry.rejected)
    assert registry.add(table, dry_run=True).version == wet.version == registry.version
    assert registry.rejected().num_rows == 1


def test_what_has_ended_expires_and_the_rest_stays(registry: Registry) -> None:
    names = ["over", "now", "later", "endless", "renewed", "gone"]
    untils = [NOON - HOUR, NOON, NOON + HOUR, None, NOON - HOUR, NOON - HOUR]
    registry.add(bulk(*((name, "fire") for name in names), until=untils))
    registry.add(bulk(("renewed", "fire"), until=[NOON + HOUR]))
    registry.remove(["gone"])
    receipt = registry.expire(NOON)
    assert (receipt.version, receipt.accepted) == (4, 2)
    assert registry.changes(after=3)["op"].to_pylist() == ["remove", "remove"]
    assert list(live(registry)) == ["later", "endless", "renewed"]
    assert registry.expire(NOON).version == 4


def test_expiry_spares_what_is_renewed_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "exclusive", lambda path: nullcontext())
    other = Registry(tmp_path)
    other.add(bulk(("a", "fire"), ("b", "rain"), until=[NOON, NOON]))
    renewals = [bulk(("a", "fire"), until=[NOON + HOUR])]

    def clock() -> datetime:
        """Tells the time when the removals are about to be written: just then the other writer is faster."""
        if renewals:
            other.add(renewals.pop())
        return NOON

    receipt = Registry(tmp_path, clock=clock).expire(NOON)
    assert (receipt.version, receipt.accepted) == (3, 1)
    assert live(other) == {"a": ("fire", 2)}


def test_a_writer_who_is_always_late_gives_up_with_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "exclusive", lambda path: nullcontext())
    monkeypatch.setattr(tables, "MAX_ATTEMPTS", 3)
    other = Registry(tmp_path)

    def clock() -> datetime:
        other.add(bulk(("other", "fire")))
        return NOON

    with pytest.raises(DataError, match=r"gave up writing to .*log' after 3 attempts"):
        Registry(tmp_path, clock=clock).add(bulk(("a", "fire")))
    assert live(other) == {"other": ("fire", 3)}


def test_a_failing_checkpoint_does_not_fail_the_commit(
    registry: Registry, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "UPKEEP_EVERY", 10)
    Registry.create(registry.path)
    (Path(registry.path) / "log" / "_delta_log" / "_last_checkpoint" / "in the way").mkdir(parents=True)
    versions = [registry.add(bulk((f"s{number}", "fire"))).version for number in range(12)]
    assert versions == [*range(1, 11), 12, 13] and registry.snapshot().num_rows == 12
    assert "was not tidied" in caplog.text


def test_a_version_that_does_not_exist_is_refused(registry: Registry) -> None:
    registry.add(bulk(("a", "fire")))
    for version in (2, -2):
        with pytest.raises(DataError, match=rf"has the versions 0 to 1, not {version}"):
            registry.snapshot(version)
        with pytest.raises(DataError, match=rf"not {version}"):
            registry.changes(after=version)
    assert registry.snapshot(-1).num_rows == 0


def test_a_registry_pickles(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    registry.add(bulk(("a", "fire")))
    assert live(pickle.loads(pickle.dumps(registry))) == {"a": ("fire", 1)}


def test_a_folder_that_is_no_registry_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "other" / "photos").mkdir(parents=True)
    (tmp_path / "var" / "log" / "syslog").mkdir(parents=True)
    write_deltalake(tmp_path / "table", pa.table({"x": [1]}))
    write_deltalake(tmp_path / "alien" / "log", pa.table({"x": [1]}))
    before = sorted(tmp_path.rglob("*"))
    for name, problem in {
        "file": "is a file, and a registry is a folder",
        "other": "is no registry, it holds 'photos'; name a registry, or a new or empty folder",
        "var": "is no registry, it holds 'log'",
        "table": "is a single Delta table; name the folder",
        "alien": "has the columns x, and not those of a registry: version, position, op",
    }.items():
        registry = Registry(tmp_path / name)
        with pytest.raises(DataError, match=problem):
            registry.snapshot()
        if name != "alien":
            with pytest.raises(DataError, match=problem):
                registry.add(bulk(("a", "fire")))
    assert sorted(tmp_path.rglob("*")) == before


def test_damaged_files_are_named(registry: Registry) -> None:
    registry.add(bulk(("a", "fire")))
    [data] = (Path(registry.path) / "log").glob("*.parquet")
    data.unlink()
    with pytest.raises(DataError, match=r"log' cannot be used: .*restore them from a backup"):
        registry.snapshot()
    (Path(registry.path) / "log" / "_delta_log" / "00000000000000000001.json").write_text("not json")
    with pytest.raises(DataError, match="restore them"):
        Registry(registry.path).add(bulk(("a", "fire")))
