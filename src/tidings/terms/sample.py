"""How rare is a term? What a sample of publications says, and a guess where there is none.

The rarest admissible term guards a conjunction, so all that matters here is order. A cost is the expected share of
publications that would have to look at the conjunction.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.analysis.fast import FastAnalyser
from tidings.arrays import IntArray
from tidings.model.region import Region
from tidings.model.values import value_text
from tidings.tables.checked import Publications
from tidings.tables.columns import KeyArray, Slot, number_columns, place_columns, text_values, topic_values
from tidings.terms.kinds import OF_ATOM, TermAtom
from tidings.terms.places import FloatArray, Places
from tidings.terms.statistics import Statistics

MAX_ROWS = 20_000

_GUESS_WORD = 0.01
_GUESS_RANGE = 0.3
_GUESS_REGION = 0.02


class Sample:
    """Frequencies of terms among at most 20,000 publications; without any, a guess by kind.

    It never changes, so several indexes may have the same one. Cost: some 20 µs a publication.
    """

    def __init__(self, analyser: Analyser, table: pa.Table | None = None) -> None:
        table = pa.table({}) if table is None else Publications.of(table.slice(0, MAX_ROWS)).table
        self.rows = int(table.num_rows)
        self._fast = FastAnalyser(analyser)
        self._words = Statistics()
        if "text" in table.column_names:
            self._words.update(self._fast.analyse(table["text"]))
        self._values = {
            name: Counter(value_text(value) for value in values if value is not None)
            for name, values in text_values(table)
        }
        self._topics: Counter[tuple[str, ...]] = Counter()
        for topics in topic_values(table):
            self._topics.update({tuple(t.split("/")[:depth]) for t in topics for depth in range(1, t.count("/") + 2)})
        self._numbers = {slot: np.sort(keys) for slot, keys in number_columns(table).items()}
        self._places = Places(*place_columns(table))

    @classmethod
    def of(cls, analyser: Analyser, given: pa.Table | Sample | None) -> Sample:
        """That of some publications, or the one that was made of them before."""
        return given if isinstance(given, Sample) else cls(analyser, given)

    def word(self, word: str, uses: int = 0) -> float:
        """The cost of a word; without a sample, the more it is asked for the more frequent it is taken to be."""
        if not self.rows:
            return _GUESS_WORD * (1 + uses)
        return self._share(self._words.frequency(self._fast.vocabulary.find(word)))

    def term(self, atom: TermAtom) -> float:
        """The cost of the term that fulfils an atom."""
        kind = OF_ATOM[type(atom)]
        count = kind.count(atom, self) if self.rows else None
        return kind.guess if count is None else self._share(count)

    def value(self, name: str, text: str) -> int:
        """How many publications have a value of that canonical text."""
        return self._values[name][text] if name in self._values else 0

    def topic(self, path: tuple[str, ...]) -> int:
        """How many publications have a topic at or below a path."""
        return self._topics[path]

    def number_range(self, slot: Slot, low: int, high: int) -> float:
        """The cost of a range of keys."""
        return float(self.number_ranges(slot, np.array([low]), np.array([high]))[0])

    def number_ranges(self, slot: Slot, low: KeyArray, high: KeyArray) -> FloatArray:
        """The costs of many ranges of keys of one column."""
        seen = self._numbers.get(slot)
        if seen is None:
            return np.full(len(low), 0.0 if self.rows else _GUESS_RANGE)
        return self._shares(np.searchsorted(seen, high, side="right") - np.searchsorted(seen, low))

    def region(self, region: Region) -> float:
        """The cost of a region: of the rectangles around it."""
        if not self.rows:
            return _GUESS_REGION
        bounds = np.array([(box.west, box.south, box.east, box.north) for box in region.bounds()])
        return 2.0 * self._share(int(self._places.count(bounds).sum()))  # a cover is about twice as large

    def boxes(self, sides: FloatArray) -> FloatArray:
        """The costs of many rectangles: float64[n, 4] with west, south, east and north."""
        if not self.rows:
            return np.full(len(sides), _GUESS_REGION)
        return 2.0 * self._shares(self._places.count(sides))

    def _shares(self, counts: IntArray) -> FloatArray:
        return (counts + 0.5) / (int(self.rows) + 1)

    def _share(self, count: int) -> float:
        return (count + 0.5) / (int(self.rows) + 1)
