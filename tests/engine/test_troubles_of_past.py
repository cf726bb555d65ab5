"""What is told and kept when the disk is full, files are damaged or missing, clocks jump, or settings change?"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.engine.test_past import SECOND, START, Clock, file_all
from tidings.engine import Engine
from tidings.model import DataError, SubscriptionError
from tidings.storage import kept, kept_block, kept_rows

DAY = timedelta(days=1)
LIMITED = """
import resource, signal, sys
from datetime import timedelta
from tidings.engine import Engine
from tidings.model import DataError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
engine = Engine(sys.argv[1], keep=timedelta(days=1))
resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, resource.RLIM_INFINITY))
try:
    for number in range(1000):
        engine.publish(id=f"p{number}", text="fire " * 2000)
        print(f"p{number}", flush=True)
except DataError as error:
    print(error, file=sys.stderr)
"""


def past(engine: Engine, since: datetime = START) -> list[str]:
    return [match.publication_id for match in engine.subscribe("fire", since=since).past]


def fill(engine: Engine, clock: Clock, names: str) -> None:
    for name in names:
        engine.publish(id=name, text="fire")
        clock.now += SECOND


def full(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part is full after two publications."""
    monkeypatch.setattr(kept, "PART_BYTES", 100)


def files(folder: Path, kind: str) -> list[Path]:
    return sorted(path for path in (folder / "past").iterdir() if path.name.startswith(kind))


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("broken", [(os, "pwrite"), (kept, "replace_json"), (kept, "RecordLog")])
def test_on_a_full_disk_a_publication_is_refused_and_none_is_lost(
    tmp_path: Path, broken: tuple[Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    with Engine(tmp_path, clock=clock, keep=DAY) as engine:
        fill(engine, clock, "abcd")
        with monkeypatch.context() as patch:
            patch.setattr(*broken, full)
            for _ in range(2):
                with pytest.raises(DataError, match=r"cannot keep .* No space left"):
                    fill(engine, clock, "ef")
            before = past(engine)
            assert before in (list("dcba"), list("edcba"))
        fill(engine, clock, "gh")
        assert past(engine) == ["h", "g", *before]
    with Engine(tmp_path, clock=clock, keep=DAY) as engine:
        assert past(engine) == ["h", "g", *before] and engine.subscribe("fire", since=START).complete


@pytest.mark.usefixtures("small_parts")
def test_a_part_that_cannot_become_a_file_stays_in_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    with Engine(tmp_path, clock=clock, keep=DAY) as engine, monkeypatch.context() as patch:
        patch.setattr(kept_block, "write_arrays", full)
        fill(engine, clock, "abcdef")
        with pytest.raises(OSError, match="No space left"):
            file_all(engine)
        assert past(engine) == list("fedcba")
    with Engine(tmp_path, clock=clock, keep=DAY) as engine:
        assert past(engine) == list("fedcba")
        file_all(engine)
        assert past(engine) == list("fedcba") and len(files(tmp_path, "block-")) == 2


@pytest.mark.thorough
def test_a_limit_on_files_is_a_full_disk(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", LIMITED, tmp_path], capture_output=True, text=True, check=True)
    accepted = ran.stdout.split()
    assert "cannot keep a publication" in ran.stderr and len(accepted) > 100
    with Engine(tmp_path, keep=DAY) as engine:
        assert past(engine, datetime(2000, 1, 1, tzinfo=UTC)) == accepted[::-1]


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[100] ^= 255
    path.write_bytes(content)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("damage", [cut, flip, Path.unlink], ids=["cut", "flipped", "missing"])
@pytest.mark.parametrize(("which", "left"), [(0, "fedc"), (1, "feba"), (2, "dcba")])
def test_damage_is_told_and_the_rest_is_there(
    tmp_path: Path, damage: Callable[[Path], None], which: int, left: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    with Engine(tmp_path, clock=clock, keep=DAY) as engine:
        fill(engine, clock, "abcdefgh")
        file_all(engine)
    for log in files(tmp_path, "log-"):
        log.unlink()
    damage(files(tmp_path, "block-")[which])
    with Engine(tmp_path, clock=clock, keep=DAY) as engine:
        found = engine.subscribe("fire", since=START)
        assert "missing" in caplog.text or "damaged" in caplog.text
        assert [match.publication_id for match in found.past] == list(left) and not found.complete
        fill(engine, clock, "x")
        assert past(engine) == ["x", *left] and engine.subscribe("fire", since=clock.now - SECOND).complete
    with Engine(tmp_path, clock=clock, keep=DAY) as engine:
        assert past(engine) == ["x", *left] and not engine.subscribe("fire", since=START).complete


def test_a_damaged_log_is_set_aside_and_its_sound_part_is_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    with Engine(tmp_path, clock=clock, keep=DAY) as engine:
        fill(engine, clock, "abc")
    flip(files(tmp_path, "log-")[0])  # within b
    for _ in range(2):
        with Engine(tmp_path, clock=clock, keep=DAY) as engine:
            found = engine.subscribe("fire", since=START)
            assert [match.publication_id for match in found.past][-1] == "a" and not found.complete
            fill(engine, clock, "x")
    assert caplog.text.count("is damaged after 1 publications") == 1 and files(tmp_path, "damaged-log-")


@pytest.mark.parametrize("damage", [cut, Path.unlink], ids=["cut", "missing"])
def test_without_its_page_the_past_is_not_complete(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    clock = Clock()
    with Engine(tmp_path, clock=clock, keep=DAY) as engine:
        fill(engine, clock, "abc")
    damage(tmp_path / "past" / "past.json")
    with Engine(tmp_path, clock=clock, keep=DAY) as engine:
        found = engine.subscribe("fire", since=START)
        assert [match.publication_id for match in found.past] == list("cba") and not found.complete


def test_a_store_that_is_gone_is_a_past_that_begins_now(tmp_path: Path) -> None:
    clock = Clock()
    with Engine(tmp_path, clock=clock, keep=DAY) as engine:
        fill(engine, clock, "abc")
    for path in (tmp_path / "past").iterdir():
        path.unlink()
    with Engine(tmp_path, clock=clock, keep=DAY) as engine:
        found = engine.subscribe("fire", since=START)
        assert found.past == () and not found.complete


@pytest.mark.parametrize("in_folder", [False, True])
def test_a_clock_that_jumps_makes_neither_gap_nor_double(tmp_path: Path, in_folder: bool) -> None:
    clock, hour = Clock(), timedelta(hours=1)
    engine = Engine(tmp_path if in_folder else None, clock=clock, keep=DAY)
    got = list[str]()
    for number, jump in enumerate([0, -5, 7, -3, 2]):
        clock.now += jump * hour
        fill(engine, clock, f"{number}")
        found = engine.subscribe("fire", id=f"s{number}", since=START - DAY)
        got += [match.publication_id for match in found.past]
        assert sorted(match.publication_id for match in found.past) == [str(n) for n in range(number + 1)]
        assert found.past[0].publication_id == str(number)  # the newest is the one that came last
    clock.now += 30 * hour
    fill(engine, clock, "z")
    found = engine.subscribe("fire", since=START - DAY)
    assert [match.publication_id for match in found.past] == ["z"] and not found.complete
    clock.now -= 30 * hour
    fill(engine, clock, "y")
    found = engine.subscribe("fire", since=START - DAY)
    assert [match.publication_id for match in found.past] == ["y", "z"] and not found.complete
    engine.close()


def test_since_in_the_future_has_no_past_and_since_after_until_is_refused() -> None:
    clock = Clock()
    engine = Engine(clock=clock, keep=DAY)
    fill(engine, clock, "ab")
    found = engine.subscribe("fire", id="s1", since=clock.now + 5 * SECOND)
    assert found.past == () and found.complete
    fill(engine, clock, "c")
    assert not list(engine.publish(id="d", text="fire"))
    clock.now += 9 * SECOND
    assert [match.subscription_id for match in engine.publish(id="e", text="fire")] == ["s1"]
    with pytest.raises(SubscriptionError, match="not after it begins"):
        engine.subscribe("fire", since=clock.now, until=clock.now - SECOND)
    ended = engine.subscribe("fire", since=START, until=START + SECOND)
    assert [match.publication_id for match in ended.past] == ["a"]


def test_keep_may_be_made_shorter_and_longer_between_starts(tmp_path: Path) -> None:
    clock = Clock()
    with Engine(tmp_path, clock=clock, keep=80 * SECOND) as engine:
        for number in range(100):
            fill(engine, clock, "a" if number % 2 else "b")
        assert len(past(engine)) >= 80
    with Engine(tmp_path, clock=clock, keep=8 * SECOND) as engine:
        assert 8 <= len(past(engine)) <= 20
        assert engine.subscribe("fire", since=clock.now - 8 * SECOND).complete
        assert not engine.subscribe("fire", since=clock.now - 60 * SECOND).complete
    with Engine(tmp_path, clock=clock, keep=DAY) as engine:
        begins = clock.now - 8 * SECOND
        for _ in range(100):
            fill(engine, clock, "c")
        assert engine.subscribe("fire", since=begins).complete and len(past(engine, begins)) == 108
        assert not engine.subscribe("fire", since=START).complete


def test_a_table_is_kept_whole(tmp_path: Path) -> None:
    with Engine(tmp_path, keep=DAY) as engine:
        engine.match(pa.table({"id": ["a", "b", None], "text": ["fire", "smoke", "fire"], "tags": [["x"], None, []]}))
        engine.publish(id="c", text="fire")
    with Engine(tmp_path, keep=DAY) as engine:
        found = engine.subscribe("fire OR tags:x", since=START.replace(year=2000))
        assert [match.publication_id for match in found.past] == ["c", "a"]


def test_a_file_that_was_half_written_is_removed(tmp_path: Path) -> None:
    with Engine(tmp_path, keep=timedelta(days=1)) as engine:
        engine.publish(id="p", text="fire")
    left = tmp_path / "past" / "block-00000000000000000000.0123.tmp"
    left.write_bytes(b"half")
    with Engine(tmp_path, keep=timedelta(days=1)) as engine:
        assert (
            not left.exists() and len(engine.subscribe("fire", id="s", since=START - 365 * 86_400 * SECOND).past) == 1
        )


def test_what_another_version_has_kept_is_told_and_not_taken_for_the_past(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page, a block and a log of other formats, and a file that no tidings of today writes."""
    clock = Clock()

    def opened(names: str) -> tuple[list[str], bool]:
        caplog.clear()
        with Engine(tmp_path, clock=clock, keep=DAY) as engine:
            fill(engine, clock, names)
            file_all(engine)
            found = engine.subscribe("fire", since=START)
            return [match.publication_id for match in found.past], found.complete

    with monkeypatch.context() as patch:
        patch.setattr(kept, "PART_BYTES", 100)
        assert opened("abcd") == (list("dcba"), True) and not caplog.text
    (tmp_path / "past" / "list-0.kept").write_text("of old")
    with monkeypatch.context() as patch:
        patch.setattr(kept, "FORMAT", 2)
        assert opened("") == (list("dcba"), False) and "it has the format 1, this tidings reads 2" in caplog.text
        assert "list-0.kept in" in caplog.text and "is left alone" in caplog.text
    with monkeypatch.context() as patch:
        patch.setattr(kept_block, "FORMAT", 2)
        assert opened("e") == (list("edc"), False) and "this tidings reads 2" in caplog.text
    with monkeypatch.context() as patch:
        patch.setattr(kept_rows, "_ONE", b"q")
        assert opened("f") == (["f"], False) and "was kept as b'p', which this tidings does not know" in caplog.text
