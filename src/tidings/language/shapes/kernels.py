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
"""Marks: a word, what stands between quotes, a bare value of an attribute or all in its brackets, a plain number."""

MAX_NUMBER_BYTES = 40
MAX_VALUES = 128

_SPACE, _QUOTE, _STAR, _COLON, _MINUS, _DOT, _COMMA, _ZERO, _EQUAL = (ord(c) for c in ' "*:-.,0=')
_OPEN, _CLOSE, _LESS, _GREATER, _BACKSLASH, _TILDE = (ord(c) for c in "()<>\\~")
_SQUARE, _CURLY, _SQUARE_END, _CURLY_END, _DELETE = (ord(c) for c in "[{]}\x7f")
_A, _D, _N, _O, _R, _T = (ord(c) for c in "ADNORT")


def _bytes_without(signs):
    table = np.ones(256, dtype=np.bool_)
    table[:33] = table[0x7F] = False
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
    values = np.empty((MAX_VALUES + 1, 3), dtype=np.int64)
    for row in range(len(bounds) - 1):
        counts[row] = 0
        if _find_values(data, bounds[row], bounds[row + 1], values):
            at = bounds[row]
            for n in range(1, values[0, 0]):
                begin, end, mark = values[n]
                kind = 2 if mark == NUMBER else 1
                _copy(data, at, begin, buffers[0], sizes[0])
                buffers[0][sizes[0, 0]] = mark
                sizes[0, 0] += 1
                _copy(data, begin, end, buffers[kind], sizes[kind])
                ends[kind][sizes[kind, 1]] = sizes[kind, 0]
                sizes[kind, 1] += 1
                counts[row, kind - 1] += 1
                at = end
            _copy(data, at, bounds[row + 1], buffers[0], sizes[0])
        ends[0][row] = sizes[0, 0]
    sizes[0, 1] = len(counts)
    return sizes


@numba.njit(cache=True, nogil=True)
def _copy(data, i, end, buffer, size):
    """Append the bytes from i to ``end`` to a buffer that has ``size[0]`` bytes."""
    at = size[0]
    for k in range(i, end):
        buffer[at] = data[k]
        at += 1
    size[0] = at


@numba.njit(cache=True, nogil=True)
def _find_values(data, i, end, values):
    """Fill ``values`` int64[values, 3] from its second row on: begin, end and mark of each.

    ``values[0, 0]`` is the number of the next row. False if the text cannot be cut.
    """
    values[0, 0] = 1
    while i < end:
        c = data[i]
        if c == _SPACE or c == _OPEN or c == _CLOSE or c == _MINUS:
            i += 1
        elif c == _QUOTE:
            i = _find_quoted(data, i, end, values)
        elif _IN_WORD[c]:
            i = _find_run(data, i, end, values)
        else:
            return False
        if i < 0 or values[0, 0] > MAX_VALUES - 4:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _add(values, begin, end, mark):
    n = values[0, 0]
    values[n, 0], values[n, 1], values[n, 2] = begin, end, mark
    values[0, 0] = n + 1


@numba.njit(cache=True, nogil=True)
def _find_run(data, i, end, values):
    """A word, the beginning of one, an operator, or a name and its value; returns where it ends, -1 if not surely."""
    j = i
    while j < end and _IN_WORD[data[j]]:
        j += 1
    if j < end and data[j] == _COLON:
        return _find_value(data, j + 1, end, values)
    if not _is_operator(data, i, j):
        _add(values, i, j, WORD)
        if j < end and data[j] == _STAR:
            j += 1
    return j if _is_end(data, j, end) else -1


@numba.njit(cache=True, nogil=True)
def _find_quoted(data, i, end, values):
    """What stands between quotes without a backslash, and the distance behind it."""
    j = i + 1
    while j < end and data[j] != _QUOTE:
        if data[j] == _BACKSLASH or data[j] < _SPACE or data[j] == _DELETE:
            return -1
        j += 1
    if j == end or j == i + 1:
        return -1
    _add(values, i + 1, j, QUOTED)
    j += 1
    if j < end and data[j] == _TILDE:
        j += 1
        while j < end and _is_digit(data[j]):
            j += 1
    return j if _is_end(data, j, end) else -1


@numba.njit(cache=True, nogil=True)
def _find_value(data, i, end, values):
    """What stands behind the colon of a name."""
    if i == end or data[i] == _QUOTE or data[i] == _SPACE or data[i] == _OPEN:
        return i
    if data[i] == _SQUARE or data[i] == _CURLY:
        return _find_in_brackets(data, i + 1, end, values)
    is_compared = data[i] == _LESS or data[i] == _GREATER
    if is_compared:
        i += 2 if i + 1 < end and data[i + 1] == _EQUAL else 1
    elif data[i] == _STAR:
        i += 1
    j = i
    while j < end and _IN_VALUE[data[j]]:
        j += 1
    if j == i:
        return -1
    _add(values, i, j, NUMBER if is_compared and _number_end(data, i, j) == j else VALUE)
    if j < end and data[j] == _STAR:
        j += 1
    return j if _is_end(data, j, end) else -1


@numba.njit(cache=True, nogil=True)
def _find_in_brackets(data, i, end, values):
    """Plain numbers up to a bracket, or else all that stands there as one value."""
    known = values[0, 0]
    j = _find_numbers(data, i, end, values)
    if j >= 0:
        return j
    values[0, 0] = known
    j = i
    while j < end and data[j] != _SQUARE_END and data[j] != _CURLY_END:
        if data[j] < _SPACE or data[j] == _DELETE:
            return -1
        j += 1
    if j == end or j == i:
        return -1
    _add(values, i, j, VALUE)
    return j + 1


@numba.njit(cache=True, nogil=True)
def _find_numbers(data, i, end, values):
    """Plain numbers up to a bracket; ``TO``, ``*`` and commas stay in the shape."""
    while i < end and data[i] != _SQUARE_END and data[i] != _CURLY_END:
        if data[i] == _SPACE or data[i] == _COMMA or data[i] == _STAR:
            i += 1
        elif data[i] == _T and i + 2 < end and data[i + 1] == _O and data[i + 2] == _SPACE:
            i += 2
        else:
            j = _number_end(data, i, end)
            if j < 0 or j == end or values[0, 0] > MAX_VALUES - 4:
                return -1
            if data[j] != _SPACE and data[j] != _COMMA and data[j] != _SQUARE_END and data[j] != _CURLY_END:
                return -1
            _add(values, i, j, NUMBER)
            i = j
    return i + 1 if i < end else -1


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
