"""How does a kernel get thirty arrays in a microsecond? By their addresses, in one array: a pack.

To hand an array over costs a part of a microsecond, more than some kernels take. What stays from one call to the next
is packed once; a kernel finds the arrays again by their places in the pack (:mod:`tidings.index.single.kernels`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Kinds = tuple[type[np.generic], ...]


class Pack:
    """Arrays of these kinds, which live as long as it does. ``at`` int64: the address and the size of each.

    >>> numbers = np.arange(3)
    >>> Pack((np.int64,), [numbers]).at[1]
    np.int64(3)
    """

    __slots__ = ("arrays", "at")

    def __init__(self, kinds: Kinds, arrays: Sequence[npt.NDArray[Any]]) -> None:
        self.arrays = tuple(arrays)
        found: list[int] = []
        for kind, array in zip(kinds, self.arrays, strict=True):
            if array.dtype != kind or not array.flags.c_contiguous:
                raise TypeError(f"a kernel takes a contiguous array of {np.dtype(kind)} here, got {array.dtype}")
            found += (array.__array_interface__["data"][0], array.size)
        self.at = np.array(found, dtype=np.int64)
