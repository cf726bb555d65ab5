"""Between which matchers can a placer choose, and what follows from its choice? Words that file, and so homes.

Implements [S3TM] 5.1, the three kinds of subscriptions: one without hot words may go to any owner of its words; one
with some is placed by its other words; one with hot words only is filed under the rarest of them, at all its versions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray, IntArray
from tidings.partitioning import Mapping, Owners, TermParcels
from tidings.partitioning.load import FloatArray
from tidings.placement import kernels
from tidings.placement.conjunctions import Conjunctions
from tidings.terms.sample import Sample


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
        conjunctions, terms = self._pairs(chosen)
        queries = self.conjunctions.queries[conjunctions]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(queries, minlength=len(self.ids)))])
        return TermSets(offsets, terms[np.argsort(queries, kind="stable")])

    def chances(self, chosen: IdArray, sample: Sample) -> FloatArray:
        """How likely what is filed under each term matches a post that has it, on average; float64[terms].

        As if words came independently of each other: a conjunction matches by the product of the shares of posts that
        have its other words. 1 where nothing is filed.
        """
        asked, words = self.conjunctions, self.conjunctions.words
        used, shares = np.unique(words.ids), np.ones(len(asked.terms))
        shares[used] = [sample.word(word) for word in asked.terms.term_names().take(pa.array(used)).to_pylist()]
        rows = np.repeat(np.arange(len(asked)), np.diff(words.offsets))
        together = np.bincount(rows, np.log(shares[words.ids]), minlength=len(asked))
        conjunctions, terms = self._pairs(chosen)
        is_word = np.isin(conjunctions * len(shares) + terms, rows * len(shares) + words.ids)
        each = np.exp(together[conjunctions] - np.where(is_word, np.log(shares[terms]), 0.0))
        counts, found = np.bincount(terms, minlength=len(shares)), np.bincount(terms, each, minlength=len(shares))
        return np.divide(found, counts, out=np.ones(len(shares)), where=counts > 0)

    def _pairs(self, chosen: IdArray) -> tuple[IntArray, IdArray]:
        """Each conjunction, int64, and a term under which it is filed: the one that is chosen, or its guards."""
        guards, is_left = self.conjunctions.guards, chosen < 0
        counts = np.diff(guards.offsets)
        conjunctions = np.concatenate([np.flatnonzero(~is_left), np.repeat(np.arange(len(chosen)), counts * is_left)])
        return conjunctions, np.concatenate([chosen[~is_left], guards.ids[np.repeat(is_left, counts)]])
