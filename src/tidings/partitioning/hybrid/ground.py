"""What is in a part of the map, and what does it cost? A workload on a grid, and the nodes of a kdt-tree over it.

Implements the nodes of [PS2] Alg. 1. A node has some cells, and some or all of their words. As in [PS2] IV-C, a post
counts only if it has a word that is asked for near it. What is near is told by larger cells, 2^fine in a row: the
smallest of which queries touch no more than a few.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray, IntArray
from tidings.partitioning.gridt.gridt import Block
from tidings.partitioning.hybrid import kernels
from tidings.partitioning.hybrid.workload import Workload
from tidings.partitioning.learning.kernels import transpose
from tidings.partitioning.load import FloatArray, LoadCosts
from tidings.terms.even_grid import Grid, touched
from tidings.terms.local_terms import LocalTerms

MAX_FINE = 6
_TOUCHED = 6.0


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """Cells, None for everywhere; ``words`` int32, None for all; the posts there, and the entries, int32, rising.

    ``sent``: the posts that have a word of an entry. ``queries``: those of the entries, each once. Both count for the
    ``load``.
    """

    block: Block | None
    words: IdArray | None
    posts: IdArray
    entries: IdArray
    sent: IdArray
    queries: IdArray
    load: float

    @property
    def is_whole(self) -> bool:
        """Whether it has all words of its cells, so that it may be cut by space."""
        return self.words is None and self.block is not None


@dataclass(frozen=True, eq=False)
class Ground:
    """A workload whose posts and boxes are in cells of a grid.

    ``homed``: a box is where its centre is, and posts near it are sent there from elsewhere too; else it is wherever it
    reaches, as in the paper.
    """

    workload: Workload
    grid: Grid
    costs: LoadCosts
    homed: bool = False

    @classmethod
    def of(cls, workload: Workload, costs: LoadCosts, level: int, *, homed: bool = False) -> Ground:
        """A workload on a grid over its posts."""
        return cls(workload, Grid.of(workload.lon, workload.lat, level), costs, homed)

    def every_other(self, first: int) -> Ground:
        """The same ground with every other post and query from the first (0) or second (1) on; each stands for two."""
        work, old = self.workload, self.costs
        work = work.taken(np.arange(first, len(work.posts), 2)).asking(np.arange(first, len(work.queries), 2))
        costs = LoadCosts(4 * old.pair, 2 * old.post, 2 * old.insertion, 2 * old.deletion)
        return Ground(work, self.grid, costs, self.homed)

    @cached_property
    def places(self) -> tuple[IdArray, IdArray]:
        """Column and row of each post; -1 for one without a place."""
        cells = self.grid.cells(self.workload.lon, self.workload.lat)
        return np.where(cells < 0, -1, cells % self.grid.side), np.where(cells < 0, -1, cells // self.grid.side)

    @cached_property
    def blocks(self) -> IdArray:
        """The cells of each entry, int32[entries, 4]; those of one that asks for no place mean nothing."""
        boxes = np.where(np.isnan(self.workload.entry_box), 0.0, self.workload.entry_box)
        return self.grid.blocks(boxes)

    @cached_property
    def fine(self) -> int:
        """The finest level at which the boxes of entries touch at most _TOUCHED cells on average."""
        blocks = self.blocks[self._placed_entries()].astype(np.int64)
        for fine in range(min(self.grid.level, MAX_FINE), 0, -1):
            west, south, east, north = (blocks >> (self.grid.level - fine)).T
            if len(blocks) and ((east - west + 1) * (north - south + 1)).mean() <= _TOUCHED:
                return fine
        return 0

    @cached_property
    def all_words(self) -> TermSets:
        """The words of each post, and word 0 where somebody asks for it."""
        return _with_first(self.workload.posts, bool(np.any(self.workload.entry_word == 0)))

    @cached_property
    def extents(self) -> IdArray:
        """Where each entry is filed, as :attr:`blocks`: there, or at home."""
        if not self.homed:
            return self.blocks
        centres = (self.blocks[:, :2] + self.blocks[:, 2:]) >> 1
        return np.hstack([centres, centres])

    @cached_property
    def near_words(self) -> TermSets:
        """Those of the words that are asked for in the larger cell of the post; none for one without a place."""
        return self._near.words

    @cached_property
    def _near(self) -> _Near:
        side, shift = 1 << self.fine, self.grid.level - self.fine
        placed = self._placed_entries()
        cells = np.arange(side * side, dtype=np.int32) + 1  # region 0 is everywhere, and there is nothing here
        asked = touched(self.blocks[placed] >> shift, side, cells, side * side)
        words = np.repeat(self.workload.entry_word[placed], np.diff(asked.offsets))
        keys_asked = asked.ids * np.int64(len(self.workload.names)) + words
        keys = np.unique(keys_asked)
        pairs = LocalTerms()
        own = (keys % len(self.workload.names)).astype(np.int32)
        pairs.put((keys // len(self.workload.names)).astype(np.int32), own, np.arange(len(keys), dtype=np.int32))
        x, y = (np.where(lines < 0, 0, lines >> shift) for lines in self.places)
        at = np.where(self.places[0] < 0, -1, y * side + x).astype(np.int32)
        sets = pairs.local(at, cells, self.workload.posts)
        starts, posts = np.zeros(len(keys) + 1, dtype=np.int64), np.empty(len(sets.ids), dtype=np.int32)
        transpose(sets.offsets, sets.ids, starts, posts)
        numbers = np.searchsorted(keys, keys_asked).astype(np.int32)
        met = np.diff(starts)[numbers] > 0
        entries = np.repeat(placed, np.diff(asked.offsets))[met]
        offsets = np.searchsorted(entries, np.arange(len(self.blocks) + 1))
        return _Near(TermSets(sets.offsets, own[sets.ids]), TermSets(offsets, numbers[met]), TermSets(starts, posts))

    def words_of(self, block: Block | None) -> TermSets:
        """The words of each post that count in these cells."""
        return self.all_words if block is None else self.near_words

    @cached_property
    def spans(self) -> IdArray:
        """The least block with all entries of each query that ask for a place, int32[queries, 4]."""
        side, queries = self.grid.side, len(self.workload.queries)
        spans = np.tile(np.array([side, side, -1, -1], dtype=np.int32), (queries, 1))
        placed = self._placed_entries()
        owner = self.workload.entry_query[placed]
        for k, extreme in enumerate((np.minimum, np.minimum, np.maximum, np.maximum)):
            extreme.at(spans[:, k], owner, self.extents[placed, k])
        return spans

    @cached_property
    def weights(self) -> tuple[float, float, float]:
        """The costs of a pair, a post and a query, in which deletions are counted with the queries."""
        deleted = self.workload.deletions / max(self.workload.insertions, 1)
        return self.costs.pair, self.costs.post, self.costs.insertion + deleted * self.costs.deletion

    def _placed_entries(self) -> IdArray:
        return np.flatnonzero(~np.isnan(self.workload.entry_box[:, 0])).astype(np.int32)

    def map(self) -> Node:
        """All cells: posts and entries that have a place."""
        last = self.grid.side - 1
        posts = np.flatnonzero(self.places[0] >= 0).astype(np.int32)
        return self.node((0, 0, last, last), None, posts, self._placed_entries())

    def everywhere(self) -> Node:
        """All posts, and the entries that ask for no place."""
        posts = np.arange(len(self.workload.posts), dtype=np.int32)
        return self.node(None, None, posts, np.flatnonzero(np.isnan(self.workload.entry_box[:, 0])).astype(np.int32))

    def whole(self) -> Node:
        """All posts and all entries, wherever they are: what is divided by text alone."""
        posts, entries = len(self.workload.posts), len(self.workload.entry_word)
        return self.node(None, None, np.arange(posts, dtype=np.int32), np.arange(entries, dtype=np.int32))

    def node(self, block: Block | None, words: IdArray | None, posts: IdArray, entries: IdArray) -> Node:
        """The node of these posts and entries."""
        sent = self._sent(posts, entries) if block is None else self._sent_near(posts, entries)
        queries = self.workload.entry_query[entries].astype(np.int32)
        queries = queries[np.diff(queries, prepend=-1) != 0]
        return Node(block, words, posts, entries, sent, queries, self.load(len(sent), len(queries)))

    def _sent(self, posts: IdArray, entries: IdArray) -> IdArray:
        """Those of the posts that have a word of an entry."""
        sets, work = self.all_words, self.workload
        sent = np.empty(len(posts) + 1, dtype=np.int32)
        count = kernels.sent(posts, sets.offsets, sets.ids, entries, work.entry_word, len(work.names), sent)
        return sent[:count].copy()

    def _sent_near(self, posts: IdArray, entries: IdArray) -> IdArray:
        """Those that have a word of an entry that is asked for near them; of all posts if boxes are at home."""
        has = np.zeros(len(self.workload.posts), dtype=np.uint8)
        near = self._near
        kernels.mark_near(entries, near.asked.offsets, near.asked.ids, near.posts_of.offsets, near.posts_of.ids, has)
        return np.flatnonzero(has).astype(np.int32) if self.homed else posts[has[posts] > 0]

    def load(self, posts: int, queries: int) -> float:
        """[PS2] Def. 1, of a matcher that has these queries."""
        return float(kernels.load(self.weights, posts, queries))

    def loads(self, posts: IntArray, queries: IntArray) -> FloatArray:
        """The same of many."""
        return loads(self.weights, posts, queries)

    def similarity(self, node: Node) -> float:
        """The cosine of the words of its posts and of its queries ([PS2] Alg. 1, line 5)."""
        posts, queries = self.workload.posts, self.workload.queries
        return float(
            kernels.similarity(
                node.posts, posts.offsets, posts.ids, node.queries, queries.offsets, queries.ids,
                len(self.workload.names),
            )
        )  # fmt: skip

    def within(self, node: Node, block: Block) -> Node:
        """The part of a node in some of its cells."""
        west, south, east, north = block
        x, y = (lines[node.posts] for lines in self.places)
        own = self.extents[node.entries]
        posts = (west <= x) & (x <= east) & (south <= y) & (y <= north)
        entries = (own[:, 0] <= east) & (own[:, 2] >= west) & (own[:, 1] <= north) & (own[:, 3] >= south)
        return self.node(block, node.words, node.posts[posts], node.entries[entries])


@dataclass(frozen=True, slots=True, eq=False)
class _Near:
    """``words`` of each post that are asked for near it. A word in a larger cell is a *key*, if a post there has it:
    those that each entry has ``asked`` for, and the ``posts_of`` each.
    """

    words: TermSets
    asked: TermSets
    posts_of: TermSets


def _with_first(sets: TermSets, also: bool) -> TermSets:
    """The sets, with word 0 as well if ``also``."""
    if not also:
        return sets
    places = sets.offsets[:-1]
    return TermSets(sets.offsets + np.arange(len(sets.offsets)), np.insert(sets.ids, places, 0))


def loads(weights: tuple[float, float, float], posts: IntArray, queries: IntArray) -> FloatArray:
    """[PS2] Def. 1 of many, with the costs of a pair, a post and a query."""
    pair, post, query = weights
    return np.asarray(pair * (1.0 * posts * queries) + post * posts + query * queries)


def halves(block: Block, axis: int, line: int) -> tuple[Block, Block]:
    """A block cut before a column (axis 0) or row (axis 1).

    >>> halves((0, 0, 7, 3), 0, 5)
    ((0, 0, 4, 3), (5, 0, 7, 3))
    """
    low, high = list(block), list(block)
    low[2 + axis], high[axis] = line - 1, line
    return (low[0], low[1], low[2], low[3]), (high[0], high[1], high[2], high[3])
