"""How small can the largest load be, whatever divides the work?

A post *must meet* a query if it has the word of one of its entries and lies in the box of that entry: that holds for
every partitioning that files a conjunction under one word and sends posts by their place and by single words, which is
what [PS2] Def. 2 asks for, however it divides places and words.

Matcher i has p_i posts and q_i queries, and its load is c1 p_i q_i + c2 p_i + c3 q_i. Take a set of W pairs that must
meet, in which a post is at most a times and a query at most b times. Those of the pairs that meet at matcher i are
W_i <= min(a p_i, b q_i), and all of them meet somewhere, so the sum of W_i is at least W. Hence p_i q_i is at least
W_i^2 / (a b), and the sum of that is at least W^2 / (a b m) for m matchers (Cauchy-Schwarz). Each of the P posts that
must meet something is sent once at least, and each of the Q queries is somewhere, so the mean load, and the largest,
are at least

    (c1 W^2 / (a b m) + c2 P + c3 Q) / m.

Nor is the largest load below that of what cannot be divided: a post with a word, and the queries that it must meet for
that word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.ps2 import kernels
from tidings.partitioning.hybrid import Workload
from tidings.partitioning.load import LoadCosts

_TIMES = ((1, 1), (1, 2), (2, 1), (1, 4), (4, 1))


@dataclass(frozen=True, slots=True)
class Bound:
    """``load``: no partitioning has a smaller maximum. ``pairs``: W; ``posts``: P; ``indivisible``: of the last."""

    load: float
    pairs: int
    posts: int
    indivisible: float


def least_load(work: Workload, costs: LoadCosts, matchers: int) -> Bound:
    """The bound for a workload. Cost: some seconds for 10,000 posts and queries."""
    order = np.argsort(work.entry_word, kind="stable").astype(np.int32)
    starts = np.searchsorted(work.entry_word[order], np.arange(len(work.names) + 1))
    asked = (starts, order, work.entry_box, work.entry_query)
    posts = (work.lon, work.lat, work.posts.offsets, work.posts.ids)
    ends = np.zeros(len(work.posts) + 1, dtype=np.int64)
    count, most = kernels.meetings(*posts, *asked, ends, np.empty(0, dtype=np.int32))
    found = np.empty(count, dtype=np.int32)
    kernels.meetings(*posts, *asked, ends, found)
    deleted = work.deletions / max(work.insertions, 1)
    query = costs.insertion + deleted * costs.deletion
    sent = int(np.count_nonzero(np.diff(ends)))
    best, pairs = 0.0, 0
    for a, b in _TIMES:
        own = int(kernels.matching(ends, found, len(work.queries), a, b))
        if own * own / (a * b) >= best:
            best, pairs = own * own / (a * b), own
    mean = (costs.pair * best / matchers + costs.post * sent + query * len(work.queries)) / matchers
    indivisible = float(costs.load(1, most, deleted * most)) if most else 0.0
    return Bound(max(mean, indivisible), pairs, sent, indivisible)
