"""What do publications and subscriptions by label cost on an LSM tree? Fig. 10 to 17 of [LSM].

As there: subscriptions look 10 s back and 10 s ahead, publications end after 20 s, repeated queries come every
second. Time is simulated, so many operations a second of it. All stores get the same operations, a part of them in
turn.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from benchmarks.matching import Advance, silent
from tidings.model import Circle
from tidings.storage import (
    CELLS,
    DualDB,
    Granularity,
    LabelStore,
    Operation,
    Publishing,
    RepQueries,
    Subscribing,
    TwoDB,
    fixed_cells,
)
from tidings.storage.rocks import RocksSpace
from tidings.terms import cells, labels

SECOND = 1_000_000
GRID = 500
DEPTH = 5
PARTS = 10
BATCH = 1_000
HEAVY = {"subscriptions_3_to_1": 0.25, "subscriptions_1_to_3": 0.75}
RADII = (4.0, 2.0, 1.0, 0.5, 0.25)
"""In widths of the smallest cell ([LSM] 7.2.3)."""

Places = npt.NDArray[np.float64]
AnyStore = LabelStore | RepQueries


@dataclass(frozen=True, slots=True)
class Step:
    """An operation to come: its label, what kind of label that is, and whether it publishes."""

    label: bytes
    group: str
    publishes: bool


@dataclass(slots=True)
class Runner:
    """A store, and the time that its operations took, by what they were."""

    store: AnyStore
    clock: Ticking
    self_join: bool = False
    spent_s: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    found: int = 0

    def run(self, steps: Sequence[Step], first: int) -> None:
        for number, step in enumerate(steps, first):
            self.clock.number = number
            start = time.perf_counter()
            self.found += self._do(step, number)
            spent = time.perf_counter() - start
            for key in ("publish" if step.publishes else "subscribe", step.group):
                self.spent_s[key] = self.spent_s.get(key, 0.0) + spent
                self.counts[key] = self.counts.get(key, 0) + 1

    def _do(self, step: Step, number: int) -> int:
        now, store, name = self.clock(), self.store, str(number)
        if isinstance(store, RepQueries):
            polled = sum(len(posts) for _, posts in store.poll())
            if step.publishes:
                store.publish(step.label, name, now + 20 * SECOND, BODY)
                return polled
            return polled + len(store.subscribe(step.label, name, now - 10 * SECOND, now + 10 * SECOND))
        found = store.apply([operation(step, name, now, self.self_join)])[0]
        return len(found.subscriptions if step.publishes else found.publications)

    def us(self, key: str | None = None) -> float:
        keys = ("publish", "subscribe") if key is None else (key,)
        count = sum(self.counts.get(each, 0) for each in keys)
        return round(1e6 * sum(self.spent_s.get(each, 0.0) for each in keys) / max(count, 1), 1)


@dataclass(slots=True)
class Ticking:
    """A clock that so many operations a second move on."""

    rate: int
    number: int = 0

    def __call__(self) -> int:
        return 10**15 + self.number * SECOND // self.rate


BODY = b"x" * 140


def operation(step: Step, name: str, now: int, self_join: bool) -> Operation:
    if step.publishes:
        return Publishing(step.label, name, now + 20 * SECOND, BODY, self_join=self_join)
    return Subscribing(step.label, name, now - 10 * SECOND, now + 10 * SECOND, name, self_join)


def places(data: Path | None, count: int, seed: int) -> Places:
    """Longitude and latitude of so many posts: of notes.parquet in its order, or made up in clusters; in [0, 1)."""
    if data is None:
        rng = np.random.default_rng(seed)
        around = rng.random((50, 2))[rng.zipf(1.5, count) % 50]
        found = np.clip(around + rng.normal(0, 0.03, (count, 2)), 0, 0.999_999)
        return np.asarray(found)
    table = pq.read_table(data / "notes.parquet", columns=["lon", "lat"])
    found = np.column_stack([table["lon"].to_numpy(), table["lat"].to_numpy()])
    found = np.resize(found[~np.isnan(found).any(axis=1)], (count, 2))
    low, high = np.quantile(found, 0.001, axis=0), np.quantile(found, 0.999, axis=0)
    return np.asarray(np.clip((found - low) / (high - low), 0, 0.999_999))


def grid_steps(at: Places, publishing: float, seed: int) -> list[Step]:
    """Each place as an operation on its cell of 500 x 500."""
    rng = np.random.default_rng(seed)
    column, row = (at * GRID).astype(np.int64).T
    publishes = rng.random(len(at)) < publishing
    numbers = (column * GRID + row).tolist()
    return [Step(n.to_bytes(8, "big"), "cell", p) for n, p in zip(numbers, publishes.tolist(), strict=True)]


def level_steps(at: Places, seed: int) -> list[Step]:
    """Each place as an operation on a cell around it; a level up is half as likely ([LSM] 7.2.3)."""
    rng = np.random.default_rng(seed)
    chances = 0.5 ** np.arange(DEPTH, -1, -1)
    levels = rng.choice(DEPTH + 1, len(at), p=chances / chances.sum())
    publishes = rng.random(len(at)) < 0.5
    return [
        Step(labels.to_bytes(cells.cell(360 * x - 180, 180 * y - 90, level)), f"level_{level}", bool(p))
        for (x, y), level, p in zip(at.tolist(), levels.tolist(), publishes, strict=True)
    ]


def circle_steps(at: Places, seed: int) -> list[Step]:
    """Each place as an operation on the smallest cell around a circle there."""
    rng = np.random.default_rng(seed)
    radii = rng.choice(RADII, len(at))
    publishes = rng.random(len(at)) < 0.5
    side_m = 180 / 2**DEPTH * 111_195
    steps = []
    for (x, y), radius, p in zip(at.tolist(), radii.tolist(), publishes, strict=True):
        label = cells.smallest_cell(Circle(360 * x - 180, 120 * y - 60, radius * side_m / 2))
        depth = min(labels.depth_of(label), 2 * DEPTH)
        steps.append(Step(labels.to_bytes(labels.ancestor(label, depth)), f"radius_{radius}", bool(p)))
    return steps


def interleaved(runners: Sequence[Runner], steps: Sequence[Step], advance: Advance) -> None:
    """Let all runners do all steps, a part at a time in turn."""
    bounds = np.linspace(0, len(steps), PARTS + 1).astype(int).tolist()
    for first, last in pairwise(bounds):
        for runner in runners:
            runner.run(steps[first:last], first)
            advance(last - first)


def measure(at: Places, rate: int, seed: int, advance: Advance = silent) -> dict[str, Any]:
    """All figures. Fixed granularity makes up to 1,024 of one operation, so hierarchies get a tenth of the
    operations."""
    figures: dict[str, Any] = {"operations": len(at), "operations_a_simulated_second": rate}
    with TemporaryDirectory() as folder:
        path = Path(folder)
        for name, publishing in HEAVY.items():
            steps = grid_steps(at, publishing, seed)
            figures[f"simple_{name}"] = _simple(path / name, steps, rate, advance)
            figures[f"self_join_{name}"] = _self_join(path / f"{name}-self", steps, rate, advance)
            figures[f"batches_{name}"] = _batches(path / f"{name}-batches", steps, rate, advance)
        few = at[: len(at) // 10]
        figures["levels"] = _hierarchy(path / "levels", level_steps(few, seed), rate // 10, advance)
        figures["circles"] = _hierarchy(path / "circles", circle_steps(few, seed), rate // 10, advance)
    return figures


def _simple(path: Path, steps: list[Step], rate: int, advance: Advance) -> dict[str, Any]:
    clocks = [Ticking(rate) for _ in range(3)]
    runners = {
        "rep_queries": Runner(RepQueries(RocksSpace(path / "rep"), clocks[0]), clocks[0]),
        "two_db": Runner(TwoDB(RocksSpace(path / "p"), RocksSpace(path / "s"), clocks[1]), clocks[1]),
        "dual_db": Runner(DualDB(RocksSpace(path / "dual"), clocks[2]), clocks[2]),
    }
    interleaved([*runners.values()], steps, advance)
    found = _told(runners)
    for name in ("two_db", "dual_db"):
        found[f"{name}_by_rep_queries"] = round(runners["rep_queries"].us() / runners[name].us(), 2)
    return found


def _self_join(path: Path, steps: list[Step], rate: int, advance: Advance) -> dict[str, Any]:
    clocks = [Ticking(rate) for _ in range(2)]
    runners = {
        "two_db": Runner(TwoDB(RocksSpace(path / "p"), RocksSpace(path / "s"), clocks[0]), clocks[0], True),
        "dual_db": Runner(DualDB(RocksSpace(path / "dual"), clocks[1]), clocks[1], True),
    }
    interleaved([*runners.values()], steps, advance)
    by_two = round(runners["two_db"].us() / runners["dual_db"].us(), 3)
    return _told(runners) | {"dual_db_by_two_db": by_two}


def _batches(path: Path, steps: list[Step], rate: int, advance: Advance) -> dict[str, Any]:
    clock, sizes = Ticking(rate), []
    with DualDB(RocksSpace(path), clock) as store:
        start = time.perf_counter()
        for first in range(0, len(steps), BATCH):
            clock.number = first
            now, some = clock(), steps[first : first + BATCH]
            store.apply([operation(step, str(first + n), now, False) for n, step in enumerate(some)])
            sizes.append(store.size_bytes())
            advance(len(some))
        spent = time.perf_counter() - start
    tenth = max(len(sizes) // 10, 1)
    return {
        "batch": BATCH,
        "operations_a_second": round(len(steps) / spent),
        "size_bytes": [max(sizes[n : n + tenth]) for n in range(0, len(sizes), tenth)],
    }


def _hierarchy(path: Path, steps: list[Step], rate: int, advance: Advance) -> dict[str, Any]:
    kinds: dict[str, Granularity] = {"variable": CELLS, "fixed": fixed_cells(DEPTH)}
    runners = {}
    for name, granularity in kinds.items():
        clock = Ticking(max(rate, 1))
        runners[name] = Runner(DualDB(RocksSpace(path / name), clock, granularity=granularity), clock)
    interleaved([*runners.values()], steps, advance)
    fixed, variable = runners["fixed"], runners["variable"]
    groups = {group: round(fixed.us(group) / variable.us(group), 2) for group in sorted({step.group for step in steps})}
    return _told(runners) | {"variable_by_fixed": round(fixed.us() / variable.us(), 2), "by_group": groups}


def _told(runners: dict[str, Runner]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for name, runner in runners.items():
        told[f"{name}_us"] = {"all": runner.us(), "publish": runner.us("publish"), "subscribe": runner.us("subscribe")}
        told[f"{name}_found"] = runner.found
        told[f"{name}_operations_a_second"] = round(1e6 / max(runner.us(), 0.1))
        runner.store.close()
    return told


def steps_in_all(count: int) -> int:
    """How much :func:`measure` advances for so many operations."""
    each = count * (3 + 2 + 1)
    return len(HEAVY) * each + 2 * 2 * (count // 10)
