"""How does a kernel get thirty arrays in a microsecond? By their addresses, in one array: a pack.

To hand an array over costs a part of a microsecond, more than some kernels take. What stays from one publication to the
next is packed once; :mod:`tidings.index.single.kernels` finds the arrays again by their places in the pack.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Kinds = tuple[type[np.generic], ...]
Arrays = Sequence[npt.NDArray[Any]]

_INT, _LONG, _MASK, _REAL = np.int32, np.int64, np.uint32, np.float64
TABLE: Kinds = (_INT,) * 9
"""What an Entries has, but for its limit."""
CONDITIONS: Kinds = (np.int8, _INT, _LONG, _REAL, _INT, _INT)
"""What Predicates.arrays gives."""
POST: Kinds = (_LONG, _REAL, _REAL, _LONG, _INT)
"""What a Batch of one row has, but for its terms; lon and lat are as long as numbers has rows."""
ROOM: Kinds = (_MASK, _MASK, _INT, _MASK, _LONG, _LONG)
"""Marks of terms and of queries, room for queries and their masks, the end, counters."""
ASKED: Kinds = (_INT, _INT, _INT, _LONG, _LONG)
"""What an Asked has, but for its limit."""


class Pack:
    """Arrays of these kinds, which live as long as it does. ``at`` int64: the address and the size of each.

    >>> numbers = np.arange(3)
    >>> Pack(POST[:1], [numbers]).at[1]
    np.int64(3)
    """

    __slots__ = ("arrays", "at")

    def __init__(self, kinds: Kinds, arrays: Arrays) -> None:
        self.arrays = tuple(arrays)
        found: list[int] = []
        for kind, array in zip(kinds, self.arrays, strict=True):
            if array.dtype != kind or not array.flags.c_contiguous:
                raise TypeError(f"a kernel takes a contiguous array of {np.dtype(kind)} here, got {array.dtype}")
            found += (array.__array_interface__["data"][0], array.size)
        self.at = np.array(found, dtype=np.int64)
