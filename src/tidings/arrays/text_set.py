"""Which of these texts came before? A set that grows by whole columns, in flat arrays.

Texts are ids of posts, which anybody may choose; ``seeds`` uint64[2] are random, so nobody can choose ids that meet in
the same slots.

Symbols of the kernels: text i is the UTF-8 bytes ``data[offsets[i] : offsets[i + 1]]`` and has ``hashes[i]``. ``slots``
int32 is a hash table with open addressing: a power of two of places, at most two thirds of them taken, each the number
of a text, or -1.
"""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays)
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

from tidings.arrays import IntArray
from tidings.arrays.growing import Growing, read_only
from tidings.arrays.kernels import spread_hash
from tidings.arrays.strings import FREE, ByteArray, is_text, text_bytes

_FIRST_PLACES = 1 << 14
_AT_A_TIME = 64


class TextSet:
    """Texts that came; 30 to 50 bytes for each beside its own.

    >>> known = TextSet()
    >>> known.add(pa.array(["fire", "smoke", "fire"])).tolist(), known.has(pa.array(["rain", "smoke"])).tolist()
    ([False, False, True], [False, True])
    """

    def __init__(self) -> None:
        self._offsets, self._data, self._hashes = Growing(np.int64), Growing(np.uint8), Growing(np.uint64)
        self._offsets.append(0)
        self._seeds = _seeds()
        self._slots = np.full(_FIRST_PLACES, FREE, dtype=np.int32)

    def __len__(self) -> int:
        """How many texts were added, repeated ones too."""
        return len(self._hashes)

    def add(self, texts: pa.StringArray | pa.LargeStringArray) -> npt.NDArray[np.bool_]:
        """Add a column without nulls; says of each text whether it came before. Cost: about 100 ns for each."""
        data, bounds = _bytes(texts)
        first, end = len(self), len(self._data)
        self._data.extend(data[bounds[0] : bounds[-1]])
        self._offsets.extend(bounds[1:] + (end - bounds[0]))
        self._hashes.reach(first + len(texts))
        if 3 * len(self) > 2 * len(self._slots):
            self._slots = np.full(1 << (3 * len(self)).bit_length(), FREE, dtype=np.int32)
            _refill(first, self._offsets.view, self._data.view, self._hashes.array, self._slots)
        met = np.zeros(len(texts), dtype=np.bool_)
        _file(first, self._seeds, self._offsets.view, self._data.view, self._hashes.array, self._slots, met)
        return met

    def has(self, texts: pa.StringArray | pa.LargeStringArray) -> npt.NDArray[np.bool_]:
        """Says of each text of a column without nulls whether it is there."""
        data, bounds = _bytes(texts)
        met = np.zeros(len(texts), dtype=np.bool_)
        _find(data, bounds, self._seeds, self._offsets.view, self._data.view, self._hashes.array, self._slots, met)
        return met


def surely_differ(texts: pa.ChunkedArray) -> bool:
    """Whether all texts of a column without nulls are different, by their hashes; no may be wrong, yes never is.

    Cost: some 25 ns for each, a fifth of what it takes to remember them.

    >>> surely_differ(pa.chunked_array([["fire"], ["smoke"]])), surely_differ(pa.chunked_array([["fire"], ["fire"]]))
    (True, False)
    """
    hashes, seeds, first = np.empty(len(texts), dtype=np.uint64), _seeds(), 0
    for chunk in texts.chunks:
        _hash_all(*_bytes(chunk), seeds, hashes[first : first + len(chunk)])
        first += len(chunk)
    hashes.sort()
    return not np.any(hashes[1:] == hashes[:-1])


def _seeds() -> npt.NDArray[np.uint64]:
    return np.frombuffer(os.urandom(16), dtype=np.uint64)


def _bytes(texts: pa.StringArray | pa.LargeStringArray) -> tuple[ByteArray, IntArray]:
    """As the kernels are compiled for."""
    data, bounds = text_bytes(texts)
    return read_only(data), read_only(bounds.astype(np.int64))


@numba.njit(cache=True, nogil=True)
def _hash_all(data, offsets, seeds, hashes):
    for k in range(len(hashes)):
        hashes[k] = spread_hash(data, offsets[k], offsets[k + 1], seeds[0], seeds[1])


@numba.njit(cache=True, nogil=True)
def _slot(raw, begin, end, value, offsets, data, hashes, slots):
    """The slot of the text in the bytes begin … end of ``raw``, which has that hash, or a free one."""
    mask = np.uint64(len(slots) - 1)
    slot = value & mask
    while slots[slot] != FREE:
        other = slots[slot]
        if hashes[other] == value and is_text(raw, begin, end, offsets, data, other):
            break
        slot = (slot + np.uint64(1)) & mask
    return slot


@numba.njit(cache=True, nogil=True)
def _file(first, seeds, offsets, data, hashes, slots, met):
    """File the texts from ``first`` on that are not there yet; fills ``met`` bool[texts from first on].

    Some texts at a time: the slots of all of them are read before the first is filed, and so on their way at once.
    Returns a number that means nothing, or nobody would read them.
    """
    mask = np.uint64(len(slots) - 1)
    read = 0
    for start in range(0, len(met), _AT_A_TIME):
        stop = min(len(met), start + _AT_A_TIME)
        for k in range(start, stop):
            begin, end = offsets[first + k], offsets[first + k + 1]
            value = hashes[first + k] = spread_hash(data, begin, end, seeds[0], seeds[1])
            read += slots[value & mask]
        for k in range(start, stop):
            slot = hashes[first + k] & mask
            if slots[slot] != FREE:
                begin, end = offsets[first + k], offsets[first + k + 1]
                slot = _slot(data, begin, end, hashes[first + k], offsets, data, hashes, slots)
                met[k] = slots[slot] != FREE
            if not met[k]:
                slots[slot] = first + k
    return read


@numba.njit(cache=True, nogil=True)
def _refill(count, offsets, data, hashes, slots):
    """File the first so many texts, each once, in a larger table that is empty."""
    for number in range(count):
        slot = _slot(data, offsets[number], offsets[number + 1], hashes[number], offsets, data, hashes, slots)
        if slots[slot] == FREE:
            slots[slot] = number


@numba.njit(cache=True, nogil=True)
def _find(raw, bounds, seeds, offsets, data, hashes, slots, met):
    """Whether the texts raw[bounds[r] : bounds[r + 1]] are there: fills ``met`` bool[rows]."""
    for row in range(len(met)):
        begin, end = bounds[row], bounds[row + 1]
        value = spread_hash(raw, begin, end, seeds[0], seeds[1])
        slot = _slot(raw, begin, end, value, offsets, data, hashes, slots)
        met[row] = slots[slot] != FREE
