"""Which publications of a block have a key? Lists of them, as the value lists of [LSM] 4, in flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidings.arrays import IdArray, IntArray, NamedArrays
from tidings.arrays.strings import ARRAYS, StringTable
from tidings.storage.kernels import sort_by_number

TEXT = pa.large_string()
NO_VALUES = np.zeros(0, dtype=np.int64)
_NONE = np.zeros(0, dtype=np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class KeptLists:
    """Key k has the publications ``places[starts[k] : starts[k + 1]]``, in order, and their ``values`` if it is a
    column of numbers. Shapes: starts int64 (keys + 1), places int32, values int64 (places, or none)."""

    keys: StringTable
    starts: IntArray
    places: IdArray
    values: IntArray

    @classmethod
    def of(cls, keys: pa.LargeStringArray, numbers: IntArray, places: IdArray, values: IntArray) -> KeptLists:
        """Of entries in order of their places: entry i says that place i has the key of number i. Each key is used."""
        if not len(keys):  # most posts have nothing but words
            return cls(StringTable.empty(), np.zeros(1, dtype=np.int64), _NONE, NO_VALUES)
        counts = np.bincount(numbers, minlength=len(keys))
        order = sorted_by_number(numbers, counts)
        starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        return cls(StringTable.of(keys), starts, places[order], values[order] if len(values) else values)

    @classmethod
    def joined(cls, lists: Sequence[KeptLists], bases: Iterable[int]) -> KeptLists:
        """Of blocks one behind the other; ``bases``: where each begins."""
        names = pa.concat_arrays([each.keys.texts() for each in lists]).dictionary_encode()
        codes = names.indices.to_numpy().astype(np.int64)
        counts = np.concatenate([np.diff(each.starts) for each in lists])
        places = np.concatenate([each.places + np.int32(base) for each, base in zip(lists, bases, strict=True)])
        values = np.concatenate([each.values for each in lists])
        return cls.of(names.dictionary, np.repeat(codes, counts), places, values)

    @classmethod
    def from_arrays(cls, arrays: NamedArrays, prefix: str) -> KeptLists:
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        return cls(StringTable.from_arrays(own), own["starts"], own["places"], own["values"])

    def arrays(self, prefix: str) -> NamedArrays:
        """As a file has them."""
        own = {name: getattr(self.keys, name) for name in ARRAYS}
        own |= {"starts": self.starts, "places": self.places, "values": self.values}
        return {prefix + name: array for name, array in own.items()}

    def with_key(self, key: str) -> IdArray:
        """The places that have a key."""
        number = self.keys.find(key)
        return _NONE if number < 0 else self.places[self.starts[number] : self.starts[number + 1]]

    def between(self, key: str, low: int, high: int) -> IdArray:
        """The places with a number from ``low`` to ``high`` in a column."""
        number = self.keys.find(key)
        if number < 0:
            return _NONE
        part = slice(int(self.starts[number]), int(self.starts[number + 1]))
        values = self.values[part]
        return np.unique(self.places[part][(low <= values) & (values <= high)])


def encoded(keys: Sequence[str]) -> tuple[pa.LargeStringArray, IntArray]:
    """Distinct keys, and the number of each that was given."""
    found = pc.dictionary_encode(pa.array(keys, TEXT))
    return found.dictionary, found.indices.to_numpy().astype(np.int64)


def sorted_by_number(numbers: IdArray | IntArray, counts: IntArray) -> IdArray:
    """The order of entries by their numbers, those with the same one as they are; ``counts``: of each number."""
    order = np.empty(len(numbers), dtype=np.int32)
    sort_by_number(numbers, np.cumsum(counts) - counts, order)
    return order
