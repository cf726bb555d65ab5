"""What do a post, a pair, an insertion and a deletion cost a matcher? Def. 1 of [PS2], fitted to counters.

Three clusters of unlike size are made. In each, *units* of work vary one thing at a time: posts that a matcher has no
queries for; posts as they are routed; those with few and with many entries under their words; insertions; deletions;
and batches of all three as [PS2] VI-A mixes them. Each unit is done several times, in turns with the others, and for
each matcher the fastest counts. An observation is one unit at one matcher. Costs are fitted to the matchers with even
numbers, and the work of those with odd numbers is predicted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.balancing.world import LEARNED, World
from benchmarks.matching import Advance, silent
from tidings.arrays import IntArray
from tidings.balancing import WorkDone
from tidings.cluster import Cluster
from tidings.cluster.counting import touched
from tidings.partitioning import MatcherSets
from tidings.partitioning.load import FloatArray, fitted
from tidings.tables.checked import Publications

PARTS_STANDING = (8, 3, 1)
"""A part of all queries stands in each cluster: an eighth, a third, all."""

SPARE = 8
"""One of so many queries does not stand at first, to have new ones to insert."""

_TRIES = 4
_MIXED = 10
"""Posts for each insertion, and for each deletion."""


class _Unit(NamedTuple):
    """What each matcher did, at best, and how many queries it had."""

    kind: str
    work: WorkDone
    standing: IntArray


class _Formula(NamedTuple):
    """Which counters have a cost."""

    name: str
    columns: tuple[str, ...]


_DEF_1 = ("all_pairs", "post", "insertion", "deletion")
_COUNTED = ("candidate", "post", "insertion", "deletion")
FORMULAS = (
    _Formula("Def. 1", _DEF_1),
    _Formula("Def. 1 and calls", (*_DEF_1, "delivery", "change")),
    _Formula("looked at", _COUNTED),
    _Formula("looked at and calls", (*_COUNTED, "delivery", "change")),
    _Formula("looked at, calls, matches", (*_COUNTED, "delivery", "change", "match")),
)
KINDS = ("posts", "insertions", "deletions", "batches")


def measure(world: World, most: int, matchers: int = 8, advance: Advance = silent) -> dict[str, Any]:
    """Costs and errors of several formulas, with ``most`` different queries."""
    sizes = [(most - most // SPARE) // part for part in PARTS_STANDING]
    units: list[_Unit] = []
    noise: list[float] = []
    for size in sizes:
        bench = _Bench.made(world, size, matchers)
        own = bench.units(sizes[0])
        units += [unit for unit, _ in own]
        noise += [more for _, more in own]
        advance(1)
    figures = {
        "standing": " ".join(f"{size:,}" for size in sizes),
        "matchers": matchers,
        "observations": len(units) * matchers,
        "tries": _TRIES,
        "second_best_by_best": round(float(np.median(noise)), 3),
        "bulk_insertion_us": _rounded(bench.bulk_us),
    }
    return figures | _fitted(units)


@dataclass(slots=True)
class _Bench:
    """A cluster; ``old`` ids are to go, and queries of ``asked`` from row ``next_new`` are to come."""

    cluster: Cluster
    posts: pa.Table
    asked: pa.Table
    bulk_us: float
    next_old: int
    next_new: int
    rng: np.random.Generator

    @classmethod
    def made(cls, world: World, standing: int, matchers: int) -> _Bench:
        """A cluster in which so many stand."""
        rng = np.random.default_rng(world.seed)
        asked = world.queries(rng.permutation(len(world.region)), world.is_q2, "s")
        mapping = world.mapping(asked.slice(0, min(standing, LEARNED)), matchers, standing)
        cluster = Cluster(mapping, sample=world.posts.slice(0, LEARNED))
        cluster.change(asked.slice(0, standing))
        first = cluster.loads().matchers
        return cls(cluster, world.posts, asked, 1e3 * first.ms.sum() / first.insertions.sum(), 0, standing, rng)

    def units(self, least: int) -> list[tuple[_Unit, float]]:
        """All units, and by how much the second fastest try was slower. ``least``: the queries of the smallest one."""
        todo = self._deliveries(least)
        for count in (least // 64, least // 32, least // 16):
            todo += [("deletions", partial(self._change, 0, count)), ("insertions", partial(self._change, count, 0))]
        todo.append(("batches", partial(self._batch, self._drawn(np.arange(self.posts.num_rows), least // 2))))
        tries: list[list[WorkDone]] = [[] for _ in todo]
        for _ in range(_TRIES):
            for done, (_, work) in zip(tries, todo, strict=True):
                before = self.cluster.loads().matchers
                work()
                done.append(self.cluster.loads().matchers - before)
            for member in self.cluster.members:
                member.index.compact()
            self.cluster.deliver(self.posts.slice(0, LEARNED))  # the first one after that reads all words anew
        standing = np.array([len(member.index) for member in self.cluster.members])
        best = [best_of(done) for done in tries]
        return [(_Unit(kind, work, standing), more) for (kind, _), (work, more) in zip(todo, best, strict=True)]

    def _deliveries(self, least: int) -> list[tuple[str, Callable[[], object]]]:
        """Posts as they are routed, those with few and with many entries, and posts where nothing asks for them."""
        router = self.cluster.router
        assert router is not None
        touches = touched(router, Publications.of(self.posts).table)
        entries = np.bincount(touches.rows, touches.entries, self.posts.num_rows)
        rising = np.argsort(entries, kind="stable")
        rising = rising[np.count_nonzero(entries == 0) :]
        every, few, many = np.arange(self.posts.num_rows), rising[: len(rising) // 2], rising[-len(rising) // 4 :]
        drawn = [
            self._drawn(rows, count)
            for rows, count in ((every, least // 4), (every, least), (few, least // 2), (many, least // 2))
        ]
        todo: list[tuple[str, Callable[[], object]]] = [
            ("posts", partial(self.cluster.deliver, posts)) for posts in drawn
        ]
        for count in (least // 16, least // 4):
            posts = self._drawn(every, count)
            others = _complement(router.route(posts), len(self.cluster.members))
            todo.append(("posts", partial(self.cluster.deliver, posts, others)))
        return todo

    def _drawn(self, rows: IntArray, count: int) -> pa.Table:
        return self.posts.take(pa.array(self.rng.choice(rows, max(count, 1))))

    def _change(self, new: int, old: int) -> None:
        """So many insertions of new queries, and deletions of the oldest."""
        gone = self.asked["id"].slice(self.next_old, old).to_pylist()
        self.cluster.change(self.asked.slice(self.next_new, new), gone)
        self.next_old, self.next_new = self.next_old + old, self.next_new + new

    def _batch(self, posts: pa.Table) -> None:
        count = posts.num_rows // _MIXED
        self._change(count, count)
        self.cluster.deliver(posts)


def _complement(routes: MatcherSets, matchers: int) -> MatcherSets:
    """To all matchers to which a post is not sent."""
    every = MatcherSets.empty(len(routes), matchers)
    for matcher in range(matchers):
        every.words[:, matcher // 64] |= np.uint64(1) << np.uint64(matcher % 64)
    return every.without(routes)


def best_of(tries: list[WorkDone]) -> tuple[WorkDone, float]:
    """For each matcher the try with the least time for each thing that was done, and how much slower the next one was.

    Tries of changes are of as many queries, but of others, so a matcher has a few more or less of them.
    """
    pace = np.array([one.ms / np.maximum(one.posts + one.insertions + one.deletions, 1) for one in tries])
    chosen, matchers = pace.argmin(axis=0), np.arange(pace.shape[1])
    columns = [
        np.stack([getattr(one, name) for one in tries])[chosen, matchers] for name in WorkDone.__dataclass_fields__
    ]
    ranked = np.sort(pace, axis=0)
    return WorkDone(*columns), float(np.median(ranked[1] / np.maximum(ranked[0], 1e-12)))


def _fitted(units: list[_Unit]) -> dict[str, list[Any]]:
    """A row for each formula: what is fitted to matchers with even numbers, and how far the others are from it."""
    every = {name: np.concatenate([getattr(unit.work, name) for unit in units]) for name in _COUNTERS.values()}
    counters = {column: every[name].astype(np.float64) for column, name in _COUNTERS.items()}
    standing = np.concatenate([unit.standing for unit in units])
    counters |= {"all_pairs": counters["post"] * standing}
    matchers = len(units[0].standing)
    kind = np.repeat([unit.kind for unit in units], matchers)
    counters["delivery"] = np.isin(kind, ("posts", "batches")).astype(np.float64)
    counters["change"] = (kind != "posts").astype(np.float64)
    ms, is_out = counters.pop("ms"), np.tile(np.arange(matchers) % 2 == 1, len(units))
    used = ms > 0
    rows: list[dict[str, Any]] = []
    for formula in FORMULAS:
        counts = np.stack([counters[column] for column in formula.columns], axis=1)
        costs = fitted(counts[used & ~is_out], ms[used & ~is_out])
        error = np.abs(counts @ costs / 1e3 - ms) / np.where(used, ms, 1.0)
        told = dict(zip(formula.columns, costs.tolist(), strict=True))
        row: dict[str, Any] = {"formula": formula.name}
        row["pair_us"] = _rounded(told.get("all_pairs", told.get("candidate", 0.0)))
        row |= {
            f"{name}_us": _rounded(told.get(name, 0.0))
            for name in ("post", "insertion", "deletion", "delivery", "change", "match")
        }
        row["error"] = _mean(error[used & is_out])
        row |= {f"error_of_{name}": _mean(error[used & is_out & (kind == name)]) for name in KINDS}
        rows.append(row)
    return {name: [row[name] for row in rows] for name in rows[0]}


_COUNTERS = {
    "candidate": "compared",
    "post": "posts",
    "insertion": "insertions",
    "deletion": "deletions",
    "match": "found",
    "ms": "ms",
}


_TOLD = ("post", "insertion", "deletion", "delivery", "change", "match")


def _rounded(cost: float) -> float:
    return float(f"{cost:.3g}")


def _mean(errors: FloatArray) -> float:
    return round(float(errors.mean()), 3)
