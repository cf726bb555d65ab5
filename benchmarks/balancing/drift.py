"""What does adjustment bring while queries drift, with all that moving costs? [PS2] Fig. 16.

Two clusters get the same posts and changes, as :mod:`benchmarks.balancing.sides` says, and begin with the same mapping:
the hybrid one, learned from some posts and queries. One of them is adjusted.

What the paper says of this experiment is taken from there: Q3; 5 posts for an insertion or deletion; lifetimes of
N(µ, 0.2 µ) insertions; every µ insertions a tenth of the regions change their kind; 8 matchers. µ is 100,000 and not
10 M, so that the run ends on one core; since a query lives for µ insertions, 100,000 stand. A batch has 20,000 posts.
With 2,500, as this benchmark had before, the costs of a delivery that do not depend on load hid what imbalance costs.
The paper does not tell how long it ran. A run may be ended after some minutes, so ``batches`` of the result are those
that there were; of the first interval nothing has changed its kind yet.

The *bound* is what perfect balance would bring if it cost nothing: all loads equal in each batch, and their sum that of
the cluster that is not adjusted. Moving can lower the sum as well, so it is a bound of balance and not of everything.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.balancing.sides import WARM, Side, run, sides_of
from benchmarks.balancing.world import Drift, World
from benchmarks.matching import Advance, silent
from tidings.balancing import Adjuster
from tidings.cli import plot

SHARES = (0.1, 0.25, 0.5)
"""Of the regions, that change their kind every interval."""


def measure(  # noqa: PLR0913
    world: World,
    drift: Drift,
    folder: Path,
    adjuster: Adjuster,
    matchers: int = 8,
    advance: Advance = silent,
    *,
    picture: Path | None = None,
    minutes: float | None = None,
) -> dict[str, Any]:
    """Posts a second with and without adjustment, what was moved, and the bytes that were written for it."""
    fixed, adjusted = played(world, drift, folder, adjuster, matchers, advance, minutes)
    drift = replace(drift, batches=len(fixed.taken))
    if picture:
        draw(fixed, adjusted, picture)
    parts = intervals(drift)
    return {
        **asdict(drift),
        "posts": world.posts.num_rows,
        "matchers": matchers,
        **_whole(drift, fixed, adjusted),
        "bytes_moved": adjusted.moved_bytes,
        "bytes_written": adjusted.written_bytes,
        "interval_number": [number + 1 for number in range(len(parts))],
        "then_times_as_many": [round(fixed.seconds(part) / adjusted.seconds(part), 3) for part in parts],
        "then_by_load": [round(fixed.load(part) / adjusted.load(part), 3) for part in parts],
        "then_bound": [round(fixed.uneven(part), 3) for part in parts],
        "largest_by_mean": [round(adjusted.uneven(part), 3) for part in parts],
        "then_times_moved": [sum(taken.parcels > 0 for taken in adjusted.taken[part]) for part in parts],
        "then_moved": [sum(taken.carried for taken in adjusted.taken[part]) for part in parts],
    }


def intervals(drift: Drift) -> list[slice]:
    """The batches of each interval, the first ones of the run apart."""
    each = drift.interval // drift.changes
    ends = [WARM, *range(each, drift.batches, each), drift.batches]
    return [slice(begin, end) for begin, end in pairwise(ends)]


def _whole(drift: Drift, fixed: Side, adjusted: Side) -> dict[str, Any]:
    """The figures of a whole run, the first batches apart."""
    every, parts = slice(WARM, drift.batches), intervals(drift)
    posts = drift.rows * (drift.batches - WARM)
    carried = sum(taken.carried for taken in adjusted.taken)
    moving_ms = sum(taken.moving_ms for taken in adjusted.taken)
    return {
        "posts_a_second": round(posts / adjusted.seconds(every)),
        "posts_a_second_without": round(posts / fixed.seconds(every)),
        "times_as_many": round(fixed.seconds(every) / adjusted.seconds(every), 3),
        "times_as_many_moved_beside": round(fixed.seconds(every) / adjusted.seconds(every, waits=False), 3),
        "times_as_many_with_changes": round(
            fixed.seconds(every, changes=True) / adjusted.seconds(every, changes=True), 3
        ),
        "times_as_many_by_busiest": round(fixed.busiest(every) / adjusted.busiest(every), 3),
        "times_as_many_by_busiest_moves_paid": round(fixed.busiest(every) / adjusted.busiest(every, waits=True), 3),
        "by_load": round(fixed.load(every) / adjusted.load(every), 3),
        "by_load_all_wait": round(fixed.load(every) / adjusted.load(every, "all"), 3),
        "by_load_moved_beside": round(fixed.load(every) / adjusted.load(every, "none"), 3),
        "by_load_of_busiest": round(fixed.busiest_load(parts) / adjusted.busiest_load(parts), 3),
        "bound_by_load": round(fixed.uneven(every), 3),
        "adjusted_largest_by_mean": round(adjusted.uneven(every), 3),
        "times_moved": len(adjusted.moved_at),
        "last_moved_at": max(adjusted.moved_at, default=0),
        "parcels_moved": sum(taken.parcels for taken in adjusted.taken),
        "subscriptions_moved": carried,
        "moving_ms": round(moving_ms),
        "us_a_subscription": round(1e3 * moving_ms / max(carried, 1), 1),
        "matching_ms": round(1e3 * adjusted.seconds(slice(None), waits=False)),
    }


def shares(
    world: World,
    drift: Drift,
    folder: Path,
    adjuster: Adjuster,
    matchers: int = 8,
    advance: Advance = silent,
    minutes: float | None = None,
) -> dict[str, Any]:
    """The figures of whole runs in which more and more regions change, each of so many ``minutes``: columns."""
    columns: dict[str, list[Any]] = {"share": list(SHARES)}
    for share in SHARES:
        own = folder / f"{share}"
        own.mkdir()
        made = replace(drift, share=share)
        fixed, adjusted = played(world, made, own, replace(adjuster), matchers, advance, minutes)
        made = replace(made, batches=len(fixed.taken))
        for name, figure in {"batches": made.batches, **_whole(made, fixed, adjusted)}.items():
            columns.setdefault(name, []).append(figure)
    given = {name: value for name, value in asdict(drift).items() if name not in ("share", "batches")}
    return {**given, "posts": world.posts.num_rows, "matchers": matchers, **columns}


def played(
    world: World,
    drift: Drift,
    folder: Path,
    adjuster: Adjuster,
    matchers: int,
    advance: Advance = silent,
    minutes: float | None = None,
) -> tuple[Side, Side]:
    """The cluster that is left alone and the one that is adjusted, after all batches or so many ``minutes``."""
    stream = drift.stream(world)
    first = next(stream)
    mapping = drift.learned(world, first, matchers)
    fixed, adjusted = sides_of(world, mapping, folder, {"fixed": None, "adjusted": adjuster}).values()
    for side in (fixed, adjusted):
        side.take(first)
    run((fixed, adjusted), stream, advance, minutes)
    return fixed, adjusted


def draw(fixed: Side, adjusted: Side, path: Path) -> None:
    """The largest load over time, with and without adjustment, and what was moved when."""
    numbers = range(len(fixed.taken))

    def curves(*sides: tuple[str, list[float]]) -> list[plot.Curve]:
        return [plot.Curve(label, numbers, up) for label, up in sides]

    panels = [
        plot.Panel(
            "the largest load, in posts",
            curves=curves(
                ("without adjustment", [taken.largest for taken in fixed.taken]),
                ("with adjustment", [taken.largest for taken in adjusted.taken]),
            ),
        ),
        plot.Panel("subscriptions moved", across=numbers, up=[float(taken.carried) for taken in adjusted.taken]),
    ]
    plot.save(path, "batch", panels, log=False)
