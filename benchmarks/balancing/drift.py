"""What does adjustment bring while queries drift, with all that moving costs? Two clusters side by side.

Both are clusters of real matchers in this process, with the same first mapping, and get the same posts and changes,
batch by batch. The matchers of a cluster work one after another here, and each is timed on its own. They would work at
the same time, so a batch takes as long as its slowest matcher. Routing is not in these times. After each batch both
write what has changed to files, which is not timed either. To the time of the cluster that is adjusted comes all that
planning, moving and writing the moved subscriptions takes, as if everybody waited for it.

The same is told by counters, which have no noise: a batch is as long as its largest load, and a moved subscription
costs an insertion and a deletion, for which everybody waits.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.balancing.world import LEARNED, Batch, Drift, World
from benchmarks.matching import Advance, silent
from tidings.analysis import ENGLISH
from tidings.balancing import Adjuster, batch_loads
from tidings.cluster.shares import Shares
from tidings.index.subscribers import with_all_columns
from tidings.partitioning import Mapping, Move
from tidings.partitioning.load import COUNTED

_WARM = 5
_STAGES = 5
"""The run is told of in so many parts."""


@dataclass(slots=True)
class _Side:
    """A cluster with its files, and what it took so far: milliseconds and loads of each batch, the slowest matcher and
    the mean of all."""

    shares: Shares
    folder: Path
    adjuster: Adjuster | None
    slowest_ms: list[float] = field(default_factory=list)
    mean_ms: list[float] = field(default_factory=list)
    largest_load: list[float] = field(default_factory=list)
    mean_load: list[float] = field(default_factory=list)
    moving_ms: list[float] = field(default_factory=list)
    carried: list[int] = field(default_factory=list)
    moved_bytes: int = 0
    written_bytes: int = 0
    moves: list[int] = field(default_factory=list)

    def take(self, batch: Batch) -> None:
        cluster, before = self.shares.cluster, self.shares.cluster.loads().matchers
        cluster.change(with_all_columns(batch.added), batch.gone)
        if batch.posts.num_rows:
            cluster.deliver(batch.posts)
            work = cluster.loads().matchers - before
            loads = batch_loads(work, COUNTED)
            self.slowest_ms.append(float(work.ms.max()))
            self.mean_ms.append(float(work.ms.mean()))
            self.largest_load.append(float(loads.max()))
            self.mean_load.append(float(loads.mean()))
            self.moving_ms.append(0.0)
            self.carried.append(0)
        self.shares.save()
        if batch.posts.num_rows and self.adjuster is not None:
            self._adjust(self.adjuster)

    def _adjust(self, adjuster: Adjuster) -> None:
        cluster, began = self.shares.cluster, time.perf_counter()
        mapping = cluster.mapping
        assert mapping is not None
        moves = adjuster.look(cluster.loads(), mapping)
        if moves:
            self._move(mapping, moves)
        self.moving_ms[-1] = (time.perf_counter() - began) * 1e3

    def _move(self, mapping: Mapping, moves: list[Move]) -> None:
        files = {file.name for file in self.folder.iterdir()}
        carried = self.shares.move(mapping.moved(moves))
        self.shares.save()
        self.moves.append(len(moves))
        self.carried[-1] = carried.subscriptions
        self.moved_bytes += carried.size_bytes
        self.written_bytes += sum(file.stat().st_size for file in self.folder.iterdir() if file.name not in files)

    def seconds(self, part: slice) -> float:
        """How long some batches took, with all that moving took."""
        return (sum(self.slowest_ms[part]) + sum(self.moving_ms[part])) / 1e3

    def load(self, part: slice) -> float:
        """The same by counters, in units of a post."""
        each = COUNTED.insertion + COUNTED.deletion
        return sum(self.largest_load[part]) + each * sum(self.carried[part])

    def slowest_by_mean(self, part: slice) -> float:
        """By how much the slowest matcher was slower than all of them on average."""
        return sum(self.slowest_ms[part]) / sum(self.mean_ms[part])

    def largest_by_mean(self, part: slice) -> float:
        """The same by counters."""
        return sum(self.largest_load[part]) / sum(self.mean_load[part])


def measure(
    world: World, drift: Drift, folder: Path, adjuster: Adjuster, matchers: int = 8, advance: Advance = silent
) -> dict[str, Any]:
    """Posts a second with and without adjustment, what was moved, and the bytes that were written for it."""
    stream = drift.stream(world)
    first = next(stream)
    mapping, sides = world.mapping(first.added.slice(0, LEARNED), matchers, drift.standing), []
    for name, adjusts in (("fixed", False), ("adjusted", True)):
        own = folder / name
        own.mkdir()
        shares = Shares(own, mapping, ENGLISH, world.posts.slice(0, LEARNED))
        sides.append(_Side(shares, own, adjuster if adjusts else None))
        sides[-1].take(first)
    for number, batch in enumerate(stream):
        for side in sides if number % 2 else reversed(sides):
            side.take(batch)
        advance(1)
    return _figures(world, drift, matchers, *sides)


def _figures(world: World, drift: Drift, matchers: int, fixed: _Side, adjusted: _Side) -> dict[str, Any]:
    every = slice(_WARM, drift.batches)
    posts = drift.rows * (drift.batches - _WARM)
    figures = {
        **asdict(drift),
        "posts": world.posts.num_rows,
        "matchers": matchers,
        "posts_a_second": round(posts / adjusted.seconds(every)),
        "posts_a_second_without": round(posts / fixed.seconds(every)),
        "times_as_many": round(fixed.seconds(every) / adjusted.seconds(every), 3),
        "times_as_many_if_moving_were_free": round(sum(fixed.slowest_ms[every]) / sum(adjusted.slowest_ms[every]), 3),
        "times_as_many_by_load": round(fixed.load(every) / adjusted.load(every), 3),
        "parcels_moved": sum(adjusted.moves),
        "times_moved": len(adjusted.moves),
        "subscriptions_moved": sum(adjusted.carried),
        "moving_ms": round(sum(adjusted.moving_ms)),
        "bytes_moved": adjusted.moved_bytes,
        "bytes_written": adjusted.written_bytes,
    }
    ends = np.linspace(_WARM, drift.batches, _STAGES + 1).astype(int).tolist()
    parts = [slice(begin, end) for begin, end in pairwise(ends)]
    return figures | {
        "to_batch": ends[1:],
        "then_times_as_many": [round(fixed.seconds(part) / adjusted.seconds(part), 3) for part in parts],
        "then_by_load": [round(fixed.load(part) / adjusted.load(part), 3) for part in parts],
        "slowest_by_mean": [round(adjusted.slowest_by_mean(part), 3) for part in parts],
        "slowest_by_mean_without": [round(fixed.slowest_by_mean(part), 3) for part in parts],
        "largest_by_mean": [round(adjusted.largest_by_mean(part), 3) for part in parts],
        "largest_by_mean_without": [round(fixed.largest_by_mean(part), 3) for part in parts],
    }
