"""Which terms are asked for in which regions? LocalTerms of both, each a term of its own: the map H2 of [PS2] IV-C.

An open hash table, so a word of a post is found in O(1). Regions are those of a grid
(:mod:`tidings.partitioning.gridt`); region 0 is everywhere. Who counts what is filed under each pair is a router.
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
from tidings.arrays import IdArray
from tidings.arrays.kernels import mixed

EVERYWHERE = 0
_FIRST_SLOTS = 64
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
        self._table = np.zeros(_FIRST_SLOTS, dtype=np.uint64), np.zeros(_FIRST_SLOTS, dtype=np.int32)

    def __len__(self) -> int:
        return self._count

    def find(self, regions: IdArray, terms: IdArray) -> IdArray:
        """The number of each word in each region, -1 for none."""
        numbers = np.empty(len(regions), dtype=np.int32)
        _find_keys(regions, terms, self._seeds, *self._table, numbers)
        return numbers

    def put(self, regions: IdArray, terms: IdArray, numbers: IdArray) -> None:
        """Add different pairs that are not there yet."""
        slots, values = self._table
        needed = 2 * (self._count + len(regions))
        if needed > len(slots):
            size = 1 << (2 * needed - 1).bit_length()
            slots, values = np.zeros(size, dtype=np.uint64), np.zeros(size, dtype=np.int32)
            _put_keys(*self.items(), self._seeds, slots, values)
        _put_keys(regions, terms, numbers, self._seeds, slots, values)
        self._count += len(regions)
        self._everywhere |= bool(np.any(regions == EVERYWHERE))
        self._table = slots, values

    def items(self) -> tuple[IdArray, IdArray, IdArray]:
        """All regions, terms and numbers, in the order of the numbers."""
        slots, values = self._table
        taken = np.flatnonzero(slots)
        taken = taken[np.argsort(values[taken], kind="stable")]
        keys = slots[taken]
        regions = (keys >> np.uint64(32)).astype(np.int64) - 1
        terms = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64) - 1
        return regions.astype(np.int32), terms.astype(np.int32), values[taken]

    def local(self, cells: IdArray, region: IdArray, terms: TermSets) -> TermSets:
        """The numbers of the words of posts, in the region of their cell and everywhere; those that are in the table.

        ``region`` int32: the region of each cell; a post in cell -1 has no place. Term 0 is in every post, and a term
        below 0 is asked for by nobody. Cost: some 10 ns a word.
        """
        offsets = np.zeros(len(cells) + 1, dtype=np.int64)
        out = np.empty(2 * (len(terms.ids) + len(cells)), dtype=np.int32)
        count = _local_terms(
            cells, region, terms.offsets, terms.ids, self._seeds, *self._table, self._everywhere, offsets, out
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
def _key_of(region, term):
    """A word in a region as one number, never 0."""
    return np.uint64(region + 1) << np.uint64(32) | np.uint64(term + 1)


@numba.njit(cache=True, nogil=True, inline="always")
def _slot_of(key, seeds, mask, slots):
    """Where a key lies in an open table, or the free slot where it would. ``seeds`` uint64[2], drawn by chance."""
    slot = mixed(key ^ seeds[0], seeds[1]) & mask
    while slots[slot] != 0 and slots[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@numba.njit(cache=True, nogil=True)
def _put_keys(regions, terms, numbers, seeds, slots, values):
    """Put words in regions, with their ``numbers`` int32, into an open table that has room for them."""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(regions)):
        key = _key_of(regions[i], terms[i])
        slot = _slot_of(key, seeds, mask, slots)
        values[slot] = numbers[i]
        slots[slot] = key


@numba.njit(cache=True, nogil=True)
def _find_keys(regions, terms, seeds, slots, values, numbers):
    """Fill ``numbers`` int32 with those of words in regions, -1 for one that is not in the table."""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(regions)):
        key = _key_of(regions[i], terms[i])
        slot = _slot_of(key, seeds, mask, slots)
        numbers[i] = values[slot] if slots[slot] == key else -1


@numba.njit(cache=True, nogil=True)
def _local_terms(cells, region, offsets, ids, seeds, slots, values, everywhere, out_offsets, out):
    """The words of each row in its region, and everywhere, by their numbers: those that are in the table.

    Row i has the cell ``cells[i]`` (-1: no place, so it is in region 0 alone) and the terms ``ids[offsets[i]] …``, -1
    for one that nobody asks for; each row also has term 0. ``everywhere``: whether region 0 has anything. ``out`` int32
    has room for two for each term and row; returns how many there are.
    """
    mask = np.uint64(len(slots) - 1)
    n = 0
    for i in range(len(cells)):
        r = region[cells[i]] if cells[i] >= 0 else 0
        for k in range(offsets[i] - 1, offsets[i + 1]):
            t = ids[k] if k >= offsets[i] else 0
            if t < 0:
                continue
            if r > 0:
                key = _key_of(r, t)
                slot = _slot_of(key, seeds, mask, slots)
                if slots[slot] == key:
                    out[n] = values[slot]
                    n += 1
            if everywhere:
                key = _key_of(0, t)
                slot = _slot_of(key, seeds, mask, slots)
                if slots[slot] == key:
                    out[n] = values[slot]
                    n += 1
        out_offsets[i + 1] = n
    return n
