"""How do a million queries get into the index at once? Plain words and frequent shapes column by column."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.analysis.fast import FastAnalyser
from tidings.arrays import IntArray
from tidings.arrays.distinct import distinct_lists
from tidings.arrays.runs import runs
from tidings.index.entries import NO_TEST, Entry, Loose, joined, loose
from tidings.index.filing import Filer
from tidings.index.kernels import ALWAYS
from tidings.index.segment import Source
from tidings.index.shaped import file_shaped
from tidings.language import Conjunction, parse_normal
from tidings.language.plain import plain_queries
from tidings.language.shapes.reading import read_shapes
from tidings.terms.dictionary import Dictionary
from tidings.terms.sample import Sample


@dataclass(frozen=True, slots=True)
class Plain:
    """The plain queries among some: their entries, numbered from 0, which rows they are, and the query of each."""

    entries: Loose
    rows: IntArray
    queries: IntArray


def source_of(table: pa.Table, analyser: Analyser, filer: Filer) -> Source:
    """The rows of a table with all COLUMNS, filed: equal ones are mostly one.

    Plain queries and those of a frequent shape are filed column by column, the others one by one.
    """
    plain = file_plain(table["query"], analyser, filer.terms, filer.sample)
    queries = np.full(table.num_rows, -1, dtype=np.int64)
    queries[plain.rows] = plain.queries
    count, entries = len(plain.entries), [plain.entries]
    others = np.flatnonzero(queries < 0)
    for group in file_shaped(read_shapes(table["query"].take(pa.array(others)), analyser), filer):
        queries[others[group.rows]] = group.queries + count
        entries += [_numbered(filed.entries, count, len(group.conjunctions) > 1) for filed in group.conjunctions]
        count += group.count
    others = np.flatnonzero(queries < 0)
    own_entries, own_queries = _one_by_one(table["query"].take(pa.array(others)), analyser, filer, count)
    queries[others] = own_queries
    return Source(joined([*entries, own_entries]), table, queries)


def _numbered(entries: Loose, first: int, is_marked: bool) -> Loose:
    """Entries whose queries are numbered from 0, numbered from another one; marked if each query has several."""
    numbers = entries.queries + np.int32(first)
    return entries.with_queries(-numbers - 1 if is_marked else numbers)


def _one_by_one(queries: pa.ChunkedArray, analyser: Analyser, filer: Filer, first: int) -> tuple[Loose, IntArray]:
    """The entries of some queries, numbered from ``first`` on, and the number of each."""
    numbers: dict[Hashable, int] = {}
    entries: list[Entry] = []
    marked: list[int] = []
    found: list[int] = []
    for text in queries.to_pylist():
        form = parse_normal(text, analyser=analyser)[1]
        known = len(numbers)
        number = numbers.setdefault(form_key(form), first + known)
        if len(numbers) > known:
            filed = [entry for conjunction in form for entry in filer.file(conjunction)]
            entries += filed
            marked += [-number - 1 if len(form) > 1 else number] * len(filed)
        found.append(number)
    return loose(entries, marked), np.array(found, dtype=np.int64)


def form_key(form: tuple[Conjunction, ...]) -> Hashable:
    """Equal for equal queries, whatever the order of their parts."""
    return frozenset((frozenset(c.required), frozenset(c.forbidden)) for c in form)


def file_plain(queries: pa.Array | pa.ChunkedArray, analyser: Analyser, terms: Dictionary, sample: Sample) -> Plain:
    """File the plain queries of a column; equal ones are one. About 3 µs each."""
    fast = FastAnalyser(analyser)
    found = plain_queries(queries, fast)
    sizes = np.diff(found.words.offsets)
    rows, lengths = np.flatnonzero(found.is_plain), sizes[found.is_plain]
    words = found.words.ids[np.repeat(found.is_plain, sizes)]
    used = np.bincount(words, minlength=len(fast.vocabulary))
    term_of = np.array([terms.word(word) if used[i] else -1 for i, word in enumerate(fast.vocabulary)], dtype=np.int32)
    cost = np.array([sample.word(word, int(used[i])) for i, word in enumerate(fast.vocabulary)])
    words = _rarest_first(words, lengths, cost)
    firsts, number = distinct_lists(words.astype(np.int64), lengths)
    begins, lengths = (np.cumsum(lengths) - lengths)[firsts], lengths[firsts]
    return Plain(_entries(term_of[words[runs(begins, lengths)]], lengths), rows, number)


def _entries(terms: npt.NDArray[np.int32], lengths: IntArray) -> Loose:
    """Entries of lists of terms, rarest first: guard, first, then the stream."""
    begins = np.cumsum(lengths) - lengths
    firsts = np.full(len(lengths), ALWAYS, dtype=np.int32)
    firsts[lengths > 1] = terms[begins[lengths > 1] + 1]
    rest = np.maximum(lengths - 2, 0)
    return Loose(
        guards=terms[begins],
        firsts=firsts,
        tests=np.full(len(lengths), NO_TEST, dtype=np.int32),
        lengths=rest,
        stream=terms[runs(begins + 2, rest)],
        queries=np.arange(len(lengths), dtype=np.int32),
    )


def _rarest_first(
    ids: npt.NDArray[np.int32], lengths: IntArray, cost: npt.NDArray[np.float64]
) -> npt.NDArray[np.int32]:
    """Each row's words by rising cost, then by number: equal sets are then equal rows."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    return ids[np.lexsort((ids, cost[ids], rows))]
