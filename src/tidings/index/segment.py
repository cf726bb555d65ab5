"""What is a part of the index that never changes? Entries and subscriptions side by side: a segment.

Only the moments at which its subscriptions died change. What is compiled into a segment is compiled alike wherever it
comes from: a bulk, the recent subscriptions, or older segments that become one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tidings.arrays import IdArray, IntArray
from tidings.arrays.distinct import distinct_lists
from tidings.arrays.runs import runs
from tidings.index.entries import Entries, Loose, joined, loosened, side_by_side
from tidings.index.predicates import Predicates
from tidings.index.subscribers import Asked, Subscribers, table_of


@dataclass(frozen=True)
class Segment:
    """``tables``: as side_by_side has them. Queries are numbered from 0 in each segment."""

    tables: tuple[Entries, Entries]
    subscribers: Subscribers

    @cached_property
    def query_count(self) -> int:
        return len(self.subscribers.starts) - 1

    def __len__(self) -> int:
        return sum(len(table) for table in self.tables)

    @property
    def size_bytes(self) -> int:
        return sum(table.size_bytes for table in self.tables) + self.subscribers.size_bytes

    def asked(self) -> Asked:
        return self.subscribers.asked

    def column(self, name: str, numbers: IdArray) -> tuple[pa.Array, IdArray]:
        """As a :class:`tidings.tables.matches.Roster` gives it."""
        return self.subscribers.column(name, numbers)

    def values(self, numbers: IdArray) -> list[Iterable[Any]]:
        """As a :class:`tidings.tables.matches.Roster` gives them."""
        return self.subscribers.values(numbers)


@dataclass(frozen=True, slots=True)
class Source:
    """What a segment can be compiled from: entries, subscriptions with all COLUMNS, and the query of each."""

    entries: Loose
    table: pa.Table
    queries: IntArray

    @property
    def query_count(self) -> int:
        return int(max(_query_of(self.entries.queries).max(initial=-1), self.queries.max(initial=-1))) + 1


def compiled(source: Source, predicates: Predicates) -> Segment:
    """The segment of a source."""
    count = source.query_count
    return Segment(side_by_side(source.entries, predicates), Subscribers.of(source.table, source.queries, count))


def living(segment: Segment) -> Source:
    """What of a segment is not dead."""
    return part_of(segment, np.flatnonzero(segment.subscribers.died == 0))


def part_of(segment: Segment, numbers: IntArray) -> Source:
    """The subscriptions of these numbers, with all entries of the segment."""
    queries = np.repeat(np.arange(segment.query_count), np.diff(segment.subscribers.starts))
    entries = joined([loosened(table) for table in segment.tables])
    return Source(entries, segment.subscribers.columns(numbers.astype(np.int32)), queries[numbers])


def together(sources: Sequence[Source]) -> Source:
    """Several sources as one, their queries numbered one after another."""
    shifts = np.cumsum([0, *(source.query_count for source in sources)], dtype=np.int64)
    return Source(
        joined([_shifted(source.entries, int(shift)) for source, shift in zip(sources, shifts, strict=False)]),
        pa.concat_tables([table_of([]), *(source.table for source in sources)]),
        np.concatenate([shifts[:0], *(source.queries + shift for source, shift in zip(sources, shifts, strict=False))]),
    )


def tidied(source: Source) -> Source:
    """The same without queries that nobody asks for, and with equal ones as one, numbered from 0."""
    asked = np.zeros(source.query_count, dtype=np.bool_)
    asked[source.queries] = True
    entries = source.entries.taken(np.flatnonzero(asked[_query_of(source.entries.queries)]))
    queries = _query_of(entries.queries)
    content = _content(entries)
    order = np.lexsort((content, queries))
    lengths = np.bincount(queries, minlength=len(asked))
    wanted = np.flatnonzero(asked)
    begins = (np.cumsum(lengths) - lengths)[wanted]
    lists = content[order][runs(begins, lengths[wanted])]
    firsts, number = distinct_lists(lists, lengths[wanted])
    new_number = np.full(len(asked), -1, dtype=np.int64)
    new_number[wanted] = number
    is_kept = np.zeros(len(asked), dtype=np.bool_)
    is_kept[wanted[firsts]] = True
    kept = entries.taken(np.flatnonzero(is_kept[queries]))
    renumbered = new_number[_query_of(kept.queries)]
    marked = np.where(kept.queries < 0, -renumbered - 1, renumbered).astype(np.int32)
    return Source(kept.with_queries(marked), source.table, new_number[source.queries])


def _query_of(queries: IdArray) -> IdArray:
    """The query of an entry, which is marked where the query has other entries."""
    return np.where(queries < 0, -queries - 1, queries)


def _shifted(entries: Loose, shift: int) -> Loose:
    queries = np.where(entries.queries < 0, entries.queries - shift, entries.queries + shift)
    return entries.with_queries(queries.astype(np.int32))


def _content(entries: Loose) -> IntArray:
    """A number for each entry; equal ones ask the same under the same guard."""
    begins = np.cumsum(entries.lengths + 3) - (entries.lengths + 3)
    values = np.empty(int(entries.lengths.sum()) + 3 * len(entries), dtype=np.int64)
    for place, part in enumerate((entries.guards, entries.firsts, entries.tests)):
        values[begins + place] = part
    values[runs(begins + 3, entries.lengths)] = entries.stream
    return distinct_lists(values, entries.lengths + 3)[1]
