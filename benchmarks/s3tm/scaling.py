"""How do spread, imbalance and throughput change with matchers, subscriptions and what was learned from?

Implements [S3TM] 6.1-6.3 and 6.6: Table 1, Fig. 4, Fig. 5-13, Fig. 14-21, Fig. 28. Departs from the paper: throughput
is by the counts of posts that each matcher gets, in units of one matcher that gets everything.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.names import Model, Sent
from benchmarks.s3tm.corpus import SHORT, Asking
from benchmarks.s3tm.trials import (
    CONTENDERS,
    LISTING,
    METHODS,
    NETWORKS,
    SHARE,
    Plan,
    Row,
    beside_salb,
    columns,
    trial,
)
from tidings.partitioning.learning import kernels
from tidings.partitioning.learning.words import Words

AT = 16
"""So many matchers where something else changes."""

HEADLINE_MATCHERS = (16, 64, 256)
_RANKS = (1, 10, 100, 1_000, 10_000, 100_000)
_SIZES = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
_LEARNED = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


def words(asking: Asking, plan: Plan) -> dict[str, Any]:
    """Table 1 and Fig. 4: posts, words, pairs of words that meet, and the frequency of the word of each rank."""
    corpus = asking.corpus
    incidence = corpus.incidence(corpus.names)
    found = Words.of(incidence, 1, np.ones(len(corpus.names), dtype=np.int64))
    bounds = np.zeros(len(found.starts), dtype=np.int64)
    kernels.count_neighbours(found.starts, found.rows, found.sets.offsets, found.sets.ids, bounds)
    plan.advance(1)
    falling = -np.sort(-incidence.frequencies())
    ranks = [rank for rank in _RANKS if rank <= len(falling)]
    return {
        "posts": len(corpus),
        "different_words": len(falling),
        "occurrences": len(corpus.sets.ids),
        "words_per_post": round(len(corpus.sets.ids) / len(corpus), 2),
        "pairs": int(bounds[-1]) // 2,
        "rank": ranks,
        "frequency": [int(falling[rank - 1]) for rank in ranks],
        "share_of_posts": [round(float(falling[rank - 1]) / len(corpus), 5) for rank in ranks],
    }


def by_matchers(asking: Asking, plan: Plan) -> dict[str, Any]:
    """Fig. 5-12: all partitioners, from few matchers to many; and tweet-based on posts that are cut short."""
    rows = []
    cases = {model.value: asking.incidence(model, plan.subscriptions) for model in Model}
    cases["short"] = asking.corpus.shortened(SHORT, plan.seed).incidence(cases["tweets"].names)
    for model, incidence in cases.items():
        for matchers in plan.matchers:
            for method in METHODS:
                labels: Row = {"model": model, "partitioner": method, "matchers": matchers}
                rows.append(labels | trial(incidence, method, matchers, plan))
    return _described(asking, plan) | columns(beside_salb(rows, "model", "matchers"))


def by_subscriptions(asking: Asking, plan: Plan) -> dict[str, Any]:
    """Fig. 14-21: at 16 matchers, from a hundred subscriptions to ``plan.most``."""
    rows = []
    for model in Model:
        for count in (size for size in _SIZES if size <= plan.most):
            incidence = asking.incidence(model, count)
            for method in CONTENDERS:
                labels: Row = {"model": model.value, "partitioner": method, "subscriptions": count}
                labels["words"] = len(incidence.names)
                rows.append(labels | trial(incidence, method, AT, plan))
    shared = _described(asking, plan) | {"matchers": AT}
    del shared["subscriptions"]
    return shared | columns(beside_salb(rows, "model", "subscriptions"))


def by_learning(asking: Asking, plan: Plan) -> dict[str, Any]:
    """Fig. 13 and 28: throughput on held-out posts, and seconds to learn, by the number of posts learned from.

    SALB is timed with 256 matchers as well. One fold is held out: time hardly differs by it.
    """
    plan = replace(plan, measured=1)
    incidence = asking.incidence(Model.tweets, plan.subscriptions)
    for method in CONTENDERS:
        trial(incidence, method, 2, replace(plan, learn=100))  # compile
    all_others = len(asking.corpus) - len(asking.corpus) // plan.folds
    rows = []
    for learn in sorted({*(size for size in _LEARNED if size < all_others), all_others}):
        for method, matchers in (*((method, AT) for method in CONTENDERS), ("SALB", 256)):
            labels: Row = {"posts_learned": learn, "partitioner": method, "matchers": matchers}
            rows.append(labels | trial(incidence, method, matchers, replace(plan, learn=learn)))
    shared = _described(asking, plan)
    del shared["learn"]
    return shared | columns(rows)


def headline(asking: Asking, plan: Plan) -> dict[str, Any]:
    """Tweet-based, learned from all posts of all folds but one: what is sent for, and split terms, side by side.

    Networks, which take long, are cut without splitting. With 16 matchers nothing is split: there it makes no
    difference.
    """
    return _learned_from_all(asking, plan, CONTENDERS)


def readings(asking: Asking, plan: Plan) -> dict[str, Any]:
    """The same for SALB alone: imbalance as sd / mean, and as sqrt(variance / mean)."""
    return _learned_from_all(asking, plan, ("SALB", LISTING))


def _learned_from_all(asking: Asking, plan: Plan, methods: tuple[str, ...]) -> dict[str, Any]:
    """What is unfinished says so."""
    rows: list[Row] = []
    shared = _described(asking, plan)
    del shared["learn"]
    full = replace(plan, learn=len(asking.corpus) - len(asking.corpus) // plan.folds)
    for sent in Sent:
        incidence = asking.incidence(Model.tweets, plan.subscriptions, sent)
        for matchers in HEADLINE_MATCHERS:
            for method in methods:
                for share in (None, SHARE) if matchers > AT and method not in NETWORKS else (None,):
                    labels: Row = {"sent_for": sent.value, "partitioner": method, "matchers": matchers}
                    labels |= {"split": share is not None, "learned": full.learn}
                    rows.append(labels | trial(incidence, method, matchers, full, share))
            found = shared | columns(beside_salb(rows, "sent_for", "matchers", "split"))
            plan.so_far(found | {"unfinished": f"{len(rows)} rows so far"})
    return found


def _described(asking: Asking, plan: Plan) -> dict[str, Any]:
    posts = len(asking.corpus)
    learn = min(plan.learn, posts - posts // plan.folds)
    return {"posts": posts, "learn": learn, "subscriptions": plan.subscriptions}
