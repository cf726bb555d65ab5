"""Which queries do the rows of a batch match, and who asked for them? A state is scanned, part by part.

A reader takes a :class:`Visible`, reads publications with the :class:`Scratch` of its thread, and walks over the blocks
of matched queries; each is fanned out to its subscriptions. One publication alone has a way of its own, with less to
do before and after the kernels: :func:`scan_one`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tidings.analysis import Analyser
from tidings.arrays import IdArray, IntArray
from tidings.arrays.packs import Pack
from tidings.index import kernels
from tidings.index.boxes.kernels import match_boxes
from tidings.index.entries import Entries
from tidings.index.fan_out.kernels import fan_out, fan_out_masks
from tidings.index.predicates import PredicateArrays
from tidings.index.recent import RecentView
from tidings.index.segment import Segment
from tidings.index.single.kernels import fan_out_one, match_one
from tidings.index.single.packs import CONDITIONS, ROOM
from tidings.index.subscribers import Asked
from tidings.tables.matches import Deliveries, Published
from tidings.terms.dictionary import Dictionary
from tidings.terms.reader import ReadPost, ReadTable, TermReader

MaskArray = npt.NDArray[np.uint32]
Room = tuple[npt.NDArray[Any], ...]
"""Arrays that a kernel writes to."""

BATCH_ROWS = 4096
_FIRST_ROOM = 1 << 20
_SPARE = 32
"""So much room fan-out wants beyond what it writes."""


@dataclass(frozen=True)
class Visible:
    """What a reader sees: it never changes, but for what the reader cannot see."""

    terms: Dictionary
    predicates: PredicateArrays
    has_sequences: bool
    segments: tuple[Segment, ...]
    recent: RecentView
    moment: int

    @cached_property
    def batch_rows(self) -> int:
        """How many rows to match at a time: what fits into the caches; with places more, for nearer neighbours."""
        return 4 * BATCH_ROWS if self.has_places else BATCH_ROWS

    @cached_property
    def has_places(self) -> bool:
        """Whether boxes are compared, and cells are asked for."""
        return len(self.terms.cells) > 0 and any(len(table.runs) for part in self.segments for table in part.tables)

    @cached_property
    def tables(self) -> list[tuple[Segment | RecentView, Entries]]:
        """All that has entries, each with the part that it belongs to."""
        parts: list[Segment | RecentView] = [*self.segments, self.recent]
        return [(part, table) for part in parts for table in part.tables if len(table)]

    @cached_property
    def conditions(self) -> Pack:
        return Pack(CONDITIONS, self.predicates)


class Block(NamedTuple):
    """Matched queries of the rows ``first … stop`` of a batch: those of row r end at ``ends[r]``.

    With ``masks``, each is there once for 32 rows, and its mask says for which of them; those of the g-th 32 rows end
    at ``ends[g]``. Queries and masks are scratch that the next block overwrites.
    """

    part: Segment | RecentView
    first: int
    stop: int
    ends: IntArray
    queries: IdArray
    masks: MaskArray | None = None


class Scratch:
    """What one thread needs to match: a reader of publications, marks and room for results, for one dictionary."""

    def __init__(self, terms: Dictionary, analyser: Analyser, before: TermReader | None = None) -> None:
        self.terms = terms
        self.reader = TermReader(terms, analyser, before)
        self._bits: MaskArray = np.zeros(1, dtype=np.uint32)
        self._query_bits: MaskArray = np.zeros(1, dtype=np.uint32)
        self.widen(_FIRST_ROOM)

    def widen(self, room: int) -> None:
        """Make room for so many matched queries."""
        self.out: IdArray = np.empty(room, dtype=np.int32)
        self.masks: MaskArray = np.empty(room, dtype=np.uint32)
        self._for_one: Pack | None = None

    def marks(self, queries: int, with_masks: bool) -> tuple[MaskArray, MaskArray]:
        """A bit, or a mask, for each term and for each query, all 0, and some more."""
        shift = 0 if with_masks else 5
        terms, queries = (len(self.terms) >> shift) + 1, (queries >> shift) + 2
        if terms > len(self._bits) or queries > len(self._query_bits):
            self._bits, self._query_bits = _zeros(self._bits, terms), _zeros(self._query_bits, queries)
            self._for_one = None
        return self._bits, self._query_bits

    def for_one(self, queries: int, with_masks: bool) -> Pack:
        """The same and room for one publication, packed."""
        bits, query_bits = self.marks(queries, with_masks)
        if self._for_one is None:
            ends, counters = np.zeros(1, dtype=np.int64), np.zeros(4, dtype=np.int64)
            self._for_one = Pack(ROOM, (bits, query_bits, self.out, self.masks, ends, counters))
        return self._for_one


def _zeros(bits: MaskArray, count: int) -> MaskArray:
    return bits if count <= len(bits) else np.zeros(2 * count, dtype=np.uint32)


def blocks(state: Visible, batch: ReadTable, scratch: Scratch, counters: IntArray) -> Iterator[Block]:
    """The matched queries of a batch, part by part, in blocks that fit into the scratch."""
    ends = np.empty(len(batch.terms), dtype=np.int64)
    for part, table in state.tables:
        row = 0
        while row < len(batch.terms):
            stop = _matched(state, batch, table, row, _room(scratch, part, table, ends, counters))
            if stop == row:
                scratch.widen(2 * len(scratch.out))
            else:
                if len(table.runs):
                    count = ends[(stop - row - 1) >> 5]
                    block = Block(part, row, stop, ends, scratch.out[:count], scratch.masks[:count])
                else:
                    block = Block(part, row, stop, ends, scratch.out[: ends[stop - 1]])
                yield _each_once(block, counters) if batch.several else block
            row = stop


def _each_once(block: Block, counters: IntArray) -> Block:
    """The same with each query once for a row: one that has several numbers may have several parts of a query's cover.

    All entries of a query are in one table, so nothing is doubled between blocks.
    """
    queries, masks, first = block.queries, block.masks, 0 if block.masks is not None else block.first
    count = block.stop - block.first if masks is None else (block.stop - block.first + 31) >> 5
    owners = np.repeat(np.arange(count), np.diff(block.ends[first : first + count], prepend=0))
    both, where = np.unique(owners << 32 | queries, return_inverse=True)
    ends = block.ends.copy()
    ends[first : first + count] = np.searchsorted(both >> 32, np.arange(count), side="right")
    left = (both & 0xFFFFFFFF).astype(np.int32)
    if masks is None:
        counters[2] -= len(queries) - len(left)
        return block._replace(ends=ends, queries=left)
    joined = np.zeros(len(left), dtype=np.uint32)
    np.bitwise_or.at(joined, where, masks)
    counters[2] -= int(np.bitwise_count(masks).sum()) - int(np.bitwise_count(joined).sum())
    return block._replace(ends=ends, queries=left, masks=joined)


def _room(scratch: Scratch, part: Segment | RecentView, table: Entries, ends: IntArray, counters: IntArray) -> Room:
    """Where the kernel of a table writes."""
    has_boxes = len(table.runs) > 0
    out = (scratch.out, scratch.masks) if has_boxes else (scratch.out,)
    return *scratch.marks(part.query_count, has_boxes), *out, ends, counters


def _matched(state: Visible, batch: ReadTable, table: Entries, row: int, room: Room) -> int:
    """One call of a kernel: the first row that was not matched."""
    publications = batch.terms.ids, batch.terms.offsets, batch.numbers, batch.points
    tokens = batch.tokens.offsets, batch.tokens.ids
    rest = table.stream_offsets, table.stream, table.queries, *state.predicates, *room
    if len(table.runs):
        boxes = table.starts, table.runs, table.firsts, table.tests, table.boxes
        return int(match_boxes(row, *publications, *tokens, *boxes, *rest))
    if len(table.link):
        chained = table.starts, table.link, table.limit, table.firsts, table.tests
        return int(kernels.match_chained(row, *publications, *tokens, *chained, *rest))
    return int(kernels.match_side_by_side(row, *publications, *tokens, table.starts, table.firsts, table.tests, *rest))


def fanned_out(block: Block, publications: Published, instants: IntArray, moment: int) -> Deliveries:
    """Who asked for the queries of a block."""
    asked = block.part.asked()
    room = _most(block, asked) + _SPARE
    while True:
        rows, numbers = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
        if block.masks is None:
            count = fan_out(
                block.first, block.stop, block.ends, block.queries, asked.starts, asked.link, asked.limit, asked.died,
                moment, asked.since, asked.until, instants, rows, numbers,
            )  # fmt: skip
        else:
            count = fan_out_masks(
                block.first, block.stop - block.first, block.ends, block.queries, block.masks, asked.starts, asked.died,
                moment, asked.since, asked.until, instants, rows, numbers,
            )  # fmt: skip
        if count + _SPARE <= room:
            return Deliveries(publications, rows[:count], block.part, numbers[:count])
        room = count + _SPARE


def _most(block: Block, asked: Asked) -> int:
    """How many matches a block has at most; a guess where subscriptions are chained."""
    if len(asked.link):
        return 1024 + 2 * len(block.queries)
    counts = asked.starts[block.queries + 1] - asked.starts[block.queries]
    return int((counts if block.masks is None else counts * np.bitwise_count(block.masks)).sum())


class FoundInPart(NamedTuple):
    """What one publication matches in a part: so many queries, in scratch that the next one overwrites."""

    part: Segment | RecentView
    queries: int
    room: Pack

    def fanned_out(self, instant: int, moment: int) -> IdArray:
        """Who asked for them, by their numbers in the part."""
        asked, size = self.part.asked(), max(4096, 2 * self.queries)
        while True:
            numbers = np.empty(size, dtype=np.int32)
            count = fan_out_one(self.queries, self.room.at, asked.packed.at, asked.limit, moment, instant, numbers)
            if count <= size:
                return numbers[:count]
            size = count


def scan_one(state: Visible, post: ReadPost, scratch: Scratch) -> Iterator[FoundInPart]:
    """The matched queries of one publication, part by part where there are any."""
    terms, rest, conditions = post.terms, post.rest.at, state.conditions.at
    for part, table in state.tables:
        while True:
            room = scratch.for_one(part.query_count, table.has_boxes)
            count = match_one(terms, rest, table.packed.at, table.limit, conditions, room.at)
            if count >= 0:
                break
            scratch.widen(2 * len(scratch.out))
        if post.several:
            once = np.unique(scratch.out[:count])
            count = len(once)
            scratch.out[:count] = once
        if count:
            yield FoundInPart(part, count, room)
