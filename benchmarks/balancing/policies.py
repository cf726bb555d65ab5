"""Which policy is better while queries drift? Clusters side by side: nothing moves, [PS2] local, and [PADRES].

All get the same posts and changes, batch by batch, in turns. Matchers would work at the same time, so a batch takes as
long as its slowest matcher; what planning and moving takes is added, as if everybody waited for it.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.balancing.world import LEARNED, Batch, Drift, World
from benchmarks.matching import Advance, silent
from tidings.balancing import Adjuster
from tidings.balancing.padres import OnParcels, Stabilized
from tidings.cluster import Cluster
from tidings.index.subscribers import with_all_columns
from tidings.partitioning import Mapping
from tidings.partitioning.load import COUNTED

POLICIES = ("none", "local", "padres")
_WARM = 5


def adjuster_of(policy: str) -> Adjuster | None:
    if policy == "none":
        return None
    return Adjuster() if policy == "local" else Adjuster(OnParcels(), Stabilized())


@dataclass(slots=True)
class _Side:
    """A cluster with its policy, and what it took so far."""

    cluster: Cluster
    adjuster: Adjuster | None
    batch_ms: list[float] = field(default_factory=list)
    largest: list[float] = field(default_factory=list)
    """The load of the most loaded matcher in each batch, by counters."""
    uneven: list[float] = field(default_factory=list)
    """That divided by the mean."""
    sent: int = 0
    """Posts that came to matchers: one that goes to two counts twice."""
    moving_ms: float = 0.0
    parcels: int = 0
    sessions: int = 0
    found: int = 0

    def take(self, batch: Batch) -> None:
        cluster, before = self.cluster, self.cluster.loads().matchers
        cluster.change(with_all_columns(batch.added), batch.gone)
        if not batch.posts.num_rows:
            return
        self.found += len(cluster.deliver(batch.posts).ids)
        work = cluster.loads().matchers - before
        loads = COUNTED.of(work.candidates, work.posts, 0, 0)
        self.batch_ms.append(float(work.ms.max()))
        self.largest.append(float(loads.max()))
        self.uneven.append(float(loads.max() / max(loads.mean(), 1e-9)))
        self.sent += int(work.posts.sum())
        if self.adjuster is not None:
            self._adjust(self.adjuster)

    def _adjust(self, adjuster: Adjuster) -> None:
        began, mapping = time.perf_counter(), self.cluster.mapping
        assert mapping is not None
        moves = adjuster.look(self.cluster.loads(), mapping)
        if moves:
            self.cluster.move(moves)
            self.parcels += len(moves)
            self.sessions += 1
        self.moving_ms += (time.perf_counter() - began) * 1e3


def measure(
    world: World, drift: Drift, matchers: int = 8, skew: float = 0.0, advance: Advance = silent
) -> dict[str, Any]:
    """The figures of each policy, in columns. ``skew``: at first matcher 0 has that share of the others' parcels."""
    stream = drift.stream(world)
    first = next(stream)
    mapping = _skewed(world.mapping(first.added.slice(0, LEARNED), matchers, drift.standing), skew)
    sides = {policy: _Side(Cluster(mapping), adjuster_of(policy)) for policy in POLICIES}
    for side in sides.values():
        side.take(first)
    for number, batch in enumerate(stream):
        order = POLICIES[number % 3 :] + POLICIES[: number % 3]
        for policy in order:
            sides[policy].take(batch)
        advance(1)
    return {**asdict(drift), "matchers": matchers, "skew": skew, **_figures(drift, sides)}


def _skewed(mapping: Mapping, skew: float) -> Mapping:
    """Every so many parcels are matcher 0's."""
    owner = mapping.owner.copy()
    if skew:
        owner[:: max(1, round(1 / skew))] = 0
    return Mapping(mapping.parcels, owner, mapping.matchers)


def _figures(drift: Drift, sides: dict[str, _Side]) -> dict[str, Any]:
    if len({side.found for side in sides.values()}) > 1:
        raise AssertionError(f"the policies differ in what they find: {[side.found for side in sides.values()]}")
    posts, own = drift.rows * (drift.batches - _WARM), list(sides.values())
    rates = [posts / (sum(side.batch_ms[_WARM:]) + side.moving_ms) * 1e3 for side in own]
    base = sum(own[0].largest[_WARM:])
    return {
        "matches": own[0].found,
        "policy": list(sides),
        "posts_a_second": [round(rate) for rate in rates],
        "times_as_many_as_none": [round(rate / rates[0], 3) for rate in rates],
        "times_as_many_by_counters": [round(base / sum(side.largest[_WARM:]), 3) for side in own],
        "largest_by_mean": [round(sum(side.uneven[_WARM:]) / len(side.uneven[_WARM:]), 3) for side in own],
        "posts_to_matchers": [side.sent for side in own],
        "times_moved": [side.sessions for side in own],
        "parcels_moved": [side.parcels for side in own],
        "moving_ms": [round(side.moving_ms) for side in own],
    }
