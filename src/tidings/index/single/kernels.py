"""The way into the inner loops for one publication: arrays come in packs, and other threads wait meanwhile.

These kernels keep the GIL. A thread that releases it for some microseconds may wait for a whole switch interval to get
it back; or it takes it back before another thread has woken up, and that one waits for seconds.

Packs are those of :mod:`tidings.index.single.packs`, by their ``at``: p of a post, t of a table of entries, c of
conditions, r of room, a of subscriptions.
"""

# ruff: noqa: ARG001  (an intrinsic is told the types of its arguments)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from tidings.index.boxes.kernels import match_boxes
from tidings.index.fan_out.kernels import fan_out
from tidings.index.kernels import match_chained, match_side_by_side


@intrinsic
def _pointer(_, address):
    """An address as a pointer."""

    def generate(context, builder, _, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@numba.njit(cache=True)
def _ints(pack, k):
    return numba.carray(_pointer(pack[2 * k]), (pack[2 * k + 1],), np.int32)


@numba.njit(cache=True)
def _longs(pack, k):
    return numba.carray(_pointer(pack[2 * k]), (pack[2 * k + 1],), np.int64)


@numba.njit(cache=True)
def _masks(pack, k):
    return numba.carray(_pointer(pack[2 * k]), (pack[2 * k + 1],), np.uint32)


@numba.njit(cache=True)
def _reals(pack, k):
    return numba.carray(_pointer(pack[2 * k]), (pack[2 * k + 1],), np.float64)


@numba.njit(cache=True)
def some_values(values, numbers):
    """``values`` int64 of these ``numbers`` int32; numpy would let other threads in."""
    some = np.empty(len(numbers), dtype=np.int64)
    for k in range(len(numbers)):
        some[k] = values[numbers[k]]
    return some


@numba.njit(cache=True)
def match_one(terms, p, t, limit, c, r):
    """Match one row of these ``terms`` int32, as the kernel of its kind of table does; how many queries it matches.

    -1 if there is no room. The masks that boxes leave need not be read: all of them name the one row.
    """
    offsets = np.array([0, len(terms)])
    points = _reals(p, 1).reshape((p[3] // 5, 5))
    numbers = _longs(p, 0).reshape((len(points), p[1] // len(points)))
    token_offsets, tokens = _longs(p, 2), _ints(p, 3)
    starts, link, firsts, tests, runs = _ints(t, 0), _ints(t, 1), _ints(t, 2), _ints(t, 3), _ints(t, 5)
    stream_offsets, stream, queries = _ints(t, 6), _ints(t, 7), _ints(t, 8)
    kinds = numba.carray(_pointer(c[0]), (c[1],), np.int8)
    slots, keys = _ints(c, 1).reshape((c[3] // 2, 2)), _longs(c, 2).reshape((c[5] // 4, 4))
    shapes, words, places = _reals(c, 3).reshape((c[7] // 8, 8)), _ints(c, 4), _ints(c, 5)
    bits, query_bits, out, ends, counters = _masks(r, 0), _masks(r, 1), _ints(r, 2), _longs(r, 4), _longs(r, 5)
    if len(runs):
        stop = match_boxes(
            0, terms, offsets, numbers, points, token_offsets, tokens, starts, runs, firsts, tests,
            _ints(t, 4).reshape((4, t[9] // 4)), stream_offsets, stream, queries, kinds, slots, keys, shapes, words,
            places, bits, query_bits, out, _masks(r, 3), ends, counters,
        )  # fmt: skip
    elif len(link):
        stop = match_chained(
            0, terms, offsets, numbers, points, token_offsets, tokens, starts, link, limit, firsts, tests,
            stream_offsets, stream, queries, kinds, slots, keys, shapes, words, places, bits, query_bits, out, ends,
            counters,
        )  # fmt: skip
    else:
        stop = match_side_by_side(
            0, terms, offsets, numbers, points, token_offsets, tokens, starts, firsts, tests, stream_offsets, stream,
            queries, kinds, slots, keys, shapes, words, places, bits, query_bits, out, ends, counters,
        )  # fmt: skip
    return ends[0] if stop else -1


@numba.njit(cache=True)
def fan_out_one(count, r, a, limit, now, at, out):
    """Who asked for the first ``count`` queries in the room; how many they are, of which ``out`` holds what it can."""
    return fan_out(
        0, 1, np.array([count]), _ints(r, 2), _ints(a, 0), _ints(a, 1), limit, _ints(a, 2), now, _longs(a, 3),
        _longs(a, 4), np.array([at]), np.empty(len(out), dtype=np.int32), out,
    )  # fmt: skip
