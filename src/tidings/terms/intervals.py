"""In which intervals of numbers does a number lie, and which of them cover a range?

The float64 numbers in their order are the leaves of a binary tree, four neighbours to a leaf, so a bit label stands for
an interval of numbers: the first bits choose the sign and the magnitude, the later ones the digits. It is the hierarchy
of [LSM] 6.2.2 with numbers for topics. Instants are covered by the caller as seconds since the epoch.

A cover may be wider than its range, never narrower.
"""

from __future__ import annotations

import math
import struct

import numpy as np
from numpy.typing import NDArray

from tidings.terms.cover import Covers, bounded_covers
from tidings.terms.labels import MAX_DEPTH, ROOT, ancestor, ancestors_at, bit_label, descendants

_SIGN = 1 << 63
_ALL_BITS = (1 << 64) - 1
_BITS_IN_LEAF = 64 - MAX_DEPTH
# The keys of the least and the greatest finite float64; infinities and what is not a number lie outside.
_LEAST_KEY, _GREATEST_KEY = 0x0010_0000_0000_0000, 0xFFEF_FFFF_FFFF_FFFF


def interval(number: float, depth: int = MAX_DEPTH) -> int:
    """The label of the interval at ``depth`` that holds ``number``.

    >>> bounds(interval(300_000, depth=12)), interval(-0.0) == interval(0.0)
    ((262144.0, 524287.99999999994), True)
    """
    return ancestor(bit_label(_key(number) >> _BITS_IN_LEAF, MAX_DEPTH), depth)


def intervals(numbers: NDArray[np.float64], depth: int = MAX_DEPTH) -> NDArray[np.uint64]:
    """:func:`interval` of many numbers at once: float64 in, uint64 out, of one shape.

    >>> intervals(np.array([-1.5, 2.0])) == [interval(-1.5), interval(2.0)]
    array([ True,  True])
    """
    if not np.all(np.isfinite(numbers)):
        raise ValueError("only finite numbers have an interval; some are infinite or not numbers")
    bits = (numbers + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
    keys = np.where(bits & np.uint64(_SIGN), ~bits, bits | np.uint64(_SIGN))
    leaves = keys >> np.uint64(_BITS_IN_LEAF) << np.uint64(_BITS_IN_LEAF) | np.uint64(1 << (_BITS_IN_LEAF - 1))
    return ancestors_at(leaves, depth)


def bounds(label: int) -> tuple[float, float]:
    """The least and the greatest finite number of an interval, both included.

    >>> bounds(interval(1.0, depth=12)), bounds(ROOT)
    ((1.0, 1.9999999999999998), (-1.7976931348623157e+308, 1.7976931348623157e+308))
    """
    first, last = descendants(label)
    low = max(first >> _BITS_IN_LEAF << _BITS_IN_LEAF, _LEAST_KEY)
    high = min(last | (1 << _BITS_IN_LEAF) - 1, _GREATEST_KEY)
    if low > high:
        raise ValueError(f"label {label:#x} stands for no finite number")
    return _number(low), _number(high)


def bounds_many(labels: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """:func:`bounds` of many labels at once, each of an interval that has a finite number.

    >>> [ends.tolist() for ends in bounds_many(np.array([interval(1.0, depth=12), ROOT], dtype=np.uint64))]
    [[1.0, -1.7976931348623157e+308], [1.9999999999999998, 1.7976931348623157e+308]]
    """
    reach = (labels & (~labels + np.uint64(1))) - np.uint64(1 << (_BITS_IN_LEAF - 1))
    in_leaf = np.uint64((1 << _BITS_IN_LEAF) - 1)
    low = np.maximum((labels - reach) & ~in_leaf, np.uint64(_LEAST_KEY))
    high = np.minimum((labels + reach) | in_leaf, np.uint64(_GREATEST_KEY))
    return _numbers(low), _numbers(high)


def cover(low: float | None, high: float | None, max_intervals: int = 8) -> list[int]:
    """At most ``max_intervals`` labels whose intervals together hold ``low <= number <= high``.

    None leaves a side open. Sorted and disjoint, and tighter with a larger bound
    (:mod:`tidings.terms.cover`).

    >>> [bounds(label) for label in cover(10, 20, max_intervals=3)]
    [(10.0, 11.999999999999998), (12.0, 15.999999999999998), (16.0, 23.999999999999996)]
    """
    first, last = descendants(ROOT)
    if low is not None:
        first = interval(low)
    if high is not None:
        last = interval(high)
    if low is not None and high is not None and low > high:
        raise ValueError(f"the low end of a range is not above its high end, got {low} and {high}")
    leaves = np.array([[first >> _BITS_IN_LEAF, 0, last >> _BITS_IN_LEAF, 0]])
    found: list[int] = bounded_covers(leaves, leaves, np.array([0, 1]), max_intervals, dims=1).labels.tolist()
    return found


def cover_many(low: NDArray[np.float64], high: NDArray[np.float64], max_intervals: int = 8) -> Covers:
    """:func:`cover` of many ranges at once: two float64 arrays, none of the first above that of the second.

    >>> cover_many(np.array([10.0, 0.0]), np.array([20.0, 1.0]), max_intervals=3).offsets
    array([0, 3, 4])
    """
    if not np.all(low <= high):
        raise ValueError("the low end of a range is not above its high end; some are")
    first, last = ((intervals(ends) >> np.uint64(_BITS_IN_LEAF)).astype(np.int64) for ends in (low, high))
    row = np.zeros(len(first), dtype=np.int64)
    leaves = np.column_stack([first, row, last, row])
    return bounded_covers(leaves, leaves, np.arange(len(leaves) + 1), max_intervals, dims=1)


def _key(number: float) -> int:
    """An unsigned 64-bit integer that orders as the numbers do; -0.0 has the key of 0.0."""
    try:
        number = float(number)
    except OverflowError:  # a whole number beyond float64
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"only a finite float64 has an interval, got {number}")
    bits: int = struct.unpack(">Q", struct.pack(">d", number + 0.0))[0]
    return bits ^ (_ALL_BITS if bits & _SIGN else _SIGN)


def _number(key: int) -> float:
    if key == _SIGN - 1:  # The place of -0.0, which no number has: the one before it is the greatest below zero.
        key -= 1
    bits = key ^ (_SIGN if key & _SIGN else _ALL_BITS)
    number: float = struct.unpack(">d", struct.pack(">Q", bits))[0]
    return number


def _numbers(keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """:func:`_number` of many."""
    keys = np.where(keys == np.uint64(_SIGN - 1), keys - np.uint64(1), keys)
    return np.where(keys & np.uint64(_SIGN), keys ^ np.uint64(_SIGN), ~keys).view(np.float64)
