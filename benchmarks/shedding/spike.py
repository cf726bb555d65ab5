"""How does the level follow a spike? As in [S3TM] 6.5, Fig. 27, on a simulated clock.

Departs from the paper: the rates are those of Fig. 27 as shares of what can be handled, which is measured: what a post
costs at each level, by the routes of posts that are held out, and how many copies a core matches in a second.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.s3tm.trials import METHODS, Row, columns
from benchmarks.shedding.setting import Laid, Setting
from tidings.cluster import place
from tidings.index.guard import GuardIndex
from tidings.partitioning import Mapping
from tidings.partitioning.learning import Incidence
from tidings.shedding import Controller, Levels, ideal_share
from tidings.shedding.simulation import SPIKE, SimulatedBatch, System, simulate, turns

MATCHERS = 16
TIMED_POSTS = 4_000
EVERY_S = 10.0
"""A sample in so many seconds is told."""

_PAPER_PEAK, _SAMPLE = 32_000.0, 1_000
_REST_S = 100.0
"""So long after a change of the rate the level should be at rest."""


@dataclass(frozen=True, slots=True)
class Spike:
    """``peak``: the highest rate, where what can be handled without shedding is 1; ``delays_s``: that are tolerated."""

    peak: float = 1.6
    delays_s: tuple[float, ...] = (3.0, 10.0, 60.0)


def spikes(setting: Setting, spike: Spike) -> dict[str, Any]:
    """A row for each delay and every ten seconds: the rate and what waits, as shares of a second's capacity."""
    terms = place(setting.subscriptions, Mapping.hashed(1), setting.sample).router.terms
    laid = setting.laid(METHODS["SALB"]().partition(Incidence.of(setting.learned, terms), MATCHERS))
    loads = Levels().loads(laid.held.route().sizes())
    copies_per_s = measured(laid)
    capacity = copies_per_s / float(loads[0])
    phases = [(seconds, spike.peak * capacity * rate / _PAPER_PEAK) for seconds, rate in SPIKE]
    rows: list[Row] = []
    for delay_s in spike.delays_s:
        system = System(loads, copies_per_s, may_wait=delay_s * capacity)
        samples = simulate(phases, system, Controller(Levels(ideal=ideal_share(loads))))
        told = _verdicts(samples, capacity)
        rows += [{"delay_s": delay_s} | told | _row(sample, capacity) for sample in _thinned(samples)]
    return {
        "matchers": MATCHERS,
        "peak": spike.peak,
        "copies_per_s": round(copies_per_s),
        "posts_per_s": round(capacity),
        "load_by_level": str([round(float(load / loads[0]), 3) for load in loads]),
    } | columns(rows)


def measured(laid: Laid, posts: int = TIMED_POSTS) -> float:
    """Copies that one core matches in a second, by processor time; the second of two passes, when words are known."""
    table, routes = laid.setting.held.slice(0, posts), laid.held.route()
    seconds, copies = 0.0, 0
    for matcher in range(laid.held.matchers):
        index = GuardIndex(sample=laid.setting.learned.slice(0, _SAMPLE))
        index.add_table(laid.placement.share(matcher).table)
        rows = routes.with_matcher(matcher)
        mine = table.take(pa.array(rows[rows < table.num_rows]))
        index.match(mine)
        began = time.process_time()
        index.match(mine)
        seconds, copies = seconds + time.process_time() - began, copies + mine.num_rows
    return copies / seconds


def _verdicts(samples: list[SimulatedBatch], capacity: float) -> Row:
    """What the figure shows, in words: the last two thirds of each phase are when the level is at rest."""
    ends = np.cumsum([seconds for seconds, _ in SPIKE])
    reached = [sample.time_s - ends[0] for sample in samples if sample.level]
    peak = [sample.level for sample in samples if ends[0] + _REST_S < sample.time_s <= ends[1]]
    back = next((sample.time_s - ends[1] for sample in samples if sample.time_s > ends[1] and not sample.level), None)
    return {
        "first_step_s": round(float(min(reached)), 1) if reached else None,
        "rest_low": min(peak),
        "rest_high": max(peak),
        "turns_at_rest": len(turns(peak)) - 1,
        "most_waiting_s": round(max(sample.waiting for sample in samples) / capacity, 1),
        "back_to_0_s": None if back is None else round(float(back), 1),
    }


def _thinned(samples: list[SimulatedBatch]) -> list[SimulatedBatch]:
    return [now for now, later in pairwise(samples) if now.time_s // EVERY_S < later.time_s // EVERY_S]


def _row(sample: SimulatedBatch, capacity: float) -> Row:
    return {
        "second": round(sample.time_s, 1),
        "rate": round(sample.rate / capacity, 3),
        "waiting_s": round(sample.waiting / capacity, 2),
        "level": sample.level,
    }
