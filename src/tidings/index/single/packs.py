"""Which arrays do the kernels for one publication take, and in which order? See :mod:`tidings.arrays.packs`."""

from __future__ import annotations

import numpy as np

from tidings.arrays.packs import Kinds

_INT, _LONG, _MASK, _REAL = np.int32, np.int64, np.uint32, np.float64
TABLE: Kinds = (_INT,) * 9
"""What an Entries has, but for its limit."""
CONDITIONS: Kinds = (np.int8, _INT, _LONG, _REAL, _INT, _INT)
"""What Predicates.arrays gives."""
ROOM: Kinds = (_MASK, _MASK, _INT, _MASK, _LONG, _LONG)
"""Marks of terms and of queries, room for queries and their masks, the end, counters."""
ASKED: Kinds = (_INT, _INT, _INT, _LONG, _LONG)
"""What an Asked has, but for its limit."""
