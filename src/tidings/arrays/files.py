"""How do flat arrays lie in a file, so that a process opens gigabytes of them at once? Side by side, mapped, not read.

Format 1, all numbers little-endian::

    0   8  magic "tidings" and a zero byte
    8   4  format number, uint32
    12  4  CRC-32 of the directory, uint32
    16  8  length of the directory in bytes, uint64
    24  8  length of the whole file in bytes, uint64
    32     directory: JSON, {"meta": …, "arrays": [{"name", "dtype", "shape", "offset", "crc"}, …]}
    …      arrays, each at a multiple of 64 bytes

An offset counts from the first multiple of 64 bytes after the directory; between arrays there are zeros. A file never
changes once it is there: a new one takes its name, and whoever has the old one open keeps reading the old one. Somebody
else may write into it all the same, and a mapped file shows that at once: :meth:`ArrayFile.check` notices.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from tidings.model import DataError

FORMAT = 1
MAGIC = b"tidings\0"
JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
AnyArray: TypeAlias = npt.NDArray[Any]
Pieces: TypeAlias = list[AnyArray]
"""One array, cut."""

_HEADER = struct.Struct("<8sIIQQ")
_ALIGNMENT = 64
_DTYPES = {name: np.dtype(name) for name in "|b1 |i1 <i2 <i4 <i8 |u1 <u2 <u4 <u8 <f8".split()}
_NAME = "name"
_REMEDY = "build it again, or take it from a backup"


@dataclass(slots=True)
class ArrayFile:
    """An open file: ``arrays`` are read-only views into it, and it stays open for as long as one of them lives.

    ``crcs`` are the checksums that the arrays had when they were written, ``size_bytes`` is the length of the file,
    ``found`` what the file system said of it when it was last known to be sound.
    """

    path: Path
    meta: dict[str, Any]
    arrays: dict[str, AnyArray]
    crcs: dict[str, int]
    size_bytes: int
    found: os.stat_result

    def check(self) -> None:
        """A DataError if somebody has written into the file since it was opened. Cost: 2 µs, unless it was touched.

        A file that was removed or replaced under its name is sound: what is mapped is the one that was opened.
        """
        try:
            found = self.path.stat()
        except OSError:
            return
        is_other = (found.st_dev, found.st_ino) != (self.found.st_dev, self.found.st_ino)
        if is_other or _times(found) == _times(self.found):
            return
        if found.st_size < self.size_bytes:  # to read beyond its end would kill this process
            raise DataError(f"{str(self.path)!r} was cut off while it was in use; {_REMEDY}")
        self.verify()
        self.found = found

    def verify(self) -> None:
        """Read every array and compare it with its checksum; a DataError names the first one that is damaged."""
        for name, array in self.arrays.items():
            if zlib.crc32(_raw(array)) != self.crcs[name]:
                raise DataError(f"{str(self.path)!r} is damaged: its array {name!r} is not what was written; {_REMEDY}")


def write_arrays(path: Path, arrays: Mapping[str, AnyArray | Pieces], meta: Mapping[str, JSON]) -> None:
    """Write arrays of one or two dimensions (bool, int8 … int64, uint8 … uint64, float64) and ``meta`` to a file. An
    array of one dimension may come in pieces, which are put together in the file only.

    The file is there whole or not at all: it is written under another name (``<path>.<random>.tmp``, which only a crash
    leaves behind), forced to disk, and renamed.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "example.tidings")
    ...     write_arrays(path, {"primes": np.array([2, 3, 5])}, {"made": "by hand"})
    ...     file = open_arrays(path)
    >>> file.arrays["primes"].tolist(), file.meta
    ([2, 3, 5], {'made': 'by hand'})
    """
    blocks = {name: _pieces(path, name, array) for name, array in arrays.items()}
    directory, offsets = _directory(blocks, meta)
    base = _aligned(_HEADER.size + len(directory))
    size_bytes = base + max((offsets[name] + _size(block) for name, block in blocks.items()), default=0)
    header = _HEADER.pack(MAGIC, FORMAT, zlib.crc32(directory), len(directory), size_bytes)
    places: list[tuple[int, bytes | memoryview]] = [(0, header), (_HEADER.size, directory)]
    for name, block in blocks.items():
        ends = accumulate((piece.nbytes for piece in block), initial=base + offsets[name])
        places += [(offset, _raw(piece)) for offset, piece in zip(ends, block, strict=False)]
    try:
        _write_whole(path, places, size_bytes)
    except OSError as error:
        raise DataError(f"cannot write {str(path)!r}: {error.strerror or error}; make room or name another") from error


def open_arrays(path: Path) -> ArrayFile:
    """Open a file by mapping it: the cost is that of its directory, whatever the size of its arrays.

    A file that is missing, foreign, of another format, cut off or damaged in its directory is a DataError. Damage
    within arrays is found by :meth:`ArrayFile.verify`, which has to read them.
    """
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            size_bytes = found.st_size
            if size_bytes < _HEADER.size:
                raise _foreign(path)
            mapped = mmap.mmap(file.fileno(), size_bytes, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise DataError(f"there is no file {str(path)!r}; check the path, or build the file first") from None
    except OSError as error:
        raise DataError(f"cannot open {str(path)!r}: {error.strerror or error}; name a readable file") from error
    text, base = _directory_text(path, mapped)
    try:
        directory = json.loads(text)
        entries = directory["arrays"]
        arrays = {entry["name"]: _mapped_array(mapped, base, entry) for entry in entries}
        return ArrayFile(path, directory["meta"], arrays, {e["name"]: e["crc"] for e in entries}, size_bytes, found)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{str(path)!r} has a directory that makes no sense ({error!r}); {_REMEDY}") from error


def named(path: Path, meta: Mapping[str, JSON]) -> dict[str, JSON]:
    """What is told of a file, with the name that it is written under, so that two files cannot be taken for another."""
    return {**meta, _NAME: path.name}


def open_verified(path: Path) -> ArrayFile:
    """Map a file and read it once: kernels trust what they find in it. Some 0.3 s a gigabyte.

    One that was written under another name (:func:`named`) is a DataError, like one that is damaged.
    """
    file = open_arrays(path)
    file.verify()
    if isinstance(file.meta, dict) and file.meta.get(_NAME, path.name) != path.name:
        raise DataError(f"{str(path)!r} is the file {file.meta[_NAME]!r} under another name; {_REMEDY}")
    return file


def _times(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size


def _directory_text(path: Path, mapped: mmap.mmap) -> tuple[bytes, int]:
    """The directory of a mapped file and where its arrays begin, once the header has been found right."""
    magic, number, crc, directory_bytes, size_bytes = _HEADER.unpack_from(mapped)
    name = repr(str(path))
    if magic != MAGIC:
        raise _foreign(path)
    if number != FORMAT:
        age, remedy = ("a newer", "update tidings") if number > FORMAT else ("an older", "build it again with this one")
        raise DataError(f"{name} was written by {age} tidings (format {number}, this one reads {FORMAT}); {remedy}")
    if size_bytes != len(mapped):
        state = "cut off" if len(mapped) < size_bytes else "longer than it was written"
        raise DataError(f"{name} is {state}: it has {len(mapped):,} bytes and should have {size_bytes:,}; {_REMEDY}")
    end = _HEADER.size + directory_bytes
    text = mapped[_HEADER.size : end] if end <= len(mapped) else b""
    if len(text) != directory_bytes or zlib.crc32(text) != crc:
        raise DataError(f"{name} is damaged: its directory is not what was written; {_REMEDY}")
    return text, _aligned(end)


def _mapped_array(mapped: mmap.mmap, base: int, entry: Mapping[str, Any]) -> AnyArray:
    """The view that an entry of the directory describes; numpy itself would let a negative offset pass."""
    dtype, shape, begin = _DTYPES[entry["dtype"]], tuple(entry["shape"]), base + entry["offset"]
    if begin < base or min(shape) < 0:
        raise ValueError(f"array {entry['name']!r} of shape {shape} at {begin}")
    return np.ndarray(shape, dtype, buffer=mapped, offset=begin)


def _foreign(path: Path) -> DataError:
    return DataError(f"{str(path)!r} is not a file of tidings; check the path, or build the file anew")


def _pieces(path: Path, name: str, array: AnyArray | Pieces) -> list[AnyArray]:
    pieces = [_checked(path, name, piece) for piece in (array if isinstance(array, list) else [array])]
    if len({piece.dtype for piece in pieces}) != 1 or (len(pieces) > 1 and any(piece.ndim != 1 for piece in pieces)):
        raise DataError(f"cannot write array {name!r} to {str(path)!r}: its pieces do not make one of one dimension")
    return pieces


def _size(pieces: Pieces) -> int:
    return sum(piece.nbytes for piece in pieces)


def _crc(pieces: Pieces) -> int:
    crc = 0
    for piece in pieces:
        crc = zlib.crc32(_raw(piece), crc)
    return crc


def _checked(path: Path, name: str, array: AnyArray) -> AnyArray:
    if array.dtype.str not in _DTYPES or array.ndim not in (1, 2):
        kinds = ", ".join(dtype.name for dtype in _DTYPES.values())
        got = f"{array.dtype.str} of {array.ndim} dimensions"
        raise DataError(f"cannot write array {name!r} to {str(path)!r}: it is {got}; make it 1 or 2 of {kinds}")
    return np.ascontiguousarray(array)


def _directory(blocks: Mapping[str, Pieces], meta: Mapping[str, JSON]) -> tuple[bytes, dict[str, int]]:
    """The directory as it is written, and the offset of each array in it."""
    offsets, end = {}, 0
    for name, block in blocks.items():
        offsets[name] = _aligned(end)
        end = offsets[name] + _size(block)
    entries = [
        {"name": name, "dtype": block[0].dtype.str, "shape": (sum(map(len, block)), *block[0].shape[1:]),
         "offset": offsets[name], "crc": _crc(block)}
        for name, block in blocks.items()
    ]  # fmt: skip
    text = json.dumps({"meta": dict(meta), "arrays": entries}, allow_nan=False, separators=(",", ":"))
    return text.encode("ascii"), offsets


def _write_whole(path: Path, places: Sequence[tuple[int, bytes | memoryview]], size_bytes: int) -> None:
    temporary = path.with_name(f"{path.name}.{uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            for offset, content in places:
                file.write(bytes(offset - file.tell()))
                file.write(content)
            file.write(bytes(size_bytes - file.tell()))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the new name is on disk too
    finally:
        os.close(folder)


def _raw(array: AnyArray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _aligned(position: int) -> int:
    return -(-position // _ALIGNMENT) * _ALIGNMENT
