"""In which files is a cluster? The driver keeps it, change by change, and writes what is new.

In the replicated layout there is one index, which every Python worker opens. In the partitioned layout there is one for
each matcher, and a router that knows which of them a publication has to reach (:mod:`tidings.cluster.cluster`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.arrays import IdArray, IntArray
from tidings.cluster.cluster import Carried, Cluster, Member
from tidings.cluster.filings import Filings, merged
from tidings.cluster.homes import Homes
from tidings.cluster.router import Router
from tidings.index import COMPACTION, GuardIndex
from tidings.index.store import Store, described
from tidings.partitioning import Mapping
from tidings.placement import RAREST, Placer
from tidings.terms.sample import Sample

HOMES, ROUTER = "homes-", "router-"
_UNSAVED = -1


@dataclass(frozen=True, slots=True)
class Part:
    """The files that one matcher opens: segments in order, and the homes of what lives elsewhere too, if any does."""

    segments: tuple[str, ...]
    homes: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class _Saved:
    """What of a router is in files: what it counted then, the owners of parcels, and how many parts of filings."""

    filed: IntArray
    owner: IdArray
    parts: int


class Shares:
    """A cluster, and which files it is in. Without a mapping: one share of all, and no router.

    ``placer`` may remember what it has placed: it is one for these shares, and new.
    """

    def __init__(
        self,
        folder: Path,
        mapping: Mapping | None,
        analyser: Analyser,
        sample: pa.Table | Sample | None,
        placer: Placer = RAREST,
    ) -> None:
        self._store = Store(folder, described(analyser))
        self._analyser, self._sample = analyser, Sample.of(analyser, sample)
        self._cluster = Cluster(mapping, analyser, self._sample, placer)
        self._parts = [Part(()) for _ in self._cluster.members]
        self._changes = [_UNSAVED for _ in self._cluster.members]
        self._routers: tuple[str, ...] = ()
        self._saved = _Saved(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32), 0)

    @property
    def cluster(self) -> Cluster:
        """What is in the files, and what is not yet."""
        return self._cluster

    def fill(self, table: pa.Table) -> None:
        """Hold the subscriptions of a table, checked and with all COLUMNS."""
        self._cluster.change(table)

    def open(self, parts: Iterable[Part], routers: tuple[str, ...]) -> None:
        """Hold what some files hold."""
        self._parts, self._routers = list(parts), routers
        members = [self._opened(part) for part in self._parts]
        self._changes = [member.changes for member in members]
        router: Router | None = None
        filings: list[Filings] = []
        for name in routers:
            newer, own = Router.open(self._store.path / name), Filings.open(self._store.path / name)
            if router is None:
                router = newer
            else:
                own = own.renumbered(router.extend(newer))
            filings.append(own)
        self._cluster.hold(members, router, filings)
        if router is not None:
            self._saved = _Saved(router.filed, router.owner, len(filings))

    def _opened(self, part: Part) -> Member:
        index = GuardIndex.of_files(*self._store.load(part.segments), self._analyser, self._sample)
        homes = Homes.open(self._store.path / part.homes) if part.homes else self._cluster.no_homes()
        return Member(index, homes)

    def change(self, table: pa.Table, ids: Iterable[str]) -> None:
        """Hold the subscriptions of a table too, and those of ``ids`` no longer, but for the table's own."""
        self._cluster.change(table, ids)

    def move(self, mapping: Mapping) -> Carried:
        """Give parcels to the owners that they have in a mapping of the same parcels."""
        return self._cluster.move_to(mapping)

    def save(self) -> tuple[tuple[Part, ...], tuple[str, ...]]:
        """Write what is not in files yet; the files of each share, and those of the router."""
        for matcher, member in enumerate(self._cluster.members):
            if member.changes != self._changes[matcher]:
                self._parts[matcher], self._changes[matcher] = self._written(member), member.changes
        self._save_router()
        return tuple(self._parts), self._routers

    def _written(self, member: Member) -> Part:
        index = member.index
        if COMPACTION.is_due(index.segment_count + 1, len(index), index.burden):  # with the one that saving makes
            index.compact()
        segments = index.save_beside(self._store, index.unsaved())
        homes = f"{HOMES}{uuid4().hex}.tidings" if len(member.homes) else ""
        if homes:
            member.homes.save(self._store.path / homes)
        return Part(segments, homes)

    def _save_router(self) -> None:
        """Write how the router has changed; many small files of it become one."""
        cluster, router, saved = self._cluster, self._cluster.router, self._saved
        if router is None or (saved.filed is router.filed and np.array_equal(saved.owner, router.owner)):
            return
        if not self._routers and not len(router):
            return  # nobody has ever asked for anything
        name = f"{ROUTER}{uuid4().hex}.tidings"
        if not self._routers or len(self._routers) >= COMPACTION.max_segments:
            cluster.tidy()
            router = cluster.router or router
            router.save(self._store.path / name, cluster.filings[0].arrays())
            self._routers = (name,)
        else:
            filings = merged(cluster.filings[saved.parts :], keep_gone=True)
            change = router.filed.copy()
            change[: len(saved.filed)] -= saved.filed
            is_used = change != 0
            is_used[filings.terms.ids] = True
            newer, numbers = router.part(is_used, change)
            newer.save(self._store.path / name, filings.renumbered(numbers).arrays(), extends=True)
            self._routers = (*self._routers, name)
        self._saved = _Saved(router.filed, router.owner, len(cluster.filings))

    def attributes(self) -> tuple[str, ...]:
        """The attributes that somebody asks about."""
        return tuple(sorted(frozenset[str]().union(*(member.index.attributes for member in self._cluster.members))))
