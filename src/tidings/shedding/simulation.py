"""What would the controller do if posts came like this? Batches in simulated time, with no chance in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tidings.shedding.capacity import Capacity, Memory, Profile, allowed_s
from tidings.shedding.coins import FloatArray
from tidings.shedding.controller import Controller
from tidings.shedding.costs import Costs, Timed
from tidings.shedding.pace import Pace

SPIKE = ((500.0, 16_000.0), (500.0, 32_000.0), (500.0, 2_000.0), (500.0, 16_000.0))
"""[S3TM] 6.5, Fig. 27: seconds and posts a second."""

_PAUSE_S = 0.1
"""So long until the next look, where nothing waits."""


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
class SimulatedBatch:
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


def simulate(phases: Sequence[tuple[float, float]], system: System, controller: Controller) -> list[SimulatedBatch]:
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
        samples.append(SimulatedBatch(later_s, busy_s, came / (later_s - now_s), waiting, level, posts, shed))
        pace = pace.after(int(posts), busy_s, system.batch_s, level)
        controller.step(waiting / system.may_wait, later_s)
        now_s = later_s
    return samples


@dataclass(frozen=True, slots=True)
class Server:
    """What handles posts where it is shed to capacity: the true costs, and what posts are truly like.

    A batch has at most ``most`` posts. ``delay_s`` is tolerated.
    """

    costs: Costs
    profile: Profile
    delay_s: float
    most: float
    spared: float = 0.02
    by_grade: bool = True


@dataclass(frozen=True, slots=True)
class Served:
    """One batch: when it began, how long its oldest post had waited then, how long it took, and how long it might have.

    ``lost``: the share of its matches that are lost.
    """

    begin_s: float
    age_s: float
    busy_s: float
    allowed_s: float
    posts: float
    lost: float


def serve(
    phases: Sequence[tuple[float, float]], server: Server, noise: Iterator[float], memory: Memory | None = None
) -> list[Served]:
    """The batches of all ``phases``, each of which takes its true time, times the next ``noise``."""
    ends = np.concatenate([[0.0], np.cumsum([seconds for seconds, _ in phases])])
    arrived = np.concatenate([[0.0], np.cumsum([seconds * rate for seconds, rate in phases])])
    now_s, done, memory, batches = 0.0, 0.0, memory or Memory(), list[Served]()
    while now_s < ends[-1]:
        here = float(np.interp(now_s, ends, arrived))
        posts = min(here - done, server.most)
        if posts < 1:
            now_s += _PAUSE_S
            continue
        age_s, rest_s = (now_s - float(np.interp(at, arrived, ends)) for at in (done, done + posts))
        seconds = allowed_s(server.delay_s, age_s, rest_s)
        kept = None if np.isinf(seconds) else memory.kept(posts, seconds, server.by_grade, server.spared)
        truth = Capacity(server.costs, server.profile, server.spared)
        work, grades = truth.work(posts, kept), {} if kept is None else server.profile.seen(posts, kept, server.spared)
        busy_s = server.costs.seconds(work) * next(noise)
        batches.append(Served(now_s, age_s, busy_s, seconds, posts, 0.0 if kept is None else truth.lost(kept)))
        memory = memory.after(Timed(work, busy_s), grades)
        now_s, done = now_s + busy_s, done + posts
    return batches


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
