"""Which words of a part of the map belong together?

Implements the text partitioning of [PS2] VI-B: by frequency, by a hypergraph of words, and by a metric; and the text
partitioning of nodes in the hybrid (IV-B). Words are those that file something.

Departs from the paper, which only names them. By frequency: words by falling frequency, each to the share with the
least sum so far. Hypergraph: METIS cuts graphs, so a post, an edge of the hypergraph, becomes an edge between each two
of its words. Metric: the utility of [S3TM] Alg. 1, with the load of [PS2] Def. 1 instead of the number of posts, and
with an attraction to few copies (:mod:`tidings.partitioning.learning.salb`). A query counts once for each of its words,
even if a share has several of them: queries to come have other words together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray, IntArray
from tidings.partitioning.hybrid import kernels
from tidings.partitioning.hybrid.ground import Ground, Node, loads
from tidings.partitioning.learning.incidence import Incidence
from tidings.partitioning.learning.kernels import transpose
from tidings.partitioning.learning.network import Network
from tidings.partitioning.learning.words import Words
from tidings.partitioning.load import FloatArray

ATTRACTIONS = (4.0, 1.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class WordCounts:
    """The words that file something in a node: ``words`` int32, rising, and by their places there: the words of each
    post that is ``sent``, the posts of each word, how many ``queries`` (int64) it files, and what they cost.

    ``counted`` are the same posts and some made-up ones, of words that no post has, and ``posts_of`` is by these.
    """

    words: IdArray
    sets: TermSets
    counted: TermSets
    posts_of: TermSets
    queries: IntArray
    weights: tuple[float, float, float]

    @classmethod
    def of(cls, ground: Ground, node: Node) -> WordCounts:
        work = ground.workload
        own = work.entry_word[node.entries]
        words = np.unique(own)
        number = np.full(len(work.names), -1, dtype=np.int32)
        number[words] = np.arange(len(words), dtype=np.int32)
        offsets = np.zeros(len(node.sent) + 1, dtype=np.int64)
        near = ground.words_of(node.block)
        ids = np.empty(int(np.diff(near.offsets)[node.sent].sum()), dtype=np.int32)
        count = kernels.renumber(node.sent, near.offsets, near.ids, number, offsets, ids)
        sets = TermSets(offsets, ids[:count])
        counted = _with_unseen(sets, len(words))
        starts, rows = np.zeros(len(words) + 1, dtype=np.int64), np.empty(len(counted.ids), dtype=np.int32)
        transpose(counted.offsets, counted.ids, starts, rows)
        queries = max(len(work.queries), 1)
        pairs = np.unique(number[own] * np.int64(queries) + work.entry_query[node.entries])
        filed = np.bincount(pairs // queries, minlength=len(words))
        return cls(words, sets, counted, TermSets(starts, rows), filed, ground.weights)

    def posts(self) -> IntArray:
        """How many posts each word has."""
        return np.diff(self.posts_of.offsets)

    def loads(self, posts: IntArray, queries: IntArray) -> FloatArray:
        """[PS2] Def. 1."""
        return loads(self.weights, posts, queries)


def _with_unseen(sets: TermSets, words: int) -> TermSets:
    """Some sets of words, and made-up ones of the words that are in none of them.

    Words that no post of the sample has will be in others. Without that they would look as if they cost nothing where
    few posts go, and all of them would be placed there. By Good and Turing all unseen words together will occur about
    as often as there are words that occur once: so many sets are made of them.

    >>> sets = _with_unseen(TermSets(np.array([0, 2, 3]), np.array([0, 1, 1], dtype=np.int32)), words=5)
    >>> [sets.row(i).tolist() for i in range(len(sets))]
    [[0, 1], [1], [2, 3, 4]]
    """
    counts = np.bincount(sets.ids, minlength=words)
    unseen = np.flatnonzero(counts == 0).astype(np.int32)
    made = min(max(int(np.count_nonzero(counts == 1)), 1), len(unseen))
    ends = np.linspace(0, len(unseen), made + 1).astype(np.int64)[1:]
    return TermSets(np.concatenate([sets.offsets, sets.offsets[-1] + ends]), np.concatenate([sets.ids, unseen]))


Divide = Callable[[WordCounts, int], IdArray]
"""The share of each word of a vocabulary, int32, of so many."""


def by_frequency(words: WordCounts, shares: int) -> IdArray:
    """Words by falling frequency, each to the share whose sum of frequencies is the least."""
    frequency = words.posts()
    placed, sums = np.zeros(len(words.words), dtype=np.int32), np.zeros(shares, dtype=np.int64)
    for word in np.argsort(-frequency, kind="stable"):
        placed[word] = np.argmin(sums)
        sums[placed[word]] += max(frequency[word], 1)  # those that never occur are divided as well
    return placed


def by_hypergraph(words: WordCounts, shares: int) -> IdArray:
    """METIS cuts where the fewest words part that are in the same posts; shares have equal sums of frequencies."""
    names = pa.array(words.words).cast(pa.large_string())
    rows = len(words.sets)
    incidence = Incidence(names, words.sets, np.zeros(rows, dtype=np.uint64), np.ones(rows, dtype=np.int64))
    network = Words.of(incidence, shares, np.ones(len(names), dtype=np.int64))
    return Network(cut="gFCL").place(network)[shares:]


def by_metric(words: WordCounts, shares: int) -> IdArray:
    """Words by falling load, each where the sum of all loads and their deviation are least; the best of several
    weights of the two, by the largest load."""
    queries, of = words.queries, words.posts_of
    order = np.argsort(-words.loads(words.posts(), queries), kind="stable")
    best, least = np.zeros(len(words.words), dtype=np.int32), np.inf
    for attraction in ATTRACTIONS:
        placed = np.zeros(len(words.words), dtype=np.int32)
        posts_at, queries_at = np.zeros(shares, dtype=np.int64), np.zeros(shares, dtype=np.int64)
        kernels.divide(
            order, of.offsets, of.ids, words.counted.offsets, queries, words.weights, attraction,
            placed, posts_at, queries_at,
        )  # fmt: skip
        largest = float(words.loads(posts_at, queries_at).max())
        if largest < least:
            best, least = placed, largest
    return best


def divided(ground: Ground, node: Node, count: int, divide: Divide = by_metric) -> list[Node]:
    """A node divided by words into ``count`` leaves of the same cells; fewer if it has not so many words, or if fewer
    have smaller loads."""
    words = WordCounts.of(ground, node)
    count = min(count, len(words.words))
    if count < 2:
        return [node]
    placed = divide(words, count)
    rows, numbers = np.empty(len(words.sets.ids), dtype=np.int32), np.empty(len(words.sets.ids), dtype=np.int32)
    found = kernels.by_share(words.sets.offsets, words.sets.ids, placed, count, rows, numbers)
    rows, numbers = rows[:found], numbers[:found]
    entry_share = placed[np.searchsorted(words.words, ground.workload.entry_word[node.entries])]
    leaves = [
        ground.node(node.block, words.words[placed == share], node.sent[rows[numbers == share]], own)
        for share in range(count)
        if len(own := node.entries[entry_share == share])
    ]
    return leaves if len(leaves) > 1 else [node]
