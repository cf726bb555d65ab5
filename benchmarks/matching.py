"""How many publications a second does the index match, and is every match right?

For each workload the index is first checked against brute force on a part of it, filled the same way, then measured in
rounds, on one core, in batches. Each round is a thread of its own, which has met no word yet: it matches some posts,
most of whose words are new to it (``first_pass``), and then the others, as a system that has run for a while. Analysis
of the text is part of the time, where somebody asks for words. Looking up who asked is not, nor is writing out a query
for each row where it was found for 32 rows at once; ``with_fan_out`` is the whole way.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from tidings.analysis import ENGLISH
from tidings.index import BruteForce, GuardIndex
from tidings.language import parse
from tidings.model import DataError, Subscription
from tidings.tables.matches import Counters, Matches

BATCH_ROWS = 4096
FED_ROWS = 16_384
"""So many posts are given to the index at a time, which takes as many of them at once as it likes."""
FAN_OUT_ROWS = 512
CHECKED_POSTS, CHECKED_SUBSCRIPTIONS = 100, 1_100
"""Enough subscriptions for a segment: that is what the others are filed in as well."""

Advance = Callable[[int], None]


class Measured(Protocol):
    """A matcher that can be measured."""

    def count(self, table: pa.Table) -> Counters:
        """How much work matching a table is."""

    def match(self, table: pa.Table) -> Matches:
        """Its matches."""


def silent(_: int) -> None:
    """Tells nobody how far a measurement is."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Subscriptions (id, query), posts to choose guards by, posts to match, and others to warm up with."""

    name: str
    subscriptions: pa.Table
    sample: pa.Table
    posts: pa.Table
    others: pa.Table

    @property
    def round_posts(self) -> int:
        """How many posts a round tells of."""
        return int(self.posts.num_rows + self.others.num_rows)


@dataclass(frozen=True, slots=True)
class Round:
    """Posts a second in one round, and what was found."""

    first_pass: float
    steady: float
    with_fan_out: float
    counters: Counters
    deliveries_per_post: float


def measure(workload: Workload, rounds: int = 5, advance: Advance = silent) -> dict[str, Any]:
    """The figures of one workload; ``advance`` is told how many posts each step did."""
    index, registered_s = prepared(workload)
    return figures(workload, index, registered_s, [one_round(index, workload, advance) for _ in range(rounds)])


def prepared(workload: Workload) -> tuple[GuardIndex, float]:
    """The index with all subscriptions, after the check, and how long they took."""
    _check(workload)
    return _registered(workload)


def one_round(index: Measured, workload: Workload, advance: Advance = silent) -> Round:
    """Measure once, in a new thread: what an index remembers of words, it remembers for each thread."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_round, index, workload, advance).result()


def figures(workload: Workload, index: GuardIndex, registered_s: float, rounds: list[Round]) -> dict[str, Any]:
    posts, subscriptions = workload.posts.num_rows, workload.subscriptions.num_rows
    counters = rounds[0].counters
    return {
        "workload": workload.name,
        "subscriptions": subscriptions,
        "posts": posts,
        "batch": FED_ROWS,
        "rounds": len(rounds),
        **best_and_median("posts_per_s", [each.steady for each in rounds]),
        **best_and_median("first_pass_posts_per_s", [each.first_pass for each in rounds]),
        **best_and_median("with_fan_out_posts_per_s", [each.with_fan_out for each in rounds]),
        "candidates_per_post": round(counters.candidates / posts, 1),
        "matches_per_post": round(counters.matches / posts, 2),
        "deliveries_per_post": round(rounds[0].deliveries_per_post, 2),
        "registered_s": round(registered_s, 2),
        "bytes_per_subscription": round(index.size_bytes / subscriptions, 1),
    }


def best_and_median(name: str, rates: list[float]) -> dict[str, int]:
    """The best round: what else the machine does only ever makes one slower. And the median, to see how much."""
    return {name: round(max(rates)), f"{name}_median": round(statistics.median(rates))}


def _round(index: Measured, workload: Workload, advance: Advance) -> Round:
    _, first_s = counted(index, workload.others, advance)
    counters, steady_s = counted(index, workload.posts, advance)
    last = workload.posts.slice(max(0, workload.posts.num_rows - BATCH_ROWS))
    deliveries, began = 0, time.perf_counter()
    for start in range(0, last.num_rows, FAN_OUT_ROWS):
        deliveries += index.match(last.slice(start, FAN_OUT_ROWS)).table().num_rows
    fan_out_s = time.perf_counter() - began
    return Round(
        workload.others.num_rows / first_s,
        workload.posts.num_rows / steady_s,
        last.num_rows / fan_out_s,
        counters,
        deliveries / last.num_rows,
    )


def counted(index: Measured, posts: pa.Table, advance: Advance) -> tuple[Counters, float]:
    counters, spent_s = Counters(), 0.0
    for start in range(0, posts.num_rows, FED_ROWS):
        batch = posts.slice(start, FED_ROWS)
        began = time.perf_counter()
        counters += index.count(batch)
        spent_s += time.perf_counter() - began
        advance(batch.num_rows)
    return counters, spent_s


def _registered(workload: Workload) -> tuple[GuardIndex, float]:
    """The index with all subscriptions, and how long that took: plain ones in bulk, the others through the parser."""
    index = GuardIndex(sample=workload.sample)
    began = time.perf_counter()  # _check has compiled everything by now
    index.add_table(workload.subscriptions.select(["id", "query"]))
    return index, time.perf_counter() - began


def _check(workload: Workload) -> None:
    """A part of the workload, chosen at random, against brute force."""
    rng = np.random.default_rng(1)
    posts = workload.posts.take(pa.array(_some(rng, workload.posts.num_rows, CHECKED_POSTS)))
    asked = workload.subscriptions.take(pa.array(_some(rng, workload.subscriptions.num_rows, CHECKED_SUBSCRIPTIONS)))
    oracle = BruteForce(ENGLISH)
    oracle.add(Subscription(row["id"], parse(row["query"])) for row in asked.to_pylist())
    index, _ = _registered(Workload(workload.name, asked, workload.sample, posts, posts))
    if index.match(posts).pairs() != oracle.match(posts).pairs():
        raise DataError(f"{workload.name}: the index and brute force differ; this is a bug, please report it")


def _some(rng: np.random.Generator, count: int, most: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.sort(rng.choice(count, min(count, most), replace=False))
