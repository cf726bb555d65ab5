"""What of a cluster is still placed by an older mapping? Two mappings side by side, until few are left of the older.

Implements the two distribution strategies of [PS2] V-B. A subscription lives where its own mapping has put it. A
publication is sent by both, so it meets whatever it answers; the lowest matcher that has both delivers, as always.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray, IntArray
from tidings.cluster.filings import Filings, merged, terms_of
from tidings.cluster.router import Router
from tidings.partitioning import MatcherSets
from tidings.partitioning.load import FloatArray
from tidings.partitioning.mapping import HashArray
from tidings.tables.checked import Publications


@dataclass(slots=True)
class Older:
    """The router and the filings of subscriptions that were placed by an older mapping and are still there."""

    router: Router
    filings: list[Filings] = field(default_factory=list)

    def forget(self, ids: pa.Array) -> None:
        """These subscriptions are gone, or were placed anew."""
        terms = terms_of(self.filings, ids)
        if len(terms):
            self.router.withdraw(terms)
            self.filings.append(Filings.of(ids.slice(0, 0), Filings.none().terms, ids.to_pylist()))

    def tidy(self) -> None:
        """Forget terms under which nothing is filed, and make one part of all filings."""
        if len(self.filings) > 1:
            self.router, numbers = self.router.tidied()
            self.filings = [merged(self.filings).renumbered(numbers)]

    def __len__(self) -> int:
        """How many are left."""
        return len(merged(self.filings).ids)

    def left(self) -> tuple[pa.Array, MatcherSets]:
        """Those that are left, and where they live."""
        found = merged(self.filings)
        return found.ids.texts(), MatcherSets.owning(found.terms, self.router.owners, self.router.matchers)


@dataclass(frozen=True, slots=True, eq=False)
class SideBySide:
    """Two routers that send as one: a publication goes to the matchers of both. ``older`` is numbered after ``newer``.

    It has what a task needs of a :class:`tidings.cluster.router.Router`.
    """

    newer: Router
    older: Router

    @property
    def matchers(self) -> int:
        return self.newer.matchers

    @property
    def filed(self) -> IntArray:
        """How many subscriptions are filed under each term of the one and of the other; int64."""
        return np.concatenate([self.newer.filed, self.older.filed])

    @property
    def expected(self) -> FloatArray:
        """How many matches an occurrence of each term is expected to bring, of the one and of the other; float64."""
        return np.concatenate([self.newer.expected, self.older.expected])

    def route(self, table: pa.Table | Publications) -> MatcherSets:
        """The matchers of each row."""
        return MatcherSets(self.newer.route(table).words | self.older.route(table).words)

    def occurrences(self, table: pa.Table) -> tuple[TermSets, IdArray, HashArray]:
        """The terms of each row in the one and in the other, the matcher of each, and the keys of the rows."""
        (first, owners, keys), (second, others, _) = (own.occurrences(table) for own in (self.newer, self.older))
        rows = [np.repeat(np.arange(len(own)), np.diff(own.offsets)) for own in (first, second)]
        order = np.argsort(np.concatenate(rows), kind="stable")
        shifted = np.where(second.ids >= 0, second.ids + len(self.newer.filed), -1).astype(np.int32)
        terms = TermSets(first.offsets + second.offsets, np.concatenate([first.ids, shifted])[order])
        return terms, np.concatenate([owners, others])[order], keys
