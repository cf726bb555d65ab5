"""Is whatever somebody gives an engine used rightly, or refused in one sentence?"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tidings.engine import Engine
from tidings.model import DataError, PublicationError, QueryError, SubscriptionError, TidingsError
from tidings.registry import Registry

Step = Callable[[Any], object]


@pytest.fixture(params=[False, True], ids=["in memory", "in a folder"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with Engine(tmp_path / "folder" if request.param else None) as engine:
        engine.subscribe("fire", id="s1")
        yield engine


def broken_text() -> pa.Array:
    """One text whose second byte is no UTF-8."""
    offsets, data = pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"a\xff")
    return pa.Array.from_buffers(pa.string(), 1, [None, offsets, data])


@pytest.mark.parametrize("name", ["id", "query", "tag"])
def test_broken_utf_8_in_a_small_table_is_rejected_with_the_reason(engine: Engine, name: str) -> None:
    columns = {"id": ["x"], "query": ["fire"], "tag": [""]} | {name: broken_text()}
    receipt = engine.subscribe_many(pa.table(columns))
    assert [row.reason for row in receipt.rejected] == [f"its {name} is not valid UTF-8"]
    assert receipt.accepted == 0 and len(engine) == 1


@pytest.mark.parametrize("ids", [pa.array(["s1"]), pa.chunked_array([["s1"], ["s1"]]), {"s1": 1}.keys(), ("s1", "s1")])
def test_ids_are_given_up_however_they_come(engine: Engine, ids: Any) -> None:
    assert engine.unsubscribe_many(ids) == 1 and len(engine) == 0


@pytest.mark.parametrize("ids", ["s1", b"s1", None, 5, [1.5], pa.table({"id": ["s1"]})])
def test_what_is_no_list_of_ids_is_refused(engine: Engine, ids: Any) -> None:
    with pytest.raises(DataError, match=r"ids|text"):
        engine.unsubscribe_many(ids)
    assert len(engine) == 1


REFUSED: list[tuple[type[TidingsError], str, Step]] = [
    (QueryError, "got None", lambda e: e.subscribe(None)),
    (QueryError, "got b'fire'", lambda e: e.subscribe(b"fire")),
    (SubscriptionError, "not a datetime", lambda e: e.subscribe("fire", until=date(2020, 1, 1))),
    (DataError, "subscriptions come as a pyarrow.Table, got a dict", lambda e: e.subscribe_many({"id": ["a"]})),
    (DataError, "subscriptions come as a pyarrow.Table, got a list", lambda e: e.subscribe_many([], dry_run=True)),
    (DataError, "publications come as a pyarrow.Table, got a NoneType", lambda e: e.match(None)),
    (PublicationError, "its topic is a text, or several", lambda e: e.publish(id="p", topic=5)),
]


@pytest.mark.parametrize(("error", "problem", "step"), REFUSED)
def test_a_wrong_type_is_told_in_a_sentence(
    engine: Engine, error: type[TidingsError], problem: str, step: Step
) -> None:
    with pytest.raises(error, match=problem):
        step(engine)


def test_no_topic_is_no_topic(engine: Engine) -> None:
    assert [match.subscription_id for match in engine.publish(id="p", text="fire", topic=None)] == ["s1"]


def test_a_record_batch_is_a_table(engine: Engine) -> None:
    assert len(engine.match(pa.record_batch({"id": ["p"], "text": ["fire"]}))) == 1
    assert engine.subscribe_many(pa.record_batch({"id": ["x"], "query": ["rain"]})).accepted == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"path": 5}, "folder is named by a text or a Path, got 5"),
        ({"sample": "posts"}, "for a sample come as a pyarrow.Table, got a str"),
        ({"analyser": "english"}, "analyser is a tidings.Analyser, got 'english'"),
        ({"expire_after": 5}, "expire_after is a timedelta or None, got 5"),
    ],
)
def test_an_engine_of_wrong_types_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        Engine(**options)


WRONG_CALLS: list[Callable[[], object]] = [
    lambda: tidings.evaluate("fire", tidings.Publication("p", "fire")),  # type: ignore[arg-type]
    lambda: tidings.evaluate(tidings.parse("fire"), "fire"),  # type: ignore[arg-type]
    lambda: tidings.explain("fire", tidings.Publication("p", "fire")),  # type: ignore[arg-type]
    lambda: tidings.explain(tidings.parse("fire"), None),  # type: ignore[arg-type]
    lambda: tidings.covers("fire", "fire"),  # type: ignore[arg-type]
    lambda: tidings.to_text("fire"),  # type: ignore[arg-type]
    lambda: tidings.to_text(None),  # type: ignore[arg-type]
    lambda: tidings.parse("fire", analyser="english"),  # type: ignore[arg-type]
    lambda: tidings.Analyser(stop_words=frozenset([1])),  # type: ignore[list-item]
    lambda: Registry(None),  # type: ignore[arg-type]
    lambda: Registry("new", analyser="english"),  # type: ignore[arg-type]
    lambda: Registry("new").add([1]),
    lambda: Registry("new").remove(None),
    lambda: Registry("new").snapshot("1"),  # type: ignore[arg-type]
    lambda: Registry("new").changes(0.5),  # type: ignore[arg-type]
    lambda: Registry("new").expire("now"),  # type: ignore[arg-type]
    lambda: Registry("new").tidy("now"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("call", WRONG_CALLS)
def test_public_functions_refuse_wrong_types_with_an_error_of_ours(
    call: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TidingsError, match=r"got|come"):
        call()
    assert not list(tmp_path.iterdir())


FOREIGN = [
    *({"version": version} for version in (True, "3", -2, 1 << 70, None, 1.0)),
    *({"segments": names} for names in ([5], [None], ["../lock"], "segment", {"a": 1}, [["x"]])),
]


@pytest.mark.parametrize("values", FOREIGN, ids=str)
def test_a_manifest_with_foreign_values_is_told_and_the_index_built_again(
    values: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Engine(tmp_path) as engine:
        engine.subscribe("fire", id="s1")
    manifest = tmp_path / "index" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | values))
    with Engine(tmp_path) as engine:
        assert len(engine.publish(id="p", text="fire")) == 1
    assert "the index is built again" in caplog.text


def test_a_folder_that_cannot_be_written_is_good_for_matching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Engine(tmp_path) as engine:
        engine.subscribe("fire", id="s1", until=None)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    usual_open, usual_mkdir = Path.open, Path.mkdir

    def read_only_open(path: Path, mode: str = "r", *args: Any, **options: Any) -> Any:
        if "r" not in mode and path.is_relative_to(tmp_path):
            raise PermissionError(30, "Read-only file system", str(path))
        return usual_open(path, mode, *args, **options)

    def read_only_mkdir(path: Path, *args: Any, **options: Any) -> None:
        if path.is_relative_to(tmp_path) and not path.exists():
            raise PermissionError(30, "Read-only file system", str(path))
        usual_mkdir(path, *args, **options)

    monkeypatch.setattr(Path, "open", read_only_open)
    monkeypatch.setattr(Path, "mkdir", read_only_mkdir)
    with Engine(tmp_path, expire_after=timedelta(0)) as engine:
        assert len(engine.publish(id="p", text="fire")) == 1
        with pytest.raises(DataError, match="cannot write to the folder"):
            engine.subscribe("smoke")
        assert len(engine) == 1
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
