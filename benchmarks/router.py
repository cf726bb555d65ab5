"""How many posts a second does a router send where words and places are divided, once they are numbers?

The mapping is that of the hybrid partitioning ([PS2] Alg. 1), learned from notes and from queries about them. Other
notes are then numbered once, and routed in rounds on one core: as the router does it, and in turn by looking up all
terms first and marking their owners then. Both must give the same routes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.matching import best_and_median
from benchmarks.ps2.corpus import read_notes
from benchmarks.ps2.division import WORKLOADS, Plan
from tidings.analysis import ENGLISH
from tidings.cluster import place
from tidings.model import DataError
from tidings.partitioning import MatcherSets
from tidings.partitioning.hybrid import Hybrid, Workload
from tidings.terms.sample import Sample

KINDS, MAPS = ("q1", "q3"), ("world", "country")
SOURCE_POSTS = 100_000
LEARNED_POSTS, LEARNED_QUERIES = 20_000, 20_000
"""Queries come from so many posts. Of both some are learned from."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How many subscriptions stand, how many posts are routed among how many matchers, and how often."""

    subscriptions: int = 1_000_000
    posts: int = 100_000
    matchers: int = 8
    rounds: int = 5
    seed: int = 1


def measure(data: Path, settings: Settings) -> dict[str, Any]:
    """A column for each figure, with a row for each map and workload."""
    rows = [
        {"map": map_name, "queries": kind}
        | routed(read_notes(data, SOURCE_POSTS + settings.posts, settings.seed, map_name), kind, settings)
        for map_name in MAPS
        for kind in KINDS
    ]
    about = {"subscriptions": settings.subscriptions, "matchers": settings.matchers, "posts": settings.posts}
    return about | {name: [row[name] for row in rows] for name in rows[0]}


def routed(notes: pa.Table, kind: str, settings: Settings) -> dict[str, Any]:
    """The figures of the last notes, with queries about those before them."""
    source = notes.slice(0, notes.num_rows - settings.posts)
    learned = source.slice(0, LEARNED_POSTS)
    asked = WORKLOADS[kind](source, settings.subscriptions, settings.seed, ENGLISH)
    some = asked.slice(0, LEARNED_QUERIES)
    plan = Plan(2 * learned.num_rows, some.num_rows, settings.matchers, settings.subscriptions, settings.seed)
    mapping = Hybrid(costs=plan.sample_costs()).partition(Workload.of(learned, some), settings.matchers)
    router = place(asked, mapping, Sample(ENGLISH, learned)).router
    posts, owners = router.numbered(notes.slice(source.num_rows)), router.owners

    def in_two_steps() -> MatcherSets:
        return MatcherSets.owning(router.in_regions(posts), owners, settings.matchers)

    ways: dict[str, Callable[[], MatcherSets]] = {"posts_per_s": lambda: router.send(posts), "two_steps": in_two_steps}
    rates: dict[str, list[float]] = {name: [] for name in ways}
    routes: list[MatcherSets] = []
    for _ in range(settings.rounds):
        for name, way in ways.items():
            began = time.perf_counter()
            routes.append(way())
            rates[name].append(len(posts.terms) / (time.perf_counter() - began))
    if any(not np.array_equal(found.words, routes[0].words) for found in routes):
        raise DataError(f"{kind}: routes differ; this is a bug, please report it")
    return {
        "terms_in_regions": len(router),
        "words_per_post": round(len(posts.terms.ids) / len(posts.terms), 1),
        "known_words_per_post": round(float(np.count_nonzero(posts.terms.ids >= 0)) / len(posts.terms), 1),
        "post_copies": round(float(routes[0].sizes().mean()), 2),
        "dropped": round(float((routes[0].sizes() == 0).mean()), 2),
        **best_and_median("posts_per_s", rates["posts_per_s"]),
        **best_and_median("two_steps_posts_per_s", rates["two_steps"]),
    }
