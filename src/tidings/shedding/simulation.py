"""What would the controller do if posts came like this? Batches in simulated time, with no chance in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tidings.shedding.coins import FloatArray
from tidings.shedding.controller import Controller
from tidings.shedding.pace import Pace

SPIKE = ((500.0, 16_000.0), (500.0, 32_000.0), (500.0, 2_000.0), (500.0, 16_000.0))
"""[S3TM] 6.5, Fig. 27: seconds and posts a second."""


@dataclass(frozen=True, slots=True)
class System:
    """What handles the posts: ``copies_per_s`` copies a second, and ``overhead_s`` for each batch.

    ``loads`` float64[levels]: copies of a post at each level (:meth:`tidings.shedding.Levels.loads`). A batch may
    take ``batch_s`` and starts so long after the one before it, or as soon as that has ended if it had to leave posts
    waiting; ``may_wait`` posts fill the queue.
    """

    loads: FloatArray
    copies_per_s: float
    may_wait: float
    batch_s: float = 1.0
    overhead_s: float = 0.1


@dataclass(frozen=True, slots=True)
class Sample:
    """One batch: when it ended and how long it was at work, and what was so then.

    ``rate``: posts a second that came during the batch; ``waiting``: posts at its end; ``level``: during the batch;
    ``processed``: its posts; ``shed``: the copies that these did not become.
    """

    time_s: float
    busy_s: float
    rate: float
    waiting: float
    level: int
    processed: float
    shed: float


def simulate(phases: Sequence[tuple[float, float]], system: System, controller: Controller) -> list[Sample]:
    """The batches of all ``phases``, (seconds, posts a second) each, until the last one is over."""
    pace = Pace()
    ends = np.concatenate([[0.0], np.cumsum([seconds for seconds, _ in phases])])
    arrived = np.concatenate([[0.0], np.cumsum([seconds * rate for seconds, rate in phases])])
    now_s = waiting = 0.0
    samples = []
    while now_s < ends[-1]:
        level = controller.level
        posts, rest_s = (waiting, system.batch_s) if waiting <= pace.admitted else (float(pace.admitted), 0.0)
        busy_s = system.overhead_s + posts * float(system.loads[level]) / system.copies_per_s
        later_s = now_s + max(busy_s, rest_s)
        came = float(np.interp(later_s, ends, arrived) - np.interp(now_s, ends, arrived))
        waiting += came - posts
        shed = posts * float(system.loads[0] - system.loads[level])
        samples.append(Sample(later_s, busy_s, came / (later_s - now_s), waiting, level, posts, shed))
        pace = pace.after(int(posts), busy_s, system.batch_s, level)
        controller.step(waiting / system.may_wait, later_s)
        now_s = later_s
    return samples


def turns(levels: Iterable[int]) -> list[int]:
    """The levels without repeats, in order.

    >>> turns([0, 0, 1, 2, 2, 1])
    [0, 1, 2, 1]
    """
    found: list[int] = []
    for level in levels:
        if not found or found[-1] != level:
            found.append(level)
    return found
