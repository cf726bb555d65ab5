"""Which words may a generated post use, and which does its topic prefer?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.model import DataError
from tidings.workloads.themes import GLUE, THEMES
from tidings.workloads.words import MAX_WORDS, made_up_words

TOPIC_WORDS = 500
"""How many words a topic prefers, the real ones of its theme among them."""

REAL_WORDS: tuple[str, ...] = tuple(dict.fromkeys(word for words in THEMES.values() for word in words))
_STREAM = 2  # sets the random numbers of the lexicon apart from those of the rows
MIN_VOCABULARY = 10 * len(REAL_WORDS)


@dataclass(frozen=True, slots=True)
class Lexicon:
    """``tokens``: the function words, then the vocabulary by falling frequency, from ``first_word`` on.

    ``topic_tokens`` (topics x 500, int32): the tokens that a topic prefers, the most preferred first.
    ``labels``: the path of each topic.
    """

    tokens: pa.Array
    first_word: int
    topic_tokens: npt.NDArray[np.int32]
    labels: pa.Array

    @staticmethod
    def build(seed: int, vocabulary: int, topics: int) -> Lexicon:
        """The same lexicon for the same arguments."""
        if not MIN_VOCABULARY <= vocabulary <= MAX_WORDS:
            raise DataError(f"a vocabulary has between {MIN_VOCABULARY:,} and {MAX_WORDS:,} words, got {vocabulary:,}")
        if topics < 1:
            raise DataError(f"posts need at least one topic, got {topics}")
        rng = np.random.default_rng([seed, 0, _STREAM])
        words = _vocabulary(vocabulary, rng)
        return Lexicon(
            tokens=pa.array([*GLUE, *words]),
            first_word=len(GLUE),
            topic_tokens=_topic_tokens(words, topics, rng) + np.int32(len(GLUE)),
            labels=pa.array(_labels(topics, rng)),
        )


def _vocabulary(size: int, rng: np.random.Generator) -> list[str]:
    """Made-up words by falling frequency, with a real one at every tenth rank until there is no more."""
    words = made_up_words(size, rng)
    for number, place in enumerate(rng.permutation(len(REAL_WORDS)).tolist()):
        words[10 * place + 9] = REAL_WORDS[number]
    return words


def _topic_tokens(words: list[str], topics: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    """The words of its theme first, then words of its own."""
    rank = {word: number for number, word in enumerate(words)}
    themes = [[rank[word] for word in theme] for theme in THEMES.values()]
    tokens = np.empty((topics, TOPIC_WORDS), dtype=np.int32)
    for topic in range(topics):
        tokens[topic] = rng.choice(len(words), size=TOPIC_WORDS, replace=False)
        theme = themes[topic % len(themes)]
        tokens[topic, : len(theme)] = theme
    return tokens


def _labels(topics: int, rng: np.random.Generator) -> list[str]:
    """The paths of the themes; beyond those, a made-up step below each of them."""
    paths = list(THEMES)
    below = made_up_words(max(0, topics - len(paths)), rng)
    return [*paths[:topics], *(f"{paths[number % len(paths)]}/{step}" for number, step in enumerate(below))]
