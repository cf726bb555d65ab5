"""How is a key space kept on disk? In RocksDB, a column family for each bucket. Only this module imports rocksdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rocksdict import AccessType, DBRecoveryMode, Options, Rdict, WriteBatch, WriteOptions

from tidings.model import DataError
from tidings.storage.put_log import PutLog
from tidings.storage.spaces import PutTuple

WRITE_BUFFER_BYTES = 32 << 20
WAITING_BYTES = 16 << 20
"""So much waits to be given to RocksDB. What is dropped while it waits never gets there."""

GIVEN = 1_000
"""So many puts are given at once."""

_NUMBERS = "default"


class RocksSpace:
    """A key space in a folder. One process has it open.

    What is written is in a log before :meth:`write` returns: it survives the end of the process, however that comes.
    With ``sync`` it survives the end of the machine too, at the price of a flush of the disk for each write. RocksDB
    gets it later, many puts at a time, and without its own log. What is damaged is refused when it is opened or read.
    """

    def __init__(self, path: Path, *, sync: bool = False) -> None:
        self._path = path
        self._options = _options()
        self._sync = sync
        self._writing = WriteOptions()
        self._writing.disable_wal = True  # type: ignore[method-assign, assignment]  # a property, whatever its stub says
        self._remembering = WriteOptions()
        self._remembering.sync = sync
        self._log = PutLog(path)
        self._waiting: list[PutTuple] = []
        self._waiting_bytes = 0
        with self._speaking("open"):
            path.parent.mkdir(parents=True, exist_ok=True)
            names = Rdict.list_cf(str(path)) if (path / "CURRENT").exists() else [_NUMBERS]
            self._db = Rdict(str(path), self._options, dict.fromkeys(names, self._options), AccessType.read_write())
            ends = [int(name) for name in names if name != _NUMBERS]
            self._families = {end: self._db.get_column_family(_name(end)) for end in ends}
            self._handles = {end: self._db.get_column_family_handle(_name(end)) for end in ends}
            try:
                for puts in self._log.read():
                    if isinstance(puts, int):
                        self._drop(puts)
                    else:
                        self._give(puts)
            except BaseException:
                self._release()
                raise

    def buckets(self) -> list[int]:
        return sorted(self._families)

    def write(self, puts: Sequence[PutTuple]) -> None:
        try:
            if self._waiting_bytes >= WAITING_BYTES:
                self._give_waiting(GIVEN)
            if self._log.is_large:
                self._flush()
            for bucket, _, _ in puts:
                if bucket not in self._families:
                    self._create(bucket)
            self._waiting_bytes += self._log.append(puts)
            if self._sync:
                self._log.sync()
            self._waiting += puts
        except Exception as error:  # in a tenth of the time of a context manager
            raise self._told("write to", error) from error

    def get(self, bucket: int, key: bytes) -> bytes | None:
        with self._speaking("read"):
            self._give_waiting()
            found: bytes | None = self._families[bucket].get(key)
        return found

    def scan(self, bucket: int, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        if self._waiting:
            with self._speaking("read"):
                self._give_waiting()
        rows: Iterator[tuple[Any, Any]] = self._families[bucket].items(from_key=start)
        for key, value in rows:
            if key >= end:
                return
            yield key, value
            start = key
        self._check_end(bucket, start)

    def drop(self, bucket: int) -> None:
        with self._speaking("drop a part of"):
            self._log.drop(bucket)
            self._waiting = [put for put in self._waiting if put[0] != bucket]
            self._waiting_bytes = sum(len(key) + len(value) for _, key, value in self._waiting)
            self._drop(bucket)
            self._log.forget(self._families)

    def remembered(self, name: bytes) -> int:
        with self._speaking("read"):
            found = self._db.get(name)
        return 0 if found is None else int.from_bytes(found, "big")

    def remember(self, name: bytes, number: int) -> None:
        with self._speaking("write to"):
            self._db.put(name, number.to_bytes(8, "big"), self._remembering)

    def size_bytes(self) -> int:
        return sum(file.stat().st_size for file in self._path.iterdir() if file.is_file())

    def close(self) -> None:
        try:
            with self._speaking("write to"):
                self._flush()
        finally:
            self._release()

    def _release(self) -> None:
        self._log.close()
        self._handles.clear()
        for family in self._families.values():
            family.close()
        self._families.clear()
        self._db.close()

    def _flush(self) -> None:
        """Let RocksDB write all to disk; then the log is not needed any more."""
        self._give_waiting()
        for family in self._families.values():
            family.flush()
        self._log.forget_all()

    def _give_waiting(self, most: int | None = None) -> None:
        """Give RocksDB what waits for it, or the oldest of that."""
        given = self._waiting[:most]
        if given:
            self._give(given)
            del self._waiting[:most]
            self._waiting_bytes -= sum(len(key) + len(value) for _, key, value in given) if self._waiting else 0
            if not self._waiting:
                self._waiting_bytes = 0

    def _give(self, puts: Sequence[PutTuple]) -> None:
        if len(puts) == 1:  # in half the time of a batch
            bucket, key, value = puts[0]
            family = self._families.get(bucket) or self._create(bucket)
            family.put(key, value, self._writing)
            return
        for bucket in {bucket for bucket, _, _ in puts}.difference(self._families):
            self._create(bucket)
        batch, handles = WriteBatch(raw_mode=True), self._handles
        put = batch.put
        for bucket, key, value in puts:
            put(key, value, handles[bucket])
        self._db.write(batch, self._writing)

    def _check_end(self, bucket: int, last: bytes) -> None:
        """Is there really nothing after a key? The binding ends at a damaged block as if there were nothing."""
        with self._speaking("read"):
            rows = self._families[bucket].iter()
            rows.seek(last)
            if rows.valid():
                rows.next()
            rows.status()

    def _drop(self, bucket: int) -> None:
        if bucket in self._families:
            del self._handles[bucket]
            self._families.pop(bucket).close()
            self._db.drop_column_family(_name(bucket))

    def _create(self, bucket: int) -> Rdict:
        family = self._families[bucket] = self._db.create_column_family(_name(bucket), self._options)
        self._handles[bucket] = self._db.get_column_family_handle(_name(bucket))
        return family

    @contextmanager
    def _speaking(self, what: str) -> Iterator[None]:
        """Errors of RocksDB in our words; the binding raises nothing more special than Exception."""
        try:
            yield
        except Exception as error:
            raise self._told(what, error) from error

    def _told(self, what: str, error: Exception) -> DataError:
        return DataError(f"cannot {what} the store in {str(self._path)!r}: {error}")


def _name(bucket: int) -> str:
    return f"{bucket:020d}"


def _options() -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(WRITE_BUFFER_BYTES)
    options.set_keep_log_file_num(2)
    # what is damaged in the middle is refused; by default all that was written after it would be gone without a word
    options.set_wal_recovery_mode(DBRecoveryMode.tolerate_corrupted_tail_records())
    return options
