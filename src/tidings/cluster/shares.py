"""In which files is a cluster? The driver keeps it, change by change, and writes what is new.

In the replicated layout there is one index, which every Python worker opens. In the partitioned layout there is one for
each matcher, and a router that knows which of them a publication has to reach (:mod:`tidings.cluster.cluster`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa

from tidings.analysis import Analyser
from tidings.cluster.cluster import SPARE_FILES, Carried, Cluster, Member
from tidings.cluster.homes import Homes
from tidings.cluster.older import Older
from tidings.cluster.router_files import RouterFiles
from tidings.index import COMPACTION, GuardIndex
from tidings.index.store import Store, described
from tidings.partitioning import Mapping
from tidings.placement import RAREST, Placer
from tidings.terms.sample import Sample

HOMES = "homes-"
_UNSAVED = -1


@dataclass(frozen=True, slots=True)
class Part:
    """The files that one matcher opens: segments in order, and the homes of what lives elsewhere too, if any does: all
    of them, and then what has changed."""

    segments: tuple[str, ...]
    homes: tuple[str, ...] = ()


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
        self._homes = [member.homes for member in self._cluster.members]
        self._has_changed = False
        self._router, self._older = RouterFiles(folder), RouterFiles(folder)

    @property
    def cluster(self) -> Cluster:
        """What is in the files, and what is not yet."""
        return self._cluster

    @property
    def routers(self) -> tuple[str, ...]:
        """The files of the router, as far as it is saved."""
        return self._router.names

    @property
    def older(self) -> tuple[str, ...]:
        """Those of the router of an older mapping, which is still in use."""
        return self._older.names

    def fill(self, table: pa.Table) -> None:
        """Hold the subscriptions of a table, checked and with all COLUMNS."""
        self.change(table, ())

    def open(self, parts: Iterable[Part], routers: tuple[str, ...], older: tuple[str, ...] = ()) -> None:
        """Hold what some files hold."""
        self._parts = list(parts)
        members = [self._opened(part) for part in self._parts]
        self._changes, self._homes = [member.changes for member in members], [member.homes for member in members]
        router, filings = self._older.open(older)
        before = None if router is None else Older(router, filings)
        self._cluster.hold(members, *self._router.open(routers), before)

    def _opened(self, part: Part) -> Member:
        index = GuardIndex.of_files(*self._store.load(part.segments), self._analyser, self._sample)
        homes = (
            Homes.open(*(self._store.path / name for name in part.homes)) if part.homes else self._cluster.no_homes()
        )
        return Member(index, homes)

    def change(self, table: pa.Table, ids: Iterable[str]) -> None:
        """Hold the subscriptions of a table too, and those of ``ids`` no longer, but for the table's own."""
        self._has_changed = True
        self._cluster.change(table, ids)

    def move(self, mapping: Mapping) -> Carried:
        """Give parcels to the owners that they have in a mapping of the same parcels."""
        return self._cluster.move_to(mapping)

    def adopt(self, mapping: Mapping) -> None:
        """Place what comes from now on by another mapping, and leave what is there where it is."""
        self._cluster.adopt(mapping)
        if self._cluster.older is not None:
            self._router, self._older = self._older, self._router

    def retire(self) -> Carried:
        """Place by the mapping in use what an older one has placed."""
        self._older = RouterFiles(self._store.path)
        return self._cluster.retire()

    def save(self) -> tuple[Part, ...]:
        """Write what is not in files yet, the router as well; the files of each share.

        What a move has changed is written and nothing else: many files become one when subscriptions come or go.
        """
        most = COMPACTION.max_segments + (0 if self._has_changed else SPARE_FILES)
        for matcher, member in enumerate(self._cluster.members):
            if member.changes != self._changes[matcher]:
                if self._has_changed:
                    member.compact_if_due(more_segments=1)  # the one that saving makes
                segments = member.index.save_beside(self._store, member.index.unsaved())
                self._parts[matcher] = Part(segments, self._saved_homes(matcher, member.homes, most))
                self._changes[matcher], self._homes[matcher] = member.changes, member.homes
        self._has_changed = False
        self._router.save(self._cluster, most)
        if self._cluster.older is not None:
            self._older.save(self._cluster.older, most)
        return tuple(self._parts)

    def _saved_homes(self, matcher: int, homes: Homes, most: int) -> tuple[str, ...]:
        """The files of the homes of a matcher, with a new one for what has changed; ``most`` become one."""
        names, change = self._parts[matcher].homes, homes.since(self._homes[matcher])
        if not len(homes) or not len(change):
            return names if len(homes) else ()
        name = f"{HOMES}{uuid4().hex}.tidings"
        is_first = not names or len(names) >= most
        (homes if is_first else change).save(self._store.path / name)
        return (name,) if is_first else (*names, name)

    def attributes(self) -> tuple[str, ...]:
        """The attributes that somebody asks about."""
        return tuple(sorted(frozenset[str]().union(*(member.index.attributes for member in self._cluster.members))))
