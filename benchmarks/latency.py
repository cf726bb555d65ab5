"""How long does one post take, from its text to everybody who asked for it?

Posts are published one at a time after a warm-up on others. ``found`` ends where it is known which queries match;
``published`` is :meth:`Engine.publish`, with a match for everybody who asked. Both are timed in turn, each on every
second block of posts, so that neither gets posts whose words the other has just met.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.matching import Advance, Workload, silent
from tidings.engine import Engine
from tidings.model import DataError, Publication

BLOCK_POSTS = 100
CHECKED_POSTS = 200

Post = tuple[str, str]
"""Its id and its text."""

NanoArray = npt.NDArray[np.int64]


def measure(workload: Workload, advance: Advance = silent) -> dict[str, Any]:
    """The figures of one workload of words; ``advance`` is told how many posts each step did, warm-up included."""
    engine = Engine(sample=workload.sample)
    began = time.perf_counter()
    engine.subscribe_many(workload.subscriptions)
    registered_s = time.perf_counter() - began
    posts = single_posts(workload.posts)
    _check(engine, workload.posts.slice(0, CHECKED_POSTS))
    ways: list[Callable[[Post], int]] = [
        lambda post: engine._index.snapshot.count_one(Publication(*post)),
        lambda post: len(engine.publish(id=post[0], text=post[1])),
    ]
    _timed(ways, single_posts(workload.others), advance)
    (found_ns, found), (published_ns, matches) = _timed(ways, posts, advance)
    if not (len(found_ns) and len(published_ns)):
        raise DataError(f"{len(posts):,} posts are too few: more than {BLOCK_POSTS:,} are needed")
    return {
        "workload": workload.name,
        "subscriptions": len(engine),
        "posts_each": len(posts) // 2,
        "queries_found_per_post": round(found / len(found_ns), 2),
        "matches_per_post": round(matches / len(published_ns), 2),
        **_quantiles("found", found_ns),
        **_quantiles("published", published_ns),
        "registered_s": round(registered_s, 2),
    }


def single_posts(posts: pa.Table) -> list[Post]:
    texts = pc.fill_null(posts["text"], "")
    return list(zip(posts["id"].to_pylist(), texts.to_pylist(), strict=True))


def _timed(ways: list[Callable[[Post], int]], posts: list[Post], advance: Advance) -> list[tuple[NanoArray, int]]:
    """For each way, the nanoseconds of each post and what it counted in all; block after block in turn."""
    spent: list[list[int]] = [[] for _ in ways]
    counted = [0] * len(ways)
    clock = time.perf_counter_ns
    for number, start in enumerate(range(0, len(posts), BLOCK_POSTS)):
        turn = number % len(ways)
        way, own = ways[turn], spent[turn]
        block = posts[start : start + BLOCK_POSTS]
        for post in block:
            began = clock()
            counted[turn] += way(post)
            own.append(clock() - began)
        advance(len(block))
    return [(np.array(own), count) for own, count in zip(spent, counted, strict=True)]


def _quantiles(name: str, nanoseconds: NanoArray) -> dict[str, float]:
    median, p90, p99 = np.percentile(nanoseconds, [50, 90, 99]) / 1000
    return {
        f"{name}_median_us": round(float(median), 1),
        f"{name}_p90_us": round(float(p90), 1),
        f"{name}_p99_us": round(float(p99), 1),
        f"{name}_mean_us": round(float(nanoseconds.mean()) / 1000, 1),
    }


def _check(engine: Engine, posts: pa.Table) -> None:
    """One at a time as all at once."""
    table = engine.match(posts).table()
    together = zip(table["publication_id"].to_pylist(), table["subscription_id"].to_pylist(), strict=True)
    singly = [
        (match.publication_id, match.subscription_id)
        for name, text in single_posts(posts)
        for match in engine.publish(id=name, text=text)
    ]
    if sorted(together) != sorted(singly):
        raise DataError("posts have other matches one at a time than together; this is a bug, please report it")
