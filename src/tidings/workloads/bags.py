"""Which words do these texts have, and how is each written in a query?"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.model import QueryError
from tidings.model.query import Word
from tidings.workloads.draws import IntArray


@dataclass(frozen=True, slots=True)
class Bags:
    """The words of many texts: those of text i are ``ids[offsets[i]:offsets[i + 1]]``, in order, stop words left out.

    A word is a stem; ``forms[id]`` is the form of it that the texts use most, so ``forms[id]`` in a query asks for
    that word. Forms that a query cannot ask for by themselves are left out.

    >>> bags = Bags.of(pa.array(["The fires near a fire", None, "Fire and smoke"]), Analyser())
    >>> bags.forms.to_pylist(), bags.ids.tolist(), bags.offsets.tolist()
    (['fire', 'near', 'smoke'], [0, 1, 0, 0, 2], [0, 3, 3, 5])
    """

    forms: pa.Array
    ids: IntArray
    offsets: IntArray

    @staticmethod
    def of(texts: pa.Array | pa.ChunkedArray, analyser: Analyser) -> Bags:
        """Analyse a column of texts: some 20 microseconds for a short one."""
        known: dict[str, int] = {}
        stems: list[str] = []
        ids = array("q")
        ends = array("q", [0])
        for text in texts.to_pylist():
            for form, word, _ in analyser.tokens(text or ""):
                if word is None:
                    continue
                if (number := known.get(form)) is None:
                    number = known[form] = len(stems)
                    stems.append(word if _can_be_asked(form, word, analyser) else "")
                ids.append(number)
            ends.append(len(ids))
        return _by_stem(list(known), stems, np.array(ids, dtype=np.int64), np.array(ends, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def lengths(self) -> IntArray:
        return np.diff(self.offsets)

    def distinct(self) -> Bags:
        """The same texts with each word once, where it comes first."""
        texts = np.repeat(np.arange(len(self)), self.lengths())
        _, first = np.unique(texts * len(self.forms) + self.ids, return_index=True)
        first.sort()
        return Bags(self.forms, self.ids[first], np.searchsorted(first, self.offsets))

    def selected(self, texts: IntArray, most: int) -> IntArray:
        """The first ``most`` words of some texts, as a matrix texts x words filled with -1."""
        lengths = np.minimum(self.lengths()[texts], most)
        columns = np.arange(int(lengths.max(initial=0)))
        return self.at(texts, np.where(columns < lengths[:, None], columns, -1))

    def at(self, texts: IntArray, positions: IntArray) -> IntArray:
        """The words at some positions (texts x positions) of some texts; position -1 yields -1."""
        places = self.offsets[texts][:, None] + positions
        return np.where(positions >= 0, self.ids[np.where(positions >= 0, places, 0)], -1)


def _can_be_asked(form: str, word: str, analyser: Analyser) -> bool:
    """Whether a query of this form alone is a query for this word."""
    try:
        Word(form)
    except QueryError:
        return False
    return [token.word for token in analyser.tokens(form)] == [word]


def _by_stem(forms: list[str], stems: list[str], ids: IntArray, offsets: IntArray) -> Bags:
    """Number the stems in order of appearance, name each by its most frequent form, drop those without ("")."""
    numbers = {stem: number for number, stem in enumerate(dict.fromkeys(stem for stem in stems if stem))}
    stem_of_form = np.array([numbers.get(stem, -1) for stem in stems], dtype=np.int64)
    counts = np.bincount(ids, minlength=len(forms))
    best = [0] * len(numbers)
    for form in np.argsort(counts, kind="stable").tolist():
        if stem_of_form[form] >= 0:
            best[stem_of_form[form]] = form
    stem_ids = stem_of_form[ids]
    kept = stem_ids >= 0
    kept_before = np.concatenate([[0], np.cumsum(kept)])
    return Bags(pa.array([forms[form] for form in best], pa.string()), stem_ids[kept], kept_before[offsets])
