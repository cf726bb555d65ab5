"""Does an engine work on, and lose nothing, when its index cannot be saved?"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tidings.engine import Engine, saving
from tidings.index import store
from tidings.model import DataError


def broken(call: Callable[..., Any], of: str = "") -> Callable[..., Any]:
    """What cannot write, if what it writes has that name."""

    def fail(*args: Any, **options: Any) -> Any:
        if of in str(args):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call(*args, **options)

    return fail


BROKEN: list[tuple[Any, str, str]] = [
    (store, "write_arrays", ""),
    (Path, "replace", "segment"),
    (Path, "replace", "manifest"),
    (os, "fsync", ""),
    (Path, "unlink", "segment"),
]


@pytest.fixture(params=BROKEN, ids=["write segment", "replace segment", "replace manifest", "fsync", "unlink"])
def full(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[], pytest.MonkeyPatch]:
    """Fills the disk, in one of several ways; undo to have it empty."""

    def fill() -> pytest.MonkeyPatch:
        owner, name, of = request.param
        monkeypatch.setattr(owner, name, broken(getattr(owner, name), of))
        return monkeypatch

    return fill


def manifest(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((path / "index" / "manifest.json").read_text())
    return found


def saved(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (path / "index").iterdir()}


def matched(engine: Engine) -> list[str]:
    return sorted(match.subscription_id for match in engine.publish(id="p", text="fire"))


def subscribed(engine: Engine, names: str) -> None:
    for name in names:
        engine.subscribe_many(pa.table({"id": [name], "query": ["fire"]}))
        engine._background.join()


def test_a_save_that_fails_loses_nothing_and_is_tried_again(
    tmp_path: Path, full: Callable[[], pytest.MonkeyPatch], caplog: pytest.LogCaptureFixture
) -> None:
    with Engine(tmp_path) as engine:
        subscribed(engine, "ab")
        engine.compact()
    with pytest.MonkeyPatch.context() as lowered, Engine(tmp_path) as engine:
        lowered.setattr(saving, "SAVE_AFTER", 1)
        patch = full()
        subscribed(engine, "cde")
        engine.unsubscribe("a")
        with pytest.raises(DataError, match="No space left"):
            engine.compact()
        subscribed(engine, "fg")
        assert "tried again later" in caplog.text
        assert matched(engine) == list("bcdefg") and len(engine) == 6
        patch.undo()
        subscribed(engine, "h")  # one more change, and not as many as it takes at first
        assert manifest(tmp_path)["version"] == engine.stats().version
        assert saved(tmp_path).keys() == {"lock", "manifest.json", *manifest(tmp_path)["segments"]}
    caplog.clear()
    with Engine(tmp_path) as engine:
        assert matched(engine) == list("bcdefgh") and not caplog.text


def test_closing_on_a_full_disk_is_told_and_loses_nothing(
    tmp_path: Path, full: Callable[[], pytest.MonkeyPatch], caplog: pytest.LogCaptureFixture
) -> None:
    with Engine(tmp_path) as engine:
        subscribed(engine, "ab")
    engine = Engine(tmp_path)
    subscribed(engine, "c")
    engine._index.compact()  # so that there is something to unlink
    patch = full()
    with pytest.raises(DataError, match="No space left"):
        engine.close()
    patch.undo()
    with Engine(tmp_path) as another:
        assert another._saver.is_owner  # the lock is free
        assert matched(another) == list("abc") and not caplog.text
        subscribed(another, "d")
    assert saved(tmp_path).keys() == {"lock", "manifest.json", *manifest(tmp_path)["segments"]}


def test_a_damaged_index_on_a_full_disk_opens(tmp_path: Path, full: Callable[[], pytest.MonkeyPatch]) -> None:
    with Engine(tmp_path) as engine:
        subscribed(engine, "ab")
    (tmp_path / "index" / "manifest.json").write_text("{")
    patch = full()
    engine = Engine(tmp_path)
    assert matched(engine) == ["a", "b"]
    patch.undo()
    engine.close()
    assert manifest(tmp_path)["version"] == 2


def test_an_index_that_another_engine_owns_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(saving, "SAVE_AFTER", 3)
    many = pa.table({"id": [f"m{i}" for i in range(1100)], "query": ["smoke"] * 1100})
    with Engine(tmp_path) as owner:
        subscribed(owner, "a")
        owner.compact()
        before = saved(tmp_path)
        with Engine(tmp_path) as guest:
            subscribed(guest, "bcdefg")
            guest.subscribe_many(many)
            guest.unsubscribe("b")
            guest.compact()
        assert saved(tmp_path) == before
        assert owner.refresh() == guest.stats().version and matched(owner) == list("acdefg")
    assert manifest(tmp_path)["version"] == owner.stats().version
    with Engine(tmp_path) as later:
        assert matched(later) == list("acdefg") and len(later) == 1106 and not caplog.text
