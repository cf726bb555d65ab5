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
from tidings.arrays.strings import StringTable
from tidings.storage.guards import WORD
from tidings.storage.kept_lists import NO_VALUES, TEXT, KeptLists
from tidings.storage.kernels import list_by_number

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
        numbers, starts, places = self.by_number
        number = self.vocabulary.find(word)
        at = int(np.searchsorted(numbers, number))
        return places[starts[at] : starts[at + 1]] if at < len(numbers) and numbers[at] == number else _NONE

    @cached_property
    def by_number(self) -> tuple[IntArray, IntArray, IdArray]:
        """The numbers of their words in order, where the list of each begins, and the lists."""
        counts = np.bincount(self.sets.ids)
        numbers = np.flatnonzero(counts)
        places = np.empty(len(self.sets.ids), dtype=np.int32)
        list_by_number(self.sets.offsets, self.sets.ids, np.cumsum(counts) - counts, places)
        return numbers, np.concatenate([[0], np.cumsum(counts[numbers])]), places


def named(parts: Sequence[WordLists]) -> KeptLists:
    """The same lists by the names of the words, of publications one behind the other."""
    if len({id(part.vocabulary) for part in parts}) > 1:
        anew = WordNumbers(Vocabulary())
        parts = [anew.of(WordSets(part.vocabulary, part.sets)) for part in parts]
    joined = WordLists.joined(parts)
    numbers, starts, places = joined.by_number
    keys = [WORD + word for word in joined.vocabulary.some(numbers.tolist())]
    return KeptLists(StringTable.of(pa.array(keys, TEXT)), starts, places, NO_VALUES)


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
