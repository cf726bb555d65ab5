"""What do the processes of the kill tests do? Change an engine at random, and tell each step, until they die.

They are forked from a process that has compiled everything and has never touched a registry, whose runtime does not
survive a fork.
"""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import stat
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from deltalake import DeltaTable

from tidings.engine import Engine, saving
from tidings.engine import engine as engine_module
from tidings.index import Compaction, store
from tidings.registry import tables
from tidings.registry.commits import Grace

NOW = datetime(2020, 1, 4, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=2)
IDS = [f"s{number}" for number in range(3000)]
WORDS = [f"{first}{second}" for first in "bdfgklmnprtvz" for second in ("olum", "arin", "eko")]
STEPS = ("make table", "commit", "merge", "checkpoint", "forget", "write segment", "fsync file", "replace segment",
         "write manifest", "replace manifest", "fsync folder", "unlink")  # fmt: skip
LIFE_S = 60
_BAD = "fire OR"
_KINDS = {"subscribe": 8, "subscribe_many": 5, "unsubscribe": 3, "unsubscribe_many": 3, "compact": 2, "reopen": 1}


class Row(NamedTuple):
    """A subscription of the model. ``until`` is None or long ago: tidying up removes the latter whenever it likes."""

    query: str
    subscriber: str
    tag: str
    until: datetime | None


Live = dict[str, Row]


def _row(rng: random.Random) -> Row:
    a, b, c = rng.sample(WORDS, 3)
    n = rng.randint(0, 9)
    plain = (f"{a} {b}", f"{a} {b} {c}")
    others = (
        *(f"{a} -{b}", f"{a} OR {b}", f'"{a} {b}"', f'"{a} {b}"~{n}', f"{a[:2]}* -{b}", f"{a} volume:>{n}"),
        *(f"{a} topic:news/t{n}", f"(({a} OR {b}) {c}) OR symbol:S{n}", f"{a} bounding_box:[{n} 0 {n + 2} 5]"),
    )
    query = rng.choice(plain if rng.random() < 0.7 else others)
    return Row(query, rng.choice(["ada", "bob"]), rng.choice(["", "x"]), LONG_AGO if rng.random() < 0.02 else None)


_rng = random.Random(7)
_ROWS = [_row(_rng) for _ in range(800)]


@dataclass(frozen=True, slots=True)
class Operation:
    """A change, and what it makes of the living."""

    kind: str
    rows: tuple[tuple[str, Row], ...] = ()
    gone: tuple[str, ...] = ()

    @classmethod
    def of(cls, seed: int) -> Operation:
        rng = random.Random(seed)
        (kind,) = rng.choices(list(_KINDS), list(_KINDS.values()))
        count = rng.choice([rng.randint(1, 100), rng.randint(100, 1023), rng.randint(1024, 3000)])
        names = rng.sample(IDS, count if kind.endswith("many") else 1)
        if kind.startswith("subscribe"):
            bad = [("bad", Row(_BAD, "", "", None))] if kind == "subscribe_many" and rng.random() < 0.3 else []
            return cls(kind, (*zip(names, rng.choices(_ROWS, k=len(names)), strict=True), *bad))
        return cls(kind, gone=tuple(names)) if kind.startswith("unsubscribe") else cls(kind)

    def applied(self, live: Live) -> Live:
        gone = set(self.gone)
        left = {name: row for name, row in live.items() if name not in gone}
        return left | {name: row for name, row in self.rows if row.query != _BAD}

    def apply(self, engine: Engine, path: Path) -> Engine:
        match self.kind:
            case "subscribe":
                ((name, row),) = self.rows
                engine.subscribe(id=name, **row._asdict())
            case "subscribe_many":
                engine.subscribe_many(pa.Table.from_pylist([{"id": name, **row._asdict()} for name, row in self.rows]))
            case "unsubscribe":
                engine.unsubscribe(*self.gone)
            case "unsubscribe_many":
                engine.unsubscribe_many(self.gone)
            case "compact":
                engine.compact()
            case "reopen":
                engine.close()
                return opened(path)
        return engine


def opened(path: Path) -> Engine:
    return Engine(path, clock=lambda: NOW, compaction=Compaction(small=1000))


@dataclass(frozen=True, slots=True)
class Job:
    """Where a process works and tells, and what it does. It dies when it tells ``aim`` the ``nth`` time."""

    path: Path
    trace: Path
    seed: int
    aim: str
    nth: int


class Teller:
    """Writes a line for all that begins and ends; what was written outlives a kill."""

    def __init__(self, job: Job) -> None:
        self._aim, self._left = job.aim, job.nth
        self._file = os.open(job.trace, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def tell(self, line: str) -> None:
        os.write(self._file, f"{line}\n".encode())
        if line == self._aim:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def around(self, name: Callable[..., str], call: Callable[..., Any]) -> Callable[..., Any]:
        def told(*args: Any, **options: Any) -> Any:
            step = name(*args)
            self.tell(f"before {step}")
            result = call(*args, **options)
            self.tell(f"after {step}")
            return result

        return told

    def listen(self) -> None:
        """Let this process tell each of its STEPS, and whatever is logged."""
        steps: list[tuple[Any, str, Callable[..., str]]] = [
            (DeltaTable, "create", lambda *_: "make table"),
            (tables, "commit", lambda *_: "commit"),
            (tables.StoredTable, "_merge", lambda *_: "merge"),
            (tables, "forget", lambda *_: "forget"),
            (DeltaTable, "create_checkpoint", lambda *_: "checkpoint"),
            (store, "write_arrays", lambda *_: "write segment"),
            (json, "dump", lambda *_: "write manifest"),
            (os, "fsync", lambda fd: "fsync folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "fsync file"),
            (Path, "replace", lambda _, target: "replace " + target.name.split(".")[0].split("-")[0]),
            (Path, "unlink", lambda *_: "unlink"),
        ]
        for owner, name, step in steps:
            setattr(owner, name, self.around(step, getattr(owner, name)))
        handler = logging.Handler(logging.WARNING)
        handler.emit = lambda record: self.tell(f"warning {record.getMessage()} {record.exc_info}")  # type: ignore[method-assign]
        logging.getLogger().addHandler(handler)


def change_until_killed(job: Job) -> None:
    signal.alarm(LIFE_S)  # whatever happens to the test, this process ends
    teller = Teller(job)
    try:
        teller.listen()
        vars(engine_module).update(LOOK_EVERY=1)
        vars(saving).update(SAVE_AFTER=500)
        vars(tables).update(UPKEEP_EVERY=3, GRACE=Grace(seconds=0.0))
        teller.tell("begin open")
        engine = opened(job.path)
        teller.tell("end open")
        rng = random.Random(job.seed)
        while True:
            seed = rng.getrandbits(32)
            teller.tell(f"begin {seed}")
            engine = Operation.of(seed).apply(engine, job.path)
            teller.tell(f"end {seed}")
    except BaseException:
        teller.tell(f"failed {traceback.format_exc()}")
    finally:
        os._exit(1)


def fork_many(jobs: Connection) -> None:
    """For each job, fork a process, and answer with its number and then how it ended; None is the end."""
    engine = Engine()
    for seed in range(40):
        engine = Operation.of(seed).apply(engine, Path()) if Operation.of(seed).kind != "reopen" else engine
    engine.close()  # no thread of ours is left
    while (job := jobs.recv()) is not None:
        process = os.fork()
        if process == 0:
            change_until_killed(job)
        jobs.send(process)
        jobs.send(os.waitpid(process, 0)[1])
