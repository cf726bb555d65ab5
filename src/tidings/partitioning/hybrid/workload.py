"""What is asked and published? A sample of posts and queries, as partitioners of [PS2] take it.

Implements the input of [PS2] Alg. 1, the sets O and Q. A query in disjunctive normal form is filed under the
rarest word of each of its conjunctions ([PS2] IV-C), so it is a few *entries*: a word, and a box.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tidings.analysis import ENGLISH, Analyser
from tidings.analysis.fast import FastAnalyser
from tidings.analysis.vocabulary import TermSets, Vocabulary
from tidings.arrays import IdArray, IntArray
from tidings.arrays.runs import runs
from tidings.index.beside import FiledBeside
from tidings.index.entries import Loose
from tidings.index.filing import Filer
from tidings.index.predicates import Predicates
from tidings.model import DataError
from tidings.partitioning.load import FloatArray, LoadCosts
from tidings.tables.checked import Publications
from tidings.tables.columns import place_columns
from tidings.terms.dictionary import Dictionary
from tidings.terms.sample import Sample

_POSTS_PER_INSERTION = 10


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """A sample. Word w is called ``names[w]``; word 0, the empty one, is in every post.

    Post i is at ``lon[i]``, ``lat[i]`` (float64, NaN for no place) and has the words ``posts.row(i)``, word 0 not told.
    Query q has the keywords ``queries.row(q)``. Entry e is of query ``entry_query[e]`` (int64, never falling), is filed
    under ``entry_word[e]`` (int32, 0 if there is no word) and asks for ``entry_box[e]`` (float64: west, south, east,
    north; NaN for no place). All queries are insertions, and there are ``deletions`` of others.
    """

    names: pa.Array
    lon: FloatArray
    lat: FloatArray
    posts: TermSets
    queries: TermSets
    entry_query: IntArray
    entry_word: IdArray
    entry_box: FloatArray
    deletions: int = 0

    def __post_init__(self) -> None:
        entries = len(self.entry_query)
        fits = len(self.lon) == len(self.lat) == len(self.posts)
        fits &= len(self.entry_word) == entries and self.entry_box.shape == (entries, 4)
        if not fits or self.deletions < 0 or not len(self.names) or self.names[0].as_py():
            raise DataError("a workload needs a place for each post, a word and a box for each entry, and word 0")
        words = np.concatenate([self.posts.ids, self.queries.ids, self.entry_word])
        if len(words) and not 0 <= words.min() <= words.max() < len(self.names):
            raise DataError(f"words are numbered from 0 to {len(self.names) - 1:,}, got {words.min()} to {words.max()}")
        if np.any(np.diff(self.entry_query) < 0) or np.any(self.entry_query >= len(self.queries)):
            raise DataError("entries are in the order of their queries, which are there")

    @classmethod
    def of(
        cls,
        posts: pa.Table,
        subscriptions: pa.Table,
        analyser: Analyser = ENGLISH,
        deletions: int | None = None,
    ) -> Workload:
        """That of tables of publications and of valid subscriptions. As many are deleted as inserted, if not said.

        Cost: some 10 µs a post, and a query has to be parsed.

        >>> posts = pa.table({"id": ["a", "b"], "text": ["smoke and fire", "fires"], "lon": [1.0, 2], "lat": [3.0, 4]})
        >>> asked = pa.table({"query": ["fire smoke", "rain OR (smoke bounding_box:[0 0 5 5])"]})
        >>> workload = Workload.of(posts, asked)
        >>> [workload.names[w].as_py() for w in workload.entry_word], workload.entry_query.tolist()
        (['smoke', 'rain', 'smoke'], [0, 1, 1])
        >>> workload.entry_box[2].tolist()
        [0.0, 0.0, 5.0, 5.0]
        """
        good = Publications.of(posts).table
        words = Vocabulary([""])
        sets = _posts(good, analyser, words)
        filer = Filer(Dictionary(), Predicates(), Sample(analyser, good))
        filed = FiledBeside.of_column(subscriptions["query"], analyser, filer)
        asked = _asked_words(filed.entries, filer.terms, words)
        first = asked.offsets[:-1]
        own = np.where(np.diff(asked.offsets) > 0, np.append(asked.ids, 0)[first], 0).astype(np.int32)
        entries, boxes = _in_boxes(filed, own)
        queries = filed.queries[filed.entries.queries]
        count = subscriptions.num_rows
        return cls(
            pa.array(list(words), pa.large_string()),
            *place_columns(good),
            sets,
            _of_queries(queries, asked, count, len(words)),
            queries[entries],
            own[entries],
            boxes,
            count if deletions is None else deletions,
        )

    @property
    def insertions(self) -> int:
        """How many queries are inserted: all of them."""
        return len(self.queries)

    def taken(self, rows: IntArray) -> Workload:
        """That of some posts and all queries, to learn from some posts and to measure with the others."""
        return replace(self, lon=self.lon[rows], lat=self.lat[rows], posts=self.posts.taken(rows))

    def asking(self, rows: IntArray) -> Workload:
        """That of all posts and some queries, whose numbers rise; deletions are as many for each query as before."""
        number = np.full(len(self.queries), -1, dtype=np.int64)
        number[rows] = np.arange(len(rows))
        kept = number[self.entry_query] >= 0
        return replace(
            self,
            queries=self.queries.taken(rows),
            entry_query=number[self.entry_query[kept]],
            entry_word=self.entry_word[kept],
            entry_box=self.entry_box[kept],
            deletions=round(self.deletions * len(rows) / max(len(self.queries), 1)),
        )


def sample_costs(costs: LoadCosts, posts: int, queries: int, standing: int) -> LoadCosts:
    """Costs where each of some queries stands for several of all ``standing`` ones, in the time of so many posts.

    In that time one is inserted and one deleted for every 10 posts ([PS2] VI-A).

    >>> costs = sample_costs(LoadCosts(pair=1, post=1, insertion=5, deletion=1), posts=100, queries=20, standing=40)
    >>> costs.pair, costs.post, costs.insertion, costs.deletion
    (2.0, 1, 2.5, 0.5)
    """
    churn = posts / _POSTS_PER_INSERTION / max(queries, 1)
    pair = costs.pair * max(standing, 1) / max(queries, 1)
    return LoadCosts(pair, costs.post, costs.insertion * churn, costs.deletion * churn)


def _posts(table: pa.Table, analyser: Analyser, words: Vocabulary) -> TermSets:
    """The words of each post, by their numbers here."""
    if "text" not in table.column_names:
        return TermSets(np.zeros(table.num_rows + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))
    fast = FastAnalyser(analyser)
    sets = fast.analyse(table["text"])
    number = words.add_all(list(fast.vocabulary))
    return TermSets(sets.offsets, number[sets.ids] if len(sets.ids) else sets.ids)


def _asked_words(entries: Loose, terms: Dictionary, words: Vocabulary) -> TermSets:
    """The words that each entry requires by their numbers here, also as parts of phrases, the rarest first."""
    names = terms.term_names()
    texts = names.to_pylist()
    is_word = terms.find_words(texts) == np.arange(len(texts))
    number = np.zeros(len(texts), dtype=np.int32)
    number[is_word] = words.add_all(names.filter(pa.array(is_word)).to_pylist())
    each = np.stack([entries.guards, entries.firsts], axis=1)
    begins = np.concatenate([[0], np.cumsum(2 + entries.lengths)])
    codes = np.empty(begins[-1], dtype=np.int64)
    codes[begins[:-1, None] + np.arange(2)] = each
    codes[runs(begins[:-1] + 2, entries.lengths)] = entries.stream
    found = np.where(codes >= 0, number[np.maximum(codes, 0)], 0)
    rows = np.repeat(np.arange(len(entries)), np.diff(begins))[found > 0]
    return TermSets(np.searchsorted(rows, np.arange(len(entries) + 1)), found[found > 0].astype(np.int32))


def _in_boxes(filed: FiledBeside, words: IdArray) -> tuple[IntArray, FloatArray]:
    """Each entry with each box of its conjunction, NaN for none: the numbers of entries, and the boxes beside them.

    Entries of a conjunction under the same word are one here.
    """
    own = filed.entries.queries.astype(np.int64)
    _, entries = np.unique(own * (int(words.max(initial=0)) + 1) + words, return_index=True)
    entries = np.sort(entries)
    counts = np.diff(filed.areas.offsets)[own[entries]]
    boxes = np.full((int(np.maximum(counts, 1).sum()), 4), np.nan)
    numbers = np.repeat(entries, np.maximum(counts, 1))
    has_box = np.repeat(counts > 0, np.maximum(counts, 1))
    boxes[has_box] = filed.areas.boxes[runs(filed.areas.offsets[own[entries]], counts)]
    return numbers, boxes


def _of_queries(queries: IntArray, words: TermSets, count: int, names: int) -> TermSets:
    """The words of the entries of each query, each once."""
    keys = np.unique(np.repeat(queries, np.diff(words.offsets)) * np.int64(names) + words.ids)
    return TermSets(np.searchsorted(keys, np.arange(count + 1) * np.int64(names)), (keys % names).astype(np.int32))
