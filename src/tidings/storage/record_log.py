"""How is a record safe before anybody acts on it? It is appended to a mapped file.

Copying into a mapped file takes a microsecond and no system call. What was copied belongs to the kernel: it survives
the end of the process, however that comes. Room is made ahead, with zeros, so a full disk is told by the call that
needs room and never by a signal. A record is its length, the CRC-32 of its bytes, and its bytes; a length of zero is
the end. Of a record that was being copied when the process died the checksum is wrong.

A large record is written: that is one copy, where room made ahead takes three.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct
from zlib import crc32

import numpy as np

from tidings.model import DataError

STEP_BYTES = 1 << 20
"""A file grows by so much at least."""

LARGE_BYTES = 1 << 16
"""From this size on a record is written, and not copied into the map."""

_HEAD = Struct("<II")
_END_BYTES = _HEAD.size


class RecordLog:
    """A file that is appended to by one process, at the end of what it holds; made if it is not there."""

    def __init__(self, path: Path, position: int = 0) -> None:
        """``position``: where the records end, as :func:`read_records` says; what comes after it is overwritten."""
        self.path = path
        self.size_bytes = position
        """How long the records are together."""
        self._file = path.open("r+b" if path.exists() else "x+b", buffering=0)
        size = os.fstat(self._file.fileno()).st_size
        self._map = mmap.mmap(self._file.fileno(), size) if size else None
        self._room = size
        if size > position:
            self._clear(position, size)

    def append(self, record: bytes) -> None:
        """Add a record. When this returns, it outlives the process; if it fails, nothing was added."""
        at, end = self.size_bytes, self.size_bytes + _HEAD.size + len(record)
        if self._map is not None and end + _END_BYTES <= self._room and len(record) < LARGE_BYTES:
            self._map[at:end] = _HEAD.pack(len(record), crc32(record)) + record
            self.size_bytes = end
        else:
            self.append_pieces(record)

    def append_pieces(self, *pieces: bytes | memoryview) -> None:
        """Add a record that comes in pieces."""
        crc = 0
        for piece in pieces:
            crc = crc32(piece, crc)
        size_bytes = sum(map(len, pieces))
        keep = self._copy if size_bytes < LARGE_BYTES else self._write
        keep((_HEAD.pack(size_bytes, crc), *pieces))
        self.size_bytes += _HEAD.size + size_bytes

    def sync(self) -> None:
        """Force what was appended to the disk: it survives the end of the machine."""
        os.fdatasync(self._file.fileno())

    def close(self) -> None:
        if self._map is not None:
            self._map.close()
            self._map = None
        self._file.close()

    def _copy(self, pieces: Sequence[bytes | memoryview]) -> None:
        at = self.size_bytes
        end = at + sum(map(len, pieces)) + _END_BYTES
        if end > self._room or self._map is None:
            self._make_room(end)
        assert self._map is not None
        for piece in pieces:
            self._map[at : at + len(piece)] = piece
            at += len(piece)

    def _write(self, pieces: Sequence[bytes | memoryview]) -> None:
        """The file may end with the record then; whoever copies the next one makes room behind it."""
        at = self.size_bytes
        try:
            for given in pieces:
                piece, done = memoryview(given), 0
                while done < len(piece):
                    done += os.pwrite(self._file.fileno(), piece[done:], at + done)
                at += done
        except OSError as error:
            os.ftruncate(self._file.fileno(), self._room)
            if self.size_bytes < self._room:
                self._clear(self.size_bytes, self._room)
            raise self._full(error) from error
        self._room = max(self._room, at)

    def _make_room(self, size: int) -> None:
        room = -(-size // STEP_BYTES) * STEP_BYTES
        try:
            write_zeros(self._file.fileno(), self._room, room)
            mapped = mmap.mmap(self._file.fileno(), room)
        except OSError as error:
            raise self._full(error) from error
        if self._map is not None:
            self._map.close()
        self._map, self._room = mapped, room

    def _full(self, error: OSError) -> DataError:
        return DataError(f"cannot keep a publication in {str(self.path)!r}: {error.strerror or error}; make room")

    def _clear(self, position: int, size: int) -> None:
        """Remove what is left of a record that was not finished: the one after it must not seem to go on."""
        assert self._map is not None
        self._map[position:size] = bytes(size - position)


def write_zeros(file: int, start: int, end: int) -> None:
    """Fill a part of a file, so that the disk has room for it."""
    zeros = bytes(STEP_BYTES)
    while start < end:
        start += os.pwrite(file, zeros[: end - start], start)


def read_records(path: Path, position: int = 0) -> Iterator[tuple[bytes, int]]:
    """The records of a file from a position on, each with the position behind it, up to the first that is not whole."""
    content = path.read_bytes() if position == 0 else _rest(path, position)
    at = 0
    while at + _HEAD.size <= len(content):
        length, crc = _HEAD.unpack_from(content, at)
        record = content[at + _HEAD.size : at + _HEAD.size + length]
        if not length or len(record) < length or crc32(record) != crc:
            return
        at += _HEAD.size + length
        yield record, position + at


def is_damaged(path: Path, position: int, marks: bytes) -> bool:
    """Whether a whole record, with one of these bytes as its first, lies anywhere behind a place where there is none: a
    process that died leaves none. It may be a length that is damaged, so the next record may begin at any byte."""
    content = memoryview(_rest(path, position))
    for shift in range(min(4, len(content))):
        lengths = np.frombuffer(content, "<u4", (len(content) - shift) // 4, shift)
        first = np.frombuffer(content, np.uint8, -1, shift)[_HEAD.size :: 4]
        lengths = lengths[: len(first)]
        begins = shift + _HEAD.size + 4 * np.arange(len(first))
        fits = np.isin(first, [*marks]) & (lengths > 0) & (begins + lengths <= len(content))
        for begin, size in zip(begins[fits].tolist(), lengths[fits].tolist(), strict=True):
            _, crc = _HEAD.unpack_from(content, begin - _HEAD.size)
            if crc32(content[begin : begin + size]) == crc:
                return True
    return False


def _rest(path: Path, position: int) -> bytes:
    with path.open("rb") as file:
        file.seek(position)
        return file.read()
