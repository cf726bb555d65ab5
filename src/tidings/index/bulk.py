"""How do a million plain word queries get into the index at once? Without the parser, column by column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.index.dictionary import Dictionary
from tidings.index.kernels import ALWAYS
from tidings.index.sample import Sample
from tidings.index.segment import Segment, sorted_by_guard
from tidings.language.plain import plain_queries
from tidings.terms import Analyser
from tidings.terms.fast import FastAnalyser
from tidings.terms.vocabulary import IntArray

MAX_WORDS = 64
"""Longer ones are left to the parser: equal queries are found in a table as wide as the longest."""


@dataclass(frozen=True, slots=True)
class PlainSegment:
    """The segment of the plain queries among some: which rows they are, the query of each, how many distinct ones."""

    segment: Segment
    rows: IntArray
    queries: IntArray
    query_count: int


def plain_segment(
    queries: pa.Array | pa.ChunkedArray, analyser: Analyser, terms: Dictionary, sample: Sample, first_query: int
) -> PlainSegment:
    """File the plain queries of a column, numbered from ``first_query``; equal ones are one. About 4 µs each."""
    fast = FastAnalyser(analyser)
    found = plain_queries(queries, fast)
    sizes = np.diff(found.words.offsets)
    taken = found.is_plain & (sizes <= MAX_WORDS)
    rows, lengths = np.flatnonzero(taken), sizes[taken]
    words = found.words.ids[np.repeat(taken, sizes)]
    used = np.bincount(words, minlength=len(fast.vocabulary))
    term_of = np.array([terms.word(word) if used[i] else -1 for i, word in enumerate(fast.vocabulary)], dtype=np.int64)
    cost = np.array([sample.word(word, int(used[i])) for i, word in enumerate(fast.vocabulary)])
    ids = _rarest_first(words, lengths, cost)
    distinct, number = _distinct_rows(ids, lengths)
    ids, lengths = _rows_of(ids, lengths, distinct)
    starts = np.cumsum(lengths) - lengths
    ids = term_of[ids].astype(np.int32)
    firsts = np.where(lengths > 1, ids[np.minimum(starts + 1, len(ids) - 1)], ALWAYS).astype(np.int32)
    is_rest = np.ones(len(ids), dtype=np.bool_)
    is_rest[starts] = False
    is_rest[(starts + 1)[lengths > 1]] = False
    segment = sorted_by_guard(
        ids[starts].astype(np.int64),
        firsts,
        np.maximum(lengths - 2, 0),
        ids[is_rest],
        np.arange(first_query, first_query + len(distinct), dtype=np.int32),
    )
    return PlainSegment(segment, rows, number + first_query, len(distinct))


def _rarest_first(
    ids: npt.NDArray[np.int32], lengths: IntArray, cost: npt.NDArray[np.float64]
) -> npt.NDArray[np.int32]:
    """Each row's words by rising cost, then by number: equal sets are then equal rows."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    return ids[np.lexsort((ids, cost[ids], rows))]


def _distinct_rows(ids: npt.NDArray[np.int32], lengths: IntArray) -> tuple[IntArray, IntArray]:
    """The first of each set of equal rows, and for every row which of those it equals."""
    width = int(lengths.max(initial=0))
    padded = np.full((len(lengths), width), -1, dtype=np.int32)
    padded[np.arange(width) < lengths[:, None]] = ids
    order = np.lexsort(padded.T) if width else np.arange(len(lengths))
    ordered = padded[order]
    is_new = np.ones(len(lengths), dtype=np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    number = np.empty(len(lengths), dtype=np.int64)
    number[order] = np.cumsum(is_new) - 1
    return order[is_new], number


def _rows_of(ids: npt.NDArray[np.int32], lengths: IntArray, rows: IntArray) -> tuple[npt.NDArray[np.int32], IntArray]:
    """The words of some rows."""
    starts = (np.cumsum(lengths) - lengths)[rows]
    chosen = lengths[rows]
    ends = np.cumsum(chosen)
    places = np.repeat(starts - (ends - chosen), chosen) + np.arange(ends[-1] if len(ends) else 0)
    return ids[places], chosen
