"""Does a record outlive its process, whole or not at all?"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.model import DataError
from tidings.storage import record_log
from tidings.storage.record_log import RecordLog, is_damaged, read_records

RECORDS = st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=8)
SIZE = st.sampled_from([3, 700, 5_000, 9_000])
FATE = st.sampled_from(["whole", "whole", "full", "reopened"])
ANY = bytes(range(256))


def written(path: Path, records: list[bytes], position: int = 0) -> None:
    path.unlink(missing_ok=True) if position == 0 else None
    log = RecordLog(path, position)
    for record in records:
        log.append(record)
    log.close()


def read(path: Path, position: int = 0) -> list[bytes]:
    return [record for record, _ in read_records(path, position)]


@examples(100)
@given(RECORDS, RECORDS, st.integers(0, 8))
def test_what_is_appended_is_read_from_any_position(
    tmp_path_factory: pytest.TempPathFactory, first: list[bytes], then: list[bytes], skipped: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    written(path, first)
    ends = [0, *(end for _, end in read_records(path))]
    written(path, then, ends[-1])
    assert read(path) == first + then
    start = min(skipped, len(first))
    assert read(path, ends[start]) == (first + then)[start:] and not is_damaged(path, [*read_records(path)][-1][1], ANY)


@examples(100)
@given(RECORDS, st.data())
def test_a_record_that_was_being_written_is_not_there_and_the_next_one_is(
    tmp_path_factory: pytest.TempPathFactory, records: list[bytes], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    written(path, records)
    ends = [0, *(end for _, end in read_records(path))]
    content = bytearray(path.read_bytes())
    torn = data.draw(st.integers(ends[-2], ends[-1] - 1))
    content[torn : ends[-1]] = bytes(ends[-1] - torn)
    path.write_bytes(content)
    found = read(path)
    assert found == records[:-1] or found == records  # it may have ended with zeros
    assert not is_damaged(path, ends[len(found)], ANY)
    written(path, [b"next"], ends[len(found)])
    assert read(path) == [*found, b"next"]


@pytest.mark.parametrize("bit", range(8 * (8 + len(b"two"))))
def test_a_damaged_record_before_a_whole_one_is_known_whichever_bit_it_is(tmp_path: Path, bit: int) -> None:
    """Of its length, its checksum or its bytes."""
    written(tmp_path / "log", [b"one", b"two", b"three"])
    ends = [end for _, end in read_records(tmp_path / "log")]
    content = bytearray((tmp_path / "log").read_bytes())
    content[ends[0] + bit // 8] ^= 1 << bit % 8
    (tmp_path / "log").write_bytes(content)
    assert read(tmp_path / "log") == [b"one"] and is_damaged(tmp_path / "log", ends[0], b"ot")


def test_a_full_disk_is_told_and_the_record_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = RecordLog(tmp_path / "log")
    log.append(b"one")

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        log.append(b"there is room for this one")
        with pytest.raises(DataError, match=r"cannot keep a publication .* No space left"):
            log.append(bytes([7]) * record_log.STEP_BYTES)
    log.append(b"two")
    log.close()
    assert read(tmp_path / "log") == [b"one", b"there is room for this one", b"two"]


@examples(60)
@given(st.lists(st.tuples(SIZE, FATE), min_size=1, max_size=12))
def test_large_records_and_small_ones_are_read_in_order_and_none_of_those_that_failed(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[int, str]]
) -> None:
    path, written_whole, pwrite = tmp_path_factory.mktemp("log") / "log", list[bytes](), os.pwrite

    def full(file: int, content: bytes, at: int) -> int:
        """Half of it fits, and nothing more."""
        pwrite(file, content[: len(content) // 2], at)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_log, "STEP_BYTES", 4096)
        patch.setattr(record_log, "LARGE_BYTES", 4096)
        log = RecordLog(path)
        for number, (size, fate) in enumerate(records):
            record = bytes([number + 1]) * size
            match fate:
                case "full" if size >= 4096:
                    with patch.context() as broken, pytest.raises(DataError, match="No space left"):
                        broken.setattr(os, "pwrite", full)
                        log.append(record)
                    continue
                case "reopened":
                    log.close()
                    log = RecordLog(path, [0, *(end for _, end in read_records(path))][-1])
            log.append(record)
            written_whole.append(record)
            found = [*read_records(path)]
            assert [each for each, _ in found] == written_whole and not is_damaged(path, found[-1][1], ANY)
        log.close()
