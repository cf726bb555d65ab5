"""Which forms of words does a text have, among those that somebody may ask for by their beginning?"""

from __future__ import annotations

from itertools import compress, count
from operator import itemgetter

import numpy as np

from tidings.analysis import Analyser
from tidings.analysis.fast import FastAnalyser, Folding
from tidings.arrays import IdArray
from tidings.language.atoms import MIN_PREFIX_CHARS

_HEAD = itemgetter(slice(MIN_PREFIX_CHARS))


class LikelyForms(FastAnalyser):
    """Reads forms for prefixes: those that begin as somebody asks, and no others."""

    def __init__(self, analyser: Analyser, folding: Folding) -> None:
        self._heads: set[str] = set()
        self.exact = analyser
        super().__init__(Analyser(analyser.language, analyser.stop_words, stemming=False), folding=folding)

    def expect(self, heads: set[str]) -> None:
        """Read forms that begin with one of these."""
        if len(heads) != len(self._heads) or heads != self._heads:
            if not heads <= self._heads:
                self._forget()
            self._heads = heads.copy()

    def _word_ids(self, forms: list[str]) -> IdArray:
        likely = [*compress(count(), map(self._heads.__contains__, map(_HEAD, forms)))]
        ids = np.full(len(forms), -1, dtype=np.int32)
        ids[likely] = super()._word_ids([forms[k] for k in likely])
        return ids
