"""How do filed conjunctions lie in memory? In flat arrays: side by side in order of their guard, or chained.

What is asked for a long time lies side by side and never changes (:class:`Entries`). What was asked just now is chained
(:mod:`tidings.index.recent`): an entry is added in a microsecond, and readers who came before do not see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tidings.arrays import IdArray, IntArray
from tidings.arrays.growing import read_only
from tidings.arrays.packs import Pack
from tidings.arrays.runs import runs
from tidings.index.codes import predicates_of, renumbered_codes, terms_of
from tidings.index.predicates import Predicates
from tidings.index.single.packs import TABLE
from tidings.model import DataError

NO_TEST = -1
_MOST = 2**31
_NOTHING = read_only(np.zeros(0, dtype=np.int32))
_NO_BOXES = read_only(np.zeros((4, 0), dtype=np.int32))

Boxes = npt.NDArray[np.int32]


class Entry(NamedTuple):
    """A conjunction under one of its guards; the parts are those of :mod:`tidings.index.kernels`."""

    guard: int
    first: int
    test: int
    stream: tuple[int, ...]


@dataclass(frozen=True)
class Entries:
    """A table of entries, as :mod:`tidings.index.kernels` takes it; all arrays are int32.

    ``link`` is empty where the entries lie side by side; ``tests`` where none has a test; ``boxes`` int32[4, entries]
    and ``runs`` are there for those side by side that all have one.
    """

    starts: IdArray
    link: IdArray
    limit: int
    firsts: IdArray
    tests: IdArray
    boxes: Boxes
    runs: IdArray
    stream_offsets: IdArray
    stream: IdArray
    queries: IdArray

    def __len__(self) -> int:
        return self.limit

    @cached_property
    def has_boxes(self) -> bool:
        return len(self.runs) > 0

    @cached_property
    def packed(self) -> Pack:
        return Pack(TABLE, tuple(self.arrays().values()))

    @property
    def size_bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "limit"}


@dataclass(frozen=True, slots=True)
class Loose:
    """Entries in no order, with all that they need to be put in one: ``lengths`` are those of their streams."""

    guards: IdArray
    firsts: IdArray
    tests: IdArray
    lengths: IntArray
    stream: IdArray
    queries: IdArray

    def __len__(self) -> int:
        return len(self.guards)

    def taken(self, numbers: IntArray) -> Loose:
        """Some of them, in that order."""
        lengths = self.lengths[numbers]
        begins = (np.cumsum(self.lengths) - self.lengths)[numbers]
        return Loose(
            self.guards[numbers],
            self.firsts[numbers],
            self.tests[numbers],
            lengths,
            self.stream[runs(begins, lengths)],
            self.queries[numbers],
        )

    def with_queries(self, queries: IdArray) -> Loose:
        return replace(self, queries=queries)

    def terms(self) -> IdArray:
        """Every term that they name, in no order, some more than once."""
        return np.concatenate([self.guards, self.firsts, terms_of(self.stream)])

    def predicates(self) -> IdArray:
        return np.concatenate([self.tests[self.tests >= 0], predicates_of(self.stream)])

    def renumbered(self, terms: IdArray, predicates: IdArray) -> Loose:
        """The same with new numbers: ``terms[t]`` for term t, ``predicates[p]`` for predicate p."""
        stream = renumbered_codes(self.stream, terms, predicates)
        tests = self.tests.copy()
        tests[tests >= 0] = predicates[tests[tests >= 0]]
        return replace(self, guards=terms[self.guards], firsts=terms[self.firsts], tests=tests, stream=stream)


def loose(entries: Sequence[Entry], queries: Sequence[int]) -> Loose:
    """Entries one by one, with their queries as the kernels have them."""
    return Loose(
        np.array([entry.guard for entry in entries], dtype=np.int32),
        np.array([entry.first for entry in entries], dtype=np.int32),
        np.array([entry.test for entry in entries], dtype=np.int32),
        np.array([len(entry.stream) for entry in entries], dtype=np.int64),
        np.array([v for entry in entries for v in entry.stream], dtype=np.int32),
        np.array(queries, dtype=np.int32),
    )


def joined(parts: Sequence[Loose]) -> Loose:
    """All of them, one after another."""
    if not parts:
        return loose([], [])
    return Loose(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Loose)))


def side_by_side(entries: Loose, predicates: Predicates) -> tuple[Entries, Entries]:
    """Two tables in order of guards: the second of entries that have a test, the first of all others.

    Under a guard, those that compare the same slots are neighbours: first those that ask for nothing else, then those
    with a first term, those whose query has other entries, and those with a stream.
    All entries of one query are in one table, which sees to it that the query matches a row once.
    """
    to_second = entries.tests != NO_TEST
    shared = np.flatnonzero(entries.queries < 0)
    mixed = np.unique(entries.queries[shared[~to_second[shared]]])
    to_second[shared] &= ~np.isin(entries.queries[shared], mixed)
    without, tested = (entries.taken(np.flatnonzero(mask)) for mask in (~to_second, to_second))
    asks_more = np.where(tested.lengths > 0, 3, np.where(tested.queries < 0, 2, tested.firsts != 0))
    slots = predicates.slots.filled[tested.tests]
    order = np.lexsort((asks_more, slots[:, 1], slots[:, 0], tested.guards))
    tested, slots, asks_more = tested.taken(order), slots[order], asks_more[order]
    alike = np.column_stack([tested.guards, slots, asks_more])
    boxes = (predicates.keys.filled[tested.tests] >> 32).astype(np.int32)
    without = without.taken(np.lexsort((without.firsts, without.guards)))
    tests = without.tests if np.any(without.tests != NO_TEST) else _NOTHING
    plain = _table(without, tests, _NO_BOXES, _NOTHING)
    return plain, _table(tested, tested.tests, boxes.T, _run_lengths(alike) * np.where(asks_more >= 2, -1, 1))


def _table(entries: Loose, tests: IdArray, boxes: Boxes, run_lengths: IntArray) -> Entries:
    counts = np.bincount(entries.guards) if len(entries) else np.zeros(0, dtype=np.int64)
    return Entries(
        starts=_ends(counts),
        link=_NOTHING,
        limit=len(entries),
        firsts=read_only(entries.firsts),
        tests=read_only(tests),
        boxes=read_only(boxes),
        runs=read_only(run_lengths.astype(np.int32)),
        stream_offsets=_ends(entries.lengths),
        stream=read_only(entries.stream),
        queries=read_only(entries.queries),
    )


def _run_lengths(rows: npt.NDArray[np.int64]) -> IntArray:
    """How many rows from each one on are equal to it.

    >>> _run_lengths(np.array([[7], [7], [7], [8]])).tolist()
    [3, 2, 1, 1]
    """
    begins = np.ones(len(rows), dtype=np.bool_)
    begins[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    ends = np.append(np.flatnonzero(begins)[1:], len(rows))
    lengths: IntArray = ends[np.cumsum(begins) - 1] - np.arange(len(rows))
    return lengths


def _ends(counts: IntArray) -> IdArray:
    if counts.sum() >= _MOST:
        raise DataError(f"a segment has less than {_MOST:,} terms in all its entries; split the bulk into several")
    return read_only(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))


def loosened(entries: Entries) -> Loose:
    """The entries of a table that lie side by side."""
    count = entries.limit
    return Loose(
        np.repeat(np.arange(len(entries.starts) - 1, dtype=np.int32), np.diff(entries.starts)),
        entries.firsts,
        entries.tests if len(entries.tests) else np.full(count, NO_TEST, dtype=np.int32),
        np.diff(entries.stream_offsets).astype(np.int64),
        entries.stream,
        entries.queries,
    )
