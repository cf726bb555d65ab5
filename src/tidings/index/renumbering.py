"""What becomes of the numbers of terms and predicates when nobody asks for some of them any more? All get new ones.

A numbering says which new number each old one has. It is found while no term is added, in a moment; the segment that is
compiled by it takes its time, while others go on with the old numbers; what came meanwhile is included in the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tidings.arrays import IdArray, IntArray
from tidings.index.codes import predicates_of, renumbered_codes, terms_of
from tidings.index.entries import Loose
from tidings.index.predicates import Predicates
from tidings.index.segment import Segment, Source, compiled
from tidings.terms.dictionary import Dictionary


def _named(part: dict[str, npt.NDArray[Any]]) -> IntArray:
    """The predicates that the formulas among some predicates name; words of sequences are terms."""
    return predicates_of(part["sequence_words"]).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Numbering:
    """Terms and predicates under new numbers; ``term_of`` and ``predicate_of``: by the old ones, -1 for none."""

    terms: Dictionary
    predicates: Predicates
    term_of: IdArray
    predicate_of: IdArray

    @classmethod
    def of(cls, entries: Loose, terms: Dictionary, predicates: Predicates) -> Numbering:
        """Of what some entries need, and nothing else."""
        asked = np.unique(entries.predicates()).astype(np.int64)
        kept = np.union1d(asked, _named(predicates.part(asked)))
        part = predicates.part(kept)
        used = np.zeros(len(terms), dtype=np.bool_)
        used[entries.terms()] = True
        used[terms_of(part["sequence_words"])] = True
        new_terms, term_of = terms.part(used)
        predicate_of = np.full(len(predicates), -1, dtype=np.int32)
        predicate_of[kept] = np.arange(len(kept))
        part["sequence_words"] = renumbered_codes(part["sequence_words"], term_of, predicate_of)
        new_predicates = Predicates()
        new_predicates.extend(part)
        return cls(new_terms, new_predicates, term_of, predicate_of)

    def including(self, entries: Loose, terms: Dictionary, predicates: Predicates) -> Numbering:
        """The same terms and predicates, now with those that some more entries need; for these entries alone."""
        own = Numbering.of(entries, terms, predicates)
        place = self.terms.include(own.terms)
        first = len(self.predicates)
        part = own.predicates.filled()
        moved = np.arange(first, first + len(own.predicates), dtype=np.int32)
        self.predicates.extend(part | {"sequence_words": renumbered_codes(part["sequence_words"], place, moved)})
        term_of = np.where(own.term_of < 0, -1, place[own.term_of]).astype(np.int32)
        predicate_of = np.where(own.predicate_of < 0, -1, own.predicate_of + first).astype(np.int32)
        return Numbering(self.terms, self.predicates, term_of, predicate_of)

    def compiled(self, source: Source) -> Segment:
        """The segment of a source whose entries it is made for."""
        entries = source.entries.renumbered(self.term_of, self.predicate_of)
        return compiled(Source(entries, source.table, source.queries), self.predicates)
