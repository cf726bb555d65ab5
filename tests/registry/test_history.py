"""Does a mark tell one history of a registry from every other?"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tidings.registry import Follower, Registry

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def asked(*ids: str) -> pa.Table:
    return pa.table({"id": ids, "query": ["fire"] * len(ids)})


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.create(tmp_path / "registry", clock=lambda: NOON)  # a clock that stands still tells nothing apart


def restored(registry: Registry, backup: Path) -> None:
    shutil.rmtree(registry.path)
    shutil.copytree(backup, registry.path)


def test_a_mark_stays_that_of_its_version_whatever_comes_later(registry: Registry) -> None:
    receipts = [registry.add(asked(f"s{n}")) for n in range(40)]
    receipts.append(registry.remove(["s3", "s4"]))
    marks = {receipt.version: receipt.mark for receipt in receipts}
    assert len(set(marks.values())) == 41
    registry.tidy(grace_s=0)
    assert registry.version > max(marks)
    assert all(registry.mark(version) == mark and registry.has(version, mark) for version, mark in marks.items())
    assert registry.mark(registry.version) == receipts[-1].mark  # tidying changes nothing
    assert registry.has(0, registry.mark(0)) and registry.has(-1, registry.mark(-1))


def test_a_restored_registry_has_no_mark_of_what_came_after(registry: Registry, tmp_path: Path) -> None:
    registry.add(asked("a"))
    shutil.copytree(registry.path, tmp_path / "backup")
    before, gone = registry.mark(1), registry.add(asked("b")).mark
    assert registry.has(2, gone)
    restored(registry, tmp_path / "backup")
    assert registry.has(1, before) and not registry.has(2, gone)
    registry.add(asked("b"))  # the same row as the same version at the same instant
    assert registry.has(1, before) and not registry.has(2, gone)


def test_a_registry_that_was_made_anew_has_no_mark_of_the_old_one(registry: Registry, tmp_path: Path) -> None:
    empty, full = registry.mark(0), registry.add(asked("a")).mark
    other = Registry.create(tmp_path / "other", clock=lambda: NOON)
    other.add(asked("a"))
    assert not other.has(0, empty) and not other.has(1, full) and other.id != registry.id


@pytest.mark.parametrize("mark", ["", "x", None, 7, ["a"], {"a": 1}])
def test_what_is_no_mark_is_no_mark(registry: Registry, mark: object) -> None:
    assert not any(registry.has(version, mark) for version in (-1, 0, 1, 10**30))


def test_a_registry_restored_to_before_it_was_tidied_and_written_to_has_no_mark_of_after(
    registry: Registry, tmp_path: Path
) -> None:
    """The last commit with changes is the same one; the version that tidying made is now another's."""
    for name in "abc":
        registry.add(asked(name))
    shutil.copytree(registry.path, tmp_path / "backup")
    registry.tidy(grace_s=0)
    version, mark = registry.version, registry.mark(registry.version)
    restored(registry, tmp_path / "backup")
    assert registry.mark(3) == mark and not registry.has(version, mark)
    while registry.version < version:
        registry.add(asked("d"))
    assert not registry.has(version, mark)


def test_a_registry_from_before_there_were_seals_has_marks(registry: Registry) -> None:
    row = {"version": 1, "position": 0, "op": "add", "id": "a", "query": "fire", "subscriber": "", "tag": "",
           "since": None, "until": None, "at": NOON}  # fmt: skip
    log = Path(registry.path) / "log"
    write_deltalake(log, pa.Table.from_pylist([row], DeltaTable(log).to_pyarrow_table().schema), mode="append")
    mark = registry.mark(1)
    registry.add(asked("b"))
    assert registry.has(1, mark) and registry.snapshot()["id"].to_pylist() == ["a", "b"]


def test_a_follower_notices_another_history_at_once(registry: Registry, tmp_path: Path) -> None:
    registry.add(asked("a"))
    shutil.copytree(registry.path, tmp_path / "backup")
    follower = Follower(registry)
    assert follower.is_current()
    follower.reach(2, registry.add(asked("b")).mark)
    registry.add(asked("c"))
    assert follower.is_current()
    restored(registry, tmp_path / "backup")
    assert not follower.is_current()
    registry.add(asked("d"))
    assert not follower.is_current()
    follower.reach(2, registry.mark(2))
    assert follower.is_current()


def test_a_follower_does_without_the_files_of_old_commits(registry: Registry) -> None:
    follower = Follower(registry)
    follower.reach(1, registry.add(asked("a")).mark)
    log = Path(registry.path) / "log"
    DeltaTable(log).create_checkpoint()
    for file in log.glob("_delta_log/*.json"):
        if int(file.stem) < 1:
            file.unlink()
    registry.add(asked("b"))
    DeltaTable(log).create_checkpoint()
    (log / "_delta_log" / f"{1:020}.json").unlink()
    assert follower.is_current() and registry.has(1, follower.mark)
