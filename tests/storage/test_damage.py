"""Is there a clear word, and never silence, where a store is damaged, lacks a part, or its clock jumps?"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.storage.plain import ManualClock, compact, ids_of
from tidings.model import DataError
from tidings.storage import DualDB, LabelStore
from tidings.storage.record_log import read_records
from tidings.storage.rocks import RocksSpace

COUNT = 500


def opened(folder: Path, clock: ManualClock | None = None) -> LabelStore:
    return DualDB(RocksSpace(folder), clock or ManualClock(), width=8, memory_bytes=0)


def filled(folder: Path) -> RocksSpace:
    """A store with publications that never end."""
    space = RocksSpace(folder)
    store = DualDB(space, ManualClock(), width=8, memory_bytes=0)
    for number in range(COUNT):
        store.publish(b"x", f"p{number}", body=os.urandom(100))
    return space


def largest(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern), key=lambda file: file.stat().st_size)


def damage(file: Path) -> None:
    """Change some bytes in the middle of what was written."""
    held = bytearray(file.read_bytes())
    middle = len(held.rstrip(b"\0")) // 2
    for place in range(middle, middle + 20):
        held[place] ^= 0xFF
    file.write_bytes(held)


def test_a_damaged_block_is_refused_when_it_is_read(tmp_path: Path) -> None:
    space = filled(tmp_path / "s")
    compact([space])
    space.close()
    damage(largest(tmp_path / "s", "*.sst"))
    with opened(tmp_path / "s") as store, pytest.raises(DataError, match=r"cannot read the store in .*: Corruption"):
        store.subscribe(b"x", "s", 0)


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: (folder / "CURRENT").write_text("nothing\n"),
        lambda folder: largest(folder, "*.sst").unlink(),
        lambda folder: os.truncate(largest(folder, "*.sst"), 1_000),
        lambda folder: largest(folder, "MANIFEST*").unlink(),
    ],
    ids=["no current", "no table", "half a table", "no manifest"],
)
def test_a_store_that_lacks_a_part_is_refused_when_it_is_opened(harm: Callable[[Path], object], tmp_path: Path) -> None:
    space = filled(tmp_path / "s")
    compact([space])
    space.close()
    harm(tmp_path / "s")
    with pytest.raises(DataError, match="cannot open the store in"):
        opened(tmp_path / "s")


def copy_of_log(space: RocksSpace, folder: Path, other: Path) -> Path:
    """The folder as it is while the store is open: as a killed process leaves it."""
    other.mkdir()
    for file in folder.iterdir():
        if file.name != "LOCK":
            (other / file.name).write_bytes(file.read_bytes())
    space.close()
    return largest(other, "puts-*")


def test_a_log_that_is_damaged_in_the_middle_is_refused(tmp_path: Path) -> None:
    damage(copy_of_log(filled(tmp_path / "s"), tmp_path / "s", tmp_path / "copy"))
    with pytest.raises(DataError, match=r"cannot open the store in .*: Corruption"):
        opened(tmp_path / "copy")


def test_of_a_log_that_was_cut_off_only_the_last_write_is_gone(tmp_path: Path) -> None:
    log = copy_of_log(filled(tmp_path / "s"), tmp_path / "s", tmp_path / "copy")
    os.truncate(log, [end for _, end in read_records(log)][-1] - 50)
    with opened(tmp_path / "copy") as store:
        posts, _ = ids_of(store.subscribe(b"x", "s", 0))
    assert posts == [f"p{number}" for number in reversed(range(COUNT - 1))]


def test_a_missing_store_is_made_anew(tmp_path: Path) -> None:
    with opened(tmp_path / "deep" / "s") as store:
        assert ids_of(store.subscribe(b"x", "s", 0)) == ([], [])


def test_after_a_clock_that_jumped_ahead_and_back_what_never_ends_is_found(tmp_path: Path) -> None:
    clock = ManualClock()
    with opened(tmp_path / "s", clock) as store:
        store.publish(b"x", "short", clock.now + 20)
        store.publish(b"x", "long")
        clock.now += 10**15
        assert ids_of(store.subscribe(b"x", "later", 0))[0] == ["long"]
        clock.now -= 10**15
        assert ids_of(store.subscribe(b"x", "back", 0))[0] == ["long"]
        assert ids_of(store.publish(b"x", "post"))[1] == ["back", "later"]
