"""How many posts a second are left to a publisher while another thread leaves and gives up subscriptions?

The publisher is timed alone and beside the changes, round after round in turn; tidying up that was begun is waited for
before it is alone. Each change leaves one new query and gives up the oldest one, so that their number stays; the pace
is kept by the clock as long as the engine can. In a folder both are done in batches, each a commit. Tables of those
who come are made before the clock runs: to make one, Arrow lets other threads in some four times, and whoever publishes
then has a whole turn each time, which would be measured in place of the engine. At the end the matches of some posts
are compared with those of a new engine that was given what is left.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.latency import single_posts
from benchmarks.matching import Advance, Workload, silent
from tidings.engine import Engine
from tidings.model import DataError

CHECKED_POSTS = 200
NEWCOMERS = 100_000
"""So many different queries at least, so that what comes is seldom what is there."""

_TIDIER = "tidings-tidy"
_PAUSE_S, _SPARE_S = 0.0005, 1.0


@dataclass(frozen=True, slots=True)
class Settings:
    """``rate_per_s`` subscriptions are left and as many given up each second, ``batch`` at a time.

    ``posts`` are published at a time: one by one, or as a table. ``switch_interval_ms``: how long a thread runs while
    another waits (:func:`sys.setswitchinterval`); None leaves it.
    """

    rounds: int = 5
    round_s: float = 5.0
    rate_per_s: int = 20_000
    batch: int = 1
    posts: int = 1
    switch_interval_ms: float | None = None


@dataclass(slots=True)
class Changes:
    """What the other thread does: the oldest goes for each that comes. ``newcomers`` are asked again and again."""

    engine: Engine
    base: pa.Table
    newcomers: list[str]
    settings: Settings
    ids: deque[str]
    came: int = 0
    tables: deque[pa.Table] = field(default_factory=deque)

    def prepare(self) -> None:
        """Make the tables of a round that is to begin, and some more."""
        settings = self.settings
        count = int((settings.round_s + _SPARE_S) * settings.rate_per_s) if settings.batch > 1 else 0
        self.tables = deque(self._table(self.came + first) for first in range(0, count, settings.batch))

    def run(self, stop: threading.Event) -> float:
        """Change at the pace that is asked until told to stop; gives the changes a second that were reached."""
        change = self._one if self.settings.batch == 1 else self._many
        first, began = self.came, time.perf_counter()
        while not stop.is_set():
            early_s = (self.came - first) / self.settings.rate_per_s - (time.perf_counter() - began)
            if early_s < 0:
                change()
            else:  # until the next is due: to wake up only to look would take turns of the publisher's
                time.sleep(max(_PAUSE_S, early_s))
        return (self.came - first) / (time.perf_counter() - began)

    def left(self) -> pa.Table:
        """The subscriptions that should be there now."""
        asked = dict(zip(self.base["id"].to_pylist(), self.base["query"].to_pylist(), strict=True))
        return pa.table({"id": list(self.ids), "query": [asked.get(name) or self._query(name) for name in self.ids]})

    def _one(self) -> None:
        name = f"new{self.came}"
        self.engine.subscribe(self._query(name), id=name)
        self.engine.unsubscribe(self.ids.popleft())
        self.ids.append(name)
        self.came += 1

    def _many(self) -> None:
        table = self.tables.popleft() if self.tables else self._table(self.came)
        names = self._names(self.came)
        self.engine.subscribe_many(table)
        self.ids.extend(names)
        self.engine.unsubscribe_many([self.ids.popleft() for _ in names])
        self.came += len(names)

    def _names(self, first: int) -> list[str]:
        return [f"new{first + i}" for i in range(self.settings.batch)]

    def _table(self, first: int) -> pa.Table:
        names = self._names(first)
        return pa.table({"id": names, "query": [self._query(name) for name in names]})

    def _query(self, name: str) -> str:
        return self.newcomers[int(name.removeprefix("new")) % len(self.newcomers)]


def measure(
    workload: Workload,
    newcomers: pa.ChunkedArray,
    settings: Settings | None = None,
    folder: Path | None = None,
    advance: Advance = silent,
) -> dict[str, Any]:
    """The figures of one workload of words, in memory or in a folder; ``advance`` is told of each half of a round."""
    settings = settings or Settings()
    with _turns(settings.switch_interval_ms), Engine(folder, sample=workload.sample) as engine:
        engine.subscribe_many(workload.subscriptions)
        ids = deque(workload.subscriptions["id"].to_pylist())
        changes = Changes(engine, workload.subscriptions, newcomers.to_pylist(), settings, ids)
        for name, text in single_posts(workload.others):
            engine.publish(id=name, text=text)
        publish = _publisher(engine, workload.posts, settings.posts)
        alone, beside, reached = [], [], []
        for _ in range(settings.rounds):
            _wait_until_tidy()
            alone.append(_published(publish, settings.round_s))
            advance(1)
            rate, changed = _published_beside(publish, changes)
            beside.append(rate)
            reached.append(changed)
            advance(1)
        _wait_until_tidy()
        _check(engine, changes.left(), workload)
        return {
            "workload": workload.name,
            "subscriptions": len(engine),
            "in_a_folder": folder is not None,
            "rounds": settings.rounds,
            "round_s": settings.round_s,
            "asked_changes_per_s": settings.rate_per_s,
            "changes_at_a_time": settings.batch,
            "posts_at_a_time": settings.posts,
            "switch_interval_ms": round(1000 * sys.getswitchinterval(), 3),
            "subscribed_per_s": round(statistics.median(reached)),
            "unsubscribed_per_s": round(statistics.median(reached)),
            "alone_posts_per_s": round(statistics.median(alone)),
            "beside_changes_posts_per_s": round(statistics.median(beside)),
            "ratio": round(statistics.median(b / a for a, b in zip(alone, beside, strict=True)), 2),
            "ratio_worst_round": round(min(b / a for a, b in zip(alone, beside, strict=True)), 2),
            "segments_at_the_end": engine.stats().segments,
        }


@contextmanager
def _turns(interval_ms: float | None) -> Iterator[None]:
    """Let threads take turns of that length for a while."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(before if interval_ms is None else interval_ms / 1000)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _publisher(engine: Engine, posts: pa.Table, at_a_time: int) -> Callable[[], int]:
    """What publishes the next posts, again from the first after the last, and says how many they were."""
    if at_a_time > 1:
        tables = cycle([posts.slice(start, at_a_time) for start in range(0, posts.num_rows, at_a_time)])

        def publish() -> int:
            table = next(tables)
            engine.match(table)
            return int(table.num_rows)
    else:
        singles = cycle(single_posts(posts))

        def publish() -> int:
            name, text = next(singles)
            engine.publish(id=name, text=text)
            return 1

    return publish


def _published(publish: Callable[[], int], round_s: float) -> float:
    """Posts a second."""
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < round_s:
        count += publish()
    return count / (time.perf_counter() - began)


def _published_beside(publish: Callable[[], int], changes: Changes) -> tuple[float, float]:
    """Posts a second, and changes a second."""
    stop = threading.Event()
    changes.prepare()
    with ThreadPoolExecutor(1) as thread:
        other = thread.submit(changes.run, stop)
        try:
            rate = _published(publish, changes.settings.round_s)
        finally:
            stop.set()
        return rate, other.result()


def _wait_until_tidy() -> None:
    for thread in threading.enumerate():
        if thread.name == _TIDIER:
            thread.join()


def _check(engine: Engine, left: pa.Table, workload: Workload) -> None:
    """After all changes, the engine is as one that was made of what is left."""
    posts = workload.posts.slice(0, CHECKED_POSTS)
    fresh = Engine(sample=workload.sample)
    fresh.subscribe_many(left)
    columns = ["publication_id", "subscription_id"]
    order = [(name, "ascending") for name in columns]
    ours, expected = (one.match(posts).text(columns).sort_by(order) for one in (engine, fresh))
    if len(engine) != left.num_rows or not ours.equals(expected):
        raise DataError(
            "after the changes the engine has other matches than a new one; this is a bug, please report it"
        )
