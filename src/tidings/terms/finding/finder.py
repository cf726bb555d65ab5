"""Which of the pieces that are asked of an attribute does a text have? All of them, in one pass over the text.

Each piece becomes literals for an automaton: a beginning and an end have a mark of their own, a wildcard and a regular
expression are tried only where a literal that they need was found. An automaton never changes. New pieces get one of
their own, and as it is with segments, one is merged with those before it that are not much larger: n pieces have at
most log n automata, and each piece is built in log n times. One thread adds pieces, any number read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidings.arrays import IntArray
from tidings.arrays.growing import read_only
from tidings.arrays.runs import runs
from tidings.arrays.strings import ByteArray, text_bytes
from tidings.model.query import Contains, EndsWith, Piece, Regex, StartsWith, Wildcard
from tidings.terms.finding.automaton import BEGIN, END, Automaton
from tidings.terms.finding.expressions import Expression
from tidings.terms.pairs import NO_PAIRS, Pairs, by_rows, spread

_MERGED = 2
"""An automaton is merged with the one before it unless that one has so many times its pieces."""

MAX_KNOWN, MAX_KNOWN_CHARS = 1 << 14, 1 << 10
"""So many texts of an attribute are remembered by ``publish``, and none that is longer."""

MAX_KNOWN_BYTES = 1 << 22
"""Batches remember MAX_KNOWN texts of an attribute at most, and so many bytes of them."""

_HELPS = 4
"""What is remembered is added to if one text in so many was known, else it is only that of the last batch."""


class _Asked(NamedTuple):
    """A literal of a piece: what is found by it is the term, or must fulfil the expression first."""

    literal: bytes
    term: int
    expression: Expression | None


class _Tried(NamedTuple):
    """What is to be tried on which texts: numbers of texts, and places in ``asked``, side by side."""

    texts: IntArray
    places: IntArray
    asked: list[_Asked]


class _Level:
    """An automaton, and what each of its literals stands for."""

    def __init__(self, asked: list[_Asked]) -> None:
        self.asked = asked
        by_literal: dict[bytes, list[_Asked]] = {}
        for one in asked:
            by_literal.setdefault(one.literal, []).append(one)
        self._automaton = Automaton([*by_literal])
        self._by_literal = [*by_literal.values()]
        self._in_order = [one for own in self._by_literal for one in own]
        self._lengths = np.array([len(own) for own in self._by_literal], dtype=np.int64)
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._terms = np.array([one.term for one in self._in_order], dtype=np.int32)
        self._is_tried = np.array([one.expression is not None for one in self._in_order], dtype=np.bool_)

    def find(self, data: ByteArray, bounds: IntArray) -> tuple[Pairs, _Tried]:
        """The terms that the texts surely have, and what is to be tried on which of them."""
        texts, literals = self._automaton.find(data, bounds)
        places = literals.astype(np.int64)
        if len(self._in_order) > len(self._by_literal):
            lengths = self._lengths[literals]
            texts, places = np.repeat(texts, lengths), runs(self._starts[literals], lengths)
        tried = self._is_tried[places]
        if not tried.any():
            return (texts, self._terms[places]), _Tried(texts[:0], places[:0], self._in_order)
        unsure = _Tried(texts[tried], places[tried], self._in_order)
        return (texts[~tried], self._terms[places[~tried]]), unsure

    def find_one(self, text: bytes) -> list[_Asked]:
        """All that stands for a literal of one text."""
        return [one for literal in self._automaton.find_one(text) for one in self._by_literal[literal]]


class _Side:
    """The automata for texts as they are, or for folded ones."""

    def __init__(self) -> None:
        self.pending: list[_Asked] = []
        self._levels: tuple[_Level, ...] = ()
        self._building = threading.Lock()

    def levels(self) -> tuple[_Level, ...]:
        """Automata of all that has been asked so far."""
        if self.pending:
            with self._building:
                levels = [*self._levels]
                count = len(self.pending)
                asked = self.pending[:count]
                while levels and len(levels[-1].asked) < _MERGED * len(asked):
                    asked = levels.pop().asked + asked
                if count:
                    self._levels = (*levels, _Level(asked))
                    del self.pending[:count]
        return self._levels


class _Known:
    """The terms of the texts that the last batches had, as long as many of them come again."""

    def __init__(self) -> None:
        self._last: tuple[pa.Array, Pairs] = pa.array([], pa.large_string()), NO_PAIRS

    def of_texts(self, texts: pa.Array, of_new: Callable[[pa.Array], Pairs]) -> Pairs:
        """The terms of distinct texts; ``of_new`` is asked for those that are not known."""
        known, pairs = self._last
        numbers = pc.index_in(texts, known).fill_null(-1).to_numpy().astype(np.int64)
        new = np.flatnonzero(numbers < 0)
        if not len(new):
            return spread(numbers, len(known), *pairs)
        new_texts = texts.take(pa.array(new)) if len(new) < len(texts) else texts
        own = of_new(new_texts)
        found = by_rows([spread(numbers, len(known), *pairs), (new[own[0]], own[1])])
        if len(texts) <= _HELPS * (len(texts) - len(new)):
            self._keep(pa.concat_arrays([known, new_texts]), by_rows([pairs, (own[0] + len(known), own[1])]))
        else:
            self._keep(texts, found)
        return found

    def _keep(self, texts: pa.Array, pairs: Pairs) -> None:
        if len(texts) <= MAX_KNOWN and texts.nbytes <= MAX_KNOWN_BYTES:
            self._last = texts, pairs
        else:
            self._last = texts[:0], NO_PAIRS


class Finder:
    """Finds the terms of the pieces that are asked of one attribute.

    >>> from tidings.model.query import Contains, StartsWith
    >>> finder = Finder()
    >>> finder.put(StartsWith("name", "Mc"), 1), finder.put(Contains("name", "DON", folded=True), 2)
    (None, None)
    >>> finder.of_text("McDonald"), finder.of_text("london"), finder.of_text("Mac")
    ((1, 2), (2,), ())
    """

    def __init__(self) -> None:
        self._sides = _Side(), _Side()
        self._expressions: list[_Asked] = []
        """Those of which no literal is known."""
        self._known: dict[str, tuple[int, ...]] = {}
        self._known_to_batches = _Known()

    def put(self, piece: Piece, term: int) -> None:
        """Add a piece."""
        for is_folded, asked in _asked(piece, term):
            if asked.literal:
                self._sides[is_folded].pending.append(asked)
            else:
                self._expressions.append(asked)
        self._known, self._known_to_batches = {}, _Known()  # after the piece: what is remembered from now on knows it

    def of_texts(self, texts: pa.Array) -> Pairs:
        """The terms of each text of an array of distinct ones, without nulls; each pair once, by numbers of texts."""
        return self._known_to_batches.of_texts(texts.cast(pa.large_string()), self._of_new_texts)

    def _of_new_texts(self, texts: pa.Array) -> Pairs:
        pairs: list[Pairs] = []
        unsure: list[_Tried] = []
        for is_folded, side in enumerate(self._sides):
            levels = side.levels()
            if not levels:
                continue
            data, bounds = (read_only(array) for array in text_bytes(folded(texts) if is_folded else texts))
            for level in levels:
                sure, tried = level.find(data, bounds)
                pairs.append(sure)
                unsure.append(tried)
        if self._expressions or any(len(tried.texts) for tried in unsure):
            pairs.append(self._fulfilled(texts, unsure))
        return by_rows(pairs)

    def _fulfilled(self, texts: pa.Array, unsure: list[_Tried]) -> Pairs:
        """The terms of expressions that hold of texts."""
        candidates = _by_text(unsure)
        numbers = [*range(len(texts))] if self._expressions else sorted(candidates)
        strings = texts.take(pa.array(numbers, pa.int64())).to_pylist()
        found = [
            _holding([*self._expressions, *candidates.get(number, ())], text)
            for number, text in zip(numbers, strings, strict=True)
        ]
        flat = [term for terms in found for term in terms]
        return np.repeat(np.array(numbers, dtype=np.int64), [*map(len, found)]), np.array(flat, dtype=np.int32)

    def of_text(self, text: str) -> tuple[int, ...]:
        """The terms of one text, each once. Those of the last texts are remembered."""
        known = self._known
        terms = known.get(text)
        if terms is None:
            terms = self._of_new(text)
            if len(text) <= MAX_KNOWN_CHARS:
                if len(known) >= MAX_KNOWN:
                    known.clear()
                known[text] = terms
        return terms

    def _of_new(self, text: str) -> tuple[int, ...]:
        found: dict[int, _Asked] = {}
        unsure = [*self._expressions]
        for side, one_text in zip(self._sides, _both(text), strict=True):
            for asked in chain.from_iterable(level.find_one(one_text) for level in side.levels()):
                if asked.expression is None:
                    found[asked.term] = asked
                else:
                    unsure.append(asked)
        return (*found, *_holding(unsure, text))


def _both(text: str) -> tuple[bytes, bytes]:
    """A text as it is, and folded."""
    return text.encode(), text.casefold().encode()


def _holding(asked: Iterable[_Asked], text: str) -> tuple[int, ...]:
    """The terms of those expressions that a text fulfils."""
    own = _both(text)
    expressions = {one.term: one.expression for one in asked}
    return tuple(term for term, each in expressions.items() if each is not None and each.fulfils(own[each.folded]))


def _by_text(unsure: list[_Tried]) -> dict[int, list[_Asked]]:
    """What is to be tried on each text."""
    found: dict[int, list[_Asked]] = {}
    for texts, places, asked in unsure:
        for text, place in zip(texts.tolist(), places.tolist(), strict=True):
            found.setdefault(text, []).append(asked[place])
    return found


def folded(texts: pa.Array) -> pa.Array:
    """The texts with their case folded, as ``str.casefold`` does."""
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return pc.ascii_lower(texts)
    return pa.array([text.casefold() for text in texts.to_pylist()], pa.large_string())


def _asked(piece: Piece, term: int) -> list[tuple[bool, _Asked]]:
    """The literals of a piece, each with whether it is looked for in folded texts; an empty one for none."""
    if isinstance(piece, Wildcard | Regex):
        expression = Expression(piece)
        literals = expression.literals or ("",)
        return [(expression.needs_folded, _Asked(literal.encode(), term, expression)) for literal in literals]
    text = (piece.value.casefold() if piece.folded else piece.value).encode()
    match piece:
        case StartsWith():
            literal = BEGIN + text
        case EndsWith():
            literal = text + END
        case Contains():
            literal = text
    return [(piece.folded, _Asked(literal, term, None))]
