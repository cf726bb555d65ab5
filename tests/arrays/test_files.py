"""Files of arrays: there whole or not at all, opened without being read, and refused in plain words when damaged.

``python -m tests.arrays.test_files`` writes the golden file again: only for a new format, with a new name.
"""

from __future__ import annotations

import json
import os
import stat
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.arrays.files import JSON, ArrayFile, open_arrays, write_arrays
from tidings.model import DataError

GOLDEN = Path(__file__).with_name("golden") / "arrays-1.tidings"
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float64")
META: dict[str, JSON] = {
    "version": 7,
    "names": ["fire", "café"],
    "nothing": None,
    "nested": {"share": 0.25, "whole": True},
}


def golden_arrays() -> dict[str, npt.NDArray[Any]]:
    extremes: dict[str, npt.NDArray[Any]] = {
        kind: np.array([np.iinfo(kind).min, 1, np.iinfo(kind).max], dtype=kind) for kind in DTYPES[1:-1]
    }
    return extremes | {
        "bool": np.array([True, False, True]),
        "float64": np.array([-0.0, 0.1, np.inf, np.nan]),
        "table": np.arange(6, dtype=np.int32).reshape(2, 3),
        "no rows": np.zeros((0, 3), dtype=np.uint16),
        "empty": np.zeros(0, dtype=np.int64),
    }


def write_golden() -> None:
    GOLDEN.parent.mkdir(exist_ok=True)
    write_arrays(GOLDEN, golden_arrays(), META)


def assert_same(file: ArrayFile, arrays: dict[str, npt.NDArray[Any]]) -> None:
    assert list(file.arrays) == list(arrays)
    for name, array in arrays.items():
        found = file.arrays[name]
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert found.tobytes() == array.tobytes()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "arrays.tidings"
    write_arrays(path, golden_arrays(), META)
    return path


def test_format_1_can_always_be_read() -> None:
    file = open_arrays(GOLDEN)
    file.verify()
    assert_same(file, golden_arrays())
    assert file.meta == META


def test_the_same_content_is_written_as_the_same_bytes(path: Path) -> None:
    assert path.read_bytes() == GOLDEN.read_bytes()


@examples(40)
@given(st.data())
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    arrays = {}
    for name in data.draw(st.lists(st.text(max_size=5), unique=True, max_size=5)):
        shape = tuple(data.draw(st.lists(st.integers(0, 20), min_size=1, max_size=2)))
        dtype = np.dtype(data.draw(st.sampled_from(DTYPES)))
        size_bytes = int(np.prod(shape)) * dtype.itemsize
        raw = data.draw(st.binary(min_size=size_bytes, max_size=size_bytes))
        if dtype.kind == "b":
            raw = bytes(byte & 1 for byte in raw)
        arrays[name] = np.frombuffer(raw, dtype=dtype).reshape(shape)
    meta = data.draw(st.dictionaries(st.text(max_size=3), st.text() | st.integers() | st.lists(st.booleans())))
    path = tmp_path_factory.mktemp("arrays") / "any.tidings"
    write_arrays(path, arrays, meta)
    file = open_arrays(path)
    file.verify()
    assert_same(file, arrays)
    assert file.meta == meta
    assert file.path == path
    assert file.size_bytes == path.stat().st_size


def test_arrays_are_aligned_and_cannot_be_written_to(path: Path) -> None:
    for array in open_arrays(path).arrays.values():
        assert array.ctypes.data % 64 == 0
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            array.setflags(write=True)


def test_an_array_that_is_not_contiguous_is_written_as_it_reads(tmp_path: Path) -> None:
    table = np.arange(12).reshape(3, 4)
    write_arrays(tmp_path / "a", {"turned": table.T, "every other": table[0, ::2]}, {})
    file = open_arrays(tmp_path / "a")
    assert file.arrays["turned"].tolist() == table.T.tolist()
    assert file.arrays["every other"].tolist() == [0, 2]


@examples(40)
@given(st.lists(st.lists(st.integers(-9, 9), max_size=5), min_size=1, max_size=4))
def test_an_array_in_pieces_is_written_as_one(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[list[int]]
) -> None:
    cut = [np.array(piece, dtype=np.int64) for piece in pieces]
    folder = tmp_path_factory.mktemp("pieces")
    write_arrays(folder / "cut", {"a": cut, "b": np.arange(3)}, META)
    write_arrays(folder / "whole", {"a": np.concatenate(cut), "b": np.arange(3)}, META)
    assert (folder / "cut").read_bytes() == (folder / "whole").read_bytes()


def test_pieces_of_several_types_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot write array 'a'"):
        write_arrays(tmp_path / "file", {"a": [np.zeros(2), np.zeros(2, dtype=np.int64)]}, META)


def test_opening_reads_no_array(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1  # in an array: only reading it could tell
    path.write_bytes(raw)
    open_arrays(path)


def test_a_replaced_file_goes_on_for_those_who_have_it_open(path: Path) -> None:
    before = open_arrays(path)
    write_arrays(path, {"other": np.arange(3)}, {})
    before.verify()
    assert_same(before, golden_arrays())
    assert list(open_arrays(path).arrays) == ["other"]


def test_arrays_outlive_their_file(path: Path) -> None:
    table = open_arrays(path).arrays["table"]
    path.unlink()
    assert table.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os if step == "fsync" else Path, step, fail)
        with pytest.raises(DataError, match=r"cannot write .*arrays\.tidings.*No space left"):
            write_arrays(path, {"other": np.arange(3)}, {})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_the_content_is_on_disk_before_the_name_and_the_name_before_the_return(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    replace = Path.replace

    def note_fsync(descriptor: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")

    def note_replace(temporary: Path, target: Path) -> Path:
        steps.append("replace")
        return replace(temporary, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", note_fsync)
        patch.setattr(Path, "replace", note_replace)
        write_arrays(path, {}, {})
    assert steps == ["file", "replace", "folder"]


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(2, dtype=">i4"), np.zeros(2, dtype=np.float32), np.zeros(2, dtype=object), np.array(["a"]),
        np.zeros((1, 1, 1)), np.array(1),
    ],
)  # fmt: skip
def test_an_array_that_the_format_does_not_know_is_refused(tmp_path: Path, array: npt.NDArray[Any]) -> None:
    with pytest.raises(DataError, match=r"array 'odd' .* dimensions; make it 1 or 2 of"):
        write_arrays(tmp_path / "a", {"odd": array}, {})
    assert not list(tmp_path.iterdir())


def test_a_missing_file_and_a_folder_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file '.*gone'; .*build"):
        open_arrays(tmp_path / "gone")
    with pytest.raises(DataError, match=r"cannot open '.*': Is a directory"):
        open_arrays(tmp_path)
    with pytest.raises(DataError, match=r"cannot write '.*gone/a': No such file or directory"):
        write_arrays(tmp_path / "gone" / "a", {}, {})


@pytest.mark.parametrize("content", [b"", b"tidings\0", b"PAR1" + bytes(100), b"x" * 31])
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "foreign").write_bytes(content)
    with pytest.raises(DataError, match=r"'.*foreign' is not a file of tidings; check the path"):
        open_arrays(tmp_path / "foreign")


@pytest.mark.parametrize(
    ("number", "message"),
    [(2, "by a newer tidings .format 2, this one reads 1.; update"), (0, "by an older tidings .*; build it again")],
)
def test_another_format_is_refused(path: Path, number: int, message: str) -> None:
    raw = bytearray(path.read_bytes())
    raw[8:12] = struct.pack("<I", number)
    path.write_bytes(raw)
    with pytest.raises(DataError, match=message):
        open_arrays(path)


def test_a_file_of_any_other_length_is_refused(path: Path) -> None:
    write_arrays(path, {"a": np.arange(3)}, {})
    whole = path.read_bytes()
    for size_bytes in range(len(whole)):
        path.write_bytes(whole[:size_bytes])
        with pytest.raises(DataError, match="not a file of tidings" if size_bytes < 32 else "cut off: it has"):
            open_arrays(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(DataError, match="longer than it was written"):
        open_arrays(path)


def test_every_changed_bit_of_header_and_directory_is_refused(path: Path) -> None:
    write_arrays(path, {"a": np.arange(3), "b": np.zeros((0, 2))}, {"version": 1})
    whole = path.read_bytes()
    with path.open("r+b", buffering=0) as file:
        for place in range(32 + struct.unpack_from("<Q", whole, 16)[0]):
            for bit in range(8):
                os.pwrite(file.fileno(), bytes([whole[place] ^ 1 << bit]), place)
                with pytest.raises(DataError, match=r"arrays\.tidings"):
                    open_arrays(path)
            os.pwrite(file.fileno(), whole[place : place + 1], place)
    open_arrays(path).verify()


def test_every_changed_bit_of_an_array_is_found_by_verify(path: Path) -> None:
    file = open_arrays(path)
    whole = path.read_bytes()
    for name, array in file.arrays.items():
        for byte in range(array.nbytes):
            raw = bytearray(whole)
            raw[_begin(whole, name) + byte] ^= 1 << byte % 8
            path.write_bytes(raw)
            with pytest.raises(DataError, match=f"damaged: its array '{name}'"):
                open_arrays(path).verify()


def _begin(whole: bytes, name: str) -> int:
    length: int = struct.unpack_from("<Q", whole, 16)[0]
    entries = {entry["name"]: entry for entry in json.loads(whole[32 : 32 + length])["arrays"]}
    return -(-(32 + length) // 64) * 64 + int(entries[name]["offset"])


@pytest.mark.parametrize(
    "change",
    [{"offset": -64}, {"offset": 1 << 40}, {"shape": [-1]}, {"shape": [1 << 40]}, {"shape": [1 << 62, 4]}, {"shape": 3},
     {"shape": []}, {"dtype": "|O"}, {"offset": "0"}, {"dtype": []}],
)  # fmt: skip
def test_a_directory_that_lies_is_refused_though_its_checksum_is_right(tmp_path: Path, change: dict[str, Any]) -> None:
    entry = {"name": "a", "dtype": "<i8", "shape": [1], "offset": 0, "crc": 0} | change
    directory = json.dumps({"meta": {}, "arrays": [entry]}).encode().ljust(160)
    header = struct.pack("<8sIIQQ", b"tidings\0", 1, zlib.crc32(directory), 160, 200)
    (tmp_path / "liar").write_bytes(header + directory + bytes(8))
    with pytest.raises(DataError, match=r"liar' has a directory that makes no sense"):
        open_arrays(tmp_path / "liar")


if __name__ == "__main__":
    write_golden()
