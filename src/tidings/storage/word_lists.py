"""Which of these publications have a word? Their words as numbers, until a block of them becomes a file.

Matching has read the words of a table already: they are taken over, and only numbered anew
(:class:`WordNumbers`). Lists by word are made when somebody asks, or when all get their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from tidings.analysis.vocabulary import TermSets, Vocabulary, WordSets
from tidings.arrays import IdArray, IntArray
from tidings.arrays.growing import Growing
from tidings.storage.guards import WORD
from tidings.storage.kept_lists import NO_VALUES, TEXT, KeptLists, sorted_by_number

_NONE = np.zeros(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class WordLists:
    """The words of publications in a row, by the numbers of a vocabulary."""

    vocabulary: Vocabulary
    sets: TermSets

    @classmethod
    def joined(cls, parts: Sequence[WordLists]) -> WordLists:
        """Of publications one behind the other, with one vocabulary."""
        return cls(parts[0].vocabulary, TermSets.joined([part.sets for part in parts]))

    def with_word(self, word: str) -> IdArray:
        """The places of the publications that have a word."""
        numbers, starts, places = self._lists
        number = self.vocabulary.find(word)
        at = int(np.searchsorted(numbers, number))
        return places[starts[at] : starts[at + 1]] if at < len(numbers) and numbers[at] == number else _NONE

    @cached_property
    def _lists(self) -> tuple[IntArray, IntArray, IdArray]:
        """The numbers of their words, where the list of each begins, and the lists."""
        counts = np.bincount(self.sets.ids)
        numbers = np.flatnonzero(counts)
        order = sorted_by_number(self.sets.ids, counts)
        return numbers, np.concatenate([[0], np.cumsum(counts[numbers])]), _places(self.sets)[order]


def named(parts: Sequence[WordLists]) -> KeptLists:
    """The same lists by the names of the words, of publications one behind the other."""
    codes: dict[str, int] = {}
    found = [np.zeros(0, dtype=np.int64)] * len(parts)
    for vocabulary in {id(part.vocabulary): part.vocabulary for part in parts}.values():
        own = [number for number, part in enumerate(parts) if part.vocabulary is vocabulary]
        used = np.flatnonzero(np.bincount(np.concatenate([parts[number].sets.ids for number in own])))
        code_of = np.empty(int(used[-1]) + 1 if len(used) else 0, dtype=np.int64)
        code_of[used] = [codes.setdefault(word, len(codes)) for word in vocabulary.some(used.tolist())]
        for number in own:
            found[number] = code_of[parts[number].sets.ids]
    places = _places(TermSets.joined([part.sets for part in parts]))
    return KeptLists.of(pa.array([WORD + word for word in codes], TEXT), np.concatenate(found), places, NO_VALUES)


class WordNumbers:
    """From the numbers of other vocabularies to those of one. Each word is looked up once; not safe between threads."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._known: WeakKeyDictionary[Vocabulary, Growing] = WeakKeyDictionary()

    def of(self, words: WordSets) -> WordLists:
        """Words that somebody has read."""
        if words.vocabulary is self.vocabulary:
            return WordLists(self.vocabulary, words.sets)
        known = self._known.setdefault(words.vocabulary, Growing(np.int32))
        known.extend(self.vocabulary.add_all(words.vocabulary.since(len(known))))
        return WordLists(self.vocabulary, TermSets(words.sets.offsets, known.array[words.sets.ids]))


def _places(sets: TermSets) -> IdArray:
    """The publication of each word."""
    return np.repeat(np.arange(len(sets), dtype=np.int32), np.diff(sets.offsets))
