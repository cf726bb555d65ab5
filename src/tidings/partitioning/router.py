"""Where must a publication go, so that no match is missed? To the matchers that own a guard that it carries.

A router knows the terms that guard something, and their owners; nothing of the subscriptions themselves. A split term
has several owners, at all of which its subscriptions live, and a publication goes to one of them, by its id: the same
one whenever it is sent ([S3TM] 5.1, where the version is drawn at random and a replay may draw another).

A router may know too many terms, those of subscriptions that are gone: then publications are sent in vain, and no match
is lost or doubled. So changes only ever add terms (:meth:`Router.extend`), and building it anew now and then tidies up.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tidings.index.dictionary import Dictionary
from tidings.index.files import ArrayFile, open_arrays, write_arrays
from tidings.index.guard import MAX_READER_BYTES
from tidings.index.reader import Reader
from tidings.model import DataError
from tidings.partitioning import kernels
from tidings.partitioning.mapping import MAX_MATCHERS, HashArray, Owners, hash_names
from tidings.partitioning.sets import MatcherSets
from tidings.tables.columns import place_columns
from tidings.tables.validity import good_rows
from tidings.terms import ENGLISH, Analyser
from tidings.terms.vocabulary import IdArray, IntArray, TermSets

FORMAT = 4
_KIND = "router"
_OFFSETS, _OWNERS, _FILED = "owner_offsets", "owners", "filed"


class Router:
    """Routes tables of publications. It remembers words between calls, and is not safe to share between threads.

    ``owners``: the matchers of the ``terms``, all of which publications are sent for. ``filed`` int64[terms]: how many
    subscriptions were ever filed under each of them, 1 if that is not told.

    >>> terms = Dictionary()
    >>> terms.word("fire"), terms.word("smoke")
    (1, 2)
    >>> router = Router(terms, Owners.single(np.array([-1, 3, 0], dtype=np.int32)), matchers=4)
    >>> posts = pa.table({"id": ["a", "b", "c"], "text": ["Fires and smoke", "rain", "a fire"]})
    >>> [numbers.tolist() for numbers in router.route(posts).pairs()]
    [[0, 0, 2], [0, 3, 3]]
    """

    def __init__(
        self,
        terms: Dictionary,
        owners: Owners,
        matchers: int,
        analyser: Analyser = ENGLISH,
        filed: IntArray | None = None,
    ) -> None:
        self.matchers = matchers
        self.analyser = analyser
        self._terms = terms
        self._owners = owners
        self._filed = np.ones(len(owners), dtype=np.int64) if filed is None else filed
        self._has_split = bool((owners.counts() > 1).any())
        self._reader = Reader(terms, analyser)

    def __len__(self) -> int:
        """How many terms it sends for."""
        return len(self._terms) - 1

    @property
    def terms(self) -> Dictionary:
        """The terms that it sends for."""
        return self._terms

    @property
    def filed(self) -> IntArray:
        """How many subscriptions were filed under each term, also those that are gone by now; int64[terms]."""
        return self._filed

    def route(self, table: pa.Table) -> MatcherSets:
        """The matchers of each row; none for a row that no subscription can match, or that is no publication."""
        good, rows = good_rows(table)
        terms = self._read(good)
        if self._has_split:
            found = MatcherSets.reached(terms, hash_names(good["id"]), self._owners, self.matchers)
        else:
            found = MatcherSets.owning(terms, self._owners, self.matchers)
        if len(rows) == table.num_rows:
            return found
        routes = MatcherSets.empty(table.num_rows, self.matchers)
        routes.words[rows] = found.words
        return routes

    def occurrences(self, table: pa.Table) -> tuple[TermSets, IdArray, HashArray]:
        """The terms of each row of a table without bad rows, the matcher of each occurrence, and the keys of the rows.

        The matcher, int32, is -1 for what nobody asks for. All of a row's together are its :meth:`route`.
        """
        terms, keys = self._read(table), hash_names(table["id"])
        found = np.empty(len(terms.ids), dtype=np.int32)
        kernels.find_versions(terms.offsets, terms.ids, self._owners.offsets, self._owners.matchers, keys, found)
        return terms, found, keys

    def _read(self, table: pa.Table) -> TermSets:
        if self._reader.size_bytes > MAX_READER_BYTES:
            self._reader = Reader(self._terms, self.analyser)
        return self._reader.terms(table, *place_columns(table))

    def extend(self, newer: Router) -> None:
        """Send for the terms of another router as well. Cost: that of the terms of the other one."""
        if (newer.matchers, newer.analyser) != (self.matchers, self.analyser):
            raise DataError("a router for other matchers or another analyser cannot be added; partition all anew")
        known = len(self._terms)
        ids = self._terms.include(newer._terms)
        is_old = ids < known
        mine, theirs = self._owners.taken(ids[is_old]), newer._owners.taken(np.flatnonzero(is_old))
        fresh = np.flatnonzero(~is_old)[np.argsort(ids[~is_old])]
        added = newer._owners.taken(fresh)
        counts = np.concatenate([self._owners.counts(), added.counts()])
        # in any case: every term of the dictionary has an owner
        self._owners = Owners.of_counts(counts, np.concatenate([self._owners.matchers, added.matchers]))
        self._has_split = self._has_split or newer._has_split
        filed = np.concatenate([self._filed, newer._filed[fresh]])
        filed[ids[is_old]] += newer._filed[is_old]
        self._filed = filed
        if not (np.array_equal(mine.offsets, theirs.offsets) and np.array_equal(mine.matchers, theirs.matchers)):
            raise DataError("another mapping gives some terms to other matchers; partition all subscriptions anew")

    def save(self, path: Path) -> None:
        """Write it to a file."""
        analyser = self.analyser
        write_arrays(
            path,
            {
                **self._terms.saved(np.arange(len(self._terms), dtype=np.int32)),
                _OFFSETS: self._owners.offsets,
                _OWNERS: self._owners.matchers,
                _FILED: self._filed,
            },
            {
                "kind": _KIND,
                "format": FORMAT,
                "terms": len(self._terms),
                "matchers": self.matchers,
                "analyser": [analyser.language, sorted(analyser.stop_words or ()), analyser.stemming],
            },
        )

    @classmethod
    def open(cls, path: Path, *newer: Path) -> Router:
        """The router of a file, mapped, extended by those of others; what cannot be used is a DataError."""
        router = _opened(path)
        for other in newer:
            router.extend(_opened(other))
        return router


def _opened(path: Path) -> Router:
    file = open_arrays(path)
    file.verify()  # kernels trust what they read
    try:
        return _loaded(file)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DataError(f"{str(path)!r} is no router ({error!r}); check the path, or build the file anew") from None


def _loaded(file: ArrayFile) -> Router:
    meta: dict[str, Any] = file.meta
    if meta["kind"] == _KIND and meta.get("format", 1) != FORMAT:
        raise DataError(
            f"{str(file.path)!r} is a router of format {meta.get('format', 1)}, and this tidings reads {FORMAT}; "
            "compile the index again"
        )
    language, stop_words, stemming = meta["analyser"]
    owners = Owners(file.arrays[_OFFSETS], file.arrays[_OWNERS])
    matchers, count = int(meta["matchers"]), int(meta["terms"])
    if meta["kind"] != _KIND or len(owners) != count or not 1 <= matchers <= MAX_MATCHERS:
        raise ValueError("its arrays do not fit together")
    counts = owners.counts()
    if counts[0] or np.any(counts[1:] < 1) or (owners.offsets[0], owners.offsets[-1]) != (0, len(owners.matchers)):
        raise ValueError("a term has no owner")
    if np.any((owners.matchers < 0) | (owners.matchers >= matchers)):
        raise ValueError("a term has an owner that is not there")
    filed = file.arrays.get(_FILED)
    if filed is not None and (filed.dtype != np.int64 or filed.shape != (count,)):
        raise ValueError("it is not told how much is filed under each term")
    terms = Dictionary()
    terms.load(file.arrays, count)
    return Router(terms, owners, matchers, Analyser(language, frozenset(stop_words), stemming), filed)
