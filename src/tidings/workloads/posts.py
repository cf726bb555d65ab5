"""Where do posts for demos, tests and benchmarks come from? They are made up, as many as you like, alike each time."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidings.model import DataError
from tidings.model.values import utc
from tidings.workloads.draws import IntArray, zipf_ranks
from tidings.workloads.lexicon import Lexicon
from tidings.workloads.sentences import sentences
from tidings.workloads.subscriptions import numbered
from tidings.workloads.themes import CITIES

BLOCK_ROWS = 4096
"""Rows are made in blocks of this many, each from its own random numbers, so that any slice is the same rows."""

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("text", pa.string()),
        ("lat", pa.float64()),
        ("lon", pa.float64()),
        ("topic", pa.string()),
        ("author", pa.string()),
        ("lang", pa.string()),
        ("likes", pa.int64()),
    ]
)

_STREAM = 1  # sets the random numbers of the rows apart from those of the lexicon
_ON_TOPIC = 0.6  # of the words
_GLUE = 0.35  # of the slots, before neighbours are thinned out
_LOCAL = 0.5  # of the posts are about what their city prefers
_PLACED = 0.8  # of the posts
_SCATTERED = 0.1  # of the places are anywhere on Earth
_SCATTER_DEGREES = 0.15
_AUTHORS = 10_000
_LANGUAGES = ("en", "en", "en", "en", "en", "en", "es", "fr", "de", "pt")


@dataclass(frozen=True, slots=True)
class Posts:
    """A seeded source of posts; the options say what they are like.

    Words follow Zipf's law with ``skew`` over ``vocabulary`` made-up and some real English words; most of a post's
    words are of its topic, so words occur together as they do in life, and each city prefers some topics. A text has
    ``words`` = (least, most) words, stop words included. Posts come at ``rate_per_s`` from ``since`` on. Four of five
    have a place: near a city, or now and then anywhere. Several 100,000 posts/s on one core. With ``readable`` the
    texts are short sentences of real words instead, for people to look at.

    >>> Posts(seed=1).table(4).select(["text", "topic"]).to_pylist()[3]
    {'text': 'A lurazun outage vamajo on sekuta', 'topic': 'technology/software'}
    """

    seed: int = 0
    vocabulary: int = 20_000
    topics: int = 24
    skew: float = 1.0
    words: tuple[int, int] = (6, 18)
    since: datetime = datetime(2024, 1, 1, tzinfo=UTC)
    rate_per_s: float = 1000.0
    readable: bool = False
    _lexicon: Lexicon = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        least, most = self.words
        if not 1 <= least <= most:
            raise DataError(f"a post has between 1 and so many words, got words={self.words}")
        if self.rate_per_s <= 0 or self.skew < 0:
            raise DataError(f"rate_per_s is above 0 and skew not below, got {self.rate_per_s:g} and {self.skew:g}")
        object.__setattr__(self, "_lexicon", Lexicon.build(self.seed, self.vocabulary, self.topics))

    def table(self, count: int, start: int = 0) -> pa.Table:
        """Rows [start, start + count) of the endless table of these posts. Row i depends on the options and i alone.

        >>> posts = Posts(seed=7)
        >>> posts.table(10).slice(4, 3) == posts.table(3, start=4)
        True
        """
        if count < 0 or start < 0:
            raise DataError(f"count and start are not below 0, got {count} and {start}")
        first = start // BLOCK_ROWS
        blocks = [self._block(number) for number in range(first, -(-(start + count) // BLOCK_ROWS))]
        table = pa.concat_tables(blocks) if blocks else SCHEMA.empty_table()
        return table.slice(start - first * BLOCK_ROWS, count)

    def _block(self, number: int) -> pa.Table:
        rng = np.random.default_rng([self.seed, number, _STREAM])
        rows = np.arange(number * BLOCK_ROWS, (number + 1) * BLOCK_ROWS)
        city = zipf_ranks(rng.random(BLOCK_ROWS, np.float32), len(CITIES), 0.7)
        topic = self._topics(rng, city)
        lat, lon = self._places(rng, city)
        authors = zipf_ranks(rng.random(BLOCK_ROWS, np.float32), _AUTHORS, 0.8)
        columns = [
            numbered("p", rows),
            self._instants(rng, rows),
            sentences(rng, topic, city) if self.readable else self._texts(rng, topic),
            lat,
            lon,
            self._lexicon.labels.take(pa.array(topic)),
            numbered("user", authors),
            pa.array(_LANGUAGES).take(pa.array(rng.integers(len(_LANGUAGES), size=BLOCK_ROWS))),
            pa.array((3 * rng.pareto(1.2, BLOCK_ROWS)).clip(max=1e6).astype(np.int64)),
        ]
        return pa.Table.from_arrays(columns, schema=SCHEMA)

    def _topics(self, rng: np.random.Generator, city: IntArray) -> IntArray:
        """Some topics are more popular than others; for a local post the order begins at its city's own."""
        rank = zipf_ranks(rng.random(BLOCK_ROWS, np.float32), self.topics, 0.7)
        local = rng.random(BLOCK_ROWS) < _LOCAL
        return np.where(local, (rank + city * 5) % self.topics, rank)

    def _places(self, rng: np.random.Generator, city: IntArray) -> tuple[pa.Array, pa.Array]:
        centres = np.array([(lon, lat) for _, lon, lat in CITIES])
        near = centres[city] + rng.normal(scale=_SCATTER_DEGREES, size=(BLOCK_ROWS, 2))
        anywhere = rng.uniform((-180, -90), (180, 90), size=(BLOCK_ROWS, 2))
        place = np.where(rng.random((BLOCK_ROWS, 1)) < _SCATTERED, anywhere, near)
        place = np.clip(place, (-180, -90), (180, 90)).round(6)
        absent = rng.random(BLOCK_ROWS) >= _PLACED
        return pa.array(place[:, 1], mask=absent), pa.array(place[:, 0], mask=absent)

    def _instants(self, rng: np.random.Generator, rows: IntArray) -> pa.Array:
        offsets_us = (rows + rng.random(BLOCK_ROWS)) * (1e6 / self.rate_per_s)
        since = np.datetime64(utc(self.since).replace(tzinfo=None), "us")
        return pa.array(since + offsets_us.astype("timedelta64[us]")).cast(SCHEMA.field("ts").type)

    def _texts(self, rng: np.random.Generator, topic: IntArray) -> pa.Array:
        least, most = self.words
        lengths = rng.integers(least, most + 1, size=BLOCK_ROWS)
        ends = np.cumsum(lengths)
        tokens = self._tokens(rng, np.repeat(topic, lengths), last=ends - 1)
        offsets = np.concatenate([[0], ends]).astype(np.int32)
        words = self._lexicon.tokens.take(pa.array(tokens))
        return pc.ascii_capitalize(pc.binary_join(pa.ListArray.from_arrays(offsets, words), " "))

    def _tokens(self, rng: np.random.Generator, topic: IntArray, last: IntArray) -> npt.NDArray[np.int32]:
        """The token in each slot of a block. Function words stand neither side by side nor at the end (``last``)."""
        lexicon, slots = self._lexicon, len(topic)
        common = lexicon.first_word + zipf_ranks(rng.random(slots, np.float32), self.vocabulary, self.skew)
        preferred = zipf_ranks(rng.random(slots, np.float32), lexicon.topic_tokens.shape[1], self.skew)
        choice = rng.random(slots, np.float32)
        glue = rng.random(slots, np.float32) < _GLUE
        glue[1:] &= ~glue[:-1]
        glue[last] = False
        words = np.where(choice < _ON_TOPIC, lexicon.topic_tokens[topic, preferred], common)
        words[1:] = np.where(words[1:] == words[:-1], common[1:], words[1:])
        return np.where(glue, (choice * lexicon.first_word).astype(np.int32), words).astype(np.int32)
