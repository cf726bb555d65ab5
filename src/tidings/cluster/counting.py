"""How is the work of matchers counted, and for which parcels was it done?"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from tidings.analysis import ENGLISH, Analyser
from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray, IntArray
from tidings.balancing import Churn, Estimate, Loads, Standing, Touches, WorkDone
from tidings.cluster.filings import Filings, some_terms
from tidings.cluster.placing import place
from tidings.cluster.router import Router
from tidings.partitioning import Mapping, TermParcels, kernels
from tidings.partitioning.load import COUNTED, FloatArray, LoadCosts
from tidings.tables.checked import Publications

RECENT_POSTS = 20_000
"""It is remembered for which parcels so many of the latest posts were sent, and for those of the batch before."""

SOME_STANDING = 20_000
"""Of about so many subscriptions it is looked up in which parcels they are filed; each stands for others like it."""


class Counting:
    """Counts from when it is made."""

    def __init__(self, matchers: int, parcels: int) -> None:
        self._matchers, self._parcels = WorkDone.none(matchers), WorkDone.none(parcels)
        self._recent = deque[tuple[int, Touches, Churn]]()
        self._churn = Churn.none(parcels)

    def matched(self, matcher: int, posts: int, compared: int, found: int, ms: float) -> None:
        """A matcher got some posts and found some matches."""
        work = self._matchers
        work.posts[matcher] += posts
        work.compared[matcher] += compared
        work.found[matcher] += found
        work.ms[matcher] += ms

    def changed(self, matcher: int, insertions: int, deletions: int, ms: float) -> None:
        """A matcher got some subscriptions, and gave up some."""
        work = self._matchers
        work.insertions[matcher] += insertions
        work.deletions[matcher] += deletions
        work.ms[matcher] += ms

    def filed(self, parcels: TermParcels, inserted: IntArray, deleted: IntArray) -> None:
        """Under term t of these parcels ``inserted[t]`` subscriptions were filed, and ``deleted[t]`` no longer are."""
        churn = Churn(*(by_parcel(parcels, counts, len(self._parcels)) for counts in (inserted, deleted)))
        self._parcels.insertions[:] += churn.inserted
        self._parcels.deletions[:] += churn.deleted
        self._churn += churn

    def sent(self, router: Router, posts: pa.Table) -> None:
        """A table without bad rows was routed."""
        touches, count = touched(router, posts), len(self._parcels)
        self._parcels.posts[:] += touches.by_parcel(count)
        self._parcels.compared[:] += touches.entries_by_parcel(count)
        self._recent.append((posts.num_rows, touches, self._churn if self._recent else Churn.none(count)))
        self._churn = Churn.none(count)
        while sum(rows for rows, _, _ in self._recent) - self._recent[0][0] >= RECENT_POSTS:
            self._recent.popleft()

    def work(self) -> WorkDone:
        """What the matchers did so far."""
        return self._matchers.copy()

    def loads(self, router: Router | None, filings: Sequence[Filings]) -> Loads:
        """What was counted so far."""
        matchers, parcels = self._matchers.copy(), self._parcels.copy()
        touches = Touches.joined([touches for _, touches, _ in self._recent])
        churn = sum((churn for _, _, churn in self._recent), Churn.none(len(parcels)))
        if router is None:
            nothing = np.zeros(len(parcels), dtype=np.int64)
            return Loads(matchers, parcels, nothing, touches, churn, Standing.apart(nothing))
        filed = by_parcel(router.parcels, router.filed, len(parcels))
        standing = standing_at(router, *some_terms(filings, SOME_STANDING))
        return Loads.attributed(matchers, parcels, filed, touches, churn, standing, router.owner)


def by_parcel(parcels: TermParcels, counts: IntArray, count: int) -> IntArray:
    """The sum of the counts of the terms of each of ``count`` parcels; ``counts`` int64[terms]."""
    return np.bincount(parcels.parcels, np.repeat(counts, parcels.counts()), count).astype(np.int64)


def touched(router: Router, posts: pa.Table) -> Touches:
    """For which parcels the rows of a table without bad rows are sent."""
    terms, _, keys = router.occurrences(posts)
    found: IdArray = np.empty(len(terms.ids), dtype=np.int32)
    parcels = router.parcels
    kernels.find_versions(terms.offsets, terms.ids, parcels.offsets, parcels.parcels, keys, found)
    is_sent = (found >= 0) & (terms.ids >= 0) & (router.filed[terms.ids] > 0)
    rows = np.repeat(np.arange(len(terms)), np.diff(terms.offsets))
    return Touches.of(rows[is_sent], found[is_sent], router.filed[terms.ids[is_sent]])


def standing_at(router: Router, filed: TermSets, each: float = 1.0) -> Standing:
    """In which parcels subscriptions are filed, each under the terms of one row; a row stands for ``each`` of them."""
    parcels, count = router.parcels.taken(filed.ids), len(router.owner)
    rows = np.repeat(np.repeat(np.arange(len(filed)), np.diff(filed.offsets)), parcels.counts())
    pairs = np.sort(rows * count + parcels.parcels)
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    return Standing(pairs // count, (pairs % count).astype(np.int32), np.full(len(filed), each))


def loads_of(router: Router, posts: pa.Table, standing: Standing) -> Loads:
    """Loads for posts like these, as a router would send them; no matcher has counted anything, and nothing changes."""
    count = len(router.owner)
    touches, parcels = touched(router, Publications.of(posts).table), WorkDone.none(count)
    parcels.posts[:], parcels.compared[:] = touches.by_parcel(count), touches.entries_by_parcel(count)
    entries = by_parcel(router.parcels, router.filed, count)
    return Loads(WorkDone.none(router.matchers), parcels, entries, touches, Churn.none(count), standing)


def promised(
    mapping: Mapping,
    posts: pa.Table,
    asked: pa.Table,
    stands_for: float = 1.0,
    analyser: Analyser = ENGLISH,
    costs: LoadCosts = COUNTED,
) -> FloatArray:
    """The load of each matcher for these posts, if each of these subscriptions stands for so many."""
    placed = place(asked, mapping, analyser=analyser)
    costs = replace(costs, pair=stands_for * costs.pair)
    return Estimate(loads_of(placed.router, posts, standing_at(placed.router, placed.filed)), mapping, costs).matchers(
        mapping.owner
    )
