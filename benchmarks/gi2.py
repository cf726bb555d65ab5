"""How many times as fast as GI2, the index of a worker of [PS2], is the guard index, with the same matches?

Both are filled from one table of subscriptions and with one sample, then measured in turn, round after round. After
that subscriptions change: one is added and one is deleted for every 10 posts ([PS2] VI-A), and the changes are part of
the time.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import pyarrow as pa

from benchmarks.matching import (
    BATCH_ROWS,
    Advance,
    Round,
    Workload,
    best_and_median,
    figures,
    one_round,
    prepared,
    silent,
)
from tidings.index import GI2, GuardIndex
from tidings.model import DataError
from tidings.tables.matches import Counters

CHECKED_POSTS = 1_000
POSTS_PER_CHANGE = 10


def measure(workload: Workload, rounds: int = 5, advance: Advance = silent) -> dict[str, Any]:
    """The figures of :func:`benchmarks.matching.measure`, and those of GI2 beside them."""
    index, registered_s = prepared(workload)
    gi2, gi2_registered_s = _registered(workload)
    _check(workload, index, gi2)
    ours: list[Round] = []
    theirs: list[Round] = []
    for _ in range(rounds):
        ours.append(one_round(index, workload, advance))
        theirs.append(one_round(gi2, workload))
    changing = [(_changing(index, workload), _changing(gi2, workload)) for _ in range(rounds)]
    _check(workload, index, gi2)
    posts = workload.posts.num_rows
    return {
        **figures(workload, index, registered_s, ours),
        **best_and_median("gi2_posts_per_s", [each.steady for each in theirs]),
        "gi2_candidates_per_post": round(theirs[0].counters.candidates / posts, 1),
        "gi2_registered_s": round(gi2_registered_s, 2),
        "gi2_bytes_per_subscription": round(gi2.size_bytes / len(gi2), 1),
        "ratio": _ratio([(one.steady, other.steady) for one, other in zip(ours, theirs, strict=True)]),
        **best_and_median("changing_posts_per_s", [one for one, _ in changing]),
        **best_and_median("gi2_changing_posts_per_s", [other for _, other in changing]),
        "ratio_changing": _ratio(changing),
    }


def _ratio(pairs: list[tuple[float, float]]) -> float:
    """How many times as fast the guard index is: the median of the rounds."""
    return round(statistics.median(one / other for one, other in pairs), 2)


def _registered(workload: Workload) -> tuple[GI2, float]:
    index = GI2(sample=workload.sample)
    began = time.perf_counter()
    index.add_table(workload.subscriptions.select(["id", "query"]))
    return index, time.perf_counter() - began


def _changing(index: GuardIndex | GI2, workload: Workload) -> float:
    """Posts a second while the first subscriptions are deleted and come again."""
    asked, spent_s, at, counters = workload.subscriptions.select(["id", "query"]), 0.0, 0, Counters()
    for start in range(0, workload.posts.num_rows, BATCH_ROWS):
        posts = workload.posts.slice(start, BATCH_ROWS)
        gone = asked.slice(at, posts.num_rows // POSTS_PER_CHANGE)
        at = (at + gone.num_rows) % max(1, asked.num_rows)
        names = gone["id"].to_pylist()
        began = time.perf_counter()
        index.remove(names)
        counters += index.count(posts.slice(0, posts.num_rows // 2))
        index.add_table(gone)
        counters += index.count(posts.slice(posts.num_rows // 2))
        spent_s += time.perf_counter() - began
    return float(workload.posts.num_rows / spent_s)


def _check(workload: Workload, index: GuardIndex, gi2: GI2) -> None:
    """Some posts against all subscriptions, match by match."""
    posts = workload.posts.slice(0, CHECKED_POSTS)
    ours, theirs = (set(_numbered(each.match(posts).text())) for each in (index, gi2))
    if ours != theirs:
        raise DataError(
            f"{workload.name}: the indexes differ: {len(ours):,} matches against {len(theirs):,}; please report it"
        )


def _numbered(matches: pa.Table) -> list[tuple[str, str]]:
    return list(zip(matches["publication_id"].to_pylist(), matches["subscription_id"].to_pylist(), strict=True))
