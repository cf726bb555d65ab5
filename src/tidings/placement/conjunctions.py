"""Under which terms can each conjunction of these queries be filed? Its positive words, and what the statistics choose.

Whatever matches a conjunction has all its positive words, so any one of them may decide where it lives. One without
words (places, attributes, topics alone) is filed under the guards that an index would choose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray, IntArray
from tidings.arrays.runs import runs
from tidings.index.beside import FiledBeside
from tidings.index.bulk import Plain, file_plain
from tidings.index.filing import Filer
from tidings.index.kernels import ALWAYS
from tidings.index.predicates import Predicates
from tidings.index.shaped import FiledColumns, FiledGroup, file_shaped
from tidings.language import Conjunction, Sequence, parse_normal
from tidings.language.shapes.reading import read_shapes
from tidings.partitioning.gridt import Gridt
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

    Cost: some 3 µs for a plain query, 10 µs for one of a frequent shape; any other has to be parsed.

    >>> asked = pa.chunked_array([["white house", "fire OR (rain topic:news)"]])
    >>> found = conjunctions_of(asked, Analyser(), Sample(Analyser()))
    >>> names = found.terms.term_names()
    >>> [(int(query), names.take(found.words.row(c)).to_pylist()) for c, query in enumerate(found.queries)]
    [(0, ['white', 'hous']), (1, ['fire']), (1, ['rain'])]
    """
    terms = Dictionary()
    filer = Filer(terms, Predicates(), sample)
    if gridt is not None:
        return _local(FiledBeside.of_column(queries, analyser, filer), filer.terms, gridt)
    plain = file_plain(queries, analyser, terms, sample)
    parts = [_Part(plain.rows, _each(plain.entries.guards[plain.queries]), _plain_words(plain))]
    others = np.setdiff1d(np.arange(len(queries)), plain.rows)
    shaped = file_shaped(read_shapes(queries.take(pa.array(others)), analyser), filer)
    parts += [_part(group, filed, others) for group in shaped for filed in group.conjunctions]
    others = np.setdiff1d(others, np.concatenate([part.queries for part in parts]))
    parts.append(_one_by_one(queries.take(pa.array(others)), others, analyser, filer))
    found = _Part(
        np.concatenate([part.queries for part in parts]),
        _joined([part.guards for part in parts]),
        _joined([part.words for part in parts]),
    )
    order = np.argsort(found.queries, kind="stable")
    return Conjunctions(terms, found.queries[order], _taken(found.guards, order), _taken(found.words, order))


class _Part(NamedTuple):
    """Some conjunctions."""

    queries: IntArray
    guards: TermSets
    words: TermSets


def _part(group: FiledGroup, filed: FiledColumns, rows: IntArray) -> _Part:
    """One conjunction of queries that are alike, of some rows of a column."""
    order = np.argsort(filed.entries.queries, kind="stable")
    counts = np.bincount(filed.entries.queries, minlength=group.count)
    guards = TermSets(np.concatenate([[0], np.cumsum(counts)]), filed.entries.guards[order])
    is_new = np.ones(filed.words.shape, dtype=np.bool_)
    is_new[:, 1:] = filed.words[:, 1:] != filed.words[:, :-1]
    words = TermSets(np.concatenate([[0], np.cumsum(is_new.sum(axis=1))]), filed.words[is_new])
    return _Part(rows[group.rows], _taken(guards, group.queries), _taken(words, group.queries))


def _one_by_one(queries: pa.ChunkedArray, rows: IntArray, analyser: Analyser, filer: Filer) -> _Part:
    """The conjunctions of some rows of a column, parsed."""
    forms = [parse_normal(text, analyser=analyser)[1] for text in queries.to_pylist()]
    found = [conjunction for form in forms for conjunction in form]
    own = np.repeat(rows, [len(form) for form in forms])
    guards = [list({entry.guard for entry in filer.file(conjunction)}) for conjunction in found]
    return _Part(own, _sets(guards), _sets([filer.words(_words(conjunction)) for conjunction in found]))


def _local(filed: FiledBeside, terms: Dictionary, gridt: Gridt) -> Conjunctions:
    """Conjunctions whose guards are terms in regions: each guard in each region that the area touches."""
    regions, entries = filed.in_regions(gridt.regions_of(filed.areas.boxes, filed.areas.offsets))
    ids = terms.local_terms(regions, filed.entries.guards[entries])
    counts = np.bincount(filed.entries.queries[entries], minlength=len(filed))
    none = TermSets(np.zeros(len(filed) + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))
    return Conjunctions(terms, filed.queries, TermSets(np.concatenate([[0], np.cumsum(counts)]), ids), none)


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
    return _taken(TermSets(np.concatenate([[0], np.cumsum(lengths)]), ids), plain.queries)


def _each(ids: IdArray) -> TermSets:
    """Sets of one term each."""
    return TermSets(np.arange(len(ids) + 1), ids)


def _sets(lists: list[list[int]] | list[tuple[int, ...]]) -> TermSets:
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in lists], dtype=np.int64)])
    return TermSets(offsets, np.array([term for own in lists for term in own], dtype=np.int32))


def _taken(sets: TermSets, rows: IntArray) -> TermSets:
    """Some of the sets, in that order."""
    lengths = np.diff(sets.offsets)[rows]
    ids = sets.ids[runs(sets.offsets[:-1][rows], lengths)]
    return TermSets(np.concatenate([[0], np.cumsum(lengths)]), ids)


def _joined(parts: list[TermSets]) -> TermSets:
    """The sets of all, one after another."""
    lengths = np.concatenate([np.diff(sets.offsets) for sets in parts])
    return TermSets(np.concatenate([[0], np.cumsum(lengths)]), np.concatenate([sets.ids for sets in parts]))
