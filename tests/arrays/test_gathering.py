"""Texts that are gathered sixteen bytes at a time are those that Arrow takes, to the last byte of their memory."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.arrays import gathering
from tidings.arrays.gathering import gathered
from tidings.arrays.growing import read_only
from tidings.arrays.strings import text_bytes


@given(st.lists(st.text(max_size=40), min_size=1, max_size=20), st.data(), st.sampled_from([np.int32, np.int64]))
def test_gathered_texts_are_those_that_arrow_takes(texts: list[str], data: st.DataObject, kind: type) -> None:
    column = pa.array(texts, data.draw(st.sampled_from([pa.string(), pa.large_string()])))
    column = column.slice(data.draw(st.integers(0, len(texts) - 1)))
    numbers: npt.NDArray[Any] = np.array(data.draw(st.lists(st.integers(0, len(column) - 1), max_size=60)), dtype=kind)
    bytes_, offsets = text_bytes(column)
    for text in (pa.string(), pa.large_string()):
        found = gathered(offsets, bytes_, numbers, text)
        found.validate(full=True)
        assert found.equals(column.take(pa.array(numbers)).cast(text))


def test_nothing_is_read_beyond_the_end_of_a_mapped_file(tmp_path: Path) -> None:
    """A file of whole pages is followed by memory that is not there: who reads it is killed."""
    file = tmp_path / "texts"
    file.write_bytes(b"x" * mmap.PAGESIZE)
    mapped = np.memmap(file, dtype=np.uint8, mode="r")
    offsets = np.arange(0, mmap.PAGESIZE + 1, 8, dtype=np.int64)
    numbers = np.arange(len(offsets) - 1, dtype=np.int32)[::-1].copy()
    assert set(gathered(offsets, np.asarray(mapped), numbers, pa.string()).to_pylist()) == {"x" * 8}


def test_a_few_rows_of_a_giant_column_take_no_more_room_than_they_need() -> None:
    column = pa.array(["x" * (1 << 21), "fire"])
    for texts, number in ((column, 1), (column.slice(1), 0)):
        data, offsets = text_bytes(texts)
        many = np.full(1 << 20, number)  # times the bytes of the column it would be terabytes
        assert len(gathered(offsets, data, many, pa.string())) == 1 << 20


def test_what_does_not_fit_is_refused_as_arrow_does(monkeypatch: pytest.MonkeyPatch) -> None:
    data, offsets = text_bytes(pa.array(["fire"], pa.large_string()))
    twice = np.zeros(2, dtype=np.int32)
    monkeypatch.setattr(gathering, "MOST_BYTES", 7)
    assert gathered(offsets, data, twice, pa.large_string()).to_pylist() == ["fire", "fire"]
    with pytest.raises(pa.ArrowInvalid, match="2 texts of 8 bytes"):
        gathered(offsets, data, twice, pa.string())


def test_nothing_is_written_behind_the_room_that_there_is() -> None:
    data = read_only(np.frombuffer(b"x" * 100, dtype=np.uint8))
    offsets, numbers = read_only(np.arange(101)), np.zeros(8, dtype=np.int32)
    around = np.full(100, 7, dtype=np.uint8)
    texts = around[: len(numbers) + gathering._AT_ONCE]
    assert gathering._gather(offsets, data, numbers, np.empty(9, dtype=np.int32), texts) == 8
    assert bytes(texts[:8]) == b"x" * 8 and np.all(around[len(texts) :] == 7)
