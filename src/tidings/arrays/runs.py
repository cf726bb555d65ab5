"""Which numbers are those of several intervals, one after another?"""

from __future__ import annotations

import numpy as np

from tidings.arrays import IntArray


def runs(begins: IntArray, lengths: IntArray) -> IntArray:
    """The numbers ``begins[0] … begins[0] + lengths[0] - 1``, then those of the next, one after another.

    >>> runs(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(begins - (ends - lengths), lengths) + np.arange(total)
