"""What do a post, a pair, an insertion and a deletion cost a matcher? Def. 1 of [PS2], fitted to counters.

Each observation is what one matcher did in a short time. Half of them are fitted to, the other half are predicted.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from benchmarks.balancing.world import World
from benchmarks.matching import Advance, silent
from tidings.balancing import WorkDone
from tidings.cluster import Cluster
from tidings.partitioning.load import FloatArray, LoadCosts, fitted

_ROWS = (500, 1_000, 2_000, 4_000)
_REPEATS = 3


def measure(world: World, most: int, matchers: int = 8, advance: Advance = silent) -> dict[str, Any]:
    """Costs and errors of both formulas; ``most`` queries stand in the end, an eighth of them at first."""
    sizes = [most // 8, most // 4, most // 2, most]
    rng, kinds = np.random.default_rng(world.seed), world.is_q2
    rows = rng.permutation(len(world.region))[:most]
    asked = world.queries(rows, kinds, "s")
    cluster = Cluster(world.mapping(asked.slice(0, min(most, 10_000)), matchers))
    found: list[tuple[WorkDone, np.ndarray[Any, Any]]] = []
    for before, size in zip([0, *sizes[:-1]], sizes, strict=True):
        step = (size - before) // 4
        for part in range(4):
            gone = asked["id"].slice(0, step // 4 * part).to_pylist() if before else []
            changed = _done(cluster, partial(cluster.change, asked.slice(before + part * step, step), gone))
            if before or part:  # the first change loads kernels
                found.append((changed, _standing(cluster)))
            if gone:
                cluster.change(asked.slice(0, len(gone)))
        for count in _ROWS:
            posts = world.posts.take(np.asarray(rng.integers(world.posts.num_rows, size=count)))
            tries = [_done(cluster, partial(cluster.deliver, posts)) for _ in range(_REPEATS)]
            best = tries[0]
            best.ms[:] = np.min([one.ms for one in tries], axis=0)
            found.append((best, _standing(cluster)))
        advance(1)
    return _figures(found, most, matchers, world.seed)


def _done(cluster: Cluster, work: Any) -> WorkDone:
    before = cluster.loads().matchers
    work()
    return cluster.loads().matchers - before


def _standing(cluster: Cluster) -> np.ndarray[Any, Any]:
    return np.array([len(member.index) for member in cluster.members])


def _figures(found: list[tuple[WorkDone, np.ndarray[Any, Any]]], most: int, matchers: int, seed: int) -> dict[str, Any]:
    columns = [
        np.concatenate([getattr(work, name) for work, _ in found]).astype(np.float64)
        for name in ("candidates", "posts", "insertions", "deletions", "ms")
    ]
    standing = np.concatenate([own for _, own in found])
    candidates, posts, insertions, deletions, ms = columns
    is_out = np.random.default_rng(seed).random(len(ms)) < 0.5
    figures: dict[str, Any] = {"queries": most, "matchers": matchers, "observations": len(ms)}
    rows: dict[str, list[Any]] = {"formula": [], **{f"{name}_us": [] for name in asdict(LoadCosts())}, "error": []}
    for name, pairs in (("all pairs (Def. 1)", posts * standing), ("pairs looked at", candidates)):
        counts = np.stack([pairs, posts, insertions, deletions], axis=1)
        costs = fitted(counts[~is_out], ms[~is_out])
        rows["formula"].append(name)
        for field, cost in asdict(costs).items():
            rows[f"{field}_us"].append(float(f"{cost:.3g}"))
        rows["error"].append(round(_error(costs, counts[is_out], ms[is_out]), 3))
    return figures | rows


def _error(costs: LoadCosts, counts: FloatArray, ms: FloatArray) -> float:
    """The mean of how far a prediction is off, by the time that it took."""
    predicted = costs.of(*counts.T) / 1e3
    used = ms > 0
    return float(np.mean(np.abs(predicted[used] - ms[used]) / ms[used]))
