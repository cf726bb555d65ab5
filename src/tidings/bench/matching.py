"""How many publications a second does the index match, and is every match right?

For each workload the index is first checked against brute force on a part of it, filled the same way, then measured on
batches of posts, on one core. Analysis of the text is part of the time, with most words met for the first time;
looking up who asked is not. ``with_fan_out`` is the whole way, on the last batch once more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidings.index import BruteForce, GuardIndex
from tidings.language import parse
from tidings.model import DataError, Subscription
from tidings.terms import ENGLISH

BATCH_ROWS = 4096
CHECKED_POSTS, CHECKED_SUBSCRIPTIONS = 200, 500


@dataclass(frozen=True, slots=True)
class Workload:
    """Subscriptions (id, query), posts to choose guards by, and posts to match."""

    name: str
    subscriptions: pa.Table
    sample: pa.Table
    posts: pa.Table


def measure(workload: Workload, advance: Callable[[int], None] = lambda _: None) -> dict[str, float | int | str]:
    """The figures of one workload; ``advance`` is told how many posts each step did."""
    _check(workload)
    index, registered_s = _registered(workload)
    batches = [workload.posts.slice(i, BATCH_ROWS) for i in range(0, workload.posts.num_rows, BATCH_ROWS)]
    index.count(batches[0])  # compiling is not matching, nor is meeting a word for the first time
    spent_s, candidates, matches = 0.0, 0, 0
    for batch in batches:
        began = time.perf_counter()
        counters = index.count(batch)
        spent_s += time.perf_counter() - began
        candidates, matches = candidates + counters.candidates, matches + counters.matches
        advance(batch.num_rows)
    began = time.perf_counter()
    delivered = len(index.match(batches[-1]).ids)
    fan_out_s = time.perf_counter() - began
    posts = workload.posts.num_rows
    return {
        "workload": workload.name,
        "subscriptions": workload.subscriptions.num_rows,
        "posts": posts,
        "posts_per_s": round(posts / spent_s),
        "candidates_per_post": round(candidates / posts, 1),
        "matches_per_post": round(matches / posts, 2),
        "registered_s": round(registered_s, 2),
        "bytes_per_subscription": round(index.size_bytes / workload.subscriptions.num_rows, 1),
        "with_fan_out_posts_per_s": round(batches[-1].num_rows / fan_out_s),
        "deliveries_per_post": round(delivered / batches[-1].num_rows, 2),
    }


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
    index, _ = _registered(Workload(workload.name, asked, workload.sample, posts))
    if index.match(posts).pairs() != oracle.match(posts).pairs():
        raise DataError(f"{workload.name}: the index and brute force differ; this is a bug, please report it")


def _some(rng: np.random.Generator, count: int, most: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.sort(rng.choice(count, min(count, most), replace=False))
