"""Between which matchers can a placer choose, and what follows from its choice? Words that file, and so homes.

Implements [S3TM] 5.1, the three kinds of subscriptions: one without hot words may go to any owner of its words; one
with some is placed by its other words; one with hot words only is filed under the rarest of them, at all its versions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray
from tidings.partitioning import Mapping, Owners, TermParcels
from tidings.placement import kernels
from tidings.placement.conjunctions import Conjunctions


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """Conjunctions that are to be filed, and the ids of the subscriptions that their queries are of.

    ``eligible``: for each conjunction the words that it may be filed under, rarest first, each of another matcher; none
    if it has no words. A split word is there only alone.
    """

    ids: pa.ChunkedArray
    conjunctions: Conjunctions
    parcels: TermParcels
    owners: Owners
    matchers: int
    eligible: TermSets

    @classmethod
    def of(cls, ids: pa.ChunkedArray, conjunctions: Conjunctions, mapping: Mapping) -> Choices:
        parcels, words = mapping.parcels_of(conjunctions.terms), conjunctions.words
        owners = parcels.owned(mapping.owner)
        kept = np.zeros(len(words.ids), dtype=np.bool_)
        last = np.full(mapping.matchers, -1, dtype=np.int64)
        kernels.choose_eligible(words.offsets, words.ids, owners.offsets, owners.matchers, last, kept)
        offsets = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])[words.offsets]
        return cls(ids, conjunctions, parcels, owners, mapping.matchers, TermSets(offsets, words.ids[kept]))

    def filed(self, chosen: IdArray) -> TermSets:
        """The terms that file each query, where conjunction c is filed under ``chosen[c]``, or its guards if -1."""
        asked, is_left = self.conjunctions, chosen < 0
        counts = np.diff(asked.guards.offsets)
        queries = np.concatenate([asked.queries[~is_left], np.repeat(asked.queries, counts * is_left)])
        terms = np.concatenate([chosen[~is_left], asked.guards.ids[np.repeat(is_left, counts)]])
        offsets = np.concatenate([[0], np.cumsum(np.bincount(queries, minlength=len(self.ids)))])
        return TermSets(offsets, terms[np.argsort(queries, kind="stable")])
