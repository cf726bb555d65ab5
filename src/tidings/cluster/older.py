"""What of a cluster is still placed by an older mapping? Two mappings side by side, until few are left of the older.

Implements the two distribution strategies of [PS2] V-B. A subscription lives where its own mapping has put it. A
publication is sent by both, so it meets whatever it answers; the lowest matcher that has both delivers, as always.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from tidings.cluster.filings import Filings, merged, terms_of
from tidings.cluster.router import Router
from tidings.partitioning import MatcherSets


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

    def __len__(self) -> int:
        """How many are left."""
        return len(merged(self.filings).ids)

    def left(self) -> tuple[pa.Array, MatcherSets]:
        """Those that are left, and where they live."""
        found = merged(self.filings)
        return found.ids.texts(), MatcherSets.owning(found.terms, self.router.owners, self.router.matchers)
