"""What does a reader of an index see? A snapshot: what was there when it was taken, whatever is changed meanwhile.

Readers never wait for writers. Any thread may use a snapshot; what a thread remembers of words is its own
(:class:`Readers`) and outlives the snapshots of an index.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.analysis.vocabulary import TermSets, WordSets
from tidings.arrays import IdArray, IntArray
from tidings.arrays.growing import read_only
from tidings.index.matcher import Clock
from tidings.index.predicates import PredicateArrays
from tidings.index.recent import Counts, Recent
from tidings.index.scanning import FoundInPart, Scratch, Visible, blocks, fanned_out, scan_one
from tidings.index.segment import Segment
from tidings.model import Publication
from tidings.tables.checked import Listed, Publications
from tidings.tables.columns import ABSENT, column_keys, instant_key, is_instant, place_columns
from tidings.tables.matches import Counters, Deliveries, Matches
from tidings.terms.cells import cells
from tidings.terms.dictionary import Dictionary

MAX_READER_BYTES = 1 << 28
"""When the words of posts that a thread remembers take more memory, it forgets them all. Posts may have new words for
ever."""

_FIRST = read_only(np.zeros(1, dtype=np.int64))
_ZEROS = read_only(np.zeros(1 << 20, dtype=np.int32))


ReadWords = list[WordSets | None]
"""The words of each batch of a table that was matched, None where they were not read."""


class Shown(NamedTuple):
    """What a change leaves for readers. They are fewer than changes, so one of them makes a State of it."""

    terms: Dictionary
    predicates: PredicateArrays
    has_sequences: bool
    segments: tuple[Segment, ...]
    recent: Recent
    counts: Counts
    moment: int

    def state(self) -> Visible:
        recent = self.recent.view(self.counts)
        return Visible(self.terms, self.predicates, self.has_sequences, self.segments, recent, self.moment)


class Readers:
    """What the threads that read an index need for it, each for itself."""

    def __init__(self, analyser: Analyser, clock: Clock) -> None:
        self.analyser = analyser
        self.clock = clock
        self.local = threading.local()

    def scratch(self, terms: Dictionary) -> Scratch:
        """That of this thread; a new one if the terms were numbered anew, or if it remembers too many words."""
        scratch: Scratch | None = getattr(self.local, "scratch", None)
        if scratch is None or scratch.reader.size_bytes > MAX_READER_BYTES:
            scratch = self.local.scratch = Scratch(terms, self.analyser)
        elif scratch.terms is not terms:
            scratch = self.local.scratch = Scratch(terms, self.analyser, scratch.reader)
        return scratch

    def take_over(self, before: Readers, old: Dictionary, new: Dictionary) -> None:
        """Let this thread have the words that it remembers for another index."""
        self.local.scratch = Scratch(new, self.analyser, before.scratch(old).reader)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of an index, and how to match with it."""

    state: Visible
    readers: Readers

    def match(
        self,
        table: pa.Table | Publications,
        now: int | IntArray | None = None,
        words: ReadWords | None = None,
    ) -> Matches:
        """All matches of a table; of one that is not checked yet, rows that are no publications are left out.

        ``now``: the key of the instant of a publication that has none, instead of the clock's; one for all, or one for
        each row. ``words`` gets the words of each batch of rows, None where they were not read.
        """
        parts, counters = list[Deliveries](), Counters()
        for batch in _checked(table).batches(self.state.batch_rows):
            found, spent = self._deliveries(batch, now, words)
            parts += found
            counters += spent
        return Matches(parts, counters)

    def match_one(self, publication: Publication) -> Matches:
        """The matches of one publication: the fast way for one."""
        posts, moment = Listed((publication,), _FIRST), self.state.moment
        instant = instant_key(publication.ts or self.readers.clock())
        found = ((part.part, part.fanned_out(instant, moment)) for part in self._scanned(publication))
        return Matches(Deliveries(posts, _first_row(len(numbers)), part, numbers) for part, numbers in found)

    def count_one(self, publication: Publication) -> int:
        """How many queries one publication answers, before it is known who asked for them."""
        return sum(part.queries for part in self._scanned(publication))

    def count(self, table: pa.Table | Publications) -> Counters:
        """How much work matching is, up to where it is known which queries matched, but not who asked for them."""
        state, counters = self.state, np.zeros(4, dtype=np.int64)
        for posts in _checked(table).batches(state.batch_rows):
            scratch = self.readers.scratch(state.terms)
            batch = scratch.reader.read(_by_place(state, posts).table, state.has_sequences)
            for _ in blocks(state, batch, scratch, counters):
                pass
        return Counters(*counters.tolist())

    def filed(self) -> IntArray:
        """How many entries of segments are filed under each term, int64[terms]."""
        counts = np.zeros(len(self.state.terms) + 1, dtype=np.int64)
        for table in (table for segment in self.state.segments for table in segment.tables if len(table)):
            own = np.diff(table.starts)
            counts[: len(own)] += own
        return counts

    def terms(self, table: pa.Table) -> TermSets:
        """The terms of each row of a canonical table without bad rows, -1 for one that nobody asks for."""
        return self.readers.scratch(self.state.terms).reader.terms(table, *place_columns(table))

    def _scanned(self, publication: Publication) -> Iterator[FoundInPart]:
        state, scratch = self.state, self.readers.scratch(self.state.terms)
        return scan_one(state, scratch.reader.read_one(publication, state.has_sequences), scratch)

    def _deliveries(
        self, batch: Publications, now: int | IntArray | None, words: ReadWords | None
    ) -> tuple[list[Deliveries], Counters]:
        """Who is to get which publication of a batch."""
        state, counters = self.state, np.zeros(4, dtype=np.int64)
        posts, scratch = _by_place(state, batch), self.readers.scratch(state.terms)
        read = scratch.reader.read(posts.table, state.has_sequences)
        if words is not None:
            words.append(_in_order(read.words, posts.rows) if posts is not batch else read.words)
        now = instant_key(self.readers.clock()) if now is None else now
        instants = instants_of(posts.table, now[posts.rows] if isinstance(now, np.ndarray) else now)
        found = [fanned_out(block, posts, instants, state.moment) for block in blocks(state, read, scratch, counters)]
        return found, Counters(*counters.tolist())


def instants_of(table: pa.Table, now: int | IntArray) -> IntArray:
    """The key of when each publication happened: now, where nobody says."""
    if "ts" not in table.column_names or not is_instant(table.schema.field("ts").type):
        return np.full(table.num_rows, now, dtype=np.int64)
    keys = column_keys(table["ts"])
    return np.where(keys == ABSENT, now, keys)


def _checked(table: pa.Table | Publications) -> Publications:
    return table if isinstance(table, Publications) else Publications.of(table)


def _first_row(count: int) -> IdArray:
    """So many zeros; to make more than 500 releases the GIL."""
    return _ZEROS[:count] if count <= len(_ZEROS) else np.zeros(count, dtype=np.int32)


def _in_order(words: WordSets | None, rows: IntArray) -> WordSets | None:
    """The same in the order of the rows."""
    return None if words is None else WordSets(words.vocabulary, words.sets.taken(np.argsort(rows)))


def _by_place(state: Visible, batch: Publications) -> Publications:
    """The same in an order in which neighbours are near to each other, as the kernel for boxes likes them."""
    if len(batch) < 2 or not state.has_places:
        return batch
    lon, lat = place_columns(batch.table)
    return batch.taken(np.argsort(cells(np.nan_to_num(lon), np.nan_to_num(lat)), kind="stable"))
