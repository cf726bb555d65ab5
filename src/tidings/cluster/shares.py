"""What does each matcher hold? Its index, and who else has its subscriptions; kept by the driver, change by change.

In the replicated layout there is one index, which every Python worker opens. In the partitioned layout there is one for
each matcher (:mod:`tidings.placement`), and a router that knows which of them a publication has to reach
(:mod:`tidings.partitioning`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis import Analyser
from tidings.cluster.filings import Filings, merged, terms_of
from tidings.cluster.homes import Homes
from tidings.cluster.placing import Placement, place
from tidings.cluster.router import Router
from tidings.index import COMPACTION, GuardIndex
from tidings.index.store import Store, described
from tidings.partitioning import Mapping, MatcherSets
from tidings.placement import RAREST, Lasp, Placer
from tidings.terms.sample import Sample

HOMES, ROUTER = "homes-", "router-"


@dataclass(frozen=True, slots=True)
class Part:
    """The files that one matcher opens: segments in order, and the homes of what lives elsewhere too, if any does."""

    segments: tuple[str, ...]
    homes: str = ""


@dataclass(slots=True)
class _Share:
    """One matcher, and what of it is in files."""

    index: GuardIndex
    homes: Homes
    part: Part
    is_changed: bool


class Shares:
    """The shares of all matchers of a mapping. Without one: one share of all, and no router.

    ``placer`` may remember what it has placed: it is one for these shares, and new.
    """

    def __init__(
        self,
        folder: Path,
        mapping: Mapping | None,
        analyser: Analyser,
        sample: pa.Table | None,
        placer: Placer = RAREST,
    ) -> None:
        self._store = Store(folder, described(analyser))
        self._mapping = mapping
        self._analyser = analyser
        self._table, self._sample = sample, Sample(analyser, sample)
        self._placer = placer
        self._router: Router | None = None
        self._routers: tuple[str, ...] = ()
        self._filings: list[Filings] = []
        self._shares: list[_Share] = []

    def fill(self, table: pa.Table) -> None:
        """Hold the subscriptions of a table, checked and with all COLUMNS."""
        for _ in range(self._matchers):
            index = GuardIndex(self._analyser, self._table)
            self._shares.append(_Share(index, self._no_homes(), Part(()), is_changed=True))
        self.change(table, [])
        for share in self._shares:
            share.is_changed = True

    def open(self, parts: Iterable[Part], routers: tuple[str, ...]) -> None:
        """Hold what some files hold."""
        folder = self._store.path
        for matcher, part in enumerate(parts):
            index = GuardIndex.of_files(*self._store.load(part.segments), self._analyser, self._table)
            homes = Homes.open(folder / part.homes) if part.homes else self._no_homes()
            self._shares.append(_Share(index, homes, part, is_changed=False))
            if isinstance(self._placer, Lasp):
                self._placer.hold(matcher, index.queries(), self._analyser)
        for name in routers:
            newer, filings = Router.open(folder / name), Filings.open(folder / name)
            if self._router is None:
                self._router = newer
            else:
                filings = filings.renumbered(self._router.extend(newer))
            self._filings.append(filings)
        self._routers = routers

    def change(self, table: pa.Table, ids: Iterable[str]) -> None:
        """Hold the subscriptions of a table too, and those of ``ids`` no longer, but for the table's own."""
        names = pa.array(ids, pa.large_string())
        if self._mapping is None:
            self._change(self._shares[0], table, self._no_homes(), names)
            return
        if isinstance(self._placer, Lasp):
            self._forget(set(names.to_pylist()), self._placer)
        placement = place(table, self._mapping, self._sample, self._analyser, self._placer)
        for matcher, share in enumerate(self._shares):
            own = placement.share(matcher)
            self._change(share, own.table, own.homes, names)
        self._route(placement, names)

    def _forget(self, names: set[str], placer: Lasp) -> None:
        """Let a placer know what is about to go, before it places what comes."""
        for matcher, share in enumerate(self._shares):
            records = (share.index.record(name) for name in names)
            gone = pa.chunked_array([[record.query for record in records if record is not None]], pa.large_string())
            if len(gone):
                placer.forget(matcher, gone, self._analyser)

    def _change(self, share: _Share, table: pa.Table, homes: Homes, names: pa.Array) -> None:
        known = [name for name in names.to_pylist() if name in share.index]
        if known or table.num_rows:
            share.index.change(table, known)
            share.homes = share.homes.changed(homes, names)
            share.is_changed = True

    def _route(self, placement: Placement, names: pa.Array) -> None:
        """Send for what came, and no longer for what went; many small files of a router become one."""
        asked = placement.table["id"]
        gone = names.filter(pc.invert(pc.is_in(names, value_set=asked.combine_chunks().cast(names.type))))
        filings = Filings.of(asked, placement.filed, gone.to_pylist())
        if self._router is None:
            self._router, self._filings = placement.router, [filings]
            if len(self._router):
                self._save_router(self._router, filings, is_whole=True)
            return
        withdrawn = terms_of(self._filings, filings.ids.texts())
        if not (len(withdrawn) or placement.table.num_rows):
            return
        before = self._router.filed
        filings = filings.renumbered(self._router.extend(placement.router))
        self._router.withdraw(withdrawn)
        self._filings.append(filings)
        if len(self._routers) >= COMPACTION.max_segments:
            self._router, numbers = self._router.tidied()
            self._filings = [merged(self._filings).renumbered(numbers)]
            self._save_router(self._router, self._filings[0], is_whole=True)
        else:
            change = self._router.filed.copy()
            change[: len(before)] -= before
            is_used = change != 0
            is_used[filings.terms.ids] = True
            newer, numbers = self._router.part(is_used, change)
            self._save_router(newer, filings.renumbered(numbers), is_whole=False)

    def _save_router(self, router: Router, filings: Filings, *, is_whole: bool) -> None:
        name = f"{ROUTER}{uuid4().hex}.tidings"
        self._store.path.mkdir(parents=True, exist_ok=True)
        router.save(self._store.path / name, filings.arrays())
        self._routers = (name,) if is_whole else (*self._routers, name)

    def save(self) -> tuple[tuple[Part, ...], tuple[str, ...]]:
        """Write what is not in files yet; the files of each share, and those of the router."""
        for share in self._shares:
            if share.is_changed:
                share.part = self._saved(share)
                share.is_changed = False
        return tuple(share.part for share in self._shares), self._routers

    def _saved(self, share: _Share) -> Part:
        index = share.index
        segments = index.segment_count + 1  # with the one that saving makes
        if COMPACTION.is_due(segments, len(index), index.burden):
            index.compact()
        names = index.save_beside(self._store, index.unsaved())
        homes = f"{HOMES}{uuid4().hex}.tidings" if len(share.homes) else ""
        if homes:
            share.homes.save(self._store.path / homes)
        return Part(names, homes)

    def attributes(self) -> tuple[str, ...]:
        """The attributes that somebody asks about."""
        return tuple(sorted(frozenset[str]().union(*(share.index.attributes for share in self._shares))))

    def _no_homes(self) -> Homes:
        return Homes.of(pa.array([], pa.large_string()), MatcherSets.empty(0, self._matchers))

    @property
    def _matchers(self) -> int:
        return self._mapping.matchers if self._mapping else 1
