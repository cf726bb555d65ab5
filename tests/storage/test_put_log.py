"""Does a key space on disk hold what was written and not dropped, whenever its process ends, and is damage told?"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from shutil import copytree, ignore_patterns
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.model import DataError
from tidings.storage import MemorySpace, put_log, record_log, rocks
from tidings.storage.record_log import read_records
from tidings.storage.rocks import RocksSpace
from tidings.storage.spaces import KeySpace

BUCKETS = [10, 20, 30]
KEYS = [bytes([letter]) for letter in b"abcdef"]
PUTS = st.lists(
    st.tuples(st.sampled_from(BUCKETS), st.sampled_from(KEYS), st.binary(max_size=30)), min_size=1, max_size=4
)


def content(space: KeySpace) -> dict[int, list[tuple[bytes, bytes]]]:
    return {bucket: [*space.scan(bucket, b"", b"z")] for bucket in space.buckets()}


def killed(space: RocksSpace, folder: Path, other: Path) -> RocksSpace:
    """The key space as another process finds it when the one that had it open was killed."""
    copytree(folder, other, ignore=ignore_patterns("LOCK"))
    space._release()
    return RocksSpace(other)


@examples(20)
@given(st.data())
def test_a_key_space_on_disk_is_as_its_twin_in_memory_after_kills_too(data: st.DataObject) -> None:
    twin = MemorySpace()
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch, ExitStack() as last:
        for module, limit in ((put_log, "PART_BYTES"), (put_log, "MOST_BYTES"), (rocks, "WAITING_BYTES")):
            patch.setattr(module, limit, data.draw(st.sampled_from([60, 300, 1 << 20])))
        patch.setattr(rocks, "GIVEN", 3)
        folder = Path(name, "0")
        space = RocksSpace(folder)
        last.callback(lambda: space.close())  # noqa: PLW0108  # the one that is there by then
        for number in range(1, data.draw(st.integers(2, 30))):
            match data.draw(st.sampled_from(["write"] * 5 + ["read", "drop", "kill", "close"])):
                case "write":
                    puts = data.draw(PUTS)
                    for each in (space, twin):
                        each.write(puts)
                case "drop" if twin.buckets():
                    bucket = data.draw(st.sampled_from(twin.buckets()))
                    for each in (space, twin):
                        each.drop(bucket)
                case "kill":
                    space, folder = killed(space, folder, Path(name, str(number))), Path(name, str(number))
                case "close":
                    space.close()
                    space = RocksSpace(folder)
                case "read":
                    assert {k: v for k, v in content(space).items() if v} == content(twin)
        assert {k: v for k, v in content(space).items() if v} == content(twin)


def filled(folder: Path, patch: pytest.MonkeyPatch) -> RocksSpace:
    """A key space with a log of some parts."""
    patch.setattr(put_log, "PART_BYTES", 2_000)
    space = RocksSpace(folder)
    for number in range(100):
        space.write([(10, b"%d" % number, os.urandom(100))])
    return space


def parts_of(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{put_log.PART}*"))


def flip(file: Path, place: int) -> None:
    held = bytearray(file.read_bytes())
    held[place] ^= 0xFF
    file.write_bytes(held)


@pytest.mark.parametrize(
    "harm",
    [
        lambda parts: parts[1].unlink(),
        lambda parts: parts[-1].unlink(),
        lambda parts: flip(parts[1], 200),
        lambda parts: flip(parts[0], 3),  # the length of a record
        lambda parts: flip(parts[-1], 3),
        lambda parts: flip(parts[-1], [end for _, end in read_records(parts[-1])][1] + 2),
        lambda parts: os.truncate(parts[2], 500),
    ],
    ids=["no part", "no last part", "a record", "a length", "the first length", "a later length", "cut off"],
)
def test_a_log_that_lacks_something_is_refused(
    harm: Callable[[list[Path]], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = filled(tmp_path / "s", monkeypatch)
    copytree(tmp_path / "s", tmp_path / "copy", ignore=ignore_patterns("LOCK"))
    space.close()
    harm(parts_of(tmp_path / "copy"))
    with pytest.raises(DataError, match=r"cannot open the store in .*: .*(Corruption|missing)"):
        RocksSpace(tmp_path / "copy")


def test_a_key_space_that_was_closed_leaves_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = filled(tmp_path / "s", monkeypatch)
    assert len(parts_of(tmp_path / "s")) > 3
    space.close()
    assert [file.stat().st_size for file in parts_of(tmp_path / "s")] == [0]


def test_the_log_of_what_is_dropped_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = filled(tmp_path / "s", monkeypatch)
    space.write([(20, b"k", b"v")])
    space.drop(10)
    assert len(parts_of(tmp_path / "s")) == 1
    assert content(space) == {20: [(b"k", b"v")]}
    space.close()


def test_on_a_full_disk_nothing_accepted_is_lost_and_nothing_refused_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_log, "STEP_BYTES", 4096)
    monkeypatch.setattr(put_log, "PART_BYTES", 10_000)
    space, accepted, refused = RocksSpace(tmp_path / "s"), dict[bytes, bytes](), 0

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for number in range(400):
        with monkeypatch.context() as patch:
            if number % 50 > 20:
                patch.setattr(os, "pwrite", full)
            key = b"%d" % number
            try:
                space.write([(10, key, b"v" * 100)])
                accepted[key] = b"v" * 100
            except DataError as error:
                assert "No space left" in str(error)
                refused += 1
    assert refused > 50
    space = killed(space, tmp_path / "s", tmp_path / "copy")
    assert content(space) == {10: sorted(accepted.items())}
    space.close()


def test_with_sync_each_write_is_forced_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced, fdatasync = list[int](), os.fdatasync

    def force(file: int) -> None:
        forced.append(file)
        fdatasync(file)

    monkeypatch.setattr(os, "fdatasync", force)
    for sync, count in ((False, 0), (True, 2)):
        space = RocksSpace(tmp_path / str(sync), sync=sync)
        for number in range(2):
            space.write([(10, b"%d" % number, b"v")])
        assert len(forced) == count
        space.close()
