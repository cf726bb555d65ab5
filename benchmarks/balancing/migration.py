"""How much has to be carried? The algorithms of [PS2] V-A for minimum cost migration, on the parcels of matchers."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.balancing.world import LEARNED, World
from benchmarks.matching import Advance, silent
from tidings.balancing import SELECTORS, Churn, Estimate, Formula, Loads, Standing, WorkDone
from tidings.balancing.migration import RandomChoice
from tidings.cluster.counting import by_parcel, touched
from tidings.cluster.placing import place
from tidings.partitioning.load import COUNTED, LoadCosts

_SHARES = (0.05, 0.1, 0.2, 0.4)
_SEEDS = 20
_DEF_3 = LoadCosts(pair=1, post=0, insertion=0, deletion=0)


def measure(
    world: World, queries: int, posts: int = 20_000, matchers: int = 8, advance: Advance = silent
) -> dict[str, Any]:
    """For each formula and algorithm the size that is carried by what DP carries, and the time to choose; the mean over
    all matchers, and over several amounts of load that have to go."""
    asked = world.queries(np.arange(queries), world.is_q2, "s")
    mapping = world.mapping(asked.slice(0, LEARNED), matchers, queries)
    router = place(asked, mapping).router
    touches, count = touched(router, world.posts.slice(0, posts)), mapping.parcels.count
    filed = by_parcel(router.parcels, router.filed, count)
    loads = Loads(
        WorkDone.none(matchers), WorkDone.none(count), filed, touches, Churn.none(count), Standing.apart(filed)
    )
    rows: dict[str, list[Any]] = {"formula": [], "algorithm": [], "carried_by_dp": [], "ms": []}
    formulas: tuple[tuple[Formula, LoadCosts], ...] = (("paper", _DEF_3), ("counted", COUNTED))
    for formula, costs in formulas:
        estimate = Estimate(loads, mapping, costs, formula)
        cases = [
            (filed[own], estimate.parcels[own], share * float(estimate.parcels[own].sum()))
            for own in (np.flatnonzero(mapping.owner == matcher) for matcher in range(matchers))
            for share in _SHARES
        ]
        least = [int(sizes[SELECTORS["dp"](sizes, own, amount)].sum()) for sizes, own, amount in cases]
        for name, select in SELECTORS.items():
            choices = [RandomChoice(seed) for seed in range(_SEEDS)] if name == "ra" else [select]
            carried, ms = [], []
            for choose in choices:
                for (sizes, own, amount), best in zip(cases, least, strict=True):
                    began = time.perf_counter()
                    chosen = choose(sizes, own, amount)
                    ms.append((time.perf_counter() - began) * 1e3)
                    carried.append(int(sizes[chosen].sum()) / max(best, 1))
            rows["formula"].append(formula)
            rows["algorithm"].append(name.upper())
            rows["carried_by_dp"].append(round(float(np.mean(carried)), 3))
            rows["ms"].append(round(float(np.median(ms)), 3))
            advance(1)
    each = float(np.mean([len(sizes) for sizes, _, _ in cases]))
    return {"queries": queries, "posts": posts, "matchers": matchers, "parcels_of_a_matcher": round(each), **rows}
