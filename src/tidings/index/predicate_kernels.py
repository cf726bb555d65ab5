"""Whether a predicate holds of a row: a box of two numbers, a circle or polygon, words in a row or near each other.

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

BOX, CIRCLE, SEQUENCE, FORMULA, POLYGON = 0, 1, 2, 3, 4
_EARTH_RADIUS_M = 6_371_008.8


@numba.njit(cache=True, nogil=True)
def _within_circle(lon, lat, shapes, c):
    """As tidings.model.region.distance_m, operation by operation, so that both give the same bits."""
    circle = shapes[c]
    phi1, phi2, turn = math.radians(circle[1]), math.radians(lat), math.radians(lon - circle[0])
    across = math.cos(phi2) * math.sin(turn)
    along = math.cos(phi1) * math.sin(phi2) - math.sin(phi1) * math.cos(phi2) * math.cos(turn)
    inner = math.sin(phi1) * math.sin(phi2) + math.cos(phi1) * math.cos(phi2) * math.cos(turn)
    return _EARTH_RADIUS_M * math.atan2(math.sqrt(across * across + along * along), inner) <= circle[2]


@numba.njit(cache=True, nogil=True)
def in_circle(c, row, shapes, points):
    """Whether a row's place is there and in a circle.

    The square of the straight line between two unit vectors decides, but for a hair around the circle. The vector of a
    row is made when the first circle asks for it.
    """
    if math.isnan(points[row, 2]):
        if math.isnan(points[row, 0]):
            return False
        turn, up = math.radians(points[row, 0]), math.radians(points[row, 1])
        points[row, 3], points[row, 4] = math.cos(up) * math.sin(turn), math.sin(up)
        points[row, 2] = math.cos(up) * math.cos(turn)
    x, y, z = points[row, 2] - shapes[c, 3], points[row, 3] - shapes[c, 4], points[row, 4] - shapes[c, 5]
    squared = x * x + y * y + z * z
    if squared <= shapes[c, 6]:
        return True
    return squared <= shapes[c, 7] and _within_circle(points[row, 0], points[row, 1], shapes, c)


@numba.njit(cache=True, nogil=True)
def _in_polygon(edges, lon, lat):
    """As tidings.model.region.Polygon.contains, operation by operation, so that both give the same bits."""
    inside = False
    for k in range(len(edges)):
        x1, y1, x2, y2 = edges[k, 0], edges[k, 1], edges[k, 2], edges[k, 3]
        if (lon == x1 and lat == y1) or (lat == y1 and y1 == y2 and min(x1, x2) <= lon <= max(x1, x2)):
            return True
        if (y1 > lat) != (y2 > lat):
            side = (x2 - x1) * (lat - y1) - (lon - x1) * (y2 - y1)
            if side == 0:
                return True
            if (side > 0) == (y2 > y1):
                inside = not inside
    return inside


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
def _has_near(words, offsets, slop, tokens):
    """Whether each word has a token of its own, at most ``slop`` behind its place from some beginning.

    The beginning moves by one token at a time. ``before[k]`` counts the tokens of word k before its window,
    ``until[k]`` those up to its end. A repeated word needs a token for each window: by Hall's theorem they are there
    if from the begin of any of its windows to the end of any later one there are as many as windows.
    """
    first, nth = np.empty(len(words), dtype=np.int64), np.zeros(len(words), dtype=np.int64)
    for k in range(len(words)):
        first[k] = _place_of(words[k], words)
        for j in range(k):
            nth[k] += words[j] == words[k]
    before, until = np.zeros(len(words), dtype=np.int64), np.zeros(len(words), dtype=np.int64)
    least = np.empty(len(words), dtype=np.int64)
    for begin in range(-offsets[-1] - slop, len(tokens)):
        has_new = False
        for k in range(len(words)):
            left, right = begin + offsets[k] - 1, begin + offsets[k] + slop
            before[k] += 0 <= left < len(tokens) and tokens[left] == words[k]
            if 0 <= right < len(tokens) and tokens[right] == words[k]:
                until[k] += 1
                has_new = True
        k = 0 if has_new else len(words) + 1
        while k < len(words):
            least[k] = before[k] - nth[k]
            group = first[k]
            least[group] = max(least[group], least[k])
            if until[k] - nth[k] <= least[group]:
                break
            k += 1
        if k == len(words):
            return True
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
def holds(p, row, kinds, slots, keys, shapes, sequence_words, sequence_offsets, numbers, points, token_offsets,
          tokens):  # fmt: skip
    """Whether a predicate holds of a row."""
    if kinds[p] == BOX:
        return in_box(p, row, slots, keys, numbers)
    first, last = slots[p, 0], slots[p, 1]
    if kinds[p] == CIRCLE:
        return in_circle(first, row, shapes, points)
    if kinds[p] == POLYGON:
        return _in_polygon(shapes[first:last], points[row, 0], points[row, 1])
    words, offsets = sequence_words[first:last], sequence_offsets[first:last]
    own = tokens[token_offsets[row] : token_offsets[row + 1]]
    slop = keys[p, 0]
    return _has_near(words, offsets, slop, own) if slop else _has_row(words, offsets, own)
