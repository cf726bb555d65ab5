"""Which terms does anybody ask for? Each has a dense id; a term that nobody asks for has none.

Terms of all kinds share one space of ids, because to the index they are the same: something that a publication has.
Id 0 is the term that every publication has.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TypeVar

from tidings.language.atoms import FormPrefix, has_piece, is_below
from tidings.model.query import Contains, EndsWith, Equals, Present, StartsWith, Topic
from tidings.model.values import Value, equality_texts, value_text
from tidings.tables.columns import Slot

_K = TypeVar("_K")

TermAtom = FormPrefix | Equals | StartsWith | EndsWith | Contains | Present | Topic
"""An atom that a publication fulfils by having one term (a word of a sequence is asked for by :meth:`word`)."""


class Dictionary:
    """Gives ids to terms as they are asked for; ids never change.

    >>> terms = Dictionary()
    >>> terms.word("fire"), terms.term(Equals("symbol", "YHOO")), terms.word("fire"), len(terms)
    (1, 2, 1, 3)
    """

    def __init__(self) -> None:
        self._count = 1
        self.words: dict[str, int] = {}
        self.prefixes: dict[str, int] = {}
        self.present: dict[str, int] = {}
        self.topics: dict[tuple[str, ...], int] = {}
        self.patterns: dict[tuple[str, ...], int] = {}
        self.values: defaultdict[str, dict[str, list[int]]] = defaultdict(dict)
        self.pieces: defaultdict[str, dict[StartsWith | EndsWith | Contains, int]] = defaultdict(dict)
        self.cells: dict[int, int] = {}
        self.intervals: defaultdict[Slot, dict[int, int]] = defaultdict(dict)
        self.slots: dict[Slot, int] = {}
        self._equalities: dict[tuple[str, frozenset[str]], int] = {}

    def __len__(self) -> int:
        return self._count

    def word(self, word: str) -> int:
        return self._id(self.words, word)

    def cell(self, label: int) -> int:
        return self._id(self.cells, label)

    def interval(self, slot: Slot, label: int) -> int:
        return self._id(self.intervals[slot], label)

    def slot(self, slot: Slot) -> int:
        """The number of a column of numbers, from 0."""
        return self.slots.setdefault(slot, len(self.slots))

    def term(self, atom: TermAtom) -> int:
        """The id of the term that fulfils an atom."""
        match atom:
            case FormPrefix(beginning):
                return self._id(self.prefixes, beginning)
            case Equals(name, literal):
                return self._equality(name, equality_texts(literal))
            case Present(name):
                return self._id(self.present, name)
            case Topic(path):
                return self._id(self.patterns if "*" in path else self.topics, path)
            case _:
                return self._id(self.pieces[atom.name], atom)

    def value_terms(self, name: str, value: Value) -> tuple[int, ...]:
        """The terms that an attribute's value has: equalities, and pieces of text."""
        equal = self.values[name].get(value_text(value), ()) if name in self.values else ()
        if not isinstance(value, str) or name not in self.pieces:
            return tuple(equal)
        return (*equal, *(term for piece, term in self.pieces[name].items() if has_piece(piece, value)))

    def topic_terms(self, topic: str) -> tuple[int, ...]:
        """The terms of a topic: itself and what is above it, and patterns that fit."""
        steps = tuple(topic.split("/"))
        above = (self.topics.get(steps[:depth]) for depth in range(1, len(steps) + 1))
        fitting = (term for pattern, term in self.patterns.items() if is_below(steps, pattern))
        return (*(term for term in above if term is not None), *fitting)

    def form_terms(self, form: str) -> tuple[int, ...]:
        """The terms of a form: every prefix of it that is asked for."""
        found = (self.prefixes.get(form[:length]) for length in range(1, len(form) + 1))
        return tuple(term for term in found if term is not None)

    def _equality(self, name: str, texts: frozenset[str]) -> int:
        before = self._count
        term = self._id(self._equalities, (name, texts))
        if term == before:
            for text in texts:
                self.values[name].setdefault(text, []).append(term)
        return term

    def _id(self, ids: dict[_K, int], key: _K) -> int:
        term = ids.setdefault(key, self._count)
        if term == self._count:
            self._count += 1
        return term
