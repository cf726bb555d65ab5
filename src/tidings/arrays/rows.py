"""Where are the elements of some rows, if the elements of all rows lie side by side?"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tidings.arrays import IntArray


def places_of(offsets: IntArray, rows: npt.NDArray[np.integer[Any]]) -> tuple[IntArray, IntArray]:
    """The offsets of some rows, taken in that order, and the places of their elements; row i is offsets[i] to [i + 1].

    >>> [array.tolist() for array in places_of(np.array([0, 2, 2, 5]), np.array([2, 0]))]
    [[0, 3, 5], [2, 3, 4, 0, 1]]
    """
    counts = np.diff(offsets)[rows]
    taken = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    return taken, np.repeat(offsets[rows] - taken[:-1], counts) + np.arange(taken[-1])
