"""How do the numbers of a row lie among those of the others, where an attribute has several?

The kernels take one key for each row and slot. Where a row has several, a *mark* is there instead, a key that no number
has: ABSENT + k says that the keys stand from the k-th place on, counted row after row, before the next ABSENT. They lie
in further rows behind those of the publications, so that a kernel that meets no mark does nothing else than before.
"""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa

from tidings.arrays import IntArray
from tidings.model.values import Value
from tidings.tables.columns import ABSENT, column_keys, instant_key, number_key
from tidings.tables.nesting import elements


def keyed(value: Value | None, of_instants: bool) -> tuple[int, float] | None:
    """The key of a number or an instant, and the number whose interval stands for it; None if it is neither."""
    if isinstance(value, datetime):
        key = instant_key(value)
        return (key, float(key)) if of_instants else None
    if of_instants or not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return number_key(float(value)), float(value)


def marked(keys: list[int], width: int, more: list[int]) -> int:
    """What stands for some keys of one row: the only one, ABSENT, or a mark for where they are put in ``more``."""
    if len(keys) < 2:
        return keys[0] if keys else int(ABSENT)
    mark = int(ABSENT) + width + len(more)
    more += [*keys, int(ABSENT)]
    return mark


def several_numbers(column: pa.ChunkedArray, end: int) -> tuple[IntArray, IntArray]:
    """:func:`marked` for each row of a column of several; what is put behind the rows begins at place ``end``."""
    rows, values = elements(column)
    keys, counts = column_keys(values), np.bincount(rows, minlength=len(column))
    row_keys = np.full(len(column), ABSENT, dtype=np.int64)
    is_alone = counts[rows] == 1
    row_keys[rows[is_alone]] = keys[is_alone]
    marked = np.flatnonzero(counts > 1)
    sizes = counts[marked] + 1  # with an ABSENT behind them
    starts = np.cumsum(sizes) - sizes
    row_keys[marked] = ABSENT + end + starts
    behind = np.full(int(sizes.sum()), ABSENT, dtype=np.int64)
    is_key = np.ones(len(behind), dtype=np.bool_)
    is_key[starts + sizes - 1] = False
    behind[is_key] = keys[~is_alone]
    return row_keys, behind


def filled_up(numbers: IntArray, more: IntArray) -> IntArray:
    """The rows, and behind them as many as it takes to hold more keys."""
    if not len(more):
        return numbers
    width = numbers.shape[1]
    behind = np.full((-(-len(more) // width), width), ABSENT, dtype=np.int64)
    behind.reshape(-1)[: len(more)] = more
    return np.concatenate([numbers, behind])
