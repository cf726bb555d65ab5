"""Which queries do the rows of a batch match, and who asked for them? A state is scanned, part by part.

A reader takes a :class:`State`, reads publications with the :class:`Scratch` of its thread, and walks over the blocks
of matched queries; each is fanned out to its subscriptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tidings.index import kernels
from tidings.index.boxes.kernels import match_boxes, match_boxes_briefly
from tidings.index.dictionary import Dictionary
from tidings.index.entries import Entries
from tidings.index.fan_out.kernels import fan_out, fan_out_briefly, fan_out_masks, fan_out_masks_briefly
from tidings.index.predicates import Arrays
from tidings.index.reader import Batch, Reader
from tidings.index.recent import RecentView
from tidings.index.segment import Segment
from tidings.terms import Analyser
from tidings.terms.vocabulary import IdArray, IntArray

MaskArray = npt.NDArray[np.uint32]

BATCH_ROWS = 4096
_FIRST_ROOM = 1 << 20


@dataclass(frozen=True, slots=True)
class State:
    """What a reader sees: it never changes, but for what the reader cannot see."""

    terms: Dictionary
    predicates: Arrays
    has_sequences: bool
    segments: tuple[Segment, ...]
    recent: RecentView
    moment: int

    @property
    def batch_rows(self) -> int:
        """How many rows to match at a time: what fits into the caches; with places more, for nearer neighbours."""
        return 4 * BATCH_ROWS if self.has_places else BATCH_ROWS

    @property
    def has_places(self) -> bool:
        """Whether boxes are compared, and cells are asked for."""
        return len(self.terms.cells) > 0 and any(len(table.runs) for part in self.segments for table in part.tables)

    @property
    def parts(self) -> list[Segment | RecentView]:
        parts: list[Segment | RecentView] = [*self.segments, self.recent]
        return [part for part in parts if len(part)]


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


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Row ``rows[i]`` answers subscription ``numbers[i]`` of a part."""

    part: Segment | RecentView
    rows: IntArray
    numbers: IdArray


class Scratch:
    """What one thread needs to match: a reader of publications, marks and room for results, for one dictionary."""

    def __init__(self, terms: Dictionary, analyser: Analyser, before: Reader | None = None) -> None:
        self.terms = terms
        self.reader = Reader(terms, analyser, before)
        self._bits: MaskArray = np.zeros(1, dtype=np.uint32)
        self._query_bits: MaskArray = np.zeros(1, dtype=np.uint32)
        self.widen(_FIRST_ROOM)

    def widen(self, room: int) -> None:
        """Make room for so many matched queries."""
        self.out: IdArray = np.empty(room, dtype=np.int32)
        self.masks: MaskArray = np.empty(room, dtype=np.uint32)

    def marks(self, queries: int, with_masks: bool) -> tuple[MaskArray, MaskArray]:
        """A bit, or a mask, for each term and for each query, all 0, and some more."""
        shift = 0 if with_masks else 5
        self._bits = _zeros(self._bits, (len(self.terms) >> shift) + 1)
        self._query_bits = _zeros(self._query_bits, (queries >> shift) + 2)
        return self._bits, self._query_bits


def _zeros(bits: MaskArray, count: int) -> MaskArray:
    return bits if count <= len(bits) else np.zeros(2 * count, dtype=np.uint32)


class Kernels(NamedTuple):
    """What matches one kind of table each, and what fans out one kind of block each."""

    chained: Callable[..., int]
    side_by_side: Callable[..., int]
    boxes: Callable[..., int]
    fan_out: Callable[..., int]
    fan_out_masks: Callable[..., int]


_AT_LENGTH = Kernels(kernels.match_chained, kernels.match_side_by_side, match_boxes, fan_out, fan_out_masks)
BRIEFLY = Kernels(
    kernels.match_chained_briefly,
    kernels.match_side_by_side_briefly,
    match_boxes_briefly,
    fan_out_briefly,
    fan_out_masks_briefly,
)


def blocks(
    state: State, batch: Batch, scratch: Scratch, counters: IntArray, own: Kernels = _AT_LENGTH
) -> Iterator[Block]:
    """The matched queries of a batch, part by part, in blocks that fit into the scratch."""
    ends = np.empty(len(batch.terms), dtype=np.int64)
    for part in state.parts:
        for table in (table for table in part.tables if len(table)):
            row = 0
            while row < len(batch.terms):
                stop = _matched(state, batch, table, row, _room(scratch, part, table, ends, counters), own)
                if stop == row:
                    scratch.widen(2 * len(scratch.out))
                elif len(table.runs):
                    count = ends[(stop - row - 1) >> 5]
                    yield Block(part, row, stop, ends, scratch.out[:count], scratch.masks[:count])
                else:
                    yield Block(part, row, stop, ends, scratch.out[: ends[stop - 1]])
                row = stop


def _room(scratch: Scratch, part: Segment | RecentView, table: Entries, ends: IntArray, counters: IntArray) -> Arrays:
    """Where the kernel of a table writes."""
    has_boxes = len(table.runs) > 0
    out = (scratch.out, scratch.masks) if has_boxes else (scratch.out,)
    return *scratch.marks(part.query_count, has_boxes), *out, ends, counters


def _matched(state: State, batch: Batch, table: Entries, row: int, room: Arrays, own: Kernels) -> int:
    """One call of a kernel: the first row that was not matched."""
    publications = batch.terms.ids, batch.terms.offsets, batch.numbers, batch.lon, batch.lat
    tokens = batch.tokens.offsets, batch.tokens.ids
    rest = table.stream_offsets, table.stream, table.queries, *state.predicates, *room
    if len(table.runs):
        boxes = table.starts, table.runs, table.firsts, table.tests, table.boxes
        return int(own.boxes(row, *publications, *tokens, *boxes, *rest))
    if len(table.link):
        chained = table.starts, table.link, table.limit, table.firsts, table.tests
        return int(own.chained(row, *publications, *tokens, *chained, *rest))
    return int(own.side_by_side(row, *publications, *tokens, table.starts, table.firsts, table.tests, *rest))


def fanned_out(block: Block, instants: IntArray, moment: int, own: Kernels = _AT_LENGTH) -> Deliveries:
    """Who asked for the queries of a block, row by row."""
    asked = block.part.asked()
    pairs = len(block.queries) if block.masks is None else int(np.bitwise_count(block.masks).sum())
    room = max(1024, 2 * pairs)
    while True:
        numbers = np.empty(room, dtype=np.int32)
        if block.masks is None:
            rows = np.empty(room, dtype=np.int64)
            count = own.fan_out(
                block.first, block.stop, block.ends, block.queries, asked.starts, asked.link, asked.limit, asked.died,
                moment, asked.since, asked.until, instants, rows, numbers,
            )  # fmt: skip
        else:
            counts = np.empty(block.stop - block.first, dtype=np.int64)
            count = own.fan_out_masks(
                block.first, block.ends, block.queries, block.masks, asked.starts, asked.died, moment, asked.since,
                asked.until, instants, counts, numbers,
            )  # fmt: skip
            rows = np.repeat(np.arange(block.first, block.stop), counts) if count <= room else counts
        if count <= room:
            return Deliveries(block.part, rows[:count], numbers[:count])
        room = count
