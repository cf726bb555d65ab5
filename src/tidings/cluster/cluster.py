"""How do N matchers act as one? A cluster takes changes, delivers publications and moves parcels, in one process.

Each matcher has an index of its subscriptions and the homes of those that live elsewhere too; one router knows which of
them a publication has to reach. On Spark the driver keeps a cluster and writes it to files
(:mod:`tidings.cluster.shares`); there the workers route and deliver by what they read from these.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis import ENGLISH, Analyser
from tidings.arrays import IdArray, IntArray
from tidings.cluster.filings import Filings, filed_under, merged, terms_of
from tidings.cluster.homes import Homes, once
from tidings.cluster.journal import MatcherReport
from tidings.cluster.placing import Placement, Routing, place
from tidings.cluster.router import Router
from tidings.index import GuardIndex
from tidings.index.matcher import Clock
from tidings.index.subscribers import table_of
from tidings.model import DataError
from tidings.model.values import utc_now
from tidings.partitioning import Mapping, MatcherSets, Move, diff
from tidings.placement import RAREST, Lasp, Placer
from tidings.tables.checked import Publications
from tidings.terms.sample import Sample


@dataclass(slots=True)
class Member:
    """One matcher: its index, the homes of what lives elsewhere too, and how often it has changed."""

    index: GuardIndex
    homes: Homes
    changes: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Delivered:
    """Row ``rows[i]`` (int64) answers the subscription ``ids[i]``, once each; ``matchers[i]`` (int32) delivers it."""

    rows: IntArray
    ids: pa.Array
    matchers: IdArray

    def pairs(self) -> list[tuple[int, str]]:
        """All of them, sorted."""
        return sorted(zip(self.rows.tolist(), self.ids.to_pylist(), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Loads:
    """What each matcher did, and what each parcel brings: ``posts[p]`` publications were sent for it, and
    ``filed[p]`` times a subscription is filed under a term in it. Both int64[parcels]."""

    matchers: tuple[MatcherReport, ...]
    posts: IntArray
    filed: IntArray


class Cluster:
    """The matchers of a mapping; without one, one matcher that has all, and no router.

    ``sample``: publications like those to come, to choose guards by. ``placer`` may remember what it has placed: it is
    one for this cluster, and new. A publication without an instant counts as one of now, by ``clock``.

    >>> cluster = Cluster(Mapping.hashed(4))
    >>> cluster.change(pa.table({"id": ["s", "t"], "query": ["white house", "fire OR drill"]}))
    >>> posts = pa.table({"id": ["p", "q"], "text": ["A fire drill", "The White House"]})
    >>> cluster.deliver(posts).pairs(), cluster.deliver(posts).matchers.tolist()
    ([(0, 't'), (1, 's')], [0, 1])
    >>> cluster.move(Move(int(parcel), to=3) for parcel in np.flatnonzero(cluster.loads().posts))
    >>> cluster.deliver(posts).pairs(), cluster.deliver(posts).matchers.tolist()
    ([(0, 't'), (1, 's')], [3, 3])
    >>> [load.posts for load in cluster.loads().matchers]
    [0, 0, 0, 4]
    """

    def __init__(
        self,
        mapping: Mapping | None,
        analyser: Analyser = ENGLISH,
        sample: pa.Table | Sample | None = None,
        placer: Placer = RAREST,
        routing: Routing = "guards",
        clock: Clock = utc_now,
    ) -> None:
        self.mapping = mapping
        self.router: Router | None = None
        self.filings: list[Filings] = []
        self._analyser = analyser
        self._sample = Sample.of(analyser, sample)
        self._placer, self._routing = placer, routing
        count = mapping.matchers if mapping else 1
        self.members = [Member(GuardIndex(analyser, self._sample, clock), self.no_homes()) for _ in range(count)]
        self._loads: list[MatcherReport] = []
        self._touched: IntArray = np.zeros(0, dtype=np.int64)
        self._start_counting()

    def no_homes(self) -> Homes:
        """The homes of nobody."""
        empty = MatcherSets.empty(0, self.mapping.matchers if self.mapping else 1)
        return Homes.of(pa.array([], pa.large_string()), empty)

    def hold(self, members: list[Member], router: Router | None, filings: list[Filings]) -> None:
        """Have what another cluster had."""
        self.members, self.router, self.filings = members, router, filings
        if isinstance(self._placer, Lasp):
            for matcher, member in enumerate(members):
                self._placer.hold(matcher, member.index.queries(), self._analyser)

    # ------------------------------------------------------------------------------------------------ changes

    def change(self, table: pa.Table, removed: Iterable[str] = ()) -> None:
        """Have the subscriptions of a table, which were checked, and those of ``removed`` no longer, but for the
        table's own: ``id`` and ``query``, and whatever else of COLUMNS there is; the later of two equal ids counts."""
        names = pa.array(removed, pa.large_string())
        if any(len(member.index) for member in self.members):
            names = pc.unique(pa.chunked_array([names, *table["id"].cast(names.type).chunks]))
        if self.mapping is None:
            self._change(self.members[0], table, self.members[0].homes, names)
            return
        if isinstance(self._placer, Lasp):
            self._forget(set(names.to_pylist()), self._placer)
        placement = place(table, self.mapping, self._sample, self._analyser, self._placer, self._routing)
        for matcher, member in enumerate(self.members):
            own = placement.share(matcher)
            self._change(member, own.table, own.homes, names)
        self._route(placement, names)

    def _forget(self, names: set[str], placer: Lasp) -> None:
        """Let a placer know what is about to go, before it places what comes."""
        for matcher, member in enumerate(self.members):
            records = (member.index.record(name) for name in names)
            gone = pa.chunked_array([[record.query for record in records if record is not None]], pa.large_string())
            if len(gone):
                placer.forget(matcher, gone, self._analyser)

    def _change(self, member: Member, table: pa.Table, homes: Homes, names: pa.Array) -> None:
        known = [name for name in names.to_pylist() if name in member.index]
        if known or table.num_rows:
            member.index.change(table, known)
            if self.mapping is not None:
                member.homes = member.homes.changed(homes, names)
            member.changes += 1

    def _route(self, placement: Placement, names: pa.Array) -> None:
        """Send for what came, and no longer for what went."""
        asked = placement.table["id"]
        gone = names.filter(pc.invert(pc.is_in(names, value_set=asked.combine_chunks().cast(names.type))))
        filings = Filings.of(asked, placement.filed, gone.to_pylist())
        if self.router is None:
            self.router, self.filings = placement.router, [filings]
            return
        withdrawn = terms_of(self.filings, filings.ids.texts())
        if len(withdrawn) or placement.table.num_rows:
            filings = filings.renumbered(self.router.extend(placement.router))
            self.router.withdraw(withdrawn)
            self.filings.append(filings)

    def tidy(self) -> None:
        """Forget terms under which nothing is filed, and make one part of all filings."""
        if self.router is not None and len(self.filings) > 1:
            self.router, numbers = self.router.tidied()
            self.filings = [merged(self.filings).renumbered(numbers)]

    # ------------------------------------------------------------------------------------------------ moves

    def move(self, moves: Iterable[Move]) -> None:
        """Give parcels to other matchers. Only subscriptions whose homes change are compiled, at homes that are new.

        Cost: some 10 µs for each of them, and some passes over all terms and filings.
        """
        self.move_to(self._divided().moved(moves))

    def _divided(self) -> Mapping:
        if self.mapping is None:
            raise DataError("one matcher that has all has no parcels; give the cluster a mapping")
        return self.mapping

    def move_to(self, mapping: Mapping) -> None:
        """Give parcels to the owners that they have in a mapping of the same parcels; a DataError if it has others."""
        diff(self._divided(), mapping)
        self.mapping, router = mapping, self.router
        self._start_counting()
        if router is None or np.array_equal(router.owner, mapping.owner):
            return
        ids, filed = filed_under(self.filings, router.parcels.touch(router.owner != mapping.owner))
        before = MatcherSets.owning(filed, router.owners, mapping.matchers)
        router.move(mapping.owner)
        after = MatcherSets.owning(filed, router.owners, mapping.matchers)
        changed = np.flatnonzero((before.words != after.words).any(axis=1))
        self._rehome(ids.take(pa.array(changed)), before.taken(changed), after.taken(changed))

    def _rehome(self, ids: pa.Array, before: MatcherSets, after: MatcherSets) -> None:
        """Take subscriptions from the matchers that they lived at to those where they live now."""
        table = self._taken(ids, before.first())
        come, go = after.without(before), before.without(after)
        for matcher, member in enumerate(self.members):
            here, left = after.with_matcher(matcher), go.with_matcher(matcher)
            if not len(here) and not len(left):
                continue
            own, gone = (table.take(pa.array(rows)) for rows in (come.with_matcher(matcher), left))
            member.index.change(own, gone["id"].to_pylist())
            homes = Homes.of(ids.take(pa.array(here)), after.taken(here))
            member.homes = member.homes.changed(homes, ids.take(pa.array(np.concatenate([here, left]))))
            member.changes += 1
            if isinstance(self._placer, Lasp):
                self._placer.forget(matcher, gone["query"], self._analyser)
                self._placer.hold(matcher, own["query"], self._analyser)

    def _taken(self, ids: pa.Array, matchers: IntArray) -> pa.Table:
        """The subscriptions of these ids, in that order, each from a matcher that has it."""
        some = [ids.filter(pa.array(matchers == matcher)) for matcher in range(len(self.members))]
        tables = [m.index.subscriptions(own) for m, own in zip(self.members, some, strict=True) if len(own)]
        table = pa.concat_tables([table_of([]), *tables])
        return table.take(pc.index_in(ids, value_set=table["id"].combine_chunks()))

    # ------------------------------------------------------------------------------------------------ deliveries

    def deliver(self, publications: pa.Table, routes: MatcherSets | None = None) -> Delivered:
        """The matches of some publications. Each goes to the matchers that may have one, and exactly one delivers it.

        With ``routes`` they go there instead, as where work is shed. Rows that are no publications have no matches.
        """
        count = len(self.members)
        routes = self._routed(publications) if routes is None else routes
        found = [self._found(matcher, publications, routes) for matcher in range(count)]
        rows = np.concatenate([own for own, _ in found])
        ids = pa.concat_arrays([names for _, names in found])
        matchers = np.repeat(np.arange(count, dtype=np.int32), [len(own) for own, _ in found])
        order = np.argsort(rows, kind="stable")
        return Delivered(rows[order], ids.take(pa.array(order)), matchers[order])

    def _routed(self, publications: pa.Table) -> MatcherSets:
        """The matchers of each row; what is sent for each parcel is counted."""
        if self.router is not None:
            self._touched = self._touched + self.router.touched(Publications.of(publications).table)
            return self.router.route(publications)
        routes = MatcherSets.empty(publications.num_rows, len(self.members))
        if self.mapping is None:
            routes.words[:] = 1
        return routes

    def _found(self, matcher: int, publications: pa.Table, routes: MatcherSets) -> tuple[IntArray, pa.Array]:
        """The rows and ids of the matches that one matcher delivers."""
        member, sent = self.members[matcher], routes.with_matcher(matcher)
        began = time.perf_counter()
        found = member.index.match(publications.take(pa.array(sent)))
        rows, ids = sent[found.rows()], found.ids().cast(pa.large_string()).combine_chunks()
        kept = np.flatnonzero(once(rows, ids, matcher, routes, member.homes))
        load, ms = self._loads[matcher], (time.perf_counter() - began) * 1e3
        self._loads[matcher] = replace(
            load,
            posts=load.posts + len(sent),
            candidates=load.candidates + found.counters.candidates,
            matches=load.matches + len(kept),
            ms=load.ms + ms,
        )
        return rows[kept], ids.take(pa.array(kept))

    def loads(self) -> Loads:
        """What the matchers did since the last move, or since the beginning."""
        parcels = len(self._touched)
        filed = np.zeros(parcels, dtype=np.int64)
        if self.router is not None:
            own = self.router.parcels
            filed = np.bincount(own.parcels, np.repeat(self.router.filed, own.counts()), parcels).astype(np.int64)
        return Loads(tuple(self._loads), self._touched, filed)

    def _start_counting(self) -> None:
        self._loads = [MatcherReport(matcher, 0, 0, 0, 0.0) for matcher in range(len(self.members))]
        self._touched = np.zeros(self.mapping.parcels.count if self.mapping else 0, dtype=np.int64)
