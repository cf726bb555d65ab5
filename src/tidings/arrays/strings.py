"""Which number has this text, and which text this number? A table of flat arrays, which can be mapped from a file.

Symbols of the kernels: text i is the UTF-8 bytes ``data[offsets[i] : offsets[i + 1]]``. ``slots`` int32 is a hash table
with open addressing: a power of two of places, at most two thirds of them taken, each the number of a text, or -1. A
text is looked for from the place that its hash gives. So the hash (:func:`tidings.arrays.kernels.seeded_hash`) is part
of what files hold, and must not change without a new format. Its ``seeds`` uint64[2] follow from all texts of the table
by a cryptographic hash: the same texts give the same file, and nobody can choose texts that meet in the same slots.
"""

# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False
# mypy: disallow_untyped_decorators=False

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.arrays import IdArray, IntArray
from tidings.arrays.kernels import seeded_hash
from tidings.model import DataError

ByteArray = npt.NDArray[np.uint8]

FREE = -1
_DTYPES = {"offsets": np.int64, "data": np.uint8, "slots": np.int32, "seeds": np.uint64}
ARRAYS = tuple(_DTYPES)
"""The names of the arrays that a table is made of."""

_MOST_TEXTS = 2**30
_FEW = 4


@dataclass(frozen=True, slots=True, eq=False)
class StringTable:
    """Texts numbered from 0 in the order given. Shapes: offsets int64 (texts + 1), data uint8, slots int32,
    seeds uint64 (2).

    >>> table = StringTable.of(pa.array(["fire", "smoke"]))
    >>> table.find("smoke"), table.find("rain"), table[0], len(table)
    (1, -1, 'fire', 2)
    """

    offsets: IntArray
    data: ByteArray
    slots: IdArray
    seeds: npt.NDArray[np.uint64]

    def __post_init__(self) -> None:
        for name, dtype in _DTYPES.items():  # as from a mapped file, for which the kernels are compiled
            array = np.ascontiguousarray(getattr(self, name), dtype=dtype).view()
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def of(cls, texts: pa.Array | pa.ChunkedArray) -> StringTable:
        """The table of a column of text; of equal texts the last one is found, but each keeps its number.

        A null is a DataError. Cost: about 0.1 s for a million ids.
        """
        column = _column(texts)
        if column.null_count:
            raise DataError(f"{column.null_count:,} of {len(column):,} texts are null; leave them out or fill them in")
        if len(column) > _MOST_TEXTS:
            raise DataError(f"a table holds at most {_MOST_TEXTS:,} texts, got {len(column):,}; make several")
        data, bounds = text_bytes(column)
        offsets, data = bounds - bounds[0], data[bounds[0] : bounds[-1]].copy()
        slots = np.full(_places(len(column)), FREE, dtype=np.int32)
        seeds = _seeds(offsets, data)
        _fill(offsets, data, seeds, slots, np.empty(len(column), dtype=np.uint64))
        return cls(offsets, data, slots, seeds)

    @classmethod
    def empty(cls) -> StringTable:
        """The table of no texts, without loading what makes one: to open an index must not take longer than to map it.

        >>> StringTable.empty().find("fire"), len(StringTable.empty())
        (-1, 0)
        """
        none = np.zeros(0, dtype=np.uint8)
        slots, seeds = np.full(_places(0), FREE, dtype=np.int32), np.zeros(2, dtype=np.uint64)
        return cls(np.zeros(1, dtype=np.int64), none, slots, seeds)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> StringTable:
        """The table that :meth:`arrays` took apart; nothing is copied."""
        for name, dtype in _DTYPES.items():
            if name not in arrays or arrays[name].dtype != dtype or arrays[name].ndim != 1:
                got = f"{arrays[name].dtype} of {arrays[name].ndim} dimensions" if name in arrays else "none"
                raise DataError(f"a table of texts needs an array {name!r} of {np.dtype(dtype)}, got {got}")
        table = cls(*(arrays[name] for name in ARRAYS))
        if not len(table.offsets) or len(table.slots) != _places(len(table)) or len(table.seeds) != 2:
            raise DataError(
                f"{len(table.offsets):,} offsets and {len(table.slots):,} slots are no table of texts; build it again"
            )
        return table

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that the table is made of, by name."""
        return {name: getattr(self, name) for name in ARRAYS}

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < len(self):
            raise IndexError(f"there are {len(self):,} texts, and none has the number {number}")
        return self.data[self.offsets[number] : self.offsets[number + 1]].tobytes().decode()

    @property
    def size_bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays().values())

    def find(self, text: str) -> int:
        """The number of a text, or -1. Cost: about 1 µs."""
        try:
            raw = text.encode()
        except UnicodeEncodeError:  # half of a surrogate pair: no text has it
            return -1
        return int(_find(raw, self.seeds, self.offsets, self.data, self.slots))

    def find_many(self, texts: pa.Array | pa.ChunkedArray) -> IntArray:
        """The number of each text, int64; -1 for one that is absent or null. A dictionary is looked up once."""
        if isinstance(texts, pa.DictionaryArray) and not texts.null_count:
            found: IntArray = self.find_many(texts.dictionary)[texts.indices.to_numpy()]
            return found
        column = _column(texts)
        data, bounds = text_bytes(column)
        numbers = np.empty(len(column), dtype=np.int64)
        _find_many(data, bounds, self.seeds, self.offsets, self.data, self.slots, numbers)
        if column.null_count:
            numbers[column.is_null().to_numpy(zero_copy_only=False)] = -1
        return numbers

    def find_few(self, texts: Sequence[str]) -> list[int]:
        """:meth:`find` of some, without letting other threads in. Cost: about 0.3 µs each."""
        if len(texts) < _FEW:
            return [self.find(text) for text in texts]
        raws = [text.encode("utf-8", "surrogatepass") for text in texts]  # half of a pair: no text has it
        numbers = np.empty(len(raws), dtype=np.int64)
        bounds = np.array([0, *accumulate(map(len, raws))], dtype=np.int64)
        _find_few(b"".join(raws), bounds, self.seeds, self.offsets, self.data, self.slots, numbers)
        found: list[int] = numbers.tolist()
        return found

    def some(self, numbers: npt.NDArray[np.integer[Any]]) -> list[str]:
        """A few of the texts. Arrow would let other threads in meanwhile, and wait for its turn again."""
        return some_texts(self.offsets, self.data.data, numbers)

    def texts(self) -> pa.LargeStringArray:
        """All texts in order of their numbers; an Arrow array over the same memory."""
        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.large_string(), len(self), buffers)


def some_texts(offsets: IntArray, data: memoryview, numbers: npt.NDArray[np.integer[Any]]) -> list[str]:
    """The texts of these numbers."""
    bounds = np.empty((2, len(numbers)), dtype=np.int64)
    _bounds(offsets, numbers, bounds)
    begins, ends = bounds.tolist()
    return [str(data[begin:end], "utf-8") for begin, end in zip(begins, ends, strict=True)]


def _seeds(offsets: IntArray, data: ByteArray) -> npt.NDArray[np.uint64]:
    found = blake2b(data.data, digest_size=16)
    found.update(offsets.data)
    return np.frombuffer(found.digest(), dtype=np.uint64)


def _places(texts: int) -> int:
    """The smallest power of two that so many texts fill to two thirds at most."""
    return 1 << max(0, (3 * texts + 1) // 2 - 1).bit_length()


def _column(texts: pa.Array | pa.ChunkedArray) -> pa.LargeStringArray:
    if not isinstance(texts, pa.Array | pa.ChunkedArray):
        raise DataError(f"a column of text is needed, got {type(texts).__name__}; make it a pyarrow array")
    kind = texts.type.value_type if pa.types.is_dictionary(texts.type) else texts.type
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    if not any(check(kind) for check in checks):
        raise DataError(f"a column of text is needed, got {texts.type}; cast it to text first")
    column = texts.cast(pa.large_string())
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def text_bytes(column: pa.StringArray | pa.LargeStringArray) -> tuple[ByteArray, IntArray]:
    """The bytes of a column, and [rows + 1] bounds of its rows in them, int64 of a ``large_string``, else int32."""
    width: Any = np.int64 if pa.types.is_large_string(column.type) else np.int32
    _, offset_buffer, data_buffer = column.buffers()
    data = np.frombuffer(data_buffer or b"", dtype=np.uint8)
    if not len(column):
        return data, np.zeros(1, dtype=width)
    return data, np.frombuffer(offset_buffer, dtype=width)[column.offset : column.offset + len(column) + 1]


@numba.njit(cache=True)  # numpy lets other threads in where there are more than 500
def _bounds(offsets, numbers, bounds):
    """Where the texts of these numbers begin and end: fills ``bounds`` int64[2, numbers]."""
    for i in range(len(numbers)):
        bounds[0, i], bounds[1, i] = offsets[numbers[i]], offsets[numbers[i] + 1]


@numba.njit(cache=True, nogil=True)
def is_text(raw, start, end, offsets, data, number):
    """Whether the bytes start … end of ``raw`` are that text."""
    at = offsets[number]
    if offsets[number + 1] - at != end - start:
        return False
    for j in range(end - start):  # noqa: SIM110  (compiled)
        if raw[start + j] != data[at + j]:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _fill(offsets, data, seeds, slots, hashes):
    """File all texts in free slots, a later one in the place of its equal; ``hashes`` uint64[texts] is scratch."""
    mask = np.uint64(len(slots) - 1)
    for number in range(len(hashes)):
        value = seeded_hash(data, offsets[number], offsets[number + 1], seeds[0], seeds[1])
        hashes[number] = value
        slot = value & mask
        while slots[slot] != FREE:
            other = slots[slot]
            if hashes[other] == value and is_text(data, offsets[number], offsets[number + 1], offsets, data, other):
                break
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = number


@numba.njit(cache=True, nogil=True)
def _look_up(raw, start, end, seeds, offsets, data, slots):
    """The number of the text in the bytes start … end of ``raw``, or -1."""
    mask = np.uint64(len(slots) - 1)
    slot = seeded_hash(raw, start, end, seeds[0], seeds[1]) & mask
    while slots[slot] != FREE and not is_text(raw, start, end, offsets, data, slots[slot]):
        slot = (slot + np.uint64(1)) & mask
    return slots[slot]


@numba.njit(cache=True)  # a microsecond: not worth letting other threads in
def _find(raw, seeds, offsets, data, slots):
    """The same for all of ``raw``, here Python's bytes: numba takes them faster than an array."""
    return _look_up(raw, 0, len(raw), seeds, offsets, data, slots)


@numba.njit(cache=True, nogil=True)
def _find_many(raw, bounds, seeds, offsets, data, slots, numbers):
    """Fill ``numbers`` int64[rows] with those of the texts raw[bounds[r] : bounds[r + 1]]."""
    for row in range(len(numbers)):
        numbers[row] = _look_up(raw, bounds[row], bounds[row + 1], seeds, offsets, data, slots)


@numba.njit(cache=True)
def _find_few(raw, bounds, seeds, offsets, data, slots, numbers):
    """The same where ``raw`` is Python's bytes, and other threads wait."""
    for row in range(len(numbers)):
        numbers[row] = _look_up(raw, bounds[row], bounds[row + 1], seeds, offsets, data, slots)
