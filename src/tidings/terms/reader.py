"""Which of the terms that are asked for do these publications have? A table becomes a batch of flat arrays."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.analysis.fast import FastAnalyser, Folding
from tidings.analysis.vocabulary import TermSets, WordSets
from tidings.arrays import IdArray, IntArray
from tidings.arrays.growing import Growing
from tidings.arrays.packs import Kinds, Pack
from tidings.model.publication import Publication
from tidings.tables.columns import (
    ABSENT,
    LAT,
    LON,
    Slot,
    column_keys,
    is_instant,
    is_number,
    number_key,
    number_keys,
    place_columns,
)
from tidings.tables.nesting import elements, several
from tidings.terms import cells, intervals
from tidings.terms.dictionary import Dictionary
from tidings.terms.forms import LikelyForms
from tidings.terms.kernels import name_terms
from tidings.terms.kinds.kind import Reading
from tidings.terms.label_terms import LabelTerms
from tidings.terms.pairs import Pairs, each_once
from tidings.terms.several import filled_up, keyed, marked, several_numbers

FloatArray = npt.NDArray[np.float64]
POST: Kinds = (np.int64, np.float64, np.int64, np.int32)
"""What a ReadTable of one row has, but for its terms, as kernels take it, with as many points as rows of numbers."""

_NO_IDS: IdArray = np.zeros(0, dtype=np.int32)
_NO_TOKENS = TermSets(np.zeros(1, dtype=np.int64), _NO_IDS)


class ReadTable(NamedTuple):
    """What the kernels need to know of some publications.

    ``terms``: of each row, each once, -1 for one that nobody asks for. ``numbers`` int64[rows + more, slots]: keys of
    the columns that ranges ask about, those of places first. Where a row has several numbers, there is a mark, and they
    stand behind the rows (tidings.terms.several). ``points`` float64[rows, 5]: longitude and latitude, NaN for
    no place, and room for a unit vector that kernels fill when they need it, NaN before. ``tokens``: words at their
    places, if asked for. ``words``: all words of each row, asked for or not; None if nobody asks for words.
    """

    terms: TermSets
    numbers: IntArray
    points: FloatArray
    tokens: TermSets
    words: WordSets | None = None

    @property
    def several(self) -> bool:
        """Whether a row has several numbers, so that it may have several parts of a cover."""
        return len(self.numbers) > len(self.terms)


class ReadPost(NamedTuple):
    """The same of one publication; ``rest`` is packed, and ``terms`` may be overwritten when the next one is read."""

    terms: IdArray
    rest: Pack
    several: bool = False


class TermReader:
    """Reads tables for one dictionary. It remembers words between calls, and is not safe to share between threads."""

    def __init__(self, terms: Dictionary, analyser: Analyser, before: TermReader | None = None) -> None:
        """``before``: a reader for other terms, whose memory of words is taken over."""
        self._terms = terms
        absent, nowhere = np.full((1, 2), ABSENT, dtype=np.int64), np.full((1, 5), math.nan)
        self._nothing = Pack(POST, (absent, nowhere, _NO_TOKENS.offsets, _NO_TOKENS.ids))
        if before is None:
            folding = Folding()  # one for both: they read the same texts
            self._words = _WordTerms(terms, FastAnalyser(analyser, folding=folding))
            self._forms = LikelyForms(analyser, folding)
        else:
            self._words, self._forms = _WordTerms(terms, before._words.fast), before._forms

    @property
    def size_bytes(self) -> int:
        """About so much memory is taken by the words that it remembers."""
        return self._words.fast.size_bytes + self._forms.size_bytes

    def read(self, table: pa.Table, with_tokens: bool) -> ReadTable:
        """The batch of a table; ``with_tokens`` where sequences of words are asked for."""
        lon, lat = place_columns(table)
        terms, tokens = self._terms_and_tokens(table, lon, lat, with_tokens)
        return ReadTable(terms, self._numbers(table, lon, lat), _points(lon, lat), tokens, self._words.read)

    def terms(self, table: pa.Table, lon: FloatArray, lat: FloatArray) -> TermSets:
        """The terms of each row of a table with those places; each once, -1 for one that nobody asks for."""
        return self._terms_and_tokens(table, lon, lat, False)[0]

    def _terms_and_tokens(
        self, table: pa.Table, lon: FloatArray, lat: FloatArray, with_tokens: bool
    ) -> tuple[TermSets, TermSets]:
        reading = Reading(table, self._forms)
        pairs = [pair for kind in self._terms.kinds() for pair in kind.of_table(reading)]
        pairs += self._number_pairs(table) + self._place_pairs(lon, lat)
        words, tokens = self._words.sets(reading.text, with_tokens)
        return _merged(words, pairs), tokens

    def read_one(self, publication: Publication, with_tokens: bool) -> ReadPost:
        """One publication: what :meth:`read` gives for a table of it, in a few microseconds."""
        terms, text = self._terms, publication.text
        found = [term for kind in terms.kinds() for term in kind.of_one(publication, self._forms)]
        rest, several = self._nothing, False
        if with_tokens or terms.slots or publication.lon is not None:
            numbers, more = self._numbers_of_one(publication)
            found += more
            tokens = self._words.sequences(pa.array([text], pa.large_string())) if with_tokens else _NO_TOKENS
            points = np.full((len(numbers), 5), math.nan)
            if publication.lon is not None and publication.lat is not None:
                points[0, 0], points[0, 1] = publication.lon, publication.lat
            rest = Pack(POST, (numbers, points, tokens.offsets, tokens.ids))
            several = len(numbers) > 1
        words = self._words.set_of_one(text) if text and terms.has_words else _NO_IDS
        return ReadPost(np.concatenate([words, np.array(found, dtype=np.int32)]) if found else words, rest, several)

    def _numbers_of_one(self, publication: Publication) -> tuple[IntArray, list[int]]:
        """The keys, and the terms of intervals and cells."""
        terms = self._terms
        slots = list(terms.slots.items())
        row = [int(ABSENT)] * (2 + len(slots))
        more: list[int] = []
        found: list[int] = []
        for slot, number in slots:
            name, of_instants = slot
            held = None if name == "id" else publication.value(name)
            if not isinstance(held, tuple):
                key = keyed(held, of_instants)
                if key is None:
                    continue
                row[number], plain = key[0], [key[1]]
            else:
                known = dict(key for value in held if (key := keyed(value, of_instants)) is not None)
                plain = list(known.values())
                row[number] = marked(list(known), len(row), more)
            if slot in terms.intervals and plain:
                leaves = np.array([intervals.interval(one) for one in plain], np.uint64)
                above = terms.intervals[slot].above(leaves)[1].tolist()
                found += above if len(plain) == 1 else set(above)
        if publication.lon is not None and publication.lat is not None:
            row[LON], row[LAT] = number_key(publication.lon), number_key(publication.lat)
            if len(terms.cells):
                leaf = cells.cell(publication.lon, publication.lat)
                found += terms.cells.above(np.array([leaf], dtype=np.uint64))[1].tolist()
        return filled_up(np.array([row], dtype=np.int64), np.array(more, dtype=np.int64)), found

    def _numbers(self, table: pa.Table, lon: FloatArray, lat: FloatArray) -> IntArray:
        slots = list(self._terms.slots.items())
        numbers = np.full((table.num_rows, 2 + len(slots)), ABSENT, dtype=np.int64)
        for number, degrees in ((LON, lon), (LAT, lat)):
            there = ~np.isnan(degrees)
            numbers[there, number] = number_keys(degrees[there])
        more: list[IntArray] = []
        for slot, number in slots:
            if (column := _slot_column(table, slot)) is None:
                continue
            if not several(column):
                numbers[:, number] = column_keys(column)
            else:
                end = numbers.size + sum(map(len, more))
                numbers[:, number], behind = several_numbers(column, end)
                more.append(behind)
        return filled_up(numbers, np.concatenate(more)) if more else numbers

    def _number_pairs(self, table: pa.Table) -> list[Pairs]:
        """Dyadic intervals of numbers and instants, at the depths that guard something."""
        found = []
        for slot, wanted in list(self._terms.intervals.items()):
            if (column := _slot_column(table, slot)) is not None:
                if several(column):
                    rows, values = elements(column)
                    leaves = intervals.intervals(_interval_numbers(values))
                    found.append(each_once(*_label_pairs(rows, leaves, wanted)))
                    continue
                rows = np.flatnonzero(column.is_valid().to_numpy())
                numbers = _interval_numbers(column)[rows]
                found.append(_label_pairs(rows, intervals.intervals(numbers), wanted))
        return found

    def _place_pairs(self, lon: FloatArray, lat: FloatArray) -> list[Pairs]:
        if not len(self._terms.cells):
            return []
        rows = np.flatnonzero(~np.isnan(lon))
        return [_label_pairs(rows, cells.cells(lon[rows], lat[rows]), self._terms.cells)]


class _WordTerms:
    """From words to the terms of a dictionary, which may grow at any time, as the vocabulary of what was read does."""

    def __init__(self, terms: Dictionary, fast: FastAnalyser) -> None:
        self.fast = fast
        self.read: WordSets | None = None
        """The words of the last batch."""
        self._terms = terms
        self._new_words = 0
        self._words = 0
        self._term_of = Growing(np.int32, filler=-1)

    def sets(self, text: pa.ChunkedArray, with_tokens: bool) -> tuple[TermSets, TermSets]:
        """The terms of the words of each text; and those at their places, if asked for."""
        if not self._terms.has_words:
            self.read = None
            none = TermSets(np.zeros(len(text) + 1, dtype=np.int64), _NO_IDS)
            return none, self.sequences(text) if with_tokens else _NO_TOKENS
        sets, rows = self.fast.analyse_both(text) if with_tokens else (self.fast.analyse(text), _NO_TOKENS)
        self.read = WordSets(self.fast.vocabulary, sets)
        term_of = self._current()
        return TermSets(sets.offsets, term_of[sets.ids]), TermSets(rows.offsets, term_of[rows.ids])

    def set_of_one(self, text: str) -> IdArray:
        ids = self.fast.analyse_one(text)
        name_terms(ids, self._current())
        return ids

    def sequences(self, text: pa.ChunkedArray) -> TermSets:
        rows = self.fast.sequences(text)
        return TermSets(rows.offsets, self._current()[rows.ids])

    def _current(self) -> IdArray:
        """The term of each word of the vocabulary, -1 for none, and for the stop word -1."""
        vocabulary = self.fast.vocabulary
        for word, term in self._terms.new_words[self._new_words :]:
            if 0 <= (place := vocabulary.find(word)) < self._words:
                self._term_of.array[place] = term
            self._new_words += 1
        if len(vocabulary) > self._words:
            first, self._words = self._words, len(vocabulary)
            fresh = vocabulary.since(first)
            self._term_of.reach(self._words + 1)  # one more: the last place, which -1 names, is always free
            self._term_of.array[first : self._words] = self._terms.find_words(fresh)
        return self._term_of.array


def _slot_column(table: pa.Table, slot: Slot) -> pa.ChunkedArray | None:
    name, of_instants = slot
    if name not in table.column_names or name == "id":
        return None
    kind = table.schema.field(name).type
    kind = kind.value_type if pa.types.is_large_list(kind) else kind
    return table[name] if (is_instant(kind) if of_instants else is_number(kind)) else None


def _points(lon: FloatArray, lat: FloatArray) -> FloatArray:
    points = np.full((len(lon), 5), math.nan)
    points[:, 0], points[:, 1] = lon, lat
    return points


def _interval_numbers(column: pa.ChunkedArray) -> FloatArray:
    """The numbers whose intervals stand for the values, as filing._interval_number has it; 0 for null."""
    if is_instant(column.type):
        column = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    return np.asarray(column.cast(pa.float64(), safe=False).fill_null(0).to_numpy(), dtype=np.float64)


def _label_pairs(rows: IntArray, leaves: npt.NDArray[np.uint64], wanted: LabelTerms) -> Pairs:
    """The wanted labels at or above the leaf of each row."""
    numbers, terms = wanted.above(leaves)
    return rows[numbers], terms


def _merged(words: TermSets, pairs: list[Pairs]) -> TermSets:
    """The words of each row, and what else it has."""
    pairs = [pair for pair in pairs if len(pair[0])]
    if not pairs:
        return words
    rows = np.concatenate([np.repeat(np.arange(len(words)), np.diff(words.offsets)), *(pair[0] for pair in pairs)])
    ids = np.concatenate([words.ids, *(pair[1] for pair in pairs)])
    order = np.argsort(rows, kind="stable")
    counts = np.bincount(rows, minlength=len(words))
    return TermSets(np.concatenate([[0], np.cumsum(counts)]), ids[order])
