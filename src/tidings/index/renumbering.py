"""What becomes of the numbers of terms and predicates when nobody asks for some of them any more? All get new ones.

A numbering says which new number each old one has. It is found while no term is added, in a moment; the segment that is
compiled by it takes its time, while others go on with the old numbers; what came meanwhile is included in the end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tidings.arrays import IdArray, IntArray
from tidings.index.codes import predicates_of, renumbered_codes, terms_of
from tidings.index.entries import Loose
from tidings.index.predicate_kernels import BOX
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

    @classmethod
    def into(
        cls, terms: Dictionary, predicates: Predicates, more_terms: Dictionary, more_predicates: Predicates
    ) -> Numbering:
        """Of more terms and predicates, which are added to these. They may number slots otherwise."""
        first = len(predicates)
        place = terms.include(more_terms)
        moved = np.arange(first, first + len(more_predicates), dtype=np.int32)
        part = more_predicates.filled()
        slots = _renumbered_slots(part, np.array([0, 1, *map(terms.slot, more_terms.slots)], dtype=np.int32))
        codes = renumbered_codes(part["sequence_words"], place, moved)
        predicates.extend(part | {"slots": slots, "sequence_words": codes})
        return cls(terms, predicates, place, moved)

    def including(self, entries: Loose, terms: Dictionary, predicates: Predicates) -> Numbering:
        """The same terms and predicates, now with those that some more entries need; for these entries alone."""
        own = Numbering.of(entries, terms, predicates)
        added = Numbering.into(self.terms, self.predicates, own.terms, own.predicates)
        term_of, predicate_of = (  # -1, for none, is the place of the last one
            np.append(new, -1).astype(np.int32)[old]
            for new, old in ((added.term_of, own.term_of), (added.predicate_of, own.predicate_of))
        )
        return Numbering(self.terms, self.predicates, term_of, predicate_of)

    def renumbered(self, source: Source) -> Source:
        """A source whose entries it is made for, under the new numbers."""
        return replace(source, entries=source.entries.renumbered(self.term_of, self.predicate_of))

    def compiled(self, source: Source) -> Segment:
        """The segment of a source whose entries it is made for."""
        return compiled(self.renumbered(source), self.predicates)


def _renumbered_slots(part: dict[str, npt.NDArray[Any]], slot_of: IdArray) -> IdArray:
    """The slots of some predicates, where boxes name columns of numbers, under other numbers of columns."""
    slots: IdArray = part["slots"].copy()
    is_box = part["kinds"] == BOX
    slots[is_box] = slot_of[slots[is_box]]
    return slots
