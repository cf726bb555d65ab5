"""One of several clusters that get the same posts and changes, batch by batch; each follows its load in its own way.

The matchers of a cluster work one after another here, and each is timed on its own. They would work at the same time,
so a batch takes as long as its slowest matcher. Routing is not in these times. Changes of subscriptions are timed
apart: on Spark the driver compiles them beside the running batches, in the paper the workers make them.

What moving costs is told in two ways. *Waited for*: all that planning, moving and writing the moved subscriptions takes
is added to the time of the cluster, as if everybody waited. *Beside*: nobody waits, as on Spark, where the driver
compiles what moves beside the running batches.

A third time is that of the *busiest* matcher: all that it took over the run, as if a queue were before each matcher and
none waited for the others at the end of a batch, as in the paper's system.

The same is told by counters, which have no noise: a batch is as long as its largest load. A moved subscription costs an
insertion at the matcher that gets it and a deletion at the one that gives it, as when people subscribe and unsubscribe,
and their next batch is longer by that. If *all wait*, every batch is longer by all that anybody does for a move.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.balancing.world import LEARNED, Batch, World
from benchmarks.matching import Advance, silent
from tidings.analysis import ENGLISH
from tidings.balancing import Adjuster, batch_loads
from tidings.cluster.shares import Shares
from tidings.index.subscribers import with_all_columns
from tidings.partitioning import Mapping as Owners
from tidings.partitioning import Move
from tidings.partitioning.load import COUNTED, FloatArray

Waits = Literal["none", "each", "all"]
"""Who waits for a move: nobody, each matcher for what it does itself, or all for all."""

WARM = 5
"""The first batches load kernels: they are not counted."""

_SAVES = 5
"""Every so many batches what has changed is written, as a pipeline does; that is not timed."""


@dataclass(slots=True)
class Taken:
    """What a batch took: milliseconds to match of the slowest matcher, those of the slowest one with the changes
    before; the load of each matcher by counters; posts that came to matchers, one that goes to two counts twice; the
    milliseconds of each matcher, and what each has to do by counters for what has moved before; then what moves."""

    matching_ms: float
    changing_too_ms: float
    loads: FloatArray
    sent: int
    ms: FloatArray
    moving: FloatArray
    moving_ms: float = 0.0
    parcels: int = 0
    carried: int = 0

    @property
    def largest(self) -> float:
        return float(self.loads.max())

    def load(self, waits: Waits) -> float:
        """How long the batch is by counters, with what has moved before it."""
        if waits == "each":
            return float((self.loads + self.moving).max())
        return self.largest + float(np.sum(self.moving)) * (waits == "all")


@dataclass(slots=True, kw_only=True)
class Taking:
    """What a cluster took so far, batch by batch, and how many matches it found."""

    taken: list[Taken] = field(default_factory=list)
    found: int = 0

    def seconds(self, part: slice, *, waits: bool = True, changes: bool = False) -> float:
        """How long some batches took; with all that moving took if everybody ``waits`` for it, and with ``changes``."""
        own = self.taken[part]
        batches = sum(each.changing_too_ms if changes else each.matching_ms for each in own)
        return (batches + waits * sum(each.moving_ms for each in own)) / 1e3

    def busiest(self, part: slice, *, waits: bool = False) -> float:
        """How long the busiest matcher took for some batches; with all that moving took if everybody ``waits``."""
        own = self.taken[part]
        busiest = float(np.sum([each.ms for each in own], axis=0).max())
        return (busiest + waits * sum(each.moving_ms for each in own)) / 1e3

    def load(self, part: slice, waits: Waits = "each") -> float:
        """The same by counters, in units of a post."""
        return sum(taken.load(waits) for taken in self.taken[part])

    def busiest_load(self, parts: Iterable[slice]) -> float:
        """The same if in each part of the run nobody waited for others at the end of a batch: the busiest matcher of
        each part."""
        sums = [np.sum([taken.loads + taken.moving for taken in self.taken[part]], axis=0).max() for part in parts]
        return float(sum(sums))

    def mean_load(self, part: slice) -> float:
        """By counters, if all matchers had the same load in each batch: no balance is better."""
        return float(sum(taken.loads.mean() for taken in self.taken[part]))

    def uneven(self, part: slice) -> float:
        """The largest load by the mean load."""
        return self.load(part, "none") / self.mean_load(part)

    @property
    def moved_at(self) -> list[int]:
        """After which batches something moved."""
        return [number for number, taken in enumerate(self.taken) if taken.parcels]


@dataclass(slots=True)
class Side(Taking):
    """A cluster of this process, with its files."""

    shares: Shares
    folder: Path
    adjuster: Adjuster | None
    _moving: FloatArray
    moved_bytes: int = 0
    written_bytes: int = 0

    @classmethod
    def made(cls, world: World, mapping: Owners, folder: Path, adjuster: Adjuster | None) -> Side:
        """A cluster that has nothing yet; the folder is made."""
        folder.mkdir()
        shares = Shares(folder, mapping, ENGLISH, world.posts.slice(0, LEARNED))
        return cls(shares, folder, adjuster, np.zeros(mapping.matchers))

    def take(self, batch: Batch) -> None:
        cluster, before = self.shares.cluster, self.shares.cluster.work()
        self.shares.change(with_all_columns(batch.added), batch.gone)
        changed = cluster.work()
        if not batch.posts.num_rows:
            return
        self.found += len(cluster.deliver(batch.posts).ids)
        after = cluster.work()
        loads = batch_loads(after - before, COUNTED)
        matching_ms, changing_too_ms = (float((after - since).ms.max()) for since in (changed, before))
        sent = int((after - before).posts.sum())
        ms = (after - changed).ms
        self.taken.append(Taken(matching_ms, changing_too_ms, loads, sent, ms, self._moving))
        self._moving = np.zeros(len(loads))
        if len(self.taken) % _SAVES == 0:
            self.shares.save()
        if self.adjuster is not None:
            self._adjust(self.adjuster, self.taken[-1])

    def _adjust(self, adjuster: Adjuster, taken: Taken) -> None:
        cluster = self.shares.cluster
        mapping = cluster.mapping
        assert mapping is not None
        if len(self.taken) == WARM:
            adjuster.policy.plan(cluster.loads(), mapping)  # its kernels are loaded, and nothing moves
        began = time.perf_counter()
        moves = adjuster.plan(cluster.loads(), mapping) if adjuster.is_due(cluster.work()) else []
        taken.moving_ms = (time.perf_counter() - began) * 1e3
        if moves:
            self._move(mapping, moves, taken)

    def _move(self, mapping: Owners, moves: list[Move], taken: Taken) -> None:
        self.shares.save()  # what is not of the move
        files, began = {file.name for file in self.folder.iterdir()}, time.perf_counter()
        carried = self.shares.move(mapping.moved(moves))
        self.shares.save()
        taken.moving_ms += (time.perf_counter() - began) * 1e3
        taken.parcels, taken.carried = len(moves), carried.subscriptions
        self._moving = COUNTED.insertion * carried.come + COUNTED.deletion * carried.gone
        self.moved_bytes += carried.size_bytes
        self.written_bytes += sum(file.stat().st_size for file in self.folder.iterdir() if file.name not in files)

    def end(self) -> None:
        """After the last batch it has what the last move costs."""
        self.taken[-1].moving = self.taken[-1].moving + self._moving


def run(
    sides: Iterable[Side], batches: Iterable[Batch], advance: Advance = silent, minutes: float | None = None
) -> None:
    """Let all take the same batches, in turns, until so many ``minutes`` have passed. They have to find the same."""
    order, began = list(sides), time.monotonic()
    for batch in batches:
        for side in order:
            side.take(batch)
        order.append(order.pop(0))
        advance(1)
        if minutes and time.monotonic() - began > 60 * minutes and len(order[0].taken) > WARM:
            break
    for side in order:
        side.end()
    if len({side.found for side in order}) > 1:
        raise AssertionError(f"clusters differ in what they find: {[side.found for side in order]}")


def sides_of(world: World, mapping: Owners, folder: Path, adjusters: Mapping[str, Adjuster | None]) -> dict[str, Side]:
    """A cluster for each adjuster, None for one that never moves anything; all begin with the same mapping."""
    return {name: Side.made(world, mapping, folder / name, adjuster) for name, adjuster in adjusters.items()}
