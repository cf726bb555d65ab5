"""What is asked and published? A sample of posts and queries, as partitioners of [PS2] take it.

Implements the input of [PS2] Alg. 1, the sets O and Q. A query in disjunctive normal form is filed under the
rarest word of each of its conjunctions ([PS2] IV-C), so it is a few *entries*: a word, and a box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidings.analysis import ENGLISH, Analyser
from tidings.analysis.fast import FastAnalyser
from tidings.analysis.vocabulary import TermSets, Vocabulary
from tidings.arrays import IdArray, IntArray
from tidings.language import Conjunction, Sequence, parse_normal
from tidings.language.areas import area_of
from tidings.model import DataError
from tidings.partitioning.load import FloatArray, LoadCosts
from tidings.tables.checked import Publications
from tidings.tables.columns import place_columns

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
        forms = [parse_normal(text, analyser=analyser)[1] for text in subscriptions["query"].to_pylist()]
        asked = [[_words(conjunction) for conjunction in form] for form in forms]
        ids = [[words.add_all(own) for own in form] for form in asked]
        frequency = np.bincount(sets.ids, minlength=len(words))
        entries = [
            (query, _rarest(own, frequency), box)
            for query, (form, guards) in enumerate(zip(forms, ids, strict=True))
            for conjunction, own in zip(form, guards, strict=True)
            for box in area_of(conjunction) or [(np.nan,) * 4]
        ]
        counts = [len({int(word) for own in query for word in own}) for query in ids]
        flat = [word for query in ids for word in dict.fromkeys(int(w) for own in query for w in own)]
        return cls(
            pa.array(list(words), pa.large_string()),
            *place_columns(good),
            sets,
            TermSets(np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]), np.array(flat, dtype=np.int32)),
            np.array([query for query, _, _ in entries], dtype=np.int64),
            np.array([word for _, word, _ in entries], dtype=np.int32),
            np.array([box for _, _, box in entries], dtype=np.float64).reshape(-1, 4),
            len(forms) if deletions is None else deletions,
        )

    @property
    def insertions(self) -> int:
        """How many queries are inserted: all of them."""
        return len(self.queries)

    def taken(self, rows: IntArray) -> Workload:
        """That of some posts and all queries, to learn from some posts and to measure with the others."""
        return Workload(
            self.names,
            self.lon[rows],
            self.lat[rows],
            self.posts.taken(rows),
            self.queries,
            self.entry_query,
            self.entry_word,
            self.entry_box,
            self.deletions,
        )


def sample_costs(costs: LoadCosts, posts: int, queries: int, standing: int) -> LoadCosts:
    """Costs where each of some queries stands for several of all ``standing`` ones, in the time of so many posts.

    In that time one is inserted and one deleted for every 10 posts ([PS2] VI-A).

    >>> sample_costs(LoadCosts(pair=1, post=1, insertion=5, deletion=1), posts=100, queries=20, standing=40)
    LoadCosts(pair=2.0, post=1, insertion=2.5, deletion=0.5)
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


def _words(conjunction: Conjunction) -> list[str]:
    """The words that it requires, also as parts of phrases."""
    sequences = [atom for atom in conjunction.required if isinstance(atom, Sequence)]
    return list(dict.fromkeys(word for sequence in sequences for word in sequence.words))


def _rarest(words: IdArray, frequency: IntArray) -> int:
    return int(min(words, key=lambda word: (frequency[word], word))) if len(words) else 0
