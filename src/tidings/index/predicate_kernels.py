"""Whether a predicate holds of a row: a box of two numbers, a circle, words in a row or near each other.

What a formula asks needs the row's terms as well: see :mod:`tidings.index.kernels`.
"""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects, and calls cost)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False

import math

import numba
import numpy as np

from tidings.tables.columns import ABSENT, LEAST

BOX, CIRCLE, SEQUENCE, FORMULA = 0, 1, 2, 3
_EARTH_RADIUS_M = 6_371_008.8


@numba.njit(cache=True, nogil=True)
def _within_circle(lon, lat, circle):
    """As tidings.model.region.distance_m, operation by operation, so that both give the same bits."""
    phi1, phi2, turn = math.radians(circle[1]), math.radians(lat), math.radians(lon - circle[0])
    across = math.cos(phi2) * math.sin(turn)
    along = math.cos(phi1) * math.sin(phi2) - math.sin(phi1) * math.cos(phi2) * math.cos(turn)
    inner = math.sin(phi1) * math.sin(phi2) + math.cos(phi1) * math.cos(phi2) * math.cos(turn)
    return _EARTH_RADIUS_M * math.atan2(math.sqrt(across * across + along * along), inner) <= circle[2]


@numba.njit(cache=True, nogil=True)
def _has_row(words, offsets, tokens):
    """Whether the words stand at these offsets from each other somewhere in the tokens."""
    for start in range(len(tokens)):
        if tokens[start] != words[0]:
            continue
        k = 1
        while k < len(words):
            at = start + offsets[k]
            if at >= len(tokens) or tokens[at] != words[k]:
                break
            k += 1
        if k == len(words):
            return True
    return False


@numba.njit(cache=True, nogil=True)
def _place_of(word, words):
    """The first place of a word, or -1."""
    for k in range(len(words)):
        if words[k] == word:
            return k
    return -1


@numba.njit(cache=True, nogil=True)
def _has_near(words, window, tokens):
    """Whether all words (a repeated one as often) stand among some ``window`` + 1 tokens.

    The tokens enter and leave the window one by one. ``lacking`` counts, at a word's first place, how many of it are
    not inside.
    """
    lacking = np.zeros(len(words), dtype=np.int64)
    for word in words:
        lacking[_place_of(word, words)] += 1
    missing = len(words)
    for last in range(len(tokens)):
        k = _place_of(tokens[last], words)
        if k >= 0:
            missing -= lacking[k] > 0
            lacking[k] -= 1
            if missing == 0:
                return True
        k = _place_of(tokens[last - window], words) if last >= window else -1
        if k >= 0:
            lacking[k] += 1
            missing += lacking[k] > 0
    return False


@numba.njit(cache=True, nogil=True)
def _any_between(mark, low, high, numbers):
    """Whether any of the numbers that a mark stands for (tidings.terms.several) is between two keys."""
    k, width = mark - ABSENT, numbers.shape[1]
    number = numbers[k // width, k % width]
    while number != ABSENT:
        if low <= number <= high:
            return True
        k += 1
        number = numbers[k // width, k % width]
    return False


@numba.njit(cache=True, nogil=True)
def in_box(p, row, slots, keys, numbers):
    """Whether both numbers of a box are there and between its keys, which neither ABSENT nor a mark is."""
    a, b = numbers[row, slots[p, 0]], numbers[row, slots[p, 1]]
    if keys[p, 0] <= a <= keys[p, 1] and keys[p, 2] <= b <= keys[p, 3]:
        return True
    return ABSENT < a < LEAST and _any_between(a, keys[p, 0], keys[p, 1], numbers)  # of one slot: no place has several


@numba.njit(cache=True, nogil=True)
def holds(p, row, kinds, slots, keys, circles, sequence_words, sequence_offsets, numbers, lon, lat, token_offsets,
           tokens):  # fmt: skip
    """Whether a predicate holds of a row."""
    if kinds[p] == BOX:
        return in_box(p, row, slots, keys, numbers)
    first, last = slots[p, 0], slots[p, 1]
    if kinds[p] == CIRCLE:
        return not math.isnan(lon[row]) and _within_circle(lon[row], lat[row], circles[first])
    words, offsets = sequence_words[first:last], sequence_offsets[first:last]
    own = tokens[token_offsets[row] : token_offsets[row + 1]]
    slop = keys[p, 0]
    return _has_near(words, offsets[-1] + slop, own) if slop else _has_row(words, offsets, own)
