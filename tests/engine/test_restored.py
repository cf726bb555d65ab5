"""Does an engine find what its registry has when that was restored, made anew or swapped, or when files are damaged?"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.damages import DAMAGES, replace_registry
from tidings import Engine
from tidings.registry import Registry

NOW = datetime(2024, 5, 1, tzinfo=UTC)
MANY = 1_100
"""So many become a segment of their own."""


def opened(path: Path) -> Engine:
    return Engine(path, clock=lambda: NOW)  # a clock that stands still: commits are not told apart by it


def names(engine: Engine, text: str = "a fire") -> list[str]:
    single = sorted(match.subscription_id for match in engine.publish(id="p", text=text))
    found = engine.match(pa.table({"id": ["p"], "text": [text]}))
    assert sorted(found.ids().to_pylist()) == single
    return single


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """A backup of the registry ``home`` at version 1, which has the subscription "first"; it has gone on to 3."""
    home, backup = tmp_path / "home", tmp_path / "backup"
    with opened(home) as engine:
        engine.subscribe("fire", id="first")
        shutil.copytree(home, backup)
        engine.subscribe("fire", id="ghost")
        engine.subscribe("fire", id="second ghost")
    return backup


def write_as(path: Path, *ids: str) -> None:
    registry = Registry.create(path, clock=lambda: NOW)
    for name in ids:
        registry.add(pa.table({"id": [name], "query": ["fire"]}))


AFTERWARDS = [[], ["new"], ["new", "newer"], ["ghost", "new"], ["new", "newer", "newest"]]
"""Written to a registry after it was restored: to an earlier, the same, and a later version than the index has."""


@pytest.mark.parametrize("ids", AFTERWARDS)
def test_an_engine_that_is_opened_follows_a_restored_registry(
    ids: list[str], tmp_path: Path, backup: Path, caplog: pytest.LogCaptureFixture
) -> None:
    replace_registry(tmp_path / "home", backup)
    write_as(tmp_path / "home", *ids)
    with opened(tmp_path / "home") as engine:
        assert names(engine) == sorted(["first", *ids])
    assert "built again from the registry" in caplog.text
    caplog.clear()
    with opened(tmp_path / "home") as engine:
        assert names(engine) == sorted(["first", *ids])
    assert not caplog.text


@pytest.mark.parametrize("ids", AFTERWARDS)
@pytest.mark.parametrize("how", ["refresh", "subscribe", "unsubscribe", "subscribe_many", "compact"])
def test_a_running_engine_follows_a_restored_registry(
    how: str, ids: list[str], tmp_path: Path, backup: Path, caplog: pytest.LogCaptureFixture
) -> None:
    act: dict[str, Callable[[Engine], Any]] = {
        "refresh": Engine.refresh,
        "subscribe": lambda engine: engine.subscribe("fire", id="mine"),
        "unsubscribe": lambda engine: engine.unsubscribe("first"),
        "subscribe_many": lambda engine: engine.subscribe_many(pa.table({"id": ["mine"], "query": ["fire"]})),
        "compact": Engine.compact,
    }
    expected = {"first", *ids} | ({"mine"} if "subscribe" in how else set())
    expected -= {"first", "mine"} if how == "unsubscribe" else set()
    with opened(tmp_path / "home") as engine:
        assert names(engine) == ["first", "ghost", "second ghost"]
        replace_registry(tmp_path / "home", backup)
        write_as(tmp_path / "home", *ids)
        act[how](engine)
        assert names(engine) == sorted(expected)
        assert engine.stats().version == Registry(tmp_path / "home").version
    assert "built again from the registry" in caplog.text
    with opened(tmp_path / "home") as engine:
        assert names(engine) == sorted(expected)


@pytest.mark.parametrize("live", [True, False])
def test_an_engine_follows_a_registry_that_was_made_anew_or_swapped(live: bool, tmp_path: Path, backup: Path) -> None:
    write_as(tmp_path / "other", "x", "y", "z")
    engine = opened(tmp_path / "home")
    if live:
        replace_registry(tmp_path / "home", tmp_path / "other")
        assert engine.refresh() == 3
    else:
        engine.close()
        replace_registry(tmp_path / "home", tmp_path / "other")
        engine = opened(tmp_path / "home")
    assert names(engine) == ["x", "y", "z"]
    engine.close()


def test_an_index_from_before_there_were_marks_is_built_again(tmp_path: Path, backup: Path) -> None:
    manifest = tmp_path / "home" / "index" / "manifest.json"
    content = json.loads(manifest.read_text())
    del content["mark"]
    manifest.write_text(json.dumps(content))
    segments = set((tmp_path / "home" / "index").glob("segment-*"))
    with opened(tmp_path / "home") as engine:
        assert names(engine) == ["first", "ghost", "second ghost"]
    assert segments.isdisjoint((tmp_path / "home" / "index").glob("segment-*"))


def test_a_follower_of_a_registry_that_only_grows_is_never_built_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(tmp_path) as owner, opened(tmp_path) as other:
        for number in range(5):
            owner.subscribe("fire", id=f"s{number}")
            if number % 2:
                other.unsubscribe(f"s{number}")
            Registry(tmp_path).tidy(grace_s=0)
            owner.refresh(), other.refresh()
            assert names(owner) == names(other)
    with opened(tmp_path) as engine:
        assert names(engine) == ["s0", "s2", "s4"]
    assert not caplog.text


# ---------------------------------------------------------------------------------------------------------- damage


@pytest.fixture
def two_segments(tmp_path: Path) -> tuple[Path, Path]:
    """The files of an index of two segments, the first of which has the subscriptions "a0" … and the other "b0" …"""
    files: list[Path] = []
    for name in "ab":
        with opened(tmp_path / "home") as engine:
            ids = [f"{name}{n}" for n in range(MANY)]
            engine.subscribe_many(pa.table({"id": ids, "query": [f"fire v{n}" for n in range(MANY)]}))
        files += set((tmp_path / "home" / "index").glob("segment-*")) - set(files)
    first, second = files
    return first, second


@pytest.mark.parametrize("kind", DAMAGES)
def test_an_engine_that_is_opened_mends_damaged_segments(
    kind: str, tmp_path: Path, two_segments: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    DAMAGES[kind](*two_segments)
    with opened(tmp_path / "home") as engine:
        assert names(engine, "fire v7 v9") == ["a7", "a9", "b7", "b9"] and len(engine) == 2 * MANY
    assert "built again from the registry" in caplog.text
    caplog.clear()
    with opened(tmp_path / "home") as engine:
        assert names(engine, "fire v7 v9") == ["a7", "a9", "b7", "b9"]
    assert not caplog.text


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("how", ["refresh", "subscribe", "match", "publish"])
def test_a_running_engine_mends_segments_that_are_damaged_under_it(
    how: str, kind: str, tmp_path: Path, two_segments: tuple[Path, Path]
) -> None:
    with opened(tmp_path / "home") as engine:
        DAMAGES[kind](*two_segments)
        if how == "refresh":
            engine.refresh()
        elif how == "subscribe":
            engine.subscribe("rain", id="mine")
        elif how == "publish":
            assert sorted(match.subscription_id for match in engine.publish(id="p", text="fire v7")) == ["a7", "b7"]
        else:
            found = engine.match(pa.table({"id": ["p"], "text": ["fire v7 v9"]}))
            assert sorted(found.ids().to_pylist()) == ["a7", "a9", "b7", "b9"]
        assert names(engine, "fire v7 v9") == ["a7", "a9", "b7", "b9"]
        engine.compact()
        assert names(engine, "fire v7 v9") == ["a7", "a9", "b7", "b9"]
    with opened(tmp_path / "home") as engine:
        assert names(engine, "fire v7 v9") == ["a7", "a9", "b7", "b9"]


@pytest.mark.parametrize(
    "change",
    [
        {"segments": "x"},
        {"segments": [7]},
        {"segments": ["../../etc/passwd"]},
        {"segments": [None]},
        {"segments": []},
        {"version": -7},
        {"version": 10**30},
        {"version": True},
        {"version": 1},
        {"mark": 5},
        {"mark": {"a": 1}},
        {"format": "1"},
    ],
    ids=str,
)
def test_a_manifest_with_foreign_values_is_not_believed(
    change: dict[str, Any], tmp_path: Path, backup: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manifest = tmp_path / "home" / "index" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | change))
    with opened(tmp_path / "home") as engine:
        assert names(engine) == ["first", "ghost", "second ghost"]
    assert "built again" in caplog.text


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"7", b"\xff\xfe", b"\0" * 100, b"[" * 100_000])
def test_a_manifest_that_is_none_is_not_believed(content: bytes, tmp_path: Path, backup: Path) -> None:
    (tmp_path / "home" / "index" / "manifest.json").write_bytes(content)
    with opened(tmp_path / "home") as engine:
        assert names(engine) == ["first", "ghost", "second ghost"]
