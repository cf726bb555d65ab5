"""What does a matcher cost that has so many words? A line, fitted to the look-ups that a trie makes.

Implements [S3TM] 4.2, Fig. 3. The look-ups are those that :class:`tidings.index.trie.Trie` counts, where no query has
phrases (their words are words here); its subscriptions, and the parser, are not needed to count them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from tidings.analysis import ENGLISH, Analyser
from tidings.model import DataError
from tidings.placement.conjunctions import conjunctions_of
from tidings.terms.sample import Sample


@dataclass(frozen=True, slots=True)
class Line:
    """The cost f(words) = intercept + slope · words: look-ups a publication, if fitted. Neither is negative."""

    slope: float
    intercept: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.slope < np.inf and 0 <= self.intercept < np.inf):
            raise DataError(
                f"a cost rises from 0 or more, got {self.intercept} + {self.slope} a word; fit it to more data"
            )


def paths_of(queries: pa.ChunkedArray, analyser: Analyser) -> list[list[str]]:
    """The words of each conjunction of valid queries in lexicographic order, the paths of a trie."""
    asked = conjunctions_of(queries, analyser, Sample(analyser))
    names = asked.terms.term_names().take(pa.array(asked.words.ids)).to_pylist()
    bounds = asked.words.offsets.tolist()
    return [sorted(names[begin:end]) for begin, end in pairwise(bounds)]


def texts_of(posts: pa.Table, analyser: Analyser) -> list[list[str]]:
    """The words of each post in lexicographic order."""
    return [sorted(set(analyser.words(text or ""))) for text in posts["text"].to_pylist()]


class Nodes(dict[str, "Nodes"]):
    """The children of a node by their words; those of the root are a trie.

    >>> trie = Nodes()
    >>> trie.grow([["fire"], ["fire", "smoke"], ["rain"]])
    >>> trie.look_ups(["fire", "rain", "smoke"])
    5
    """

    def grow(self, paths: Iterable[list[str]]) -> None:
        """Let there be these paths."""
        for path in paths:
            node = self
            for word in path:
                if (child := node.get(word)) is None:
                    child = node[word] = Nodes()
                node = child

    def look_ups(self, words: list[str]) -> int:
        """How often a walk with these words, sorted, looks for a child."""
        count, stack = 0, [(self, 0)]
        while stack:
            node, start = stack.pop()
            if node:
                count += len(words) - start
                places = range(start, len(words))
                stack += [(child, at + 1) for at in places if (child := node.get(words[at])) is not None]
        return count


@dataclass(frozen=True, slots=True)
class LookUps:
    """[S3TM] Fig. 3: a trie with ``words[n]`` different words makes ``counts[n]`` look-ups for a post.

    ``root`` of them are at its root, whatever it has.
    """

    words: list[int]
    counts: list[float]
    root: float

    def free_line(self) -> tuple[float, float]:
        """Slope and intercept of the line of least squares, wherever it begins; at the root where words do not grow."""
        if min(self.words) == max(self.words):
            return self._from_root(), self.root
        slope, intercept = np.polyfit(self.words, self.counts, 1)
        return float(slope), float(intercept)

    def _from_root(self) -> float:
        """The slope of the line of least squares among those that begin at the root's look-ups."""
        words = np.array(self.words, dtype=np.float64)
        return float(np.dot(words, np.array(self.counts) - self.root) / np.dot(words, words))

    def line(self) -> Line:
        """The line that begins at the root's look-ups, or higher.

        [S3TM] Alg. 2 asks for the cost of the few words that a subscription brings, where a line that is fitted to
        large tries may be near 0; then a matcher that has most of the words would take the subscription, however loaded
        it is.
        """
        slope, intercept = self.free_line()
        return Line(slope, intercept) if intercept >= self.root else Line(self._from_root(), self.root)


def fitted(subscriptions: pa.Table, posts: pa.Table, analyser: Analyser = ENGLISH, steps: int = 8) -> Line:
    """The line through :func:`look_ups`."""
    return look_ups(subscriptions, posts, analyser, steps).line()


def look_ups(subscriptions: pa.Table, posts: pa.Table, analyser: Analyser = ENGLISH, steps: int = 8) -> LookUps:
    """The look-ups that a trie of more and more of these subscriptions makes for each of these posts.

    Cost: some seconds for 20,000 subscriptions and 500 posts.
    """
    if subscriptions.num_rows < steps or not posts.num_rows:
        raise DataError(f"a fit needs at least {steps} subscriptions and some posts, got fewer; give more of them")
    paths, texts = paths_of(subscriptions["query"], analyser), texts_of(posts, analyser)
    trie, words, sizes, counts = Nodes(), set[str](), [], []
    for step in range(steps):
        part = paths[step::steps]
        trie.grow(part)
        words.update(word for path in part for word in path)
        sizes.append(len(words))
        counts.append(sum(map(trie.look_ups, texts)) / len(texts))
    return LookUps(sizes, counts, float(np.mean([len(text) for text in texts])))
