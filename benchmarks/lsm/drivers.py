"""How does each store do an operation of [LSM] 7? Ours, polls, puts alone, and plain tables of SQLite."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct
from typing import Protocol

from rocksdict import Options, Rdict

from benchmarks.lsm.workload import Step
from tidings.storage import LabelStore, Operation, Publishing, RepQueries, Subscribing

SECOND = 1_000_000
AROUND, KEPT = 10 * SECOND, 20 * SECOND
"""A subscription looks so far back and ahead; a publication ends after so long ([LSM] 7.1.1)."""

BODY = b"x" * 140
_PLACE = Struct(">QQ")


class Clock(Protocol):
    """Microseconds since 1970; ``number`` is set to the operation to come."""

    number: int

    def __call__(self) -> int: ...


@dataclass(slots=True)
class Ticking:
    """A clock that so many operations a second move on."""

    rate: int
    number: int = 0

    def __call__(self) -> int:
        return 10**15 + self.number * SECOND // self.rate


@dataclass(slots=True)
class RealTime:
    """The clock of the machine."""

    number: int = 0

    def __call__(self) -> int:
        return time.time_ns() // 1000


class Driver(Protocol):
    """Does operations one by one, and says how much each found."""

    def do(self, step: Step, name: str, now: int) -> int: ...

    def size_bytes(self) -> int: ...

    def close(self) -> None: ...


def operation(step: Step, name: str, now: int, self_join: bool = False) -> Operation:
    if step.publishes:
        return Publishing(step.label, name, now + KEPT, BODY, now - AROUND, self_join)
    return Subscribing(step.label, name, now - AROUND, now + AROUND, name, self_join)


@dataclass(frozen=True, slots=True)
class Ours:
    """TwoDB or DualDB."""

    store: LabelStore
    self_join: bool = False

    def do(self, step: Step, name: str, now: int) -> int:
        if step.publishes:
            found = self.store.publish(step.label, name, now + KEPT, BODY, t_min=now - AROUND, self_join=self.self_join)
            return len(found.subscriptions) + len(found.publications)
        found = self.store.subscribe(
            step.label, name, now - AROUND, now + AROUND, subscriber=name, self_join=self.self_join
        )
        return len(found.publications) + len(found.subscriptions)

    def size_bytes(self) -> int:
        return self.store.size_bytes()

    def close(self) -> None:
        self.store.close()


@dataclass(slots=True)
class Polls:
    """RepQueries. Before each operation all whose time has come ask again; those count as subscribing."""

    store: RepQueries
    polling_s: float = field(default=0.0)

    def do(self, step: Step, name: str, now: int) -> int:
        start = time.perf_counter()
        found = sum(len(posts) for _, posts in self.store.poll())
        self.polling_s += time.perf_counter() - start
        if step.publishes:
            self.store.publish(step.label, name, now + KEPT, BODY)
            return found
        return found + len(self.store.subscribe(step.label, name, now - AROUND, now + AROUND, subscriber=name))

    def size_bytes(self) -> int:
        return self.store.size_bytes()

    def close(self) -> None:
        self.store.close()


class Puts:
    """A put of RocksDB for each operation, through its binding, and nothing else: below that no store on it gets, if it
    gives RocksDB each operation at once."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True)
        self._path = path
        self._db = Rdict(str(path / "db"), Options(raw_mode=True))

    def do(self, step: Step, name: str, now: int) -> int:
        self._db[step.label + _PLACE.pack(now, int(name))] = BODY
        return 0

    def size_bytes(self) -> int:
        return sum(file.stat().st_size for file in (self._path / "db").iterdir())

    def close(self) -> None:
        self._db.close()


class Sqlite:
    """A table and an index for each kind in SQLite. Nothing is synced to disk, as in RocksDB without ``sync``."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True)
        self._path = path
        self._db = sqlite3.connect(path / "db", isolation_level=None)
        self._cleaned = 0
        for statement in (
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = OFF",
            "PRAGMA cache_size = -262144",
            "CREATE TABLE publications (label BLOB, at INTEGER, t_max INTEGER, id TEXT, body BLOB)",
            "CREATE TABLE subscriptions (label BLOB, t_min INTEGER, t_max INTEGER, id TEXT, subscriber TEXT)",
            "CREATE INDEX publications_by_label ON publications (label, at)",
            "CREATE INDEX subscriptions_by_label ON subscriptions (label, t_max)",
            "CREATE INDEX publications_by_end ON publications (t_max)",
            "CREATE INDEX subscriptions_by_end ON subscriptions (t_max)",
        ):
            self._db.execute(statement)

    def do(self, step: Step, name: str, now: int) -> int:
        if now >= self._cleaned + SECOND:
            self._clean(now)
        self._db.execute("BEGIN")
        if step.publishes:
            found = self._db.execute(
                "SELECT id, subscriber, t_min, t_max FROM subscriptions WHERE label = ? AND t_max > ? AND t_min <= ?",
                (step.label, now, now),
            ).fetchall()
            self._db.execute(
                "INSERT INTO publications VALUES (?, ?, ?, ?, ?)", (step.label, now, now + KEPT, name, BODY)
            )
        else:
            found = self._db.execute(
                "SELECT id, at, t_max, body FROM publications WHERE label = ? AND at >= ? AND t_max > ?",
                (step.label, now - AROUND, now),
            ).fetchall()
            self._db.execute(
                "INSERT INTO subscriptions VALUES (?, ?, ?, ?, ?)",
                (step.label, now - AROUND, now + AROUND, name, name),
            )
        self._db.execute("COMMIT")
        return len(found)

    def size_bytes(self) -> int:
        return sum(file.stat().st_size for file in self._path.iterdir())

    def close(self) -> None:
        self._db.close()

    def _clean(self, now: int) -> None:
        """Once a second, what has ended."""
        self._cleaned = now
        for table in ("publications", "subscriptions"):
            self._db.execute(f"DELETE FROM {table} WHERE t_max <= ?", (now,))
