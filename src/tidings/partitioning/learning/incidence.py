"""Which terms occur together? A sample of publications as sets of the terms that they would be sent for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.analysis import ENGLISH, Analyser
from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IntArray
from tidings.model import DataError
from tidings.partitioning.mapping import HashArray, hash_names
from tidings.tables.checked import Publications
from tidings.tables.columns import place_columns
from tidings.terms.dictionary import Dictionary
from tidings.terms.reader import TermReader


@dataclass(frozen=True, slots=True, eq=False)
class Incidence:
    """Publication i has the terms ``sets.row(i)``, and term t is called ``names[t]``.

    ``keys`` uint64: hashes of the publications' ids, which choose the versions of split terms. ``weights`` int64: for
    how many a set stands. ``filed`` int64[terms]: how many subscriptions each term files, where that is known.
    """

    names: pa.Array
    sets: TermSets
    keys: HashArray
    weights: IntArray
    filed: IntArray | None = None

    def __post_init__(self) -> None:
        rows, terms, ids = len(self.sets), len(self.names), self.sets.ids
        if not len(self.keys) == len(self.weights) == rows or (self.filed is not None and len(self.filed) != terms):
            raise DataError(f"{rows:,} sets need as many keys and weights, and {terms:,} terms as many counts")
        if len(ids) and not 0 <= ids.min() <= ids.max() < terms:
            raise DataError(f"terms are numbered from 0 to {terms - 1:,}, got {ids.min()} to {ids.max()}")

    @classmethod
    def of(
        cls,
        table: pa.Table,
        terms: Dictionary,
        analyser: Analyser = ENGLISH,
        counted: npt.NDArray[np.bool_] | None = None,
        filed: IntArray | None = None,
    ) -> Incidence:
        """The incidence of a table of publications; rows that are none are left out.

        ``terms`` are those that publications are sent for: all words that are subscribed to ([S3TM] 3.1), or the terms
        that file something; of a larger dictionary those with ``counted[t]``. Cost: that of reading, some 10 µs a post.

        >>> terms = Dictionary()
        >>> terms.word("fire"), terms.word("smoke")
        (1, 2)
        >>> posts = pa.table({"id": ["a", "b"], "text": ["Smoke and fire", "no fires"]})
        >>> incidence = Incidence.of(posts, terms)
        >>> incidence.frequencies().tolist(), incidence.names.to_pylist()
        ([0, 2, 1], ['', 'fire', 'smoke'])
        """
        good = Publications.of(table).table
        sets = TermReader(terms, analyser).terms(good, *place_columns(good))
        kept = sets.ids >= 0
        if counted is not None:
            kept &= counted[sets.ids]
        offsets = np.concatenate([[0], np.cumsum(kept)])[sets.offsets]
        weights = np.ones(len(sets), dtype=np.int64)
        keys = hash_names(good["id"]) if len(sets) else np.zeros(0, dtype=np.uint64)
        return cls(terms.term_names(), TermSets(offsets, sets.ids[kept]), keys, weights, filed)

    @property
    def posts(self) -> int:
        """How many publications it stands for."""
        return int(self.weights.sum())

    def frequencies(self) -> IntArray:
        """How many publications have each term: f(w) in [S3TM] 3.2, not divided by their number."""
        weights = np.repeat(self.weights, np.diff(self.sets.offsets))
        return np.bincount(self.sets.ids, weights, minlength=len(self.names)).astype(np.int64)

    def taken(self, rows: IntArray) -> Incidence:
        """That of some publications, to learn from some and to measure with the others."""
        return Incidence(self.names, self.sets.taken(rows), self.keys[rows], self.weights[rows], self.filed)
