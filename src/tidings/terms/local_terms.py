"""Which terms are asked for in which regions? LocalTerms of both, each a term of its own: the map H2 of [PS2] IV-C.

An open hash table, so a word of a post is found in O(1). Before it lies a filter that is small enough for a cache: most
words of a post are asked for elsewhere only. Regions are those of a grid (:mod:`tidings.partitioning.gridt`); region 0
is everywhere. Who counts what is filed under each pair is a router.
"""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False
# mypy: disallow_untyped_decorators=False

from __future__ import annotations

import os

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray, IntArray
from tidings.arrays.kernels import mixed

EVERYWHERE = 0
_FIRST_SLOTS = 64
_SLOTS_PER_WORD = 8
"""For so many slots the filter has a word of 64 bits, in which a pair sets two: 16 to 32 bits for each pair."""

_Numbers = npt.NDArray[np.uint64]
LocalTable = tuple[_Numbers, _Numbers, _Numbers]
"""As kernels take it: seeds[2], filter[words], slots[slots, 2]: a key and, in the same cache line, its number."""

_MARK, _DIGITS = "\x1f", 8
"""How the name of a term in a region begins: no other name has a control character; and the digits of its region."""


class LocalTerms:
    """Numbers of words in regions.

    >>> pairs = LocalTerms()
    >>> pairs.put(np.array([0, 3], np.int32), np.array([5, 5], np.int32), np.array([7, 8], np.int32))
    >>> pairs.find(np.array([3, 3], np.int32), np.array([5, 6], np.int32)).tolist(), len(pairs)
    ([8, -1], 2)
    """

    def __init__(self) -> None:
        self._count = 0
        self._everywhere = False
        self._seeds: npt.NDArray[np.uint64] = np.frombuffer(os.urandom(16), dtype=np.uint64)
        self._table = self._empty(_FIRST_SLOTS)

    def _empty(self, slots: int) -> LocalTable:
        words = np.zeros(slots // _SLOTS_PER_WORD, dtype=np.uint64)
        return self._seeds, words, np.zeros((slots, 2), dtype=np.uint64)

    def __len__(self) -> int:
        return self._count

    @property
    def size_bytes(self) -> int:
        return sum(array.nbytes for array in self._table)

    def find(self, regions: IdArray, terms: IdArray) -> IdArray:
        """The number of each word in each region, -1 for none."""
        numbers = np.empty(len(regions), dtype=np.int32)
        _find_keys(regions, terms, *self._table, numbers)
        return numbers

    def put(self, regions: IdArray, terms: IdArray, numbers: IdArray) -> None:
        """Add different pairs that are not there yet."""
        needed = 2 * (self._count + len(regions))
        if needed > len(self._table[2]):
            larger = self._empty(1 << (needed - 1).bit_length())
            _put_keys(*self.items(), *larger)
            self._table = larger
        _put_keys(regions, terms, numbers, *self._table)
        self._count += len(regions)
        self._everywhere |= bool(np.any(regions == EVERYWHERE))

    def items(self, used: npt.NDArray[np.bool_] | None = None) -> tuple[IdArray, IdArray, IdArray]:
        """All regions, terms and numbers n, or those with ``used[n]``, in the order of the numbers."""
        keys, numbers = self._table[2].T
        taken = np.flatnonzero(keys)
        if used is not None:
            taken = taken[used[numbers[taken].astype(np.int64)]]
        taken = taken[np.argsort(numbers[taken], kind="stable")]
        keys = keys[taken]
        regions = (keys >> np.uint64(32)).astype(np.int64) - 1
        terms = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64) - 1
        return regions.astype(np.int32), terms.astype(np.int32), numbers[taken].astype(np.int32)

    def local(self, cells: IdArray, region: IdArray, terms: TermSets, borders: IntArray | None = None) -> TermSets:
        """The numbers of the words of posts, in the region of their cell and everywhere; those that are in the table.

        ``region`` int32: the region of each cell; a post in cell -1 has no place. Term 0 is in every post, and a term
        below 0 is asked for by nobody. ``borders`` int64: a post in region r is in the regions ``borders[r]`` …
        ``borders[r + 1] - 1`` as well; none if not said. Cost: some 10 ns a word and region.
        """
        offsets = np.zeros(len(cells) + 1, dtype=np.int64)
        if borders is None:
            borders = np.zeros(int(region.max(initial=0)) + 2, dtype=np.int64)
        room = _room(cells, region, borders, terms.offsets, self._everywhere)
        out = np.empty(room, dtype=np.int32)
        count = _local_terms(
            cells, region, borders, terms.offsets, terms.ids, *self._table, self._everywhere, offsets, out
        )
        return TermSets(offsets, out[:count])


def local_names(regions: IdArray, names: pa.Array) -> pa.Array:
    """What a term of each name is called in each region.

    >>> local_names(np.array([3], np.int32), pa.array(["fire"])).to_pylist()
    ['\\x1f00000003fire']
    """
    digits = pc.utf8_lpad(pa.array(regions).cast(pa.large_string()), _DIGITS, "0")
    mark, nothing = (pa.scalar(text, pa.large_string()) for text in (_MARK, ""))
    return pc.binary_join_element_wise(mark, digits, names.cast(pa.large_string()), nothing)


def local_parts(names: pa.Array) -> tuple[npt.NDArray[np.bool_], IdArray, pa.Array]:
    """Whether each name is that of a term in a region, and of those that are, the regions and the names alone.

    >>> is_local, regions, names = local_parts(pa.array(["fire", "\\x1f00000003fire"]))
    >>> is_local.tolist(), regions.tolist(), names.to_pylist()
    ([False, True], [3], ['fire'])
    """
    names = names.cast(pa.large_string())
    is_local = pc.starts_with(names, _MARK)
    local = names.filter(is_local)
    digits = pc.utf8_slice_codeunits(local, len(_MARK), len(_MARK) + _DIGITS)
    regions = digits.cast(pa.int32()).to_numpy(zero_copy_only=False)
    return is_local.to_numpy(zero_copy_only=False), regions, pc.utf8_slice_codeunits(local, len(_MARK) + _DIGITS)


@numba.njit(cache=True, nogil=True, inline="always")
def _local_key(region, term):
    """A word in a region as one number, never 0. That of term -1 is never in a table."""
    return np.uint64(region + 1) << np.uint64(32) | np.uint64(term + 1)


@numba.njit(cache=True, nogil=True, inline="always")
def _filter_bits(hashed):
    """The two bits of a word of the filter that a key sets; which word, the bits from 32 on say."""
    return np.uint64(1) << (hashed >> np.uint64(58)) | np.uint64(1) << (hashed >> np.uint64(52) & np.uint64(63))


@numba.njit(cache=True, nogil=True, inline="always")
def _slot_of(key, hashed, slots):
    """Where a key lies in an open table, or the free slot where it would."""
    mask = np.uint64(len(slots) - 1)
    slot = hashed & mask
    while slots[slot, 0] != 0 and slots[slot, 0] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@numba.njit(cache=True, nogil=True)
def _put_keys(regions, terms, numbers, seeds, words, slots):
    """Put words in regions, with their ``numbers`` int32, into an open table that has room for them."""
    for i in range(len(regions)):
        key = _local_key(regions[i], terms[i])
        hashed = mixed(key ^ seeds[0], seeds[1])
        slot = _slot_of(key, hashed, slots)
        slots[slot, 1] = numbers[i]
        slots[slot, 0] = key
        words[hashed >> np.uint64(32) & np.uint64(len(words) - 1)] |= _filter_bits(hashed)


@numba.njit(cache=True, nogil=True, inline="always")
def _find_local(region, term, seeds, words, slots):
    """The number of a word in a region, -1 if it is not in the table. Most that are not do not pass the filter."""
    key = _local_key(region, term)
    hashed = mixed(key ^ seeds[0], seeds[1])
    bits = _filter_bits(hashed)
    if words[hashed >> np.uint64(32) & np.uint64(len(words) - 1)] & bits != bits:
        return np.int32(-1)
    slot = _slot_of(key, hashed, slots)
    return np.int32(slots[slot, 1]) if slots[slot, 0] == key else np.int32(-1)


@numba.njit(cache=True, nogil=True)
def _find_keys(regions, terms, seeds, words, slots, numbers):
    """Fill ``numbers`` int32 with those of words in regions, -1 for one that is not in the table."""
    for i in range(len(regions)):
        numbers[i] = _find_local(regions[i], terms[i], seeds, words, slots)


@numba.njit(cache=True, nogil=True)
def _room(cells, region, borders, offsets, everywhere):
    """How many words :func:`_local_terms` finds at most."""
    n = 0
    for i in range(len(cells)):
        r = region[cells[i]] if cells[i] >= 0 else 0
        regions = everywhere + (1 + borders[r + 1] - borders[r] if r > 0 else 0)
        n += regions * (1 + offsets[i + 1] - offsets[i])
    return n + 1


@numba.njit(cache=True, nogil=True)
def _local_terms(cells, region, borders, offsets, ids, seeds, words, slots, everywhere, out_offsets, out):
    """The words of each row in its region, and everywhere, by their numbers: those that are in the table.

    Row i has the cell ``cells[i]`` (-1: no place, so it is in region 0 alone) and the terms ``ids[offsets[i]] …``, -1
    for one that nobody asks for; each row also has term 0. It is in the regions ``borders[r]`` … ``borders[r + 1] - 1``
    of its region r as well. ``everywhere``: whether region 0 has anything. ``out`` int32 has :func:`_room`; returns how
    many there are.
    """
    n = 0
    for i in range(len(cells)):
        r = region[cells[i]] if cells[i] >= 0 else 0
        for k in range(offsets[i] - 1, offsets[i + 1]):
            t = ids[k] if k >= offsets[i] else 0
            if t < 0:
                continue
            if r > 0:
                out[n] = _find_local(r, t, seeds, words, slots)
                n += out[n] >= 0
                for beside in range(borders[r], borders[r + 1]):
                    out[n] = _find_local(np.int32(beside), t, seeds, words, slots)
                    n += out[n] >= 0
            if everywhere:
                out[n] = _find_local(0, t, seeds, words, slots)
                n += out[n] >= 0
        out_offsets[i + 1] = n
    return n
