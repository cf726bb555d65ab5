"""What do publications and subscriptions by label cost on an LSM tree? Fig. 10 to 17 of [LSM], and speed.

Stores that are compared get the same operations, a part of them in turn. On the clock of the machine they cannot take
turns: a store does all operations before the next one begins. Python's collector of cycles is off, as timeit has it:
a store makes none.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.lsm import postgres
from benchmarks.lsm.drivers import Clock, Driver, Ours, Polls, Puts, RealTime, Sqlite, Ticking, operation
from benchmarks.lsm.workload import DEPTH, LOADS, Load, Places, Step, circles, grid, levels
from benchmarks.matching import Advance, silent
from tidings.storage import CELLS, DualDB, Fixed, Granularity, LabelStore, RepQueries, TwoDB, fixed_cells
from tidings.storage.rocks import RocksSpace
from tidings.storage.store import MEMORY_BYTES

PARTS = 15
BATCH = 1_000
SLOW_SHARE = 10
"""Hierarchies get so much fewer operations: one becomes up to 1,024."""

Rows = list[dict[str, Any]]
Make = Callable[[Path, Clock], Driver]


@dataclass(frozen=True, slots=True)
class Plan:
    """``rate``: operations in a second of simulated time; on the clock of the machine if it is None."""

    at: Places
    seed: int
    rate: int | None
    memory_bytes: int = MEMORY_BYTES
    advance: Advance = silent
    loads: Sequence[str] = (*LOADS,)
    stores: Sequence[str] = ("TwoDB", "DualDB")
    """Which loads and stores: of all figures but hierarchies, and of speed."""

    def memories(self) -> dict[str, int]:
        """With the newest entries in memory, and with RocksDB alone."""
        return {"": self.memory_bytes, ", disk": 0}

    def clock(self) -> Clock:
        return RealTime() if self.rate is None else Ticking(self.rate)

    def load(self, name: str) -> Load:
        return grid(self.at, LOADS[name], self.seed)

    def fewer(self) -> Plan:
        """A part of the operations, over the same time."""
        rate = None if self.rate is None else max(self.rate // SLOW_SHARE, 1)
        return replace(self, at=self.at[: len(self.at) // SLOW_SHARE], rate=rate)


@dataclass(slots=True)
class Runner:
    """A store, and the time that its operations took, by what they were."""

    driver: Driver
    clock: Clock
    load: Load
    spent_s: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    found: int = 0

    def run(self, first: int, last: int) -> None:
        clock, do, timer = self.clock, self.driver.do, time.perf_counter
        for number, step in enumerate(self.load.steps(first, last), first):
            clock.number = number
            name, now = str(number), clock()
            start = timer()
            self.found += do(step, name, now)
            spent = timer() - start
            for key in ("publish" if step.publishes else "subscribe", step.group):
                self.spent_s[key] = self.spent_s.get(key, 0.0) + spent
                self.counts[key] = self.counts.get(key, 0) + 1

    def us(self, key: str | None = None) -> float:
        """Mean microseconds of an operation. Polls count as subscribing, whenever they come."""
        spent = dict(self.spent_s)
        if isinstance(self.driver, Polls):
            part = self.driver.polling_s * self.counts.get("publish", 0) / max(len(self.load), 1)
            spent["publish"] = spent.get("publish", 0.0) - part
            spent["subscribe"] = spent.get("subscribe", 0.0) + part
        keys = ("publish", "subscribe") if key is None else (key,)
        count = sum(self.counts.get(each, 0) for each in keys)
        return 1e6 * sum(spent.get(each, 0.0) for each in keys) / max(count, 1)

    def row(self) -> dict[str, Any]:
        return {
            "us": round(self.us(), 2),
            "publish_us": round(self.us("publish"), 2),
            "subscribe_us": round(self.us("subscribe"), 2),
            "a_second": round(1e6 / self.us()),
            "found_each": round(self.found / max(len(self.load), 1), 2),
        }


def two_db(path: Path, clock: Clock, memory_bytes: int) -> LabelStore:
    return TwoDB(RocksSpace(path / "p"), RocksSpace(path / "s"), clock, memory_bytes=memory_bytes)


def dual_db(path: Path, clock: Clock, memory_bytes: int) -> LabelStore:
    return DualDB(RocksSpace(path / "both"), clock, memory_bytes=memory_bytes)


STORES: dict[str, Callable[[Path, Clock, int], LabelStore]] = {"TwoDB": two_db, "DualDB": dual_db}


def simple(plan: Plan) -> dict[str, Any]:
    """Fig. 10 and 11. RepQueries asks the same query again every second, as in the paper, or only for what is new."""
    makers: dict[str, Make] = {}
    for suffix, memory in plan.memories().items():
        makers[f"RepQueries{suffix}"] = partial(_polled, True, memory)
        makers[f"RepQueries, new only{suffix}"] = partial(_polled, False, memory)
        makers |= {f"{own}{suffix}": partial(_ours, make, memory, False) for own, make in STORES.items()}
    rows: Rows = []
    for name in plan.loads:
        rows += _compared(plan, makers, name, "RepQueries, disk")
    return _columns(plan, rows)


def peers(plan: Plan) -> dict[str, Any]:
    """SQLite and PostgreSQL in place of PADRES of Fig. 10 and 11; and what a put of RocksDB takes."""
    makers: dict[str, Make] = {"DualDB": partial(_ours, dual_db, plan.memory_bytes, False), "SQLite": _sqlite}
    makers["RocksDB, puts alone"] = _puts
    if not (lacking := postgres.missing()):
        makers["PostgreSQL"] = _postgres
    rows: Rows = []
    for name in plan.loads:
        rows += _compared(plan, makers, name, "SQLite" if lacking else "PostgreSQL")
    return _columns(plan, rows) | ({"without": lacking} if lacking else {})


def joins(plan: Plan) -> dict[str, Any]:
    """Fig. 12 and 13: all operations join themselves."""
    rows: Rows = []
    for name in plan.loads:
        for suffix, memory in plan.memories().items():
            makers: dict[str, Make] = {
                f"{own}{suffix}": partial(_ours, make, memory, True) for own, make in STORES.items()
            }
            rows += _compared(plan, makers, name, f"TwoDB{suffix}")
    return _columns(plan, rows)


def quadtree(plan: Plan) -> dict[str, Any]:
    """Fig. 14 and 16: operations on cells of all levels."""
    load = levels(plan.at, plan.seed)
    return _granular(plan, {"variable": (load, CELLS), "fixed": (load, fixed_cells(DEPTH))})


def radii(plan: Plan) -> dict[str, Any]:
    """Fig. 15 and 17: operations on circles. Variable granularity finds all that meets the cell around a circle, fixed
    what shares a smallest cell with it."""
    around, own, leaves = circles(plan.at, plan.seed)
    return _granular(plan, {"variable": (around, CELLS), "fixed": (own, Fixed(leaves.__getitem__))})


def speed(plan: Plan, batch: int) -> dict[str, Any]:
    """Operations a second in batches, a row for each fifteenth of them, and the size on disk."""
    rows: Rows = []
    for name in plan.loads:
        rows += [{"load": name} | row for row in _sped(plan, plan.load(name), batch)]
    return _columns(plan, rows) | {"batch": batch}


FIGURES: dict[str, Callable[[Plan], dict[str, Any]]] = {
    "simple": simple,
    "peers": peers,
    "joins": joins,
    "levels": lambda plan: quadtree(plan.fewer()),
    "circles": lambda plan: radii(plan.fewer()),
    "single": lambda plan: speed(plan, 1),
    "batches": lambda plan: speed(plan, BATCH),
}


@dataclass(slots=True)
class Sped:
    """A store that gets ``batch`` operations at a time. Drawing them is nobody's time; making values of them is."""

    name: str
    store: LabelStore
    clock: Clock
    load: Load
    batch: int
    spent_s: float = 0.0

    def run(self, first: int, last: int) -> dict[str, Any]:
        """``a_second`` of this part, ``overall`` of all so far."""
        found, before, timer = 0, self.spent_s, time.perf_counter
        for start in range(first, last, BATCH):
            steps = [*self.load.steps(start, min(start + BATCH, last))]
            begun = timer()
            found += self._do(steps, start)
            self.spent_s += timer() - begun
        return {
            "store": self.name,
            "operations": last,
            "a_second": round((last - first) / (self.spent_s - before)),
            "overall": round(last / self.spent_s),
            "found_each": round(found / (last - first), 2),
            "disk_mb": round(self.store.size_bytes() / 2**20, 1),
        }

    def _do(self, steps: Sequence[Step], start: int) -> int:
        clock, do = self.clock, Ours(self.store).do
        if self.batch > 1:
            clock.number = start
            now = clock()
            batch = [operation(step, str(number), now) for number, step in enumerate(steps, start)]
            return sum(len(each.publications) + len(each.subscriptions) for each in self.store.apply(batch))
        found = 0
        for number, step in enumerate(steps, start):
            clock.number = number
            found += do(step, str(number), clock())
        return found


def _sped(plan: Plan, load: Load, batch: int) -> Rows:
    rows: Rows = []
    with _folder() as folder, _uncollected():
        runners = []
        for name in plan.stores:
            clock = plan.clock()
            runners.append(Sped(name, STORES[name](folder / name, clock, plan.memory_bytes), clock, load, batch))
        for first, last, turn in _turns(plan, len(load), len(runners)):
            rows.append(runners[turn].run(first, last))
            plan.advance(last - first)
        for runner in runners:
            runner.store.close()
    return rows


def _ours(
    make: Callable[[Path, Clock, int], LabelStore], memory_bytes: int, self_join: bool, path: Path, clock: Clock
) -> Driver:
    return Ours(make(path, clock, memory_bytes), self_join)


def _polled(overlapping: bool, memory_bytes: int, path: Path, clock: Clock) -> Driver:
    return Polls(RepQueries(RocksSpace(path), clock, overlapping=overlapping, memory_bytes=memory_bytes))


def _puts(path: Path, _: Clock) -> Driver:
    return Puts(path)


def _sqlite(path: Path, _: Clock) -> Driver:
    return Sqlite(path)


def _postgres(path: Path, _: Clock) -> Driver:
    return postgres.Postgres(path)


def _compared(plan: Plan, makers: dict[str, Make], name: str, base: str) -> Rows:
    """A row for each store; ``times``: how many times as fast as the base it is."""
    load = plan.load(name)
    with _folder() as folder:
        runners = {}
        for number, (own, make) in enumerate(makers.items()):
            clock = plan.clock()
            runners[own] = Runner(make(folder / str(number), clock), clock, load)
        _interleaved(plan, [*runners.values()])
        rows = []
        for own, runner in runners.items():
            times = round(runners[base].us() / runner.us(), 2)
            rows.append({"load": name, "store": own, **runner.row(), "times": times})
            runner.driver.close()
    return rows


def _granular(plan: Plan, kinds: dict[str, tuple[Load, Granularity]]) -> dict[str, Any]:
    with _folder() as folder:
        runners = {}
        for own, (load, granularity) in kinds.items():
            clock = plan.clock()
            space, memory = RocksSpace(folder / own), plan.memory_bytes
            store = DualDB(space, clock, granularity=granularity, memory_bytes=memory)
            runners[own] = Runner(Ours(store), clock, load)
        _interleaved(plan, [*runners.values()])
        rows, (variable, fixed) = [], (runners["variable"], runners["fixed"])
        for group in (None, "publish", "subscribe", *variable.load.groups):
            own_us, other_us = variable.us(group), fixed.us(group)
            times = round(other_us / own_us, 2) if own_us else None  # a group may be empty
            row = {"group": group or "all", "variable_us": round(own_us, 1), "fixed_us": round(other_us, 1)}
            rows.append({**row, "times": times})
        found = {f"{own}_found": runner.found for own, runner in runners.items()}
        for runner in runners.values():
            runner.driver.close()
    return _columns(plan, rows) | found


def _interleaved(plan: Plan, runners: Sequence[Runner]) -> None:
    with _uncollected():
        for first, last, turn in _turns(plan, len(runners[0].load), len(runners)):
            runners[turn].run(first, last)
            plan.advance(last - first)


def _turns(plan: Plan, operations: int, stores: int) -> Iterator[tuple[int, int, int]]:
    """From where to where which store works next."""
    bounds = [*pairwise(np.linspace(0, operations, PARTS + 1).astype(int).tolist())]
    if plan.rate is None:
        yield from ((first, last, turn) for turn in range(stores) for first, last in bounds)
    else:
        yield from ((first, last, turn) for first, last in bounds for turn in range(stores))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's collector of cycles."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def _folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="tidings-bench-") as name:
        yield Path(name)


def _columns(plan: Plan, rows: Rows) -> dict[str, Any]:
    """Rows as columns, after what all have in common."""
    common = {
        "operations_each": len(plan.at),
        "operations_a_simulated_second": plan.rate or "real time",
        "memory_mb": plan.memory_bytes >> 20,
    }
    return common | {name: [row[name] for row in rows] for name in rows[0]}
