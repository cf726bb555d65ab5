"""Under which terms can each conjunction of these queries be filed? Its positive words, and what the statistics choose.

Whatever matches a conjunction has all its positive words, so any one of them may decide where it lives. One without
words (places, attributes, topics alone) is filed under the guards that an index would choose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray, IntArray
from tidings.index.bulk import Plain, file_plain
from tidings.index.entries import runs
from tidings.index.filing import Filer
from tidings.index.kernels import ALWAYS
from tidings.index.predicates import Predicates
from tidings.language import Conjunction, Sequence, parse_normal
from tidings.model.query import Within
from tidings.partitioning.gridt import Gridt, area_of
from tidings.terms.dictionary import Dictionary
from tidings.terms.sample import Sample


@dataclass(frozen=True, slots=True, eq=False)
class Conjunctions:
    """Conjunction c is one of the query ``queries[c]`` (int64); those of a query stand side by side.

    ``guards``: its guards by the statistics: one, or the parts of a cover, or none if nothing can match it. ``words``:
    its positive words, rarest first. Both are ids of ``terms``, which has other terms as well.

    Where places are divided, its guards are terms in the regions that it asks for, and it has no words: nothing but its
    guards may file it.
    """

    terms: Dictionary
    queries: IntArray
    guards: TermSets
    words: TermSets

    def __len__(self) -> int:
        return len(self.queries)


def conjunctions_of(
    queries: pa.ChunkedArray, analyser: Analyser, sample: Sample, gridt: Gridt | None = None
) -> Conjunctions:
    """The conjunctions of a column of valid queries; ``gridt`` is how places are divided, if they are.

    Cost: some 3 µs for a plain query; any other has to be parsed.

    >>> asked = pa.chunked_array([["white house", "fire OR (rain topic:news)"]])
    >>> found = conjunctions_of(asked, Analyser(), Sample(Analyser()))
    >>> names = found.terms.term_names()
    >>> [(int(query), names.take(found.words.row(c)).to_pylist()) for c, query in enumerate(found.queries)]
    [(0, ['white', 'hous']), (1, ['fire']), (1, ['rain'])]
    """
    terms = Dictionary()
    plain = file_plain(queries, analyser, terms, sample)
    filer = Filer(terms, Predicates(), sample)
    others = np.setdiff1d(np.arange(len(queries)), plain.rows)
    texts = queries.take(pa.array(others)).to_pylist()
    forms = [parse_normal(text, analyser=analyser)[1] for text in texts]
    counts = np.array([len(form) for form in forms], dtype=np.int64)
    found = [conjunction for form in forms for conjunction in form]
    if gridt is not None:
        return _local(plain, np.repeat(others, counts), found, filer, gridt)
    guards = [list({entry.guard for entry in filer.file(conjunction)}) for conjunction in found]
    words = [filer.words(_words(conjunction)) for conjunction in found]
    return Conjunctions(
        terms,
        np.concatenate([plain.rows, np.repeat(others, counts)]),
        _joined(_each(plain.entries.guards[plain.queries]), _sets(guards)),
        _joined(_plain_words(plain), _sets(words)),
    )


def _local(plain: Plain, queries: IntArray, found: list[Conjunction], filer: Filer, gridt: Gridt) -> Conjunctions:
    """Conjunctions whose guards are terms in regions: of plain queries, and of those that were parsed."""
    areas = [area_of(conjunction) for conjunction in found]
    offsets = np.cumsum([0] * (1 + len(plain.rows)) + [len(boxes) for boxes in areas], dtype=np.int64)
    flat = np.array([box for boxes in areas for box in boxes], dtype=np.float64).reshape(-1, 4)
    regions = gridt.regions_of(flat, offsets)
    alone = _joined(_each(plain.entries.guards[plain.queries]), _sets([_elsewhere(one, filer) for one in found]))
    one, other = np.diff(regions.offsets), np.diff(alone.offsets)
    pairs = np.repeat(np.arange(len(alone)), one * other)
    place = np.arange(len(pairs)) - np.repeat(np.cumsum(one * other) - one * other, one * other)
    ids = filer.terms.local_terms(
        regions.ids[regions.offsets[pairs] + place // other[pairs]],
        alone.ids[alone.offsets[pairs] + place % other[pairs]],
    )
    guards = TermSets(np.concatenate([[0], np.cumsum(one * other)]), ids)
    none = TermSets(np.zeros(len(alone) + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))
    return Conjunctions(filer.terms, np.concatenate([plain.rows, queries]), guards, none)


def _elsewhere(conjunction: Conjunction, filer: Filer) -> list[int]:
    """The guards of what it asks for beside places; term 0, which every publication has, if there is nothing."""
    rest = tuple(atom for atom in conjunction.required if not isinstance(atom, Within))
    if not rest:
        return [0]
    return list({entry.guard for entry in filer.file(Conjunction(rest, conjunction.forbidden))})


def _words(conjunction: Conjunction) -> list[str]:
    """The words that it requires, also as parts of phrases."""
    sequences = [atom for atom in conjunction.required if isinstance(atom, Sequence)]
    return list(dict.fromkeys(word for sequence in sequences for word in sequence.words))


def _plain_words(plain: Plain) -> TermSets:
    """The words of plain queries, of which an entry has the guard, the first further term, and the stream."""
    entries = plain.entries
    has_first = entries.firsts != ALWAYS
    lengths = 1 + has_first + entries.lengths
    begins = np.cumsum(lengths) - lengths
    ids = np.empty(lengths.sum(), dtype=np.int32)
    ids[begins] = entries.guards
    ids[begins[has_first] + 1] = entries.firsts[has_first]
    ids[runs(begins + 2, entries.lengths)] = entries.stream
    lengths, begins = lengths[plain.queries], begins[plain.queries]
    return TermSets(np.concatenate([[0], np.cumsum(lengths)]), ids[runs(begins, lengths)])


def _each(ids: IdArray) -> TermSets:
    """Sets of one term each."""
    return TermSets(np.arange(len(ids) + 1), ids)


def _sets(lists: list[list[int]] | list[tuple[int, ...]]) -> TermSets:
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in lists], dtype=np.int64)])
    return TermSets(offsets, np.array([term for own in lists for term in own], dtype=np.int32))


def _joined(sets: TermSets, others: TermSets) -> TermSets:
    """The sets of both, one after another."""
    offsets = np.concatenate([sets.offsets, others.offsets[1:] + sets.offsets[-1]])
    return TermSets(offsets, np.concatenate([sets.ids, others.ids]))
