"""What does adjustment bring while queries drift, with all that moving costs? Two clusters side by side.

Both get the same posts and changes, batch by batch. Matchers would work at the same time: a batch takes as long as its
slowest matcher. To the time of the cluster that is adjusted comes all that planning, moving and writing the moved
subscriptions to files takes, as if everybody waited for it.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.balancing.world import Batch, Drift, World
from benchmarks.matching import Advance, silent
from tidings.analysis import ENGLISH
from tidings.balancing import Adjuster
from tidings.cluster.shares import Shares
from tidings.index.subscribers import with_all_columns
from tidings.partitioning import Mapping, Move

_WARM = 5


@dataclass(slots=True)
class _Side:
    """A cluster with its files, and what it took so far, in milliseconds."""

    shares: Shares
    folder: Path
    adjuster: Adjuster | None
    batch_ms: list[float] = field(default_factory=list)
    matcher_ms: list[float] = field(default_factory=list)
    moving_ms: float = 0.0
    carried: int = 0
    moved_bytes: int = 0
    written_bytes: int = 0
    moves: list[int] = field(default_factory=list)

    def take(self, batch: Batch) -> None:
        cluster, before = self.shares.cluster, self.shares.cluster.loads().matchers
        cluster.change(with_all_columns(batch.added), batch.gone)
        if not batch.posts.num_rows:
            self.shares.save()
            return
        cluster.deliver(batch.posts)
        work = cluster.loads().matchers - before
        self.batch_ms.append(float(work.ms.max()))
        self.matcher_ms.append(float(work.ms.sum()))
        if self.adjuster is not None:
            self._adjust(self.adjuster)

    def _adjust(self, adjuster: Adjuster) -> None:
        cluster, began = self.shares.cluster, time.perf_counter()
        mapping = cluster.mapping
        assert mapping is not None
        moves = adjuster.look(cluster.loads(), mapping)
        self.moving_ms += (time.perf_counter() - began) * 1e3
        if moves:
            self.shares.save()  # what changed before is written in any case
            self._move(mapping, moves)

    def _move(self, mapping: Mapping, moves: list[Move]) -> None:
        files, began = {file.name for file in self.folder.iterdir()}, time.perf_counter()
        carried = self.shares.move(mapping.moved(moves))
        self.shares.save()
        self.moving_ms += (time.perf_counter() - began) * 1e3
        self.moves.append(len(moves))
        self.carried += carried.subscriptions
        self.moved_bytes += carried.size_bytes
        self.written_bytes += sum(file.stat().st_size for file in self.folder.iterdir() if file.name not in files)


def measure(
    world: World, drift: Drift, folder: Path, adjuster: Adjuster, matchers: int = 8, advance: Advance = silent
) -> dict[str, Any]:
    """Posts a second with and without adjustment, what was moved, and the bytes that were written for it."""
    stream = drift.stream(world)
    first = next(stream)
    mapping, sides = world.mapping(first.added, matchers), []
    for name, adjusts in (("fixed", False), ("adjusted", True)):
        own = folder / name
        own.mkdir()
        sides.append(_Side(Shares(own, mapping, ENGLISH, None), own, adjuster if adjusts else None))
        sides[-1].take(first)
    for number, batch in enumerate(stream):
        for side in sides if number % 2 else reversed(sides):
            side.take(batch)
        advance(1)
    return _figures(world, drift, matchers, *sides)


def _figures(world: World, drift: Drift, matchers: int, fixed: _Side, adjusted: _Side) -> dict[str, Any]:
    posts = drift.rows * (drift.batches - _WARM)
    rates = [
        posts / (sum(side.batch_ms[_WARM:]) + side.moving_ms) * 1e3 if side.batch_ms else 0.0
        for side in (fixed, adjusted)
    ]
    return {
        **asdict(drift),
        "posts": world.posts.num_rows,
        "matchers": matchers,
        "posts_a_second": round(rates[1]),
        "posts_a_second_without": round(rates[0]),
        "times_as_many": round(rates[1] / rates[0], 3),
        "times_as_many_if_moving_were_free": round(sum(fixed.batch_ms[_WARM:]) / sum(adjusted.batch_ms[_WARM:]), 3),
        "slowest_by_mean": [round(own, 3) for own in map(_slowest_by_mean, (adjusted, fixed))],
        "parcels_moved": sum(adjusted.moves),
        "times_moved": len(adjusted.moves),
        "subscriptions_moved": adjusted.carried,
        "moving_ms": round(adjusted.moving_ms),
        "bytes_moved": adjusted.moved_bytes,
        "bytes_written": adjusted.written_bytes,
    }


def _slowest_by_mean(side: _Side) -> float:
    matchers = len(side.shares.cluster.members)
    return matchers * sum(side.batch_ms[_WARM:]) / sum(side.matcher_ms[_WARM:])
