"""Which words, phrases and beginnings are asked of attributes that are texts, and which values have them?"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from tidings.analysis import ALL, Analyser, Token
from tidings.language.atoms import AttributeWords, FieldPrefix, FieldWords, FormPrefix, Sequence
from tidings.language.evaluation import has_form, has_sequence
from tidings.model.publication import FIELDS, Publication
from tidings.model.values import Value, value_text
from tidings.terms.finding.finder import MAX_KNOWN, MAX_KNOWN_CHARS
from tidings.terms.forms import LikelyForms
from tidings.terms.kinds.kind import Key, Kind, Reading, of_values
from tidings.terms.pairs import Pairs, each_once


class _Field:
    """What is asked of one attribute: sequences by their first word, beginnings of words, each with its term."""

    def __init__(self) -> None:
        self.sequences: dict[str, tuple[tuple[Sequence, int], ...]] = {}
        self.prefixes: tuple[tuple[FormPrefix, int], ...] = ()
        self.known: dict[str, tuple[int, ...]] = {}

    def put(self, asked: FieldWords | FieldPrefix | AttributeWords, term: int) -> None:
        if isinstance(asked, FieldPrefix):
            self.prefixes = (*self.prefixes, (asked.word, term))
        else:
            first = asked.sequence.words[0]
            self.sequences[first] = (*self.sequences.get(first, ()), (asked.sequence, term))
        self.known = {}  # after it: what is remembered from now on knows it

    def terms(self, text: str, analyser: Analyser) -> tuple[int, ...]:
        """The terms of a value, each once. Those of the last values are remembered."""
        known = self.known
        found = known.get(text)
        if found is None:
            found = tuple(self._found(analyser.tokens(text)))
            if len(text) <= MAX_KNOWN_CHARS:
                if len(known) >= MAX_KNOWN:
                    known.clear()
                known[text] = found
        return found

    def _found(self, tokens: list[Token]) -> Iterable[int]:
        for word in dict.fromkeys(token.word for token in tokens):
            for sequence, term in self.sequences.get(word, ()) if word is not None else ():
                if len(sequence.words) == 1 or has_sequence(sequence, tokens):
                    yield term
        for prefix, term in self.prefixes:
            if has_form(prefix, tokens):
                yield term


class WordsOfFields(Kind):
    """By attribute."""

    names = ("words", "form")
    atoms = (FieldWords, FieldPrefix)
    guess = 0.02

    def __init__(self) -> None:
        super().__init__()
        self._fields: dict[str, _Field] = {}

    @staticmethod
    def key(atom: FieldWords | FieldPrefix) -> Key:
        if isinstance(atom, FieldPrefix):
            return "form", atom.name, atom.word.beginning
        sequence = atom.sequence
        return "words", atom.name, sequence.words, sequence.offsets, sequence.slop

    @staticmethod
    def read(saved: list[Any]) -> Key:
        return tuple(tuple(part) if isinstance(part, list) else part for part in saved)

    @staticmethod
    def called(key: Key) -> str:
        if key[0] == "form":
            return f"{key[1]}:{key[2]}*"
        words = " ".join(f"{word}@{offset}" for word, offset in zip(key[2], key[3], strict=True))
        return f"{key[1]}:{words}~{key[4]}"

    def put(self, key: Key, term: int) -> None:
        kind, name, *asked = key
        fields = self._fields if name in self._fields else {**self._fields, name: _Field()}
        atom = FieldPrefix(name, FormPrefix(*asked)) if kind == "form" else FieldWords(name, Sequence(*asked))
        fields[name].put(atom, term)
        self._fields = fields
        super().put(key, term)

    def attributes(self) -> Iterable[str]:
        return [*self._fields]

    def of_table(self, reading: Reading) -> list[Pairs]:
        analyser = reading.forms.exact
        return [reading.pairs(name, partial(self._terms, analyser, name)) for name in reading.asked(self._fields)]

    def of_one(self, publication: Publication, forms: LikelyForms) -> Iterable[int]:
        return of_values(publication, self._fields, partial(self._terms, forms.exact))

    def _terms(self, analyser: Analyser, name: str, value: Value) -> tuple[int, ...]:
        return self._fields[name].terms(value_text(value), analyser)


class WordsAnywhere(Kind):
    """In any attribute: what is found in the text is asked for by words."""

    names = ("anywhere",)
    atoms = (AttributeWords,)
    guess = 0.02

    def __init__(self) -> None:
        super().__init__()
        self._asked = _Field()

    @staticmethod
    def key(atom: AttributeWords) -> Key:
        return "anywhere", atom.sequence.words, atom.sequence.offsets, atom.sequence.slop

    @staticmethod
    def read(saved: list[Any]) -> Key:
        return tuple(tuple(part) if isinstance(part, list) else part for part in saved)

    @staticmethod
    def called(key: Key) -> str:
        words = " ".join(f"{word}@{offset}" for word, offset in zip(key[1], key[2], strict=True))
        return f"any:{words}~{key[3]}"

    def put(self, key: Key, term: int) -> None:
        self._asked.put(AttributeWords(Sequence(*key[1:])), term)
        super().put(key, term)

    def attributes(self) -> Iterable[str]:
        return [ALL] if self.ids else []

    def of_table(self, reading: Reading) -> list[Pairs]:
        terms = partial(self._terms, reading.forms.exact)
        # What begins with NUL is no attribute: steps send it along with the posts.
        names = [name for name in reading.table.column_names if name not in FIELDS and name[:1] != "\0"]
        found = [reading.pairs(name, terms) for name in names]
        return [each_once(*(np.concatenate(parts) for parts in zip(*found, strict=True)))] if found else []

    def of_one(self, publication: Publication, forms: LikelyForms) -> Iterable[int]:
        values = chain.from_iterable(publication.values(name) for name in publication.attributes)
        return {term for value in values for term in self._terms(forms.exact, value)}

    def _terms(self, analyser: Analyser, value: Value) -> tuple[int, ...]:
        return self._asked.terms(value_text(value), analyser)
