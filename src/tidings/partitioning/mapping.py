"""Which matcher has what? A mapping says: terms are in parcels, and each parcel has an owner.

A *parcel* is the smallest thing that moves. Which parcels a term is in is fixed until the next learning; who owns a
parcel changes with a move. A new kind of parcels is a class that fulfils :class:`Parcels`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.arrays import IdArray, IntArray
from tidings.arrays.files import named, open_verified, write_arrays
from tidings.arrays.rows import places_of
from tidings.model import DataError
from tidings.partitioning import kernels
from tidings.terms.dictionary import Dictionary

if TYPE_CHECKING:
    from tidings.partitioning.gridt.gridt import Gridt

MAX_MATCHERS = 256
PER_MATCHER = 64
"""So many parcels of names a matcher has at first: with 8 matchers a parcel is a 512th of all names."""

HashArray = npt.NDArray[np.uint64]

_KIND = "mapping"


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """Term t is owned by ``matchers[offsets[t] : offsets[t + 1]]``: int64[terms + 1] and int32.

    Most terms have one owner, a split term one for each of its versions, term 0 has none. Two versions have different
    owners when they are learned; after a move they may have the same.

    >>> owners = Owners.single(np.array([-1, 3, 0], dtype=np.int32))
    >>> owners.offsets.tolist(), owners.matchers.tolist(), owners.counts().tolist()
    ([0, 0, 1, 2], [3, 0], [0, 1, 1])
    """

    offsets: IntArray
    matchers: IdArray

    @classmethod
    def single(cls, ids: IdArray) -> Owners:
        """One owner each, -1 for none."""
        return cls.of_counts(ids >= 0, ids[ids >= 0])

    @classmethod
    def of_counts(cls, counts: npt.ArrayLike, matchers: IdArray) -> Owners:
        """So many owners of each term, all of them side by side."""
        return cls(np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]), matchers)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def counts(self) -> IntArray:
        """How many owners, which are versions, each term has."""
        return np.diff(self.offsets)

    def of(self, term: int) -> list[int]:
        """The owners of one term, in the order of its versions."""
        own: list[int] = self.matchers[self.offsets[term] : self.offsets[term + 1]].tolist()
        return own

    def taken(self, terms: npt.NDArray[np.integer]) -> Owners:
        """Those of some terms, in that order."""
        offsets, places = places_of(self.offsets, terms)
        return Owners(offsets, self.matchers[places])


@dataclass(frozen=True, slots=True, eq=False)
class TermParcels:
    """Term t is in the parcels ``parcels[offsets[t] : offsets[t + 1]]``: int64[terms + 1] and int32.

    Most terms are in one parcel. A split term is in one for each of its versions, and a publication takes one of them
    by its id. Term 0 is in none.
    """

    offsets: IntArray
    parcels: IdArray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def counts(self) -> IntArray:
        """In how many parcels each term is."""
        return np.diff(self.offsets)

    def taken(self, terms: npt.NDArray[np.integer]) -> TermParcels:
        """Those of some terms, in that order."""
        offsets, places = places_of(self.offsets, terms)
        return TermParcels(offsets, self.parcels[places])

    def owned(self, owner: IdArray) -> Owners:
        """The matchers of each term, where ``owner[p]`` owns parcel p."""
        return Owners(self.offsets, owner[self.parcels])

    def touch(self, parcels: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Whether each term is in one of the parcels p with ``parcels[p]``."""
        touched = np.zeros(len(self), dtype=np.bool_)
        touched[np.repeat(np.arange(len(self)), self.counts())[parcels[self.parcels]]] = True
        return touched


class Parcels(Protocol):
    """How terms are put into parcels: a value that is pickled and compared by what is in it.

    The parcels of a term follow from its name (:meth:`Dictionary.term_names`) and never from its id, so a term keeps
    its parcels when terms are numbered anew. Every term that can file something has at least one: what is filed under
    a term lives at the owners of all its parcels, a publication with that term is sent to the owner of one of them, so
    they meet.
    """

    @property
    def count(self) -> int:
        """How many there are; they are numbered from 0."""

    @property
    def gridt(self) -> Gridt | None:
        """How places are divided, None if they do not matter. If they are, what files and what is sent for are terms
        *in a region* (:mod:`tidings.terms.local_terms`): only these have parcels."""

    def of(self, names: pa.Array) -> TermParcels:
        """The parcels of terms of these names."""

    def save(self, path: Path) -> None:
        """Write them to a file."""


class Move(NamedTuple):
    """A parcel, and the matcher that is to own it."""

    parcel: int
    to: int


@dataclass(frozen=True, slots=True, eq=False)
class Mapping:
    """From terms to the matchers that own them. ``owner`` int32[parcels]: the matcher of each parcel.

    There are 1 to MAX_MATCHERS ``matchers``, numbered from 0.

    >>> terms = Dictionary()
    >>> terms.word("fire"), terms.word("smoke"), terms.cell(1 << 63)
    (1, 2, 3)
    >>> mapping = Mapping.hashed(16)
    >>> mapping.owners(terms).matchers.tolist()
    [13, 2, 5]
    >>> fire = int(mapping.parcels.of(pa.array(["fire"])).parcels[0])
    >>> moved = mapping.moved([Move(fire, to=4)])
    >>> moved.owners(terms).matchers.tolist(), diff(mapping, moved).tolist() == [fire]
    ([4, 2, 5], True)
    """

    parcels: Parcels
    owner: IdArray
    matchers: int

    def __post_init__(self) -> None:
        check_matchers(self.matchers)
        if len(self.owner) != self.parcels.count or np.any((self.owner < 0) | (self.owner >= self.matchers)):
            raise DataError(f"each of {self.parcels.count:,} parcels needs an owner among {self.matchers} matchers")

    @classmethod
    def hashed(cls, matchers: int) -> Mapping:
        """The owner of a term is a hash of its name, the same in every process and version."""
        check_matchers(matchers)
        return NamedParcels(matchers, np.zeros(0, np.uint64), Owners.single(np.zeros(0, np.int32))).mapping()

    @classmethod
    def learned(cls, names: pa.Array, owners: Owners, matchers: int) -> Mapping:
        """``names[n]`` has the owners of term n, at least one, and all others are hashed; of equal names the first
        counts.

        >>> names = pa.array(["fire", "smoke"], pa.large_string())
        >>> mapping = Mapping.learned(names, Owners.of_counts([1, 2], np.array([7, 3, 5], dtype=np.int32)), 16)
        >>> terms = Dictionary()
        >>> terms.word("smoke"), terms.cell(1 << 63), terms.word("fire")
        (1, 2, 3)
        >>> [mapping.owners(terms).of(term) for term in range(4)]
        [[], [3, 5], [5], [7]]
        """
        check_matchers(matchers)
        hashes, places = np.unique(hash_names(names), return_index=True)
        if len(names) != len(owners):
            raise DataError(f"{len(names):,} names need as many owners, got those of {len(owners):,}")
        return NamedParcels(matchers, hashes, owners.taken(places)).mapping()

    def owners(self, terms: Dictionary) -> Owners:
        """The matchers of each term, by id."""
        return self.parcels_of(terms).owned(self.owner)

    def owners_of(self, names: pa.Array) -> Owners:
        """The matchers of terms of these names."""
        return self.parcels.of(names).owned(self.owner)

    def parcels_of(self, terms: Dictionary) -> TermParcels:
        """The parcels of each term, by id."""
        found = self.parcels.of(terms.term_names())
        first = int(found.offsets[1])
        return TermParcels(np.concatenate([[0], found.offsets[1:] - first]), found.parcels[first:])

    def moved(self, moves: Iterable[Move]) -> Mapping:
        """The mapping after some moves: the same parcels, of which some have other owners."""
        owner = self.owner.copy()
        for parcel, to in moves:
            if not (0 <= parcel < len(owner) and 0 <= to < self.matchers):
                raise DataError(
                    f"parcel {parcel} cannot move to matcher {to}; there are parcels 0 to {len(owner) - 1:,} and "
                    f"matchers 0 to {self.matchers - 1}"
                )
            owner[parcel] = to
        return Mapping(self.parcels, owner, self.matchers)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Mapping)
            and self.matchers == other.matchers
            and self.parcels == other.parcels
            and np.array_equal(self.owner, other.owner)
        )

    def __hash__(self) -> int:
        return hash((self.matchers, self.owner.tobytes()))


def diff(old: Mapping, new: Mapping) -> IntArray:
    """The parcels that changed owner, in order; both mappings have the same parcels."""
    if old.matchers != new.matchers or old.parcels != new.parcels:
        raise DataError("these mappings have different parcels, so no moves lead from one to the other; place all anew")
    return np.flatnonzero(old.owner != new.owner)


@dataclass(frozen=True, slots=True, eq=False)
class NamedParcels:
    """Parcels of names: each name has a first owner, and those of a matcher are divided by their hashes.

    The first owners of a name are those of ``table``, by a hash of the name; a name that the table lacks is hashed.
    ``hashes`` rise, and the n-th of them is term n of ``table``. Two names of one hash have the same parcels, which
    loses nothing: that the same name always has the same parcels is all that counts.
    """

    matchers: int
    hashes: HashArray
    table: Owners

    def __post_init__(self) -> None:
        if len(self.hashes) != len(self.table) or not _is_sound(self.table, self.matchers):
            raise DataError(f"each of {len(self.table):,} names needs different owners among {self.matchers} matchers")

    @property
    def count(self) -> int:
        return PER_MATCHER * self.matchers

    @property
    def gridt(self) -> None:
        return None

    def mapping(self) -> Mapping:
        """The mapping in which first owners own their parcels."""
        return Mapping(self, (np.arange(self.count) // PER_MATCHER).astype(np.int32), self.matchers)

    def of(self, names: pa.Array) -> TermParcels:
        hashes = hash_names(names)
        first = self._first(hashes)
        parts = (hashes // np.uint64(self.matchers)) % np.uint64(PER_MATCHER)
        parcels = PER_MATCHER * first.matchers + np.repeat(parts.astype(np.int32), first.counts())
        return TermParcels(first.offsets, parcels.astype(np.int32))

    def _first(self, hashes: HashArray) -> Owners:
        """The first owners of names of these hashes."""
        hashed = (hashes % np.uint64(self.matchers)).astype(np.int32)
        if not len(self.hashes):
            return Owners.single(hashed)
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        places = np.where(self.hashes[places] == hashes, places, len(self.hashes) + np.arange(len(hashes)))
        counts = np.concatenate([self.table.counts(), np.ones(len(hashes), dtype=np.int64)])
        return Owners.of_counts(counts, np.concatenate([self.table.matchers, hashed])).taken(places)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, NamedParcels)
            and self.matchers == other.matchers
            and np.array_equal(self.hashes, other.hashes)
            and np.array_equal(self.table.offsets, other.table.offsets)
            and np.array_equal(self.table.matchers, other.table.matchers)
        )

    def __hash__(self) -> int:
        return hash((self.matchers, self.hashes.tobytes(), self.table.matchers.tobytes()))

    def save(self, path: Path) -> None:
        """Write them to a file of some 11 bytes a name."""
        write_arrays(
            path,
            {
                "hashes": self.hashes,
                "counts": self.table.counts().astype(np.uint16),
                "owners": self.table.matchers.astype(np.uint8),
            },
            named(path, {"kind": _KIND, "matchers": self.matchers}),
        )

    @classmethod
    def open(cls, path: Path) -> NamedParcels:
        """The parcels of a file; what cannot be used is a DataError."""
        file = open_verified(path)
        try:
            matchers, hashes = int(file.meta["matchers"]), file.arrays["hashes"]
            table = Owners.of_counts(file.arrays["counts"], file.arrays["owners"].astype(np.int32))
            sound = file.meta["kind"] == _KIND and hashes.dtype == np.uint64
            if not (sound and np.all(hashes[1:] > hashes[:-1])):
                raise ValueError("its arrays do not fit together")
            return cls(matchers, hashes, table)
        except (KeyError, TypeError, ValueError, DataError) as error:
            raise DataError(f"{str(path)!r} is no mapping ({error!r}); check the path, or learn it anew") from None


def hash_names(names: pa.Array | pa.ChunkedArray) -> HashArray:
    """The hash of each text, uint64: of names of terms for their owners, of ids of publications for their versions.

    >>> [hex(h) for h in hash_names(pa.array(["", "fire"]))]
    ['0xefd01f60ba992926', '0x19882ac400266e9d']
    """
    if isinstance(names, pa.ChunkedArray):
        names = names.combine_chunks()
    names = names.cast(pa.large_string())
    hashes = np.empty(len(names), dtype=np.uint64)
    if len(names):
        _, offsets, data = names.buffers()
        bounds = np.frombuffer(offsets, np.int64)[names.offset : names.offset + len(names) + 1]
        kernels.hash_texts(bounds, np.frombuffer(data or b"", np.uint8), hashes)
    return hashes


def check_matchers(matchers: int) -> None:
    """Refuse a number of matchers that cannot be."""
    if not 1 <= matchers <= MAX_MATCHERS:
        raise DataError(f"there are 1 to {MAX_MATCHERS} matchers, got {matchers}; choose a number of those")


def _is_sound(table: Owners, matchers: int) -> bool:
    """Whether every term has an owner, and all of them are there and different."""
    if table.offsets[-1] != len(table.matchers) or np.any(table.counts() < 1):
        return False
    if np.any((table.matchers < 0) | (table.matchers >= matchers)):
        return False
    pairs = np.repeat(np.arange(len(table)), table.counts()) * MAX_MATCHERS + table.matchers
    return len(np.unique(pairs)) == len(pairs)
