"""How many matches are left when only a part of the posts is matched at all, as in the replicated layout?"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.s3tm.trials import Row, columns
from benchmarks.shedding.accuracy import AIM, MATCHES, shed_at
from benchmarks.shedding.estimates import by_spared, ratio, rounded
from benchmarks.shedding.setting import Setting
from tidings.partitioning import Mapping
from tidings.shedding import keep_posts

FRACTIONS = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)


def by_fraction(setting: Setting, fractions: tuple[float, ...] = FRACTIONS) -> dict[str, Any]:
    """A row for each order in which posts are dropped, and each fraction of them that is kept.

    The order is by the ``matches`` that are expected, by the subscriptions that would be looked at, or by chance.
    """
    laid = setting.laid(Mapping.hashed(1))
    matches = np.bincount(setting.found.rows, minlength=len(laid.held))
    looked_at, expected = laid.held.expected(laid.filed.astype(np.float64)), laid.held.expected(laid.rates)
    rows: list[Row] = []
    for policy, worth in {MATCHES: expected, "subscription": looked_at, "random": np.zeros(len(matches))}.items():
        found: list[Row] = []
        for fraction in fractions:
            kept = keep_posts(worth, fraction, laid.held.keys)
            lost = np.where(kept, 0, matches)
            found.append({
                "kept": fraction,
                "copies_shed": rounded(1 - kept.mean()),
                "work_shed": rounded(1 - looked_at[kept].sum() / looked_at.sum()),
                "accuracy": rounded(1 - lost.sum() / matches.sum()),
                "lost": int(lost.sum()),
                "by_rates": ratio(float(expected[~kept].sum()), float(lost.sum())),
                "by_spared": by_spared(lost, laid.held.keys),
            })  # fmt: skip
        rows += [{"policy": policy, "shed_at_90": rounded(shed_at(AIM, found))} | row for row in found]
    return setting.described() | columns(rows)
