"""How do N matchers act as one? A cluster takes changes, delivers publications and moves parcels, in one process.

Each matcher has an index of its subscriptions and the homes of those that live elsewhere too; one router knows which of
them a publication has to reach. On Spark the driver keeps a cluster and writes it to files
(:mod:`tidings.cluster.shares`); there the workers route and deliver by what they read from these.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis import ENGLISH, Analyser
from tidings.arrays import IdArray, IntArray
from tidings.balancing import Loads, WorkDone
from tidings.cluster.counting import Counting
from tidings.cluster.filings import Filings, filed_under, merged, terms_of
from tidings.cluster.homes import Homes, once
from tidings.cluster.older import Older
from tidings.cluster.placing import Placement, Routing, place
from tidings.cluster.router import Router
from tidings.index import COMPACTION, GuardIndex
from tidings.index.carrying import FiledEntries
from tidings.index.matcher import Clock
from tidings.index.subscribers import table_of
from tidings.language.shapes.reading import FEW
from tidings.model import DataError
from tidings.model.values import utc_now
from tidings.partitioning import Mapping, MatcherSets, Move, diff
from tidings.placement import RAREST, Lasp, Placer
from tidings.tables.checked import Publications
from tidings.terms.sample import Sample

SPARE_FILES = 4
"""So many segments and files more than the policy has may be there after moves: these write what they move, and the
next change makes one of many."""


@dataclass(slots=True)
class Member:
    """One matcher: its index, the homes of what lives elsewhere too, and how often it has changed."""

    index: GuardIndex
    homes: Homes
    changes: int = 0

    def compact_if_due(self, more_segments: int = 0) -> None:
        """Make one segment of the index where that is worth while, or would be with some more segments."""
        if COMPACTION.is_due(self.index.segment_count + more_segments, len(self.index), self.index.burden):
            self.index.compact()


@dataclass(frozen=True, slots=True, eq=False)
class Delivered:
    """Row ``rows[i]`` (int64) answers the subscription ``ids[i]``, once each; ``matchers[i]`` (int32) delivers it."""

    rows: IntArray
    ids: pa.Array
    matchers: IdArray

    def pairs(self) -> list[tuple[int, str]]:
        """All of them, sorted."""
        return sorted(zip(self.rows.tolist(), self.ids.to_pylist(), strict=True))


class Carried(NamedTuple):
    """What a move took to matchers that did not have it: how many subscriptions came to each matcher and left it, and
    the bytes of the rows of those that came."""

    come: IntArray
    gone: IntArray
    size_bytes: int = 0

    @classmethod
    def nothing(cls, matchers: int) -> Carried:
        """For so many matchers."""
        return cls(np.zeros(matchers, dtype=np.int64), np.zeros(matchers, dtype=np.int64))

    @property
    def subscriptions(self) -> int:
        """How many came to a matcher that did not have them."""
        return int(self.come.sum())


class Cluster:
    """The matchers of a mapping; without one, one matcher that has all, and no router.

    ``sample``: publications like those to come, to choose guards by. ``placer`` may remember what it has placed: it is
    one for this cluster, and new. A publication without an instant counts as one of now, by ``clock``.

    >>> cluster = Cluster(Mapping.hashed(4))
    >>> cluster.change(pa.table({"id": ["s", "t"], "query": ["white house", "fire OR drill"]}))
    >>> posts = pa.table({"id": ["p", "q"], "text": ["A fire drill", "The White House"]})
    >>> cluster.deliver(posts).pairs(), cluster.deliver(posts).matchers.tolist()
    ([(0, 't'), (1, 's')], [0, 1])
    >>> cluster.move(Move(int(parcel), to=3) for parcel in np.flatnonzero(cluster.loads().parcels.posts)).subscriptions
    2
    >>> cluster.deliver(posts).pairs(), cluster.deliver(posts).matchers.tolist()
    ([(0, 't'), (1, 's')], [3, 3])
    >>> cluster.loads().matchers.posts.tolist()
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
        self.older: Older | None = None
        self._analyser = analyser
        self._sample = Sample.of(analyser, sample)
        self._placer, self._routing = placer, routing
        count = mapping.matchers if mapping else 1
        self.members = [Member(GuardIndex(analyser, self._sample, clock), self.no_homes()) for _ in range(count)]
        self._counting = self._counted_anew()

    def no_homes(self) -> Homes:
        """The homes of nobody."""
        empty = MatcherSets.empty(0, self.mapping.matchers if self.mapping else 1)
        return Homes.of(pa.array([], pa.large_string()), empty)

    def hold(
        self, members: list[Member], router: Router | None, filings: list[Filings], older: Older | None = None
    ) -> None:
        """Have what another cluster had."""
        self.members, self.router, self.filings, self.older = members, router, filings, older
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
            self._change(0, table, self.members[0].homes, names)
            return
        if isinstance(self._placer, Lasp):
            self._forget(set(names.to_pylist()), self._placer)
        placement = place(table, self.mapping, self._sample, self._analyser, self._placer, self._routing)
        for matcher in range(len(self.members)):
            own = placement.share(matcher)
            self._change(matcher, own.table, own.homes, names)
        self._route(placement, names)

    def _forget(self, names: set[str], placer: Lasp) -> None:
        """Let a placer know what is about to go, before it places what comes."""
        for matcher, member in enumerate(self.members):
            records = (member.index.record(name) for name in names)
            gone = pa.chunked_array([[record.query for record in records if record is not None]], pa.large_string())
            if len(gone):
                placer.forget(matcher, gone, self._analyser)

    def _change(self, matcher: int, table: pa.Table, homes: Homes, names: pa.Array) -> None:
        member, began = self.members[matcher], time.perf_counter()
        known = member.index.known(names)
        if known or table.num_rows:
            member.index.change(table, known, few=FEW)
            if self.mapping is not None:
                member.homes = member.homes.changed(homes, names)
            member.changes += 1
            self._counting.changed(matcher, table.num_rows, len(known), (time.perf_counter() - began) * 1e3)
            member.compact_if_due()

    def _route(self, placement: Placement, names: pa.Array) -> None:
        """Send for what came, and no longer for what went."""
        asked = placement.table["id"]
        gone = names.filter(pc.invert(pc.is_in(names, value_set=asked.combine_chunks().cast(names.type))))
        filings = Filings.of(asked, placement.filed, gone.to_pylist())
        if self.older is not None:
            self.older.forget(filings.ids.texts())
        if self.router is None:
            self.router, self.filings = placement.router, [filings]
            self._counting.filed(self.router.parcels, self.router.filed, np.zeros_like(self.router.filed))
            return
        withdrawn = terms_of(self.filings, filings.ids.texts())
        if len(withdrawn) or placement.table.num_rows:
            before = self.router.filed
            filings = filings.renumbered(self.router.extend(placement.router))
            inserted = self.router.filed.copy()
            inserted[: len(before)] -= before
            self._counting.filed(self.router.parcels, inserted, np.bincount(withdrawn, minlength=len(inserted)))
            self.router.withdraw(withdrawn)
            self.filings.append(filings)

    def tidy(self) -> None:
        """Forget terms under which nothing is filed, and make one part of all filings."""
        if self.router is not None and len(self.filings) > 1:
            self.router, numbers = self.router.tidied()
            self.filings = [merged(self.filings).renumbered(numbers)]

    # ------------------------------------------------------------------------------------------------ moves

    def move(self, moves: Iterable[Move]) -> Carried:
        """Give parcels to other matchers. Only subscriptions whose homes change are compiled, at homes that are new.

        They go as they are filed, and are not read again. Cost: some 20 µs for each of them, and some passes over all
        terms and filings, and over all entries of the matchers that give them.
        """
        return self.move_to(self._divided().moved(moves))

    def _divided(self) -> Mapping:
        if self.mapping is None:
            raise DataError("one matcher that has all has no parcels; give the cluster a mapping")
        return self.mapping

    def move_to(self, mapping: Mapping) -> Carried:
        """Give parcels to the owners that they have in a mapping of the same parcels; a DataError if it has others."""
        diff(self._divided(), mapping)
        self.mapping, router = mapping, self.router
        self._counting = self._counted_anew()
        if router is None or np.array_equal(router.owner, mapping.owner):
            return Carried.nothing(len(self.members))
        ids, filed = filed_under(self.filings, router.parcels.touch(router.owner != mapping.owner))
        before = MatcherSets.owning(filed, router.owners, mapping.matchers)
        router.move(mapping.owner)
        after = MatcherSets.owning(filed, router.owners, mapping.matchers)
        changed = np.flatnonzero((before.words != after.words).any(axis=1))
        return self._rehome(ids.take(pa.array(changed)), before.taken(changed), after.taken(changed))

    def _rehome(self, ids: pa.Array, before: MatcherSets, after: MatcherSets) -> Carried:
        """Take subscriptions from the matchers that they lived at to those where they live now."""
        sources, come, go = before.first(), after.without(before), before.without(after)
        brought = [self._filed(ids, come.with_matcher(matcher), sources) for matcher in range(len(self.members))]
        carried, size_bytes = Carried.nothing(len(self.members)), 0
        for matcher, (member, filed) in enumerate(zip(self.members, brought, strict=True)):
            here, left = after.with_matcher(matcher), go.with_matcher(matcher)
            if not filed and not len(here) and not len(left):
                continue
            carried.gone[matcher] = len(left)
            gone = ids.take(pa.array(left))
            if isinstance(self._placer, Lasp):
                self._placer.forget(matcher, member.index.subscriptions(gone)["query"], self._analyser)
            member.index.take(filed, gone.to_pylist())
            for table in (each.source.table for each in filed):
                carried.come[matcher] += table.num_rows
                size_bytes += table.nbytes
                if isinstance(self._placer, Lasp):
                    self._placer.hold(matcher, table["query"], self._analyser)
            homes = Homes.of(ids.take(pa.array(here)), after.taken(here))
            member.homes = member.homes.changed(homes, ids.take(pa.array(np.concatenate([here, left]))))
            member.changes += 1
            member.compact_if_due(more_segments=-SPARE_FILES)
        return carried._replace(size_bytes=size_bytes)

    def _filed(self, ids: pa.Array, rows: IntArray, matchers: IntArray) -> list[FiledEntries]:
        """The subscriptions of some rows as they are filed, each at the matcher of its row."""
        own = [rows[matchers[rows] == matcher] for matcher in range(len(self.members))]
        return [
            member.index.filed(ids.take(pa.array(rows)))
            for member, rows in zip(self.members, own, strict=True)
            if len(rows)
        ]

    def _taken(self, ids: pa.Array, matchers: IntArray) -> pa.Table:
        """The subscriptions of these ids, in that order, each from a matcher that has it."""
        some = [ids.filter(pa.array(matchers == matcher)) for matcher in range(len(self.members))]
        tables = [m.index.subscriptions(own) for m, own in zip(self.members, some, strict=True) if len(own)]
        table = pa.concat_tables([table_of([]), *tables])
        return table.take(pc.index_in(ids, value_set=table["id"].combine_chunks()))

    # ------------------------------------------------------------------------------------------------ mappings

    def count(self) -> int:
        """How many subscriptions there are."""
        if self.mapping is None:
            return len(self.members[0].index)
        return len(merged(self.filings).ids) + len(self.older or ())

    def some(self, most: int) -> pa.Table:
        """Some of the subscriptions that the mapping in use has placed, at most so many, by no order of theirs."""
        if self.router is None:
            return table_of([])
        found = merged(self.filings)
        rows = np.linspace(0, len(found.ids) - 1, min(most, len(found.ids))).astype(np.int64)
        homes = MatcherSets.owning(found.terms.taken(rows), self.router.owners, len(self.members))
        return self._taken(found.ids.texts().take(pa.array(rows)), homes.first())

    def adopt(self, mapping: Mapping) -> None:
        """Place what comes from now on by another mapping to as many matchers; nothing that is there is moved.

        Until :meth:`retire` publications are sent for what both mappings have placed, so to more matchers.
        """
        if self.older is not None:
            raise DataError("an older mapping is still in use; retire it before another one is adopted")
        if not self._divided().matchers == len(self.members) == mapping.matchers:
            raise DataError(
                f"there are {len(self.members)} matchers, and the mapping has {mapping.matchers}; learn anew"
            )
        if self.router is not None:
            self.older = Older(self.router, self.filings)
        self.mapping, self.router, self.filings = mapping, None, []
        self._counting = self._counted_anew()

    def retire(self) -> Carried:
        """Place by the mapping in use what an older one has placed and is still there, and drop the older one.

        Cost: that of subscribing those that are left.
        """
        older, mapping = self.older, self._divided()
        if older is None:
            return Carried.nothing(len(self.members))
        self.older = None
        ids, before = older.left()
        table = self._taken(ids, before.first())
        placement = place(table, mapping, self._sample, self._analyser, self._placer, self._routing)
        carried = self._rehome(ids, before, placement.homes)
        self._route(placement, pa.array([], pa.large_string()))
        return carried

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
        routes = MatcherSets.empty(publications.num_rows, len(self.members))
        if self.mapping is None:
            routes.words[:] = 1
        if self.router is not None:
            self._counting.sent(self.router, Publications.of(publications).table)
            routes = self.router.route(publications)
        if self.older is not None:
            routes.words[:] |= self.older.router.route(publications).words
        return routes

    def _found(self, matcher: int, publications: pa.Table, routes: MatcherSets) -> tuple[IntArray, pa.Array]:
        """The rows and ids of the matches that one matcher delivers."""
        member, sent = self.members[matcher], routes.with_matcher(matcher)
        began = time.perf_counter()
        found = member.index.match(publications.take(pa.array(sent)))
        rows, ids = sent[found.rows()], found.ids().cast(pa.large_string()).combine_chunks()
        kept = np.flatnonzero(once(rows, ids, matcher, routes, member.homes))
        ms = (time.perf_counter() - began) * 1e3
        self._counting.matched(matcher, len(sent), found.counters.compared, len(rows), ms)
        return rows[kept], ids.take(pa.array(kept))

    def work(self) -> WorkDone:
        """What the matchers did since the last move, without the parcels: that is cheap."""
        return self._counting.work()

    def loads(self) -> Loads:
        """What the matchers did since the last move, or since the beginning."""
        return self._counting.loads(self.router, self.filings)

    def _counted_anew(self) -> Counting:
        return Counting(len(self.members), self.mapping.parcels.count if self.mapping else 0)
