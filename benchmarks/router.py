"""How many posts a second does a router send where words and places are divided, once they are numbers?

The mapping is that of the hybrid partitioning ([PS2] Alg. 1), learned from notes and from queries about them. Other
notes are then numbered once, and routed in rounds on one core.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.matching import best_and_median
from benchmarks.ps2.corpus import read_notes
from benchmarks.ps2.division import WORKLOADS
from tidings.analysis import ENGLISH
from tidings.cluster import place
from tidings.partitioning.hybrid import Hybrid, Workload, sample_costs
from tidings.partitioning.load import COSTS
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
    costs = sample_costs(COSTS, learned.num_rows, some.num_rows, settings.subscriptions)
    mapping = Hybrid(costs=costs).partition(Workload.of(learned, some), settings.matchers)
    router = place(asked, mapping, Sample(ENGLISH, learned)).router
    posts, rates = router.numbered(notes.slice(source.num_rows)), list[float]()
    for _ in range(settings.rounds):
        began = time.perf_counter()
        routes = router.send(posts)
        rates.append(len(posts.terms) / (time.perf_counter() - began))
    return {
        "terms_in_regions": len(router),
        "words_per_post": round(len(posts.terms.ids) / len(posts.terms), 1),
        "known_words_per_post": round(float(np.count_nonzero(posts.terms.ids >= 0)) / len(posts.terms), 1),
        "post_copies": round(float(routes.sizes().mean()), 2),
        "dropped": round(float((routes.sizes() == 0).mean()), 2),
        **best_and_median("posts_per_s", rates),
    }
