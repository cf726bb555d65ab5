"""Where do subscriptions cost least? LASP beside a draw, and beside what the index would choose.

Implements the comparison that [S3TM] 6.3 speaks of, with the counts of 4.2: words and look-ups of a trie by matcher.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.names import Model
from benchmarks.s3tm.corpus import Asking
from benchmarks.s3tm.trials import Plan, Row, columns
from tidings.arrays import IntArray
from tidings.cluster import burdens_of, place
from tidings.partitioning.learning import Salb
from tidings.placement import RAREST, Anycast, Lasp, Line, LookUps, Placer, look_ups

DRAWS = 3
FROM_0 = "LASP from 0"
"""With a cost that has no intercept: what such a line, which a fit may give, would do."""

_SUBSCRIPTIONS = 20_000
_POSTS = 1_000
_FIT = 10
"""The cost is fitted to every tenth subscription, and a third of the posts."""


def by_words(asking: Asking, plan: Plan) -> dict[str, Any]:
    """Fig. 3: look-ups of a trie by its different words, and the line that is the cost of LASP in :func:`by_placement`.

    ``fit`` is R² of the line. Also for ten times as many subscriptions, to see how far the line holds.
    """
    count, posts, _ = _shared(asking, plan)
    rows = []
    for model in Model:
        for subscriptions in (count // _FIT, count):
            found = _look_ups(asking, model, subscriptions, posts)
            line, free = found.line(), found.free_line()
            counts = np.array(found.counts)
            off = counts - (line.intercept + line.slope * np.array(found.words))
            rows.append(
                {
                    "model": model.value,
                    "subscriptions": subscriptions,
                    "slope": round(line.slope, 6),
                    "intercept": round(line.intercept, 3),
                    "free_slope": round(free[0], 6),
                    "free_intercept": round(free[1], 3),
                    "root": round(found.root, 3),
                    "fit": round(1 - float((off**2).sum() / ((counts - counts.mean()) ** 2).sum()), 4),
                    "words": found.words,
                    "look_ups": [round(each, 3) for each in found.counts],
                }
            )
            plan.advance(1)
    return {"posts": posts.num_rows // 3} | columns(rows)


def by_placement(asking: Asking, plan: Plan) -> dict[str, Any]:
    """Of several draws of subscriptions: what all matchers have together, and the largest divided by the mean.

    ``operations`` are look-ups for a post; ``most_operations`` those of the matcher with the most.
    """
    rows = []
    count, posts, learned = _shared(asking, plan)
    for model in Model:
        line = _look_ups(asking, model, count // _FIT, posts).line()
        mappings = {n: Salb().partition(asking.incidence(model, count).taken(learned), n) for n in plan.placed}
        tables = [asking.subscriptions(model, count, draw) for draw in range(DRAWS)]
        for matchers in plan.placed:
            placers: dict[str, Callable[[], Placer]] = {
                "random": lambda: Anycast(plan.seed),
                "LASP": lambda n=matchers, cost=line: Lasp(n, cost),  # type: ignore[misc]
                FROM_0: lambda n=matchers, cost=line: Lasp(n, Line(cost.slope)),  # type: ignore[misc]
                "rarest": lambda: RAREST,
            }
            for name, placer in placers.items():
                found = []
                for table in tables:
                    placement = place(table, mappings[matchers], asking.sample(), placer=placer(), routing="words")
                    found.append(burdens_of(placement, posts).figures())
                    plan.advance(1)
                labels: Row = {"model": model.value, "placer": name, "matchers": matchers}
                rows.append(labels | _row(found, matchers, posts.num_rows))
    return {"subscriptions": count, "posts": posts.num_rows, "draws": DRAWS} | columns(rows)


def _shared(asking: Asking, plan: Plan) -> tuple[int, pa.Table, IntArray]:
    """How many subscribe, the posts that are matched, and the rows of those that are learned from."""
    corpus = asking.corpus
    drawn = corpus.drawn(plan.seed, 2)
    posts = corpus.table.select(["id", "text"]).take(pa.array(drawn[:_POSTS]))
    return min(plan.subscriptions, _SUBSCRIPTIONS), posts, np.sort(drawn[_POSTS : _POSTS + plan.learn])


def _look_ups(asking: Asking, model: Model, subscriptions: int, posts: pa.Table) -> LookUps:
    return look_ups(asking.subscriptions(model, subscriptions), posts.slice(0, posts.num_rows // 3))


def _row(found: list[dict[str, tuple[int, float]]], matchers: int, posts: int) -> Row:
    row: Row = {}
    for name in ("subscriptions", "words", "operations"):
        by = posts if name == "operations" else 1
        totals, largest = np.array([each[name] for each in found]).T
        row |= {f"{name}_in_all": round(float(totals.mean()) / by, 1), f"{name}_imbalance": round(largest.mean(), 3)}
    most = np.array([total * largest / matchers / posts for total, largest in (each["operations"] for each in found)])
    return row | {"most_operations": round(float(most.mean()), 1), "most_operations_sd": round(float(most.std()), 1)}
