"""How does an array grow while others read it? In place where there is room, and into a longer copy where there is not.

One thread writes. A reader takes ``view`` once and uses the elements that it knows to be there: they never change place
in the array that it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_FIRST_ROOM = 64


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same memory, as all arrays that kernels only read are given to them: each kind would be compiled anew."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


class Growing:
    """A numpy array that is appended to; rows have ``width`` elements, 0 for plain numbers."""

    def __init__(self, dtype: npt.DTypeLike, width: int = 0, filler: int = 0) -> None:
        shape = (_FIRST_ROOM, width) if width else (_FIRST_ROOM,)
        self._filler = filler
        self.count = 0
        self.array: npt.NDArray[Any] = np.full(shape, filler, dtype=dtype)
        self.view = read_only(self.array)

    def __len__(self) -> int:
        return self.count

    @property
    def filled(self) -> npt.NDArray[Any]:
        """The elements that are there."""
        return self.array[: self.count]

    def renew(self) -> None:
        """Go on in a copy: who reads the old one sees no further change."""
        self.array = self.array.copy()
        self.view = read_only(self.array)

    def append(self, value: float | Sequence[float]) -> int:
        """Add one element at the end; returns its number."""
        number = self.count
        if number == len(self.array):
            self.reach(number + 1)
        self.array[number] = value
        self.count = number + 1
        return number

    def extend(self, values: npt.NDArray[Any] | Sequence[float]) -> None:
        start = self.count
        self.reach(start + len(values))
        self.array[start : self.count] = values

    def reach(self, count: int) -> None:
        """Let there be that many elements at least: new ones are filled with the filler."""
        self.room(count)
        self.count = max(count, self.count)

    def room(self, count: int) -> None:
        """Let there be room for that many elements: what is beyond the count is filled with the filler."""
        if count > len(self.array):
            room = max(count, 2 * len(self.array))
            longer = np.full((room, *self.array.shape[1:]), self._filler, dtype=self.array.dtype)
            longer[: len(self.array)] = self.array  # whoever knows that there is room may write beyond the count
            self.array, self.view = longer, read_only(longer)
