"""Where do the chunks of a text begin and end? Sixty-four bytes at a time: arrays in, arrays out, compiled by numba.

Symbols: ``data`` the UTF-8 bytes of a column, ``bounds`` where its rows begin and end. ``edges`` int64[chunks, 2]:
where each chunk begins and ends.

Of each byte, two bits are computed without a branch: whether it belongs to a chunk, and whether it may do more than
that (the @ of a name, the colon of a link, the first byte of a Han letter). Where the first bit changes, a chunk begins
or ends; where the second is set, the bytes are looked at one by one.
"""

# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False
# mypy: disallow_untyped_decorators=False
# ruff: noqa: ARG001, PLR1714  (an intrinsic is told the types of its arguments; a set in a compiled loop is slow)

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

_AT, _COLON, _APOSTROPHE, _UNDERSCORE = 64, 58, 39, 95
_HAN_LEAD, _HAN_LEADS = 0xE3, 7
_WIDTH = 64
_NONE, _ONE = np.uint64(0), np.uint64(1)


@intrinsic
def _bits(_, data, i):
    """Of the 64 bytes from i on, the first one lowest: which belong to a chunk, and which may do more than that."""

    def generate(context, builder, signature, values):
        several = ir.VectorType(ir.IntType(8), _WIDTH)
        start = make_array(signature.args[0])(context, builder, values[0]).data
        at = builder.bitcast(builder.gep(start, [values[1]]), several.as_pointer())
        x = builder.load(at, align=1)

        def all_of(byte):
            return ir.Constant(several, [byte] * _WIDTH)

        def among(those, first, count):
            return builder.icmp_unsigned("<", builder.sub(those, all_of(first)), all_of(count))

        def any_of(first, *others):
            for other in others:
                first = builder.or_(first, other)
            return builder.bitcast(first, ir.IntType(_WIDTH))

        letters = among(builder.or_(x, all_of(0x20)), ord("a"), 26)
        chunks = any_of(letters, among(x, ord("0"), 10), among(x, _APOSTROPHE, 1), among(x, 0x80, 0x80))
        more = any_of(among(x, _AT, 1), among(x, _COLON, 1), among(x, _HAN_LEAD, _HAN_LEADS))
        return context.make_tuple(builder, signature.return_type, [chunks, more])

    return types.UniTuple(types.uint64, 2)(data, i), generate  # type: ignore[attr-defined]


@intrinsic
def _lowest(_, bits):
    """The number of the lowest bit that is set; there is one."""

    def generate(context, builder, _, values):
        return builder.cttz(values[0], ir.IntType(1)(1))

    return types.int64(types.uint64), generate


@numba.njit(cache=True, nogil=True, inline="always")
def _below(n):
    """The n lowest bits, n < 64."""
    return (_ONE << np.uint64(n)) - _ONE


@numba.njit(cache=True, nogil=True)
def _is_han(data, i, end):
    """Whether the lead byte at i (0xE3 to 0xE9) begins a letter of U+3400-4DBF or U+4E00-9FFF, three bytes long."""
    if i + 2 >= end or data[i + 1] & 0xC0 != 0x80 or data[i + 2] & 0xC0 != 0x80:
        return False  # not UTF-8: whatever it is, it takes nothing of its neighbours
    block = (data[i] & 0x0F) << 6 | (data[i + 1] & 0x3F)
    return 0xD0 <= block <= 0x136 or 0x138 <= block <= 0x27F


@numba.njit(cache=True, nogil=True)
def _is_space(data, i, end):
    """Whether a space or control character begins at byte i, as the exact analyser's links end at one."""
    first = data[i]
    if first <= 0x20 or first == 0x7F:
        return True
    if first == 0xC2 and i + 1 < end:
        return data[i + 1] == 0x85 or data[i + 1] == 0xA0
    if i + 2 >= end or not (first == 0xE1 or first == 0xE2 or first == 0xE3):
        return False
    second, third = data[i + 1], data[i + 2]
    if first == 0xE2 and second == 0x80:
        return 0x80 <= third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF
    return (
        (first == 0xE1 and second == 0x9A and third == 0x80)
        or (first == 0xE2 and second == 0x81 and third == 0x9F)
        or (first == 0xE3 and second == 0x80 and third == 0x80)
    )


@numba.njit(cache=True, nogil=True)
def _link_letters(data, start, i, end):
    """How many bytes before the colon at i are the "http" or "https" of a link; 0 if it is none."""
    if i + 2 >= end or data[i + 1] != 47 or data[i + 2] != 47:
        return 0
    letters = 5 if i - start >= 5 and (data[i - 1] | 0x20) == 115 else 4
    h = i - letters
    if h < start:
        return 0
    if (data[h] | 0x20) != 104 or (data[h + 1] | 0x20) != 116 or (data[h + 2] | 0x20) != 116:
        return 0
    return letters if (data[h + 3] | 0x20) == 112 else 0


@numba.njit(cache=True, nogil=True)
def _after_link(data, i, end):
    while i < end and (0x20 < data[i] < 0x7F or not _is_space(data, i, end)):
        i += 1
    return i


@numba.njit(cache=True, nogil=True)
def _after_name(data, i, end):
    while i < end:
        letter, digit = np.uint8((data[i] | 0x20) - 97), np.uint8(data[i] - 48)
        if not (letter < 26 or digit < 10 or data[i] == _UNDERSCORE):
            break
        i += 1
    return i


@numba.njit(cache=True, nogil=True, inline="always")
def _bits_at(data, i, end, last):
    """:func:`_bits`, and 0 from ``end`` on. ``last`` uint8[64] is scratch, for what would reach beyond the data."""
    if i + _WIDTH <= len(data):
        chunks, more = _bits(data, i)
    else:
        for j in range(_WIDTH):
            last[j] = data[i + j] if i + j < end else 0
        chunks, more = _bits(last, 0)
    if end - i < _WIDTH:
        chunks &= _below(end - i)
        more &= _below(end - i)
    return chunks, more


@numba.njit(cache=True, nogil=True)
def _cut_at(data, i, end, flat, n):
    """Go on at byte i, which may do more than belong to a chunk: how many edges there are then, and the byte to go on.

    An odd number of edges is that of a chunk under way.
    """
    stop = i
    after = i + 1
    if data[i] == _AT:
        after = _after_name(data, after, end)
    elif data[i] == _COLON:
        stop -= _link_letters(data, flat[n - 1] if n & 1 else i, i, end)
        if stop < i:
            after = _after_link(data, after, end)
    elif not _is_han(data, i, end):
        flat[n] = i
        return n | 1, after
    if n & 1:
        flat[n] = stop
        n += 1 if stop > flat[n - 1] else -1
    if data[i] >= _HAN_LEAD:
        after = i + 3
        flat[n], flat[n + 1] = i, after
        n += 2
    return n, after


@numba.njit(cache=True, nogil=True)
def cut(data, bounds, edges, chunk_offsets):
    """Cut rows into chunks: fills ``edges``, which has room for (bytes + rows) / 2 + 1 chunks; how many there are.

    Row r has the chunks chunk_offsets[r] - chunk_offsets[0] … of this call; chunk_offsets[0] is given, the others are
    filled in. A chunk that is under way is in ``flat`` with its begin alone.
    """
    flat = edges.reshape(edges.size)
    last = np.empty(_WIDTH, dtype=np.uint8)
    n = 0
    for row in range(len(bounds) - 1):
        i, end = bounds[row], bounds[row + 1]
        while i < end:
            chunks, more = _bits_at(data, i, end, last)
            left = min(end - i, _WIDTH)
            while left > 0:
                width = _lowest(more) if more != _NONE else left
                changes = chunks ^ (chunks << _ONE | np.uint64(n & 1))
                if width < _WIDTH:
                    changes &= _below(width)
                while changes != _NONE:
                    flat[np.uint64(n)] = i + _lowest(changes)
                    n += 1
                    changes &= changes - _ONE
                after = i + width
                if more != _NONE:
                    n, after = _cut_at(data, after, end, flat, n)
                left -= after - i
                if left > 0:
                    chunks >>= np.uint64(after - i)
                    more >>= np.uint64(after - i)
                i = after
        flat[n] = end
        n += n & 1
        chunk_offsets[row + 1] = chunk_offsets[0] + n // 2
    return n // 2
