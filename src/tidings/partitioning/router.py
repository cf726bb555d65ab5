"""Where must a publication go, so that no match is missed? To the matchers that own a guard that it carries.

A router knows the terms that guard something, and their owners; nothing of the subscriptions themselves. It may know
too many terms, those of subscriptions that are gone: then publications are sent in vain, and no match is
lost or doubled. So changes only ever add terms (:meth:`Router.extend`), and building it anew now and then tidies up.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tidings.index.dictionary import Dictionary
from tidings.index.files import ArrayFile, open_arrays, write_arrays
from tidings.index.guard import MAX_WORDS
from tidings.index.reader import Reader
from tidings.model import DataError
from tidings.partitioning.mapping import MAX_MATCHERS
from tidings.partitioning.sets import MatcherSets
from tidings.tables.columns import place_columns
from tidings.tables.validity import good_rows
from tidings.terms import ENGLISH, Analyser
from tidings.terms.vocabulary import IdArray

_KIND = "router"
_OWNERS = "owners"


class Router:
    """Routes tables of publications. It remembers words between calls, and is not safe to share between threads.

    ``owners`` int32: the matcher of each of the ``terms``, all of which guard something.

    >>> terms = Dictionary()
    >>> terms.word("fire"), terms.word("smoke")
    (1, 2)
    >>> router = Router(terms, np.array([-1, 3, 0], dtype=np.int32), matchers=4)
    >>> posts = pa.table({"id": ["a", "b", "c"], "text": ["Fires and smoke", "rain", "a fire"]})
    >>> [numbers.tolist() for numbers in router.route(posts).pairs()]
    [[0, 0, 2], [0, 3, 3]]
    """

    def __init__(self, terms: Dictionary, owners: IdArray, matchers: int, analyser: Analyser = ENGLISH) -> None:
        self.matchers = matchers
        self._terms = terms
        self._owners = owners
        self._analyser = analyser
        self._reader = Reader(terms, analyser)

    def __len__(self) -> int:
        """How many terms it sends for."""
        return len(self._terms) - 1

    def route(self, table: pa.Table) -> MatcherSets:
        """The matchers of each row; none for a row that no subscription can match, or that is no publication."""
        if self._reader.remembered > MAX_WORDS:
            self._reader = Reader(self._terms, self._analyser)
        good, rows = good_rows(table)
        terms = self._reader.terms(good, *place_columns(good))
        found = MatcherSets.owning(terms, self._owners, self.matchers)
        if len(rows) == table.num_rows:
            return found
        routes = MatcherSets.empty(table.num_rows, self.matchers)
        routes.words[rows] = found.words
        return routes

    def extend(self, newer: Router) -> None:
        """Send for the terms of another router as well. Cost: that of the terms of the other one."""
        if (newer.matchers, newer._analyser) != (self.matchers, self._analyser):
            raise DataError("a router for other matchers or another analyser cannot be added; partition all anew")
        known = len(self._terms)
        ids = self._terms.include(newer._terms)
        owners = np.concatenate([self._owners, np.empty(len(self._terms) - known, dtype=np.int32)])
        owners[ids] = newer._owners
        agrees = np.array_equal(owners[:known], self._owners)
        owners[:known] = self._owners
        self._owners = owners  # in any case: every term of the dictionary has an owner
        if not agrees:
            raise DataError("another mapping gives some terms to other matchers; partition all subscriptions anew")

    def save(self, path: Path) -> None:
        """Write it to a file."""
        analyser = self._analyser
        write_arrays(
            path,
            {**self._terms.saved(np.arange(len(self._terms), dtype=np.int32)), _OWNERS: self._owners},
            {
                "kind": _KIND,
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
    language, stop_words, stemming = meta["analyser"]
    owners, matchers, count = file.arrays[_OWNERS], int(meta["matchers"]), int(meta["terms"])
    if meta["kind"] != _KIND or len(owners) != count or not 1 <= matchers <= MAX_MATCHERS:
        raise ValueError("its arrays do not fit together")
    if np.any((owners[1:] < 0) | (owners[1:] >= matchers)):
        raise ValueError("a term has an owner that is not there")
    terms = Dictionary()
    terms.load(file.arrays, count)
    return Router(terms, owners, matchers, Analyser(language, frozenset(stop_words), stemming))
