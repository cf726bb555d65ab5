"""Which posts are learned from, which are held out, and who asks for which of their words?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.names import Model, Sent, Source
from tidings.analysis import ENGLISH
from tidings.analysis.fast import FastAnalyser
from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IntArray
from tidings.model import DataError
from tidings.partitioning.learning import Incidence
from tidings.partitioning.mapping import HashArray, hash_names
from tidings.placement.conjunctions import Conjunctions, conjunctions_of
from tidings.terms.sample import MAX_ROWS, Sample
from tidings.workloads import Posts, Topics, extract_topics, read_notes, read_tweets, tweet_based

TOPIC_POSTS = 10_000
"""Topics are found in so many posts."""

SHORT = 4
"""So many words has a short post; the tweets of [S3TM] have 3.8 on average."""

_MADE_UP_WEEKS = 60


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """Posts (id, ts, text) in order of time, and the set of words of each; word w is called ``names[w]``."""

    table: pa.Table
    names: pa.Array
    sets: TermSets
    keys: HashArray

    @classmethod
    def of(cls, table: pa.Table) -> Corpus:
        fast = FastAnalyser(ENGLISH)
        sets = fast.analyse(table["text"])
        return cls(table, pa.array(fast.vocabulary, pa.large_string()), sets, hash_names(table["id"]))

    @classmethod
    def read(cls, data: Path | None, posts: int | None, seed: int, source: Source = Source.tweets) -> Corpus:
        """A sample of so many posts of a file in ``data``, or all of them; without data, made-up posts."""
        if data is None:
            count = posts or 100_000
            rate = count / (_MADE_UP_WEEKS * 7 * 86_400)
            return cls.of(Posts(seed=seed, rate_per_s=rate).table(count).select(["id", "ts", "text"]))
        table = _read(data / f"{source.value}.parquet", source)
        if posts is not None and posts < table.num_rows:
            rows = np.sort(np.random.default_rng(seed).permutation(table.num_rows)[:posts])
            table = table.take(pa.array(rows))
        return cls.of(table)

    def __len__(self) -> int:
        return len(self.sets)

    def incidence(self, words: pa.Array, filed: IntArray | None = None) -> Incidence:
        """The posts as sets of these words, numbered as they stand here; ``filed[n]`` subscriptions under the n-th."""
        number = pc.index_in(self.names, value_set=words).fill_null(-1).to_numpy().astype(np.int32)
        ids = number[self.sets.ids]
        offsets = np.concatenate([[0], np.cumsum(ids >= 0)])[self.sets.offsets]
        ones = np.ones(len(self), dtype=np.int64)
        return Incidence(words, TermSets(offsets, ids[ids >= 0]), self.keys, ones, filed)

    def drawn(self, seed: int, use: int) -> IntArray:
        """All posts by chance, in another order for each use, and in another than those that are subscribed to."""
        return np.random.default_rng((seed, use)).permutation(len(self))

    def part(self, rows: IntArray) -> Corpus:
        """Some of the posts, in that order."""
        ones = np.ones(len(self), dtype=np.int64)
        taken = Incidence(self.names, self.sets, self.keys, ones).taken(rows)
        return Corpus(self.table.take(pa.array(rows)), self.names, taken.sets, taken.keys)

    def shortened(self, most: int, seed: int) -> Corpus:
        """The same posts with so many of their words at most, by chance."""
        post = np.repeat(np.arange(len(self)), np.diff(self.sets.offsets))
        order = np.lexsort((np.random.default_rng(seed).random(len(post)), post))
        kept = np.arange(len(post)) - self.sets.offsets[post] < most  # places in a post: its words are side by side
        lengths = np.minimum(np.diff(self.sets.offsets), most)
        sets = TermSets(np.concatenate([[0], np.cumsum(lengths)]), self.sets.ids[order][kept])
        return Corpus(self.table, self.names, sets, self.keys)


class Asking:
    """Subscriptions to the words of a corpus, and what its posts are sent for because of them; both are remembered."""

    def __init__(self, corpus: Corpus, seed: int, topic_posts: int = TOPIC_POSTS) -> None:
        self.corpus = corpus
        self.seed = seed
        self._topic_posts = topic_posts
        self._topics: Topics | None = None
        self._sample: Sample | None = None
        self._found: dict[tuple[Model, int], Conjunctions] = {}

    def subscriptions(self, model: Model, count: int, draw: int = 0) -> pa.Table:
        """So many subscriptions, as [S3TM] 6.1 makes them; others by each ``draw``, of the same topics."""
        texts = self.corpus.table["text"]
        if model == Model.tweets:
            return tweet_based(texts, count, self.seed + draw, ENGLISH)
        if self._topics is None:
            some = np.random.default_rng(self.seed).permutation(len(texts))[: self._topic_posts]
            self._topics = extract_topics(texts.take(pa.array(some)), self.seed, ENGLISH)
        return self._topics.subscriptions(count, self.seed + draw)

    def sample(self) -> Sample:
        """The posts by which guards are chosen."""
        if self._sample is None:
            rows = self.corpus.drawn(self.seed, 1)[:MAX_ROWS]
            self._sample = Sample(ENGLISH, self.corpus.table.select(["id", "text"]).take(pa.array(rows)))
        return self._sample

    def incidence(self, model: Model, count: int, sent: Sent = Sent.words) -> Incidence:
        """The posts as sets of what they are sent for, if so many subscribe."""
        if (model, count) not in self._found:
            queries = self.subscriptions(model, count)["query"]
            self._found[model, count] = conjunctions_of(queries, ENGLISH, self.sample())
        found = self._found[model, count]
        ids = found.words.ids if sent == Sent.words else found.guards.ids
        counts = np.bincount(ids, minlength=len(found.terms))
        used = np.flatnonzero(counts)
        names = found.terms.term_names().take(pa.array(used))
        return self.corpus.incidence(names, counts[used] if sent == Sent.guards else None)


def _read(path: Path, source: Source) -> pa.Table:
    """The posts of a file: id, ts, text. Of notes those that somebody wrote by hand to open one, not an app."""
    if source == Source.tweets:
        return read_tweets(path).select(["id", "ts", "text"])
    by_hand = (pc.field("kind") == "opened") & (pc.field("app") == "none")
    return read_notes(path).filter(by_hand).select(["id", "ts", "text"])


def folds(posts: int, count: int, seed: int) -> IntArray:
    """The fold of each post, 0 … count - 1: by chance, and all equally large."""
    if not 2 <= count <= posts:
        raise DataError(f"there are at least 2 folds and as many posts, got {count:,} folds of {posts:,} posts")
    return np.random.default_rng(seed).permutation(posts) % count
