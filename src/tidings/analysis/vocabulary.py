"""Which number stands for a word? Words are text at the edge and dense int32 ids inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import filterfalse, repeat
from sys import getsizeof
from typing import NamedTuple

import numpy as np

from tidings.arrays import IdArray, IntArray
from tidings.arrays.rows import places_of

_ENTRY_BYTES = 168
"""What a term takes as an object, in a dict and in a list, beside its characters."""


class Vocabulary:
    """A growing two-way table of terms; ids are given in order of arrival and never change.

    >>> vocabulary = Vocabulary(["fire", "smoke"])
    >>> vocabulary.add("drill"), vocabulary.find("smoke"), vocabulary.find("rain"), vocabulary[0]
    (2, 1, -1, 'fire')
    """

    def __init__(self, terms: Iterable[str] = ()) -> None:
        self.size_bytes = 0
        """About so much memory it takes."""
        self._ids: dict[str | None, int] = {None: -1}
        self._terms: list[str] = []
        for term in terms:
            self.add(term)

    def add(self, term: str) -> int:
        """The id of a term, which is given one if it has none."""
        return int(self.add_all([term])[0])

    def find(self, term: str) -> int:
        """The id of a term, or -1."""
        return self._ids.get(term, -1)

    def add_all(self, terms: Sequence[str | None]) -> IdArray:
        """:meth:`add` of many; -1 for None."""
        added: list[str] = [*filterfalse(self._ids.__contains__, dict.fromkeys(terms))]  # type: ignore[list-item]
        self._ids.update(zip(added, range(len(self), len(self) + len(added)), strict=True))
        self._terms += added
        self.size_bytes += getsizeof("".join(added)) + _ENTRY_BYTES * len(added)
        return self.find_all(terms)

    def find_all(self, terms: Sequence[str | None]) -> IdArray:
        """:meth:`find` of many; -1 for None."""
        return np.fromiter(map(self._ids.get, terms, repeat(-1)), np.int32, len(terms))

    def some(self, term_ids: Iterable[int]) -> list[str]:
        """The terms of these ids."""
        terms = self._terms
        return [terms[term_id] for term_id in term_ids]

    def since(self, term_id: int) -> list[str]:
        """The terms from an id on."""
        return self._terms[term_id:]

    def __getitem__(self, term_id: int) -> str:
        return self._terms[term_id]

    def __len__(self) -> int:
        return len(self._terms)

    def __iter__(self) -> Iterator[str]:
        return iter(self._terms)

    def __contains__(self, term: object) -> bool:
        return term is not None and term in self._ids


@dataclass(frozen=True, slots=True)
class TermSets:
    """The sets of terms of a batch of publications, as flat arrays.

    Row i has ``ids[offsets[i]:offsets[i + 1]]``, each term once, in order of appearance. Shapes: offsets int64
    (rows + 1), ids int32.
    """

    offsets: IntArray
    ids: IdArray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, i: int) -> IdArray:
        return self.ids[self.offsets[i] : self.offsets[i + 1]]

    def taken(self, rows: IntArray) -> TermSets:
        """Some of them, in that order."""
        offsets, places = places_of(self.offsets, rows)
        return TermSets(offsets, self.ids[places])

    @classmethod
    def joined(cls, parts: Sequence[TermSets]) -> TermSets:
        """All of them, one behind the other."""
        if len(parts) == 1:
            return parts[0]
        ends = np.cumsum([0, *(part.offsets[-1] for part in parts)])
        offsets = [part.offsets[:-1] + end for part, end in zip(parts, ends[:-1], strict=True)]
        return cls(np.concatenate([*offsets, ends[-1:]]), np.concatenate([part.ids for part in parts]))


class WordSets(NamedTuple):
    """The words of a batch of publications, by the numbers of a vocabulary, which may grow."""

    vocabulary: Vocabulary
    sets: TermSets
