"""How many times as fast as Lucene Monitor is the index, on the same subscriptions and posts, with the same matches?

Some hundred posts are matched against all subscriptions by both, and a single difference fails the run. Then both are
timed in turn, round after round: tidings as in :mod:`benchmarks.matching`, Lucene on fewer posts, as it comes and
as we tuned it, one at a time and in batches, each in a JVM of its own that has warmed up; how many matches it finds
is compared each time. Lucene gets words that were analysed before, tidings reads the text in its time. Lucene names
each subscription: ``with_fan_out`` is what tidings takes for that, all else finds queries.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import lucene, translation
from benchmarks.lucene import Outcome
from benchmarks.matching import BATCH_ROWS, Advance, Round, Workload, figures, one_round, prepared, silent
from benchmarks.names import Name
from benchmarks.workloads import IN_QUOTES, IN_WORDS
from tidings.index import GuardIndex
from tidings.model import DataError

CHECKED_POSTS = 300


@dataclass(frozen=True, slots=True)
class Settings:
    """Lucene matches the first ``posts`` singly, and ``batch`` (or ``posts``, if more) in batches; untuned, a quarter.

    It does so after ``warmup_s`` of matching in each JVM. Large batches are its fastest: it then runs a query once for
    many posts.
    """

    posts: int = 2_000
    batch: int = BATCH_ROWS
    warmup_s: float = 10.0
    heap_mb: int = 4096


@dataclass(frozen=True, slots=True)
class Run:
    """Posts that Lucene is given ``batch`` at a time."""

    how: str
    batch: int
    posts: pa.Table
    is_tuned: bool = True


@dataclass(frozen=True, slots=True)
class Side:
    """How Lucene is asked for one workload."""

    match: Callable[..., Outcome]
    queries: Callable[[pa.ChunkedArray], Iterable[Any]]
    posts: Callable[[pa.Table], Iterable[Any]]
    passes: int = 1

    def run(self, workload: Workload, run: Run, given: Settings, *, pairs: bool = False) -> Outcome:
        asked = self.queries(workload.subscriptions["query"])
        settings = lucene.Settings(
            run.batch, self.passes if run.is_tuned else 0, given.warmup_s, rounds=1, heap_mb=given.heap_mb
        )
        return self.match(asked, self.posts(run.posts), settings, pairs=pairs)


_WORDS = Side(lucene.match_words, translation.word_queries, translation.word_posts, passes=2)
_BOXES = Side(lucene.match_boxes, translation.box_queries, translation.placed_posts)
_QUOTES = Side(lucene.match_stock, translation.stock_queries, translation.quotes)


def measure(
    name: Name, workload: Workload, rounds: int = 5, settings: Settings | None = None, advance: Advance = silent
) -> dict[str, Any]:
    """The figures of :func:`benchmarks.matching.measure`, and those of Lucene beside them.

    ``advance`` is told how many posts each step of tidings did.
    """
    lucene.build()  # what is missing is told at once
    settings = settings or Settings()
    side = _WORDS if name in IN_WORDS else _QUOTES if name in IN_QUOTES else _BOXES
    if side is _BOXES:
        workload = translation.on_lucenes_grid(workload)
    index, registered_s = prepared(workload)
    _check(side, workload, index, settings)
    runs = [
        Run("untuned", 1, workload.posts.slice(0, -(-settings.posts // 4)), is_tuned=False),
        Run("single", 1, workload.posts.slice(0, settings.posts)),
        Run("batched", settings.batch, workload.posts.slice(0, max(settings.posts, settings.batch))),
    ]
    expected = [_deliveries(index, run.posts) for run in runs]
    ours: list[Round] = []
    theirs: list[list[Outcome]] = [[] for _ in runs]
    for _ in range(rounds):
        ours.append(one_round(index, workload, advance))
        for run, own, matches in zip(runs, theirs, expected, strict=True):
            own.append(side.run(workload, run, settings))
            if own[-1].matches != matches:
                raise _differ(workload, f"{matches:,} matches", f"{own[-1].matches:,}")
    told: dict[str, Any] = {
        "lucene": theirs[0][0].lucene,
        "lucene_batch": settings.batch,
        "lucene_registered_s": round(min(outcome.registration_s for own in theirs for outcome in own), 2),
    }
    for run, own in zip(runs, theirs, strict=True):
        told |= _compared(run.how, ours, own)
    return figures(workload, index, registered_s, ours) | told


def _compared(how: str, ours: list[Round], theirs: list[Outcome]) -> dict[str, float]:
    """Lucene's posts a second, and how many times as many tidings does: the median of the rounds."""
    rates = [outcome.posts_per_s for outcome in theirs]
    ratio = statistics.median(own.steady / rate for own, rate in zip(ours, rates, strict=True))
    whole = statistics.median(own.with_fan_out / rate for own, rate in zip(ours, rates, strict=True))
    return {
        f"lucene_{how}_posts": theirs[0].posts,
        f"lucene_{how}_candidates_per_post": round(theirs[0].candidates / theirs[0].posts, 1),
        f"lucene_{how}_posts_per_s": round(max(rates), 1),
        f"lucene_{how}_posts_per_s_median": round(statistics.median(rates), 1),
        f"ratio_{how}": round(ratio, 1),
        f"ratio_{how}_with_fan_out": round(whole, 1),
    }


def _check(side: Side, workload: Workload, index: GuardIndex, settings: Settings) -> None:
    """Some posts against all subscriptions, match by match."""
    posts = workload.posts.slice(0, CHECKED_POSTS)
    theirs = side.run(workload, Run("checked", 1, posts), replace(settings, warmup_s=0), pairs=True).pairs
    names = workload.subscriptions["id"].to_pylist()
    number_of = {name: number for number, name in enumerate(names)}
    found = index.match(posts)
    numbers = np.array([number_of[name] for name in found.ids().to_pylist()], dtype=np.int64)
    ours = np.stack([found.rows(), numbers], axis=1)
    ours = ours[np.lexsort((ours[:, 1], ours[:, 0]))]
    if theirs is None or not np.array_equal(ours, theirs):
        raise _differ(workload, f"{len(ours):,} matches", f"{0 if theirs is None else len(theirs):,}")


def _deliveries(index: GuardIndex, posts: pa.Table) -> int:
    """How many matches Lucene should find."""
    return sum(len(index.match(posts.slice(start, 100)).text()) for start in range(0, posts.num_rows, 100))


def _differ(workload: Workload, ours: str, theirs: str) -> DataError:
    return DataError(f"{workload.name}: tidings and Lucene differ: {ours} against {theirs}; please report it")
