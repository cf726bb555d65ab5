"""Which puts would RocksDB forget with its process? Those since its last flush: they are in a log, and read again.

RocksDB has a log of its own, at two thirds of the price of a put: a system call for each. This one is copied into a
mapped file (:mod:`tidings.storage.record_log`). It comes in parts ``puts-N``. A part that is full ends with a record
that says so, and goes when the buckets of all its puts were dropped, or RocksDB was told to write all to disk.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct

from tidings.model import DataError
from tidings.storage.record_log import RecordLog, is_damaged, read_records
from tidings.storage.spaces import PutTuple

PART_BYTES = 32 << 20
MOST_BYTES = 256 << 20
"""From then on RocksDB should write to disk what the log holds for it."""

PART = "puts-"
_MARK = b"PUTS"
"""Each record begins with it; puts follow, or one of two words."""

_END, _DROP = _MARK + b"end", _MARK + b"drop"
_PUT = Struct(">qHI")
_FIRST = Struct(">4sqHI")
_BUCKET = Struct(">q")
_pack_put, _pack_first = _PUT.pack, _FIRST.pack


@dataclass(slots=True)
class LogPart:
    """A file, and the buckets of which it has puts."""

    path: Path
    buckets: set[int] = field(default_factory=set)
    size_bytes: int = 0


class PutLog:
    """The log of a key space in a folder. Errors are of the file system, or a DataError."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts: list[LogPart] = []
        self._log: RecordLog | None = None
        self.is_large = False

    def read(self) -> Iterator[list[PutTuple] | int]:
        """All that it holds in order: writes, and buckets that were dropped; then it can be appended to."""
        numbers = sorted(int(path.name.removeprefix(PART)) for path in self._folder.glob(f"{PART}*"))
        if len(numbers) > 1 and not self._path(numbers[-1]).stat().st_size:  # it ended when it had begun this one
            self._path(numbers.pop()).unlink()
        if numbers and numbers != [*range(numbers[0], numbers[-1] + 1)]:
            raise DataError(f"a part of the log is missing between {numbers[0]} and {numbers[-1]}")
        position = 0
        for number in numbers:
            part = LogPart(self._path(number))
            self._parts.append(part)
            position, is_ended = 0, False
            for record, position in read_records(part.path):  # noqa: B007  # the last one is needed
                is_ended = record == _END
                if record.startswith(_DROP):
                    yield int(_BUCKET.unpack_from(record, len(_DROP))[0])
                elif not is_ended:
                    puts = _unpacked(record)
                    part.buckets.update(bucket for bucket, _, _ in puts)
                    yield puts
            part.size_bytes = position
            if is_ended == (number == numbers[-1]) or (not is_ended and is_damaged(part.path, position, _MARK[:1])):
                raise DataError(
                    f"Corruption: {part.path.name} is damaged after {position:,} bytes, or not the last one"
                )
        if not self._parts:
            self._parts.append(LogPart(self._path(0)))
        self._log = RecordLog(self._parts[-1].path, position)

    def append(self, puts: Sequence[PutTuple]) -> int:
        """Add a write; how large it is. When this returns, it outlives the process; if it fails, nothing was added."""
        log = self._log
        assert log is not None
        if log.size_bytes >= PART_BYTES:
            log = self._log = self._next(log)
        if len(puts) == 1:
            bucket, key, value = puts[0]
            record = _pack_first(_MARK, bucket, len(key), len(value)) + key + value
            self._parts[-1].buckets.add(bucket)
        else:
            record = b"".join([
                _MARK, *(_pack_put(bucket, len(key), len(value)) + key + value for bucket, key, value in puts)
            ])  # fmt: skip
            self._parts[-1].buckets.update({bucket for bucket, _, _ in puts})
        log.append(record)
        return len(record)

    def sync(self) -> None:
        """Let what was appended outlive the machine too."""
        assert self._log is not None
        self._log.sync()

    def drop(self, bucket: int) -> None:
        """Know that a bucket is dropped: what comes after this is in another one of its name."""
        assert self._log is not None
        self._log.append(_DROP + _BUCKET.pack(bucket))

    def forget(self, alive: Container[int]) -> None:
        """Remove the oldest parts, of which no bucket is alive."""
        while len(self._parts) > 1 and not any(bucket in alive for bucket in self._parts[0].buckets):
            self._parts.pop(0).path.unlink(missing_ok=True)
        self._measure()

    def forget_all(self) -> None:
        """Remove what RocksDB has written to disk: all of it."""
        assert self._log is not None
        log, last = self._log, self._parts[-1]
        self._log = RecordLog(self._path(int(last.path.name.removeprefix(PART)) + 1))
        log.close()
        for part in self._parts:
            part.path.unlink(missing_ok=True)
        self._parts = [LogPart(self._log.path)]
        self._measure()

    def close(self) -> None:
        if self._log is not None:
            self._log.close()

    def _next(self, log: RecordLog) -> RecordLog:
        """The next part, which is there before the one before it ends."""
        last = self._parts[-1]
        path = self._path(int(last.path.name.removeprefix(PART)) + 1)
        new = RecordLog(path)
        try:
            log.append(_END)
        except DataError:
            new.close()
            path.unlink(missing_ok=True)
            raise
        log.close()
        last.size_bytes = log.size_bytes
        self._parts.append(LogPart(path))
        self._measure()
        return new

    def _measure(self) -> None:
        self.is_large = sum(part.size_bytes for part in self._parts) >= MOST_BYTES

    def _path(self, number: int) -> Path:
        return self._folder / f"{PART}{number:020d}"


def _unpacked(record: bytes) -> list[PutTuple]:
    puts, at = [], len(_MARK)
    while at < len(record):
        bucket, key_bytes, value_bytes = _PUT.unpack_from(record, at)
        at += _PUT.size
        puts.append((bucket, record[at : at + key_bytes], record[at + key_bytes : at + key_bytes + value_bytes]))
        at += key_bytes + value_bytes
    return puts
