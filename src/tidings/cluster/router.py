"""Where must a publication go, so that no match is missed? To the matchers that own a guard that it carries.

A router knows the terms that guard something, their parcels, and who owns each parcel; nothing of the subscriptions
themselves. A split term has several parcels, at all of whose owners its subscriptions live. A publication goes to one
of them, by its id: the same one whenever it is sent ([S3TM] 5.1, where the version is drawn at random and a replay may
draw another). A move gives some parcels to other owners (:meth:`Router.move`) and leaves the terms alone.

A router counts the subscriptions that are filed under each term, and knows how likely each of them matches a
publication that has the term, as far as that was told (:meth:`Router.expect`). A change adds those that came
(:meth:`Router.extend`) and takes away those that went (:meth:`Router.withdraw`). A term under which nothing is filed
attracts no publications.

Where places are divided (:class:`tidings.partitioning.gridt.Gridt`), the terms that file and that publications are sent
for are terms in a region. A publication has the words of its text in the region of its place, and everywhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.analysis import ENGLISH, Analyser
from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray, IntArray, NamedArrays
from tidings.arrays.files import JSON, ArrayFile, named, open_verified, write_arrays
from tidings.index.snapshot import MAX_READER_BYTES
from tidings.model import DataError
from tidings.partitioning import kernels
from tidings.partitioning.gridt import Gridt
from tidings.partitioning.load import FloatArray
from tidings.partitioning.mapping import MAX_MATCHERS, HashArray, Owners, TermParcels, hash_names
from tidings.partitioning.sets import MatcherSets
from tidings.tables.checked import Publications
from tidings.tables.columns import place_columns
from tidings.terms.dictionary import Dictionary
from tidings.terms.reader import TermReader

FORMAT = 6
_KIND = "router"
_OFFSETS, _PARCELS, _OWNER, _FILED, _CHANCES = "parcel_offsets", "parcels", "owner", "filed", "chances"
_MOVED, _TO = "moved", "moved_to"


class Numbered(NamedTuple):
    """Publications of which everything that a router looks at is a number.

    ``terms`` of each row, -1 for one that nobody asks for; ``lon`` and ``lat`` in degrees, NaN for no place; ``keys``,
    the hashes of their ids, only where a term is split.
    """

    terms: TermSets
    lon: FloatArray
    lat: FloatArray
    keys: HashArray | None


class Router:
    """Routes tables of publications. It remembers words between calls, and is not safe to share between threads.

    ``parcels``: those of the ``terms``; ``owner`` int32[parcels]: the matcher of each parcel. ``filed`` int64[terms]:
    how many subscriptions are filed under each term, 1 if that is not told; publications are sent for those that have
    some. In a file that extends another it is the difference, which may be negative.

    >>> terms = Dictionary()
    >>> terms.word("fire"), terms.word("smoke")
    (1, 2)
    >>> parcels, owner = TermParcels(np.array([0, 0, 1, 2]), np.array([5, 6])), np.array([0, 0, 0, 0, 0, 3, 0])
    >>> router = Router(terms, parcels, owner.astype(np.int32), matchers=4)
    >>> posts = pa.table({"id": ["a", "b", "c"], "text": ["Fires and smoke", "rain", "a fire"]})
    >>> [numbers.tolist() for numbers in router.route(posts).pairs()]
    [[0, 0, 2], [0, 3, 3]]
    """

    def __init__(
        self,
        terms: Dictionary,
        parcels: TermParcels,
        owner: IdArray,
        matchers: int,
        analyser: Analyser = ENGLISH,
        filed: IntArray | None = None,
        gridt: Gridt | None = None,
    ) -> None:
        self.matchers = matchers
        self.analyser = analyser
        self._terms = terms
        self._parcels = parcels
        self._owner = owner
        self._gridt = gridt
        self._filed = np.ones(len(parcels), dtype=np.int64) if filed is None else filed
        self._chances = np.ones(len(parcels))
        self._reader = TermReader(terms, analyser)
        self._count()

    def _count(self) -> None:
        """Send for the terms under which something is filed."""
        counts = np.where(self._filed > 0, self._parcels.counts(), 0)
        is_sent = np.repeat(self._filed > 0, self._parcels.counts())
        self._sent = Owners.of_counts(counts, self._owner[self._parcels.parcels[is_sent]])
        self._has_split = bool((counts > 1).any())

    def __len__(self) -> int:
        """How many terms it sends for."""
        return int(np.count_nonzero(self._filed[1:] > 0))

    @property
    def terms(self) -> Dictionary:
        """The terms that it knows; it sends for those under which something is filed."""
        return self._terms

    @property
    def filed(self) -> IntArray:
        """How many subscriptions are filed under each term; int64[terms]."""
        return self._filed

    @property
    def expected(self) -> FloatArray:
        """How many matches an occurrence of each term is expected to bring; float64[terms]."""
        return np.maximum(self._filed, 0) * self._chances

    def expect(self, chances: FloatArray) -> None:
        """A subscription that is filed under term t matches a publication with t by ``chances[t]``; 1 if not told."""
        if chances.shape != self._filed.shape:
            raise DataError(f"there are {len(self._filed):,} terms, got the chances of {len(chances):,}; give all")
        self._chances = chances

    @property
    def parcels(self) -> TermParcels:
        """The parcels of each term."""
        return self._parcels

    @property
    def owner(self) -> IdArray:
        """The matcher of each parcel."""
        return self._owner

    @property
    def owners(self) -> Owners:
        """The matchers of each term."""
        return self._parcels.owned(self._owner)

    def move(self, owner: IdArray) -> None:
        """Let the parcels have these owners, int32[parcels]. Cost: some passes over all terms."""
        if len(owner) != len(self._owner):
            raise DataError(f"there are {len(self._owner):,} parcels, got the owners of {len(owner):,}; place all anew")
        self._owner = owner
        self._count()

    def route(self, table: pa.Table | Publications) -> MatcherSets:
        """The matchers of each row; none for a row that no subscription can match, or that is no publication."""
        if not isinstance(table, Publications):
            good = Publications.of(table)
            routes = MatcherSets.empty(table.num_rows, self.matchers)
            routes.words[good.rows] = self.route(good).words
            return routes
        return self.send(self.numbered(table.table))

    def numbered(self, table: pa.Table) -> Numbered:
        """The rows of a table without bad rows, as :meth:`send` takes them: words and values have the ids of terms."""
        if self._reader.size_bytes > MAX_READER_BYTES:
            self._reader = TermReader(self._terms, self.analyser)
        places = place_columns(table)
        keys = hash_names(table["id"]) if self._has_split else None
        return Numbered(self._reader.terms(table, *places), *places, keys)

    def send(self, posts: Numbered) -> MatcherSets:
        """The matchers of each post; none for one that no subscription can match. Cost: under 1 µs a post.

        The posts were numbered after the router last changed.
        """
        terms = self.in_regions(posts)
        if not self._has_split:
            return MatcherSets.owning(terms, self._sent, self.matchers)
        if posts.keys is None:
            raise DataError("the router has changed since these posts were numbered; number them again")
        return MatcherSets.reached(terms, posts.keys, self._sent, self.matchers)

    def occurrences(self, table: pa.Table) -> tuple[TermSets, IdArray, HashArray]:
        """The terms of each row of a table without bad rows, the matcher of each occurrence, and the keys of the rows.

        The matcher, int32, is -1 for what nobody asks for. All of a row's together are its :meth:`route`.
        """
        terms, keys = self._read(table), hash_names(table["id"])
        return terms, _versions(terms, keys, self._sent.offsets, self._sent.matchers), keys

    def touched(self, table: pa.Table) -> IntArray:
        """How many rows of a table without bad rows are sent for each parcel: int64[parcels].

        A row counts once for a parcel.
        """
        terms = self._read(table)
        found = _versions(terms, hash_names(table["id"]), self._parcels.offsets, self._parcels.parcels)
        found[(terms.ids < 0) | (self._filed[terms.ids] <= 0)] = -1
        rows = np.repeat(np.arange(len(terms)), np.diff(terms.offsets))
        pairs = np.unique(rows[found >= 0] * len(self._owner) + found[found >= 0])
        return np.bincount(pairs % len(self._owner), minlength=len(self._owner))

    def _read(self, table: pa.Table) -> TermSets:
        return self.in_regions(self.numbered(table))

    def in_regions(self, posts: Numbered) -> TermSets:
        """The terms of each post, in the region of its place and everywhere where places are divided."""
        if self._gridt is None:
            return posts.terms
        cells = self._gridt.grid.cells(posts.lon, posts.lat)
        return self._terms.local.local(cells, self._gridt.region, posts.terms, self._gridt.borders)

    def extend(self, newer: Router) -> IdArray:
        """Count what another router counts as well; returns the id here of each term there.

        The other one is the later: its owners of parcels count. Cost: that of the terms of the other one, and of some
        passes over the counts of all.
        """
        alike = newer.matchers, newer.analyser, len(newer._owner)
        if alike != (self.matchers, self.analyser, len(self._owner)):
            raise DataError("a router for other matchers or another analyser cannot be added; partition all anew")
        if newer._gridt is not None and newer._gridt != self._gridt:
            raise DataError("another mapping divides places otherwise; partition all subscriptions anew")
        known = len(self._terms)
        ids = self._terms.include(newer._terms)
        is_old = ids < known
        mine, theirs = self._parcels.taken(ids[is_old]), newer._parcels.taken(np.flatnonzero(is_old))
        fresh = np.flatnonzero(~is_old)[np.argsort(ids[~is_old])]
        added = newer._parcels.taken(fresh)
        # in any case: every term of the dictionary is in a parcel
        offsets = np.concatenate([self._parcels.offsets, self._parcels.offsets[-1] + added.offsets[1:]])
        self._parcels = TermParcels(offsets, np.concatenate([self._parcels.parcels, added.parcels]))
        self._owner = newer._owner
        before, more = self.expected[ids[is_old]], newer.expected[is_old]
        filed = np.concatenate([self._filed, newer._filed[fresh]])
        filed[ids[is_old]] += newer._filed[is_old]
        self._chances = np.concatenate([self._chances, newer._chances[fresh]])
        counts = np.maximum(self._filed[ids[is_old]], 0) + np.maximum(newer._filed[is_old], 0)
        is_told = counts > 0
        self._chances[ids[is_old][is_told]] = ((before + more)[is_told]) / counts[is_told]
        self._filed = filed
        self._count()
        if not (np.array_equal(mine.offsets, theirs.offsets) and np.array_equal(mine.parcels, theirs.parcels)):
            raise DataError("another mapping puts some terms into other parcels; partition all subscriptions anew")
        return ids

    def withdraw(self, terms: IdArray) -> None:
        """Something that was filed under each of these terms is gone; a term is there as often as it was filed."""
        self._filed = self._filed - np.bincount(terms, minlength=len(self._filed))
        self._count()

    def part(self, used: npt.NDArray[np.bool_], filed: IntArray) -> tuple[Router, IdArray]:
        """A router of the terms t with ``used[t]``, which counts ``filed[t]``; and the id there of each term, or -1.

        Cost: some passes over all terms.
        """
        terms, numbers = self._terms.part(used)
        places = np.flatnonzero(numbers >= 0)
        parcels = self._parcels.taken(places)
        part = Router(terms, parcels, self._owner, self.matchers, self.analyser, filed[places], self._gridt)
        part.expect(self._chances[places])
        return part, numbers

    def tidied(self) -> tuple[Router, IdArray]:
        """A router of the terms that it sends for, and the id there of each term, or -1."""
        return self.part(self._filed > 0, self._filed)

    def save(self, path: Path, beside: NamedArrays | None = None, *, extends: IdArray | None = None) -> None:
        """Write it to a file, with some other arrays beside its own.

        One that only extends others has no grid of regions, since that is in the first one, and of the owners only
        those that differ from what they ``extends``.
        """
        analyser = self.analyser
        places: NamedArrays = {_OWNER: self._owner}
        if extends is not None:
            moved = np.flatnonzero(extends != self._owner)
            places = {_MOVED: moved, _TO: self._owner[moved]}
        elif self._gridt is not None:
            places |= self._gridt.arrays()
        meta: dict[str, JSON] = {
            "kind": _KIND,
            "format": FORMAT,
            "terms": len(self._terms),
            "matchers": self.matchers,
            "analyser": [analyser.language, sorted(analyser.stop_words or ()), analyser.stemming],
        }
        write_arrays(
            path,
            {
                **(beside or {}),
                **self._terms.saved(np.arange(len(self._terms), dtype=np.int32)),
                _OFFSETS: self._parcels.offsets,
                _PARCELS: self._parcels.parcels,
                _FILED: self._filed,
                _CHANCES: self._chances,
                **places,
            },
            named(path, meta),
        )

    @classmethod
    def open(cls, path: Path, *newer: Path) -> Router:
        """The router of a file, mapped, changed by those of others; what cannot be used is a DataError."""
        return cls.of_files(open_verified(path), *(open_verified(other) for other in newer))

    @classmethod
    def of_files(cls, file: ArrayFile, *newer: ArrayFile) -> Router:
        """That of files that are open."""
        router = cls.of_file(file)
        for other in newer:
            router.extend(cls.of_file(other, router.owner))
        return router

    @classmethod
    def of_file(cls, file: ArrayFile, owner: IdArray | None = None) -> Router:
        """What is in one file; in one that extends others, whose parcels have an ``owner``, that is what came."""
        try:
            return _loaded(file, owner)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise DataError(
                f"{str(file.path)!r} is no router ({error!r}); check the path, or build the file anew"
            ) from None


def _versions(terms: TermSets, keys: HashArray, offsets: IntArray, numbers: IdArray) -> IdArray:
    """The number of each occurrence, by the version that its row takes; -1 for none."""
    found = np.empty(len(terms.ids), dtype=np.int32)
    kernels.find_versions(terms.offsets, terms.ids, offsets, numbers, keys, found)
    return found


def _owner(arrays: NamedArrays, before: IdArray | None) -> IdArray:
    """The owner of each parcel; where a file has only what has moved, after those before."""
    if before is None or _OWNER in arrays:
        return arrays[_OWNER]
    moved, owner = arrays[_MOVED], before.copy()
    if np.any((moved < 0) | (moved >= len(owner))):
        raise ValueError("a parcel has moved that is not there")
    owner[moved] = arrays[_TO]
    return owner


def _loaded(file: ArrayFile, before: IdArray | None) -> Router:
    meta: dict[str, Any] = file.meta
    if meta["kind"] == _KIND and meta.get("format", 1) != FORMAT:
        raise DataError(
            f"{str(file.path)!r} is a router of format {meta.get('format', 1)}, and this tidings reads {FORMAT}; "
            "compile the index again"
        )
    language, stop_words, stemming = meta["analyser"]
    parcels, owner = TermParcels(file.arrays[_OFFSETS], file.arrays[_PARCELS]), _owner(file.arrays, before)
    matchers, count = int(meta["matchers"]), int(meta["terms"])
    if meta["kind"] != _KIND or len(parcels) != count or not 1 <= matchers <= MAX_MATCHERS:
        raise ValueError("its arrays do not fit together")
    counts, filed = parcels.counts(), file.arrays.get(_FILED)
    if filed is not None and (filed.dtype != np.int64 or filed.shape != (count,)):
        raise ValueError("it is not told how much is filed under each term")
    is_used = np.ones(count, dtype=np.bool_) if filed is None else filed != 0
    is_used[0] = False
    if (
        counts[0]
        or np.any(counts[is_used] < 1)
        or (parcels.offsets[0], parcels.offsets[-1]) != (0, len(parcels.parcels))
    ):
        raise ValueError("a term is in no parcel")
    if np.any((parcels.parcels < 0) | (parcels.parcels >= len(owner))):
        raise ValueError("a term is in a parcel that is not there")
    if np.any((owner < 0) | (owner >= matchers)):
        raise ValueError("a parcel has an owner that is not there")
    terms = Dictionary()
    terms.load(file.arrays, count)
    analyser = Analyser(language, frozenset(stop_words), stemming)
    router = Router(terms, parcels, owner, matchers, analyser, filed, Gridt.of_arrays(file.arrays))
    if _CHANCES in file.arrays:
        router.expect(file.arrays[_CHANCES])
    return router
