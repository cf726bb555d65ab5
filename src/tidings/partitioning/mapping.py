"""Which matchers own a term? A mapping says: by hashing the term's name, or by a table that was learned."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.arrays import IdArray, IntArray
from tidings.arrays.files import named, open_verified, write_arrays
from tidings.model import DataError
from tidings.partitioning import kernels
from tidings.terms.dictionary import Dictionary

MAX_MATCHERS = 256
HashArray = npt.NDArray[np.uint64]

_KIND = "mapping"


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """Term t is owned by ``matchers[offsets[t] : offsets[t + 1]]``: int64[terms + 1] and int32.

    Most terms have one owner, a split term a different one for each of its versions, term 0 has none.

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
        counts = self.counts()[terms]
        ends = np.cumsum(counts)
        places = np.repeat(self.offsets[terms] - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)
        return Owners.of_counts(counts, self.matchers[places])


class Mapping(Protocol):
    """From terms to the matchers that own them: a small value that is passed around, saved and compared.

    The owners of a term follow from its name (:meth:`Dictionary.term_names`) and never from its id, so a term keeps its
    matchers when terms are numbered anew.
    """

    @property
    def matchers(self) -> int:
        """How many there are, at most MAX_MATCHERS; they are numbered from 0."""

    def owners(self, terms: Dictionary) -> Owners:
        """The matchers of each term, by id."""


@dataclass(frozen=True, slots=True)
class HashMapping:
    """The owner of a term is a hash of its name, the same in every process and version.

    >>> terms = Dictionary()
    >>> terms.word("fire"), terms.word("smoke"), terms.cell(1 << 63)
    (1, 2, 3)
    >>> HashMapping(16).owners(terms).matchers.tolist()
    [13, 2, 5]
    """

    matchers: int

    def __post_init__(self) -> None:
        _check(self.matchers)

    def owners(self, terms: Dictionary) -> Owners:
        return _without_term_0(self.owners_of(terms.term_names()))

    def owners_of(self, names: pa.Array) -> Owners:
        """The owners of terms of these names."""
        return Owners.single(_hashed(hash_names(names), self.matchers))


@dataclass(frozen=True, slots=True, eq=False)
class LearnedMapping:
    """The owners of a term are those of a table, by a hash of its name; a name that the table lacks is hashed.

    ``hashes`` rise, and the n-th of them is term n of ``table``. Two names of one hash have the same owners, which
    loses nothing: that the same name always has the same owners is all that counts.

    >>> names = pa.array(["fire", "smoke"], pa.large_string())
    >>> mapping = LearnedMapping.of(names, Owners.of_counts([1, 2], np.array([7, 3, 5], dtype=np.int32)), matchers=16)
    >>> terms = Dictionary()
    >>> terms.word("smoke"), terms.cell(1 << 63), terms.word("fire")
    (1, 2, 3)
    >>> [mapping.owners(terms).of(term) for term in range(4)]
    [[], [3, 5], [5], [7]]
    """

    matchers: int
    hashes: HashArray
    table: Owners

    @classmethod
    def of(cls, names: pa.Array, owners: Owners, matchers: int) -> LearnedMapping:
        """The mapping in which ``names[n]`` has the owners of term n, at least one; of equal names the first counts."""
        hashes, places = np.unique(hash_names(names), return_index=True)
        table = owners.taken(places)
        _check(matchers)
        if len(names) != len(owners) or not _is_sound(table, matchers):
            raise DataError(f"each of {len(names):,} names needs different owners among {matchers} matchers")
        return cls(matchers, hashes, table)

    def owners(self, terms: Dictionary) -> Owners:
        return _without_term_0(self.owners_of(terms.term_names()))

    def owners_of(self, names: pa.Array) -> Owners:
        """The owners of terms of these names."""
        hashes = hash_names(names)
        if not len(self.hashes):
            return Owners.single(_hashed(hashes, self.matchers))
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        places = np.where(self.hashes[places] == hashes, places, len(self.hashes) + np.arange(len(hashes)))
        counts = np.concatenate([self.table.counts(), np.ones(len(hashes), dtype=np.int64)])
        matchers = np.concatenate([self.table.matchers, _hashed(hashes, self.matchers)])
        return Owners.of_counts(counts, matchers).taken(places)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, LearnedMapping)
            and self.matchers == other.matchers
            and np.array_equal(self.hashes, other.hashes)
            and np.array_equal(self.table.offsets, other.table.offsets)
            and np.array_equal(self.table.matchers, other.table.matchers)
        )

    def __hash__(self) -> int:
        return hash((self.matchers, self.hashes.tobytes(), self.table.matchers.tobytes()))

    def save(self, path: Path) -> None:
        """Write it to a file of some 11 bytes a term."""
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
    def open(cls, path: Path) -> LearnedMapping:
        """The mapping of a file; what cannot be used is a DataError."""
        file = open_verified(path)
        try:
            matchers, hashes = int(file.meta["matchers"]), file.arrays["hashes"]
            table = Owners.of_counts(file.arrays["counts"], file.arrays["owners"].astype(np.int32))
            sound = file.meta["kind"] == _KIND and hashes.dtype == np.uint64 and len(hashes) == len(table)
            if not (sound and np.all(hashes[1:] > hashes[:-1]) and _is_sound(table, matchers)):
                raise ValueError("its arrays do not fit together")
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{str(path)!r} is no mapping ({error!r}); check the path, or learn it anew") from None
        return cls(matchers, hashes, table)


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


def _without_term_0(owners: Owners) -> Owners:
    first = int(owners.offsets[1])
    return Owners(np.concatenate([[0], owners.offsets[1:] - first]), owners.matchers[first:])


def _hashed(hashes: HashArray, matchers: int) -> IdArray:
    return (hashes % np.uint64(matchers)).astype(np.int32)


def _check(matchers: int) -> None:
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
