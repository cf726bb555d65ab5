"""Which policy is better while queries drift? Clusters side by side: nothing moves, [PS2] local, and [PADRES].

The workload is that of :mod:`benchmarks.balancing.drift`, and times and loads are those of
:mod:`benchmarks.balancing.sides`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

from benchmarks.balancing.sides import WARM, Side, Taking, run, sides_of
from benchmarks.balancing.world import Drift, World
from benchmarks.matching import Advance, silent
from tidings.balancing import Adjuster
from tidings.balancing.padres import OnParcels, Stabilized
from tidings.partitioning import Mapping

POLICIES: tuple[Literal["none", "local", "padres"], ...] = ("none", "local", "padres")


def measure(
    world: World,
    drift: Drift,
    folder: Path,
    matchers: int = 8,
    skew: float = 0.0,
    advance: Advance = silent,
    minutes: float | None = None,
) -> dict[str, Any]:
    """The figures of each policy, in columns. ``skew``: at first matcher 0 has that share of the others' parcels."""
    stream = drift.stream(world)
    first = next(stream)
    mapping = skewed(drift.learned(world, first, matchers), skew)
    adjusters = {"none": None, "local": Adjuster(), "padres": Adjuster(OnParcels(), Stabilized())}
    sides = sides_of(world, mapping, folder, adjusters)
    for side in sides.values():
        side.take(first)
    run(sides.values(), stream, advance, minutes)
    drift = replace(drift, batches=len(sides["none"].taken))
    return {**asdict(drift), "matchers": matchers, "skew": skew, **_figures(drift, sides)}


def skewed(mapping: Mapping, skew: float) -> Mapping:
    """Every so many parcels are matcher 0's."""
    owner = mapping.owner.copy()
    if skew:
        owner[:: max(1, round(1 / skew))] = 0
    return Mapping(mapping.parcels, owner, mapping.matchers)


def _figures(drift: Drift, sides: dict[str, Side]) -> dict[str, Any]:
    posts, every, own = drift.rows * (drift.batches - WARM), slice(WARM, drift.batches), list(sides.values())
    none = own[0]
    return {
        "matches": none.found,
        "bound_by_load": round(none.uneven(every), 3),
        "policy": list(sides),
        "posts_a_second": [round(posts / side.seconds(every)) for side in own],
        "times_as_many": [round(none.seconds(every) / side.seconds(every), 3) for side in own],
        "times_as_many_moved_beside": [
            round(none.seconds(every) / side.seconds(every, waits=False), 3) for side in own
        ],
        "times_as_many_by_busiest": [round(none.busiest(every) / side.busiest(every), 3) for side in own],
        **counted(own, every),
        "moving_ms": [round(sum(taken.moving_ms for taken in side.taken)) for side in own],
        "bytes_moved": [side.moved_bytes for side in own],
        "bytes_written": [side.written_bytes for side in own],
    }


def counted(sides: Sequence[Taking], every: slice) -> dict[str, Any]:
    """The figures by counters, in columns; the first side is the one in which nothing moves."""
    none = sides[0]
    return {
        "by_load": [round(none.load(every) / side.load(every), 3) for side in sides],
        "by_load_all_wait": [round(none.load(every) / side.load(every, "all"), 3) for side in sides],
        "by_load_moved_beside": [round(none.load(every) / side.load(every, "none"), 3) for side in sides],
        "largest_by_mean": [round(side.uneven(every), 3) for side in sides],
        "mean_load": [round(side.mean_load(every) / len(side.taken[every])) for side in sides],
        "posts_to_matchers": [sum(taken.sent for taken in side.taken) for side in sides],
        "times_moved": [len(side.moved_at) for side in sides],
        "last_moved_at": [max(side.moved_at, default=0) for side in sides],
        "parcels_moved": [sum(taken.parcels for taken in side.taken) for side in sides],
        "subscriptions_moved": [sum(taken.carried for taken in side.taken) for side in sides],
    }
