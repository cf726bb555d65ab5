"""Where does a subscription cost least? Where most of its words are asked for already, if that is not too many.

Implements [S3TM] 4.2, Alg. 2 (LASP). Symbols: S, the positive words of a subscription; H(i), the words of the
subscriptions at matcher i; f, the cost of a matcher with so many words. Of the owners of its words it takes the one
that maximises -f(|S \\ H(i)|) · sd/mean of all f(|H|), as they would be.

Departs from the paper: where that product is equal (it is 0 for all while the loads are), the smaller growth decides,
then the smaller load. A query may have alternatives: S has the words of all of them, since the subscription lives whole
wherever one of them is filed, H(i) knows each of its homes, and an alternative joins another one where it can.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.analysis.vocabulary import TermSets, Vocabulary
from tidings.arrays import IdArray, IntArray
from tidings.model import DataError
from tidings.placement import kernels
from tidings.placement.choices import Choices
from tidings.placement.conjunctions import Conjunctions, conjunctions_of
from tidings.placement.cost import Line
from tidings.terms.sample import Sample

_FEW = 1 << 14
"""So many words are never too many to remember."""


class Lasp:
    """Places by load. It remembers H, so that what comes later is placed beside what is there.

    Whoever removes or replaces subscriptions says so first (:meth:`forget`). After a restart H is made again from what
    the matchers have (:meth:`hold`).

    ``cost`` is f; :func:`tidings.placement.fitted` fits one. The higher its intercept, the more balance counts and the
    less that words are together; without any, a matcher that has all words of a subscription takes it, however loaded.

    Cost: some 5 µs for a subscription of 10 words, and 4 bytes for each word and matcher.
    """

    def __init__(self, matchers: int, cost: Line = Line(slope=1.0, intercept=200.0)) -> None:  # noqa: B008  (frozen)
        self.cost = cost
        self.sizes: IntArray = np.zeros(matchers, dtype=np.int64)
        """How many words each matcher has: |H(i)|."""
        self._words = Vocabulary()
        self._held: IdArray = np.zeros((0, matchers), dtype=np.int32)

    def choose(self, choices: Choices) -> IdArray:
        if choices.matchers != len(self.sizes):
            raise DataError(f"this placer is for {len(self.sizes)} matchers, and there are {choices.matchers}")
        asked, eligible = choices.conjunctions, choices.eligible
        counts = np.diff(eligible.offsets)
        starts = _starts(asked)
        words = self._words_of(asked, starts)
        offsets, matchers = _possible(choices)
        picks = np.where(counts > 0, 0, -1)
        kernels.place_by_load(
            np.append(starts, len(asked)),
            (offsets, matchers, counts),
            (words.offsets, words.ids),
            self._held,
            self.sizes,
            (self.cost.slope, self.cost.intercept),
            picks,
        )
        places = np.where(picks >= 0, eligible.offsets[:-1] + picks, -1)
        return np.append(eligible.ids, np.int32(-1))[places]

    def hold(self, matcher: int, queries: pa.ChunkedArray, analyser: Analyser) -> None:
        """Know that subscriptions with these queries live at a matcher. Cost: some 10 µs each."""
        kernels.count(self._words_in(queries, analyser), matcher, 1, self._held, self.sizes)

    def forget(self, matcher: int, queries: pa.ChunkedArray, analyser: Analyser) -> None:
        """Know that they no longer do; they did."""
        kernels.count(self._words_in(queries, analyser), matcher, -1, self._held, self.sizes)
        if len(self._words) > _FEW:
            self._tidy()

    def held(self, matcher: int) -> dict[str, int]:
        """How many subscriptions at a matcher have each of its words: H(i)."""
        counts = self._held[: len(self._words), matcher]
        return {self._words[word]: int(counts[word]) for word in np.flatnonzero(counts).tolist()}

    def _words_in(self, queries: pa.ChunkedArray, analyser: Analyser) -> IdArray:
        asked = conjunctions_of(queries, analyser, Sample(analyser))
        return self._words_of(asked, _starts(asked)).ids

    def _tidy(self) -> None:
        """Forget words that nobody asks for, once they are most of them."""
        living = np.flatnonzero(self._held[: len(self._words)].any(axis=1))
        if 2 * len(living) < len(self._words):
            self._held = self._held[living]
            self._words = Vocabulary(self._words[word] for word in living.tolist())

    def _words_of(self, asked: Conjunctions, starts: IntArray) -> TermSets:
        """The different positive words of each query, by their number here."""
        names = asked.terms.term_names()
        used = np.flatnonzero(np.bincount(asked.words.ids, minlength=len(asked.terms)))
        number = np.full(len(asked.terms), -1, dtype=np.int64)
        number[used] = [self._words.add(word) for word in names.take(used).to_pylist()]
        self._held = _grown(self._held, len(self._words))
        query = np.repeat(np.cumsum(np.isin(np.arange(len(asked)), starts)) - 1, np.diff(asked.words.offsets))
        pairs = np.sort(query * len(self._words) + number[asked.words.ids])
        queries, words = np.divmod(pairs[np.diff(pairs, prepend=-1) > 0], max(len(self._words), 1))
        counts = np.bincount(queries, minlength=len(starts))
        return TermSets(np.concatenate([[0], np.cumsum(counts)]), words.astype(np.int32))


def _starts(asked: Conjunctions) -> IntArray:
    """Where the conjunctions of each query begin."""
    return np.flatnonzero(np.diff(asked.queries, prepend=-1))


def _possible(choices: Choices) -> tuple[IntArray, IdArray]:
    """The matchers of each conjunction: of its eligible words, or of its guards; offsets int64 and int32."""
    guards, eligible, owners = choices.conjunctions.guards, choices.eligible, choices.owners
    counts = np.diff(eligible.offsets)
    has_none = counts == 0
    own = np.where(has_none, np.diff(guards.offsets), counts)
    ids = np.empty(own.sum(), dtype=np.int32)
    of_guards = np.repeat(has_none, own)
    ids[of_guards] = guards.ids[np.repeat(has_none, np.diff(guards.offsets))]
    ids[~of_guards] = eligible.ids
    owned = owners.taken(ids)
    return owned.offsets[np.concatenate([[0], np.cumsum(own)])], owned.matchers


def _grown(held: IdArray, count: int) -> IdArray:
    if count <= len(held):
        return held
    room = np.zeros((max(count, 2 * len(held)) - len(held), held.shape[1]), dtype=np.int32)
    return np.concatenate([held, room])
