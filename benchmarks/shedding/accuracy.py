"""How many matches are left when a post goes to m matchers at most?

Implements [S3TM] 6.5, Fig. 26. Departs from the paper: ``work`` beside copies; two more policies, ``threshold``, where
copies of all posts compete, and ``matches``, that keeps the matchers where most matches are expected by learned rates;
and what is lost is estimated too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.matching import Advance, silent
from benchmarks.s3tm.trials import METHODS, Row, columns
from benchmarks.shedding.estimates import by_spared, ratio, rounded
from benchmarks.shedding.setting import Laid, Setting
from tidings.cluster import place
from tidings.partitioning import Mapping
from tidings.partitioning.learning import Incidence
from tidings.shedding import POLICIES, Floor, Shed, Threshold, shedder

MATCHES = "matches"
AIM = 0.9
"""How much is shed where so much of the accuracy is left?"""

CHECKED_POSTS = 500
_CHECKED_LIMIT = 4.5


@dataclass(frozen=True, slots=True)
class Plan:
    """The mappings that are learned, and the limits."""

    partitioners: tuple[str, ...] = ("SALB", "refined")
    matchers: tuple[int, ...] = (16, 64)
    limits: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14)


def by_limit(setting: Setting, plan: Plan, advance: Advance = silent) -> dict[str, Any]:
    """A row for each partitioner, number of matchers, policy and limit; ``shed_at_90``: copies, at 90 % accuracy.

    ``copies_shed`` and ``work_shed`` are shares of all copies, and of all subscriptions that are looked at because of
    them. ``by_rates`` and ``by_spared``: what is said to be lost, divided by what is.
    """
    terms = place(setting.subscriptions, Mapping.hashed(1), setting.sample).router.terms
    incidence, rows = Incidence.of(setting.learned, terms), list[Row]()
    for name in plan.partitioners:
        for matchers in plan.matchers:
            laid = setting.laid(METHODS[name]().partition(incidence, matchers))
            spread = float(laid.held.route().sizes().mean())
            policies = (*POLICIES, MATCHES)
            laid.check([_shed(laid, policy, _CHECKED_LIMIT).kept for policy in policies], CHECKED_POSTS)
            for policy in policies:
                labels: Row = {"partitioner": name, "matchers": matchers, "spread": round(spread, 2), "policy": policy}
                found = [{"m": limit} | _row(laid, _shed(laid, policy, limit)) for limit in plan.limits]
                aim = {"shed_at_90": rounded(shed_at(AIM, found))}
                rows += [labels | aim | row for row in found]
                advance(1)
    return setting.described() | columns(rows)


def shed_at(aim: float, rows: list[Row]) -> float:
    """The share of copies that is shed where the accuracy is ``aim``, on the line between the limits beside it.

    >>> shed_at(0.9, [{"accuracy": 0.8, "copies_shed": 0.4}, {"accuracy": 0.95, "copies_shed": 0.1}])
    0.2
    """
    points = sorted([(1.0, 0.0), *((row["accuracy"], row["copies_shed"]) for row in rows)])
    accuracies, shed = np.array(points).T
    return round(float(np.interp(aim, accuracies, shed)), 12)


def _shed(laid: Laid, policy: str, limit: float) -> Shed:
    if policy == "threshold":  # as many copies as the limit leaves of other posts
        threshold, sizes = Threshold(laid.filed), laid.learned.route().sizes()
        fraction = float(np.minimum(sizes, limit).sum() / sizes.sum())
        return threshold.shed(laid.held, Floor.of(threshold.grades(laid.learned), fraction), laid.rates)
    chosen = shedder("subscription", laid.rates) if policy == MATCHES else shedder(policy, laid.filed)
    return chosen.shed(laid.held, limit, laid.rates)


def _row(laid: Laid, shed: Shed) -> Row:
    found, held = laid.setting.found, laid.held
    is_kept = found.is_kept(shed.kept, laid.placement.homes)
    lost = np.bincount(found.rows[~is_kept], minlength=len(held))
    return {
        "copies_shed": rounded(shed.copies.sum() / held.route().sizes().sum()),
        "work_shed": rounded(1 - _looked_at(laid, shed.kept.words) / _looked_at(laid, held.route().words)),
        "accuracy": rounded(is_kept.mean()),
        "lost": int(lost.sum()),
        "by_rates": ratio(float(shed.lost.sum()), float(lost.sum())),
        "by_spared": by_spared(lost, held.keys),
    }


def _looked_at(laid: Laid, words: np.ndarray[Any, np.dtype[np.uint64]]) -> int:
    """How many subscriptions are filed under the terms of copies, for all copies together."""
    held = laid.held
    rows = np.repeat(np.arange(len(held)), np.diff(held.terms.offsets))[held.owners >= 0]
    owners, terms = held.owners[held.owners >= 0], held.terms.ids[held.owners >= 0]
    goes = (words[rows, owners >> 6] >> (owners & 63).astype(np.uint64)) & np.uint64(1)
    return int(laid.filed[terms[goes > 0]].sum())
