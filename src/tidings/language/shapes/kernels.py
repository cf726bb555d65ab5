"""Where in the text of a query do its values stand? Bytes in, bytes out, compiled by numba.

What is left is its shape: the text with a mark, one of the bytes below, for each value. A value is cut out only where
the parser would find it with any other value as well. A text that might be read otherwise is not cut at all.
"""

# ruff: noqa: PLR1714, SIM109  (a tuple in a compiled loop is slow)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False
# mypy: disallow_untyped_decorators=False

import numba
import numpy as np

WORD, QUOTED, VALUE, NUMBER = 1, 2, 3, 4
"""Marks: a word, what stands between quotes, a bare value of an attribute, a plain number."""

MAX_NUMBER_BYTES = 40

_SPACE, _QUOTE, _STAR, _COLON, _MINUS, _DOT, _COMMA, _ZERO, _EQUAL = (ord(c) for c in ' "*:-.,0=')
_OPEN, _CLOSE, _LESS, _GREATER, _BACKSLASH, _TILDE = (ord(c) for c in "()<>\\~")
_BRACKETS, _BRACKET_ENDS = (ord("["), ord("{")), (ord("]"), ord("}"))
_A, _D, _K, _M, _I, _N, _O, _R, _T = (ord(c) for c in "ADkmiNORT")


def _bytes_without(signs):
    table = np.ones(256, dtype=np.bool_)
    table[:33] = table[127] = False
    table[[ord(sign) for sign in signs]] = False
    return table


_IN_WORD = _bytes_without('()[]{}":*~^<>=|\\')
"""The bytes of a word, as in ``BARE_WORD``; of those beyond ASCII the reader of a word decides."""
_IN_VALUE = _bytes_without('()[]{}"*')


@numba.njit(cache=True, nogil=True)
def cut(data, bounds, buffers, ends, counts):
    """Cut the texts ``data[bounds[r] : bounds[r + 1]]``; returns how many bytes and ends each buffer has.

    ``buffers`` and ``ends`` are three arrays each: shapes, texts and numbers. A text that is cut has one shape; one
    that is not has an empty one. ``counts`` int64[rows, 2]: how many texts and numbers were cut out of each row.
    """
    sizes = np.zeros((3, 2), dtype=np.int64)
    for row in range(len(bounds) - 1):
        before = sizes.copy()
        if not _cut_row(data, bounds[row], bounds[row + 1], buffers, ends, sizes):
            sizes[:] = before
        ends[0][row] = sizes[0, 0]
        counts[row, 0], counts[row, 1] = sizes[1, 1] - before[1, 1], sizes[2, 1] - before[2, 1]
    return sizes


@numba.njit(cache=True, nogil=True)
def _cut_row(data, i, end, buffers, ends, sizes):
    """Cut one text; False if it cannot be cut."""
    while i < end:
        c = data[i]
        if c == _SPACE or c == _OPEN or c == _CLOSE or c == _MINUS:
            _keep(data, i, i + 1, buffers, sizes)
            i += 1
        elif c == _QUOTE:
            i = _cut_quoted(data, i, end, buffers, ends, sizes)
        elif _IN_WORD[c]:
            i = _cut_run(data, i, end, buffers, ends, sizes)
        else:
            return False
        if i < 0:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _cut_run(data, i, end, buffers, ends, sizes):
    """A word, the beginning of one, an operator, or a name and its value; returns where it ends, -1 if not surely."""
    j = i
    while j < end and _IN_WORD[data[j]]:
        j += 1
    if j < end and data[j] == _COLON:
        _keep(data, i, j + 1, buffers, sizes)
        return _cut_value(data, j + 1, end, buffers, ends, sizes)
    if _is_operator(data, i, j):
        _keep(data, i, j, buffers, sizes)
    else:
        _take(data, i, j, WORD, buffers, ends, sizes)
        if j < end and data[j] == _STAR:
            _keep(data, j, j + 1, buffers, sizes)
            j += 1
    return j if _is_end(data, j, end) else -1


@numba.njit(cache=True, nogil=True)
def _cut_quoted(data, i, end, buffers, ends, sizes):
    """What stands between quotes without a backslash, and the distance behind it."""
    j = i + 1
    while j < end and data[j] != _QUOTE:
        if data[j] == _BACKSLASH or data[j] < _SPACE or data[j] == 127:
            return -1
        j += 1
    if j == end or j == i + 1:
        return -1
    _keep(data, i, i + 1, buffers, sizes)
    _take(data, i + 1, j, QUOTED, buffers, ends, sizes)
    k = j + 1
    if k < end and data[k] == _TILDE:
        k += 1
        while k < end and _is_digit(data[k]):
            k += 1
    _keep(data, j, k, buffers, sizes)
    return k if _is_end(data, k, end) else -1


@numba.njit(cache=True, nogil=True)
def _cut_value(data, i, end, buffers, ends, sizes):
    """What stands behind the colon of a name."""
    if i == end or data[i] == _QUOTE or data[i] == _SPACE or data[i] == _OPEN:
        return i
    if data[i] in _BRACKETS:
        return _cut_bracket(data, i, end, buffers, ends, sizes)
    begin = i
    while i < end and i < begin + 2 and (data[i] == _LESS or data[i] == _GREATER or (i > begin and data[i] == _EQUAL)):
        i += 1
    is_compared = i > begin
    if not is_compared and data[i] == _STAR:
        i += 1
    _keep(data, begin, i, buffers, sizes)
    j = i
    while j < end and _IN_VALUE[data[j]]:
        j += 1
    if j == i:
        return -1
    if is_compared and _number_end(data, i, j) == j:
        _take(data, i, j, NUMBER, buffers, ends, sizes)
    else:
        _take(data, i, j, VALUE, buffers, ends, sizes)
    if j < end and data[j] == _STAR:
        _keep(data, j, j + 1, buffers, sizes)
        j += 1
    return j if _is_end(data, j, end) else -1


@numba.njit(cache=True, nogil=True)
def _cut_bracket(data, i, end, buffers, ends, sizes):
    """Plain numbers in brackets, with their units; ``TO``, ``*`` and commas stay in the shape."""
    _keep(data, i, i + 1, buffers, sizes)
    i += 1
    while i < end and data[i] not in _BRACKET_ENDS:
        j = i
        if data[i] == _SPACE or data[i] == _COMMA or data[i] == _STAR:
            j = i + 1
        elif data[i] == _T and i + 2 < end and data[i + 1] == _O and data[i + 2] == _SPACE:
            j = i + 2
        else:
            i = _number_end(data, i, end)
            if i < 0:
                return -1
            _take(data, j, i, NUMBER, buffers, ends, sizes)
            j = _unit_end(data, i, end)
            if j < end and not (data[j] == _SPACE or data[j] == _COMMA or data[j] in _BRACKET_ENDS):
                return -1
        _keep(data, i, j, buffers, sizes)
        i = j
    if i == end:
        return -1
    _keep(data, i, i + 1, buffers, sizes)
    return i + 1


@numba.njit(cache=True, nogil=True)
def _number_end(data, i, end):
    """Where a plain number ends that begins here: digits and a fraction, as JSON has them, but not -0. Else -1."""
    begin = i
    is_negative = data[i] == _MINUS
    if is_negative:
        i += 1
    first = i
    is_zero = True
    while i < end and _is_digit(data[i]):
        is_zero = is_zero and data[i] == _ZERO
        i += 1
    if i == first or (i > first + 1 and data[first] == _ZERO):
        return -1
    if i < end and data[i] == _DOT:
        i += 1
        first = i
        while i < end and _is_digit(data[i]):
            is_zero = is_zero and data[i] == _ZERO
            i += 1
        if i == first:
            return -1
    return -1 if (is_negative and is_zero) or i - begin > MAX_NUMBER_BYTES else i


@numba.njit(cache=True, nogil=True)
def _unit_end(data, i, end):
    """Where the unit of a radius ends: km, mi or m, or nothing."""
    if i + 1 < end and ((data[i] == _K and data[i + 1] == _M) or (data[i] == _M and data[i + 1] == _I)):
        return i + 2
    return i + 1 if i < end and data[i] == _M else i


@numba.njit(cache=True, nogil=True)
def _is_operator(data, i, j):
    """Whether that is AND, OR or NOT."""
    if j - i == 2:
        return data[i] == _O and data[i + 1] == _R
    if j - i != 3:
        return False
    if data[i] == _A:
        return data[i + 1] == _N and data[i + 2] == _D
    return data[i] == _N and data[i + 1] == _O and data[i + 2] == _T


@numba.njit(cache=True, nogil=True)
def _is_end(data, i, end):
    """Whether any token ends here: at the end, at a space or at a round bracket."""
    return i == end or data[i] == _SPACE or data[i] == _OPEN or data[i] == _CLOSE


@numba.njit(cache=True, nogil=True)
def _is_digit(c):
    return 48 <= c <= 57


@numba.njit(cache=True, nogil=True)
def _keep(data, i, j, buffers, sizes):
    """Let the shape have these bytes."""
    size = sizes[0, 0]
    for k in range(i, j):
        buffers[0][size] = data[k]
        size += 1
    sizes[0, 0] = size


@numba.njit(cache=True, nogil=True)
def _take(data, i, j, mark, buffers, ends, sizes):
    """Cut these bytes out as a value, and let the shape have a mark."""
    buffers[0][sizes[0, 0]] = mark
    sizes[0, 0] += 1
    kind = 2 if mark == NUMBER else 1
    size = sizes[kind, 0]
    for k in range(i, j):
        buffers[kind][size] = data[k]
        size += 1
    ends[kind][sizes[kind, 1]] = size
    sizes[kind, 0] = size
    sizes[kind, 1] += 1
