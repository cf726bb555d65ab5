"""Where does each word go, so that posts are sent to few matchers and all of them get as many? The loops, compiled.

Symbols: row i, a set of words, is ``ids[offsets[i] : offsets[i + 1]]`` (int64 and int32) and counts for ``weights[i]``
posts (int64); word w is in the rows ``rows[starts[w] : starts[w + 1]]`` (int64 and int32). The load of a matcher is the
number of posts that are sent to it.
"""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False

from __future__ import annotations

import numba
import numpy as np

from tidings.partitioning.kernels import part_of

_TOO_MUCH = 4.0


@numba.njit(cache=True, nogil=True)
def to_words(offsets, ids, keys, first, matchers, out_offsets, out_ids):
    """Replace terms by the words that stand for them, each once in a row; returns how many were written.

    Term t is the words ``first[t]`` … ``first[t + 1] - 1``, its versions, of which row i takes one by ``keys[i]``
    uint64. One without words of its own is at all matchers: word m < ``matchers`` stands for all such terms, at m.
    """
    out = 0
    for i in range(len(offsets) - 1):
        at_home = False
        for k in range(offsets[i], offsets[i + 1]):
            t = ids[k]
            count = first[t + 1] - first[t]
            if count > 0:
                out_ids[out] = first[t] + part_of(keys[i], count)
                out += 1
            elif not at_home:
                out_ids[out] = part_of(keys[i], matchers)
                out += 1
                at_home = True
        out_offsets[i + 1] = out
    return out


@numba.njit(cache=True, nogil=True)
def hash_sets(offsets, ids, hashes):
    """Fill ``hashes`` uint64[rows], equal for equal sets in whatever order."""
    for i in range(len(hashes)):
        total = np.uint64(offsets[i + 1] - offsets[i])
        for k in range(offsets[i], offsets[i + 1]):
            h = (np.uint64(ids[k]) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
            h = (h ^ (h >> np.uint64(32))) * np.uint64(0xFF51AFD7ED558CCD)
            total += h ^ (h >> np.uint64(29))
        hashes[i] = total


@numba.njit(cache=True, nogil=True)
def transpose(offsets, ids, starts, rows):
    """From the words of rows to the rows of words: word w is in ``rows[starts[w] : starts[w + 1]]``, rising.

    ``starts`` int64[words + 1], all 0 before; ``rows`` int32.
    """
    for k in range(len(ids)):
        starts[ids[k] + 1] += 1
    for w in range(len(starts) - 1):
        starts[w + 1] += starts[w]
    at = starts[:-1].copy()
    for i in range(len(offsets) - 1):
        for k in range(offsets[i], offsets[i + 1]):
            rows[at[ids[k]]] = i
            at[ids[k]] += 1


@numba.njit(cache=True, nogil=True)
def loads(offsets, ids, weights, keys, starts, owners, loads):
    """Add to ``loads`` int64[matchers] the weight of each row at every matcher that it is sent to, once."""
    seen = np.full(len(loads), -1, dtype=np.int64)
    for i in range(len(offsets) - 1):
        for k in range(offsets[i], offsets[i + 1]):
            t = ids[k]
            count = starts[t + 1] - starts[t]
            if count > 0:
                m = owners[starts[t] + part_of(keys[i], count)]
                if seen[m] != i:
                    seen[m] = i
                    loads[m] += weights[i]


@numba.njit(cache=True, nogil=True)
def place_greedily(order, starts, rows, offsets, weights, lows, highs, attraction, whole_root, placed, loads):
    """Place words one by one where ``attraction`` · R + R · b is least, all in sums of posts: R, the spread, is S.

    [S3TM] Alg. 1 where ``attraction`` is 0. b is sd / mean, so R · b is N · sd; with ``whole_root`` b is
    sqrt(variance / mean). Symbols: N = len(``loads``), the
    loads int64, all 0 before; S their sum and Q that of their squares; f the weight of the rows of w; ``near`` the
    matchers that a row is sent to so far; ``have`` the weight of the rows of w that are sent to a matcher already.
    ``placed`` int32[words] is -1 for a word that is free; lows[w] … highs[w] - 1 are words that have to be apart.
    """
    n = len(loads)
    near, sizes = np.empty(offsets[-1], dtype=np.uint8), np.zeros(len(offsets) - 1, dtype=np.int32)
    have = np.empty(n, dtype=np.int64)
    S = Q = 0  # noqa: N806
    for w in order:
        have[:] = 0
        f = 0
        for k in range(starts[w], starts[w + 1]):
            i = rows[k]
            f += weights[i]
            for j in range(offsets[i], offsets[i] + sizes[i]):
                have[near[j]] += weights[i]
        best = placed[w]
        if best < 0:
            least = np.inf
            for m in range(n):
                more = f - have[m]
                s, q = S + more, Q + 2 * loads[m] * more + more * more
                uneven = np.float64(n * q - s * s)
                value = attraction * s + np.sqrt(uneven * s / n if whole_root else uneven)
                if value < least and not is_taken(placed, lows[w], highs[w], m):
                    least, best = value, m
            placed[w] = best
        more = f - have[best]
        S, Q = S + more, Q + 2 * loads[best] * more + more * more  # noqa: N806
        loads[best] += more
        for k in range(starts[w], starts[w + 1]):
            i = rows[k]
            j, end = offsets[i], offsets[i] + sizes[i]
            while j < end and near[j] != best:
                j += 1
            if j == end:
                near[end] = best
                sizes[i] += 1


@numba.njit(cache=True, nogil=True)
def is_taken(placed, low, high, m):
    """Whether one of the words low … high - 1 is at matcher m."""
    for w in range(low, high):  # noqa: SIM110  (compiled)
        if placed[w] == m:
            return True
    return False


@numba.njit(cache=True, nogil=True)
def settle(offsets, ids, weights, placed, near, counts, sizes, loads):
    """Where each row is sent: to near[offsets[i]] … (uint8), ``sizes[i]`` of them, for so many words (``counts``).

    ``loads`` int64[matchers] is all 0 before.
    """
    for i in range(len(offsets) - 1):
        begin = end = offsets[i]
        for k in range(begin, offsets[i + 1]):
            m = placed[ids[k]]
            j = begin
            while j < end and near[j] != m:
                j += 1
            if j == end:
                near[end], counts[end] = m, 0
                end += 1
                loads[m] += weights[i]
            counts[j] += 1
        sizes[i] = end - begin


@numba.njit(cache=True, nogil=True)
def move_words(order, starts, rows, offsets, weights, lows, highs, slack, placed, near, counts, sizes, loads):
    """Move each word to where the sum of all loads is least, once; returns how many were moved.

    A load beyond (1 + ``slack``) of the mean counts _TOO_MUCH times as well. ``leave`` is what the word's matcher a
    is rid of, ``have`` what a matcher has already; the other names are those of :func:`settle` and
    :func:`place_greedily`.
    """
    n = len(loads)
    have = np.empty(n, dtype=np.int64)
    total, moved = loads.sum(), 0
    for w in order:
        a = placed[w]
        have[:] = 0
        f = leave = 0
        for k in range(starts[w], starts[w + 1]):
            i = rows[k]
            f += weights[i]
            for j in range(offsets[i], offsets[i] + sizes[i]):
                have[near[j]] += weights[i]
                if near[j] == a and counts[j] == 1:
                    leave += weights[i]
        most = (1 + slack) * total / n
        relief = max(0.0, loads[a] - most) - max(0.0, loads[a] - leave - most)
        best, least = a, 0.0
        for m in range(n):
            more = f - have[m]
            excess = max(0.0, loads[m] + more - most) - max(0.0, loads[m] - most)
            value = more - leave + _TOO_MUCH * (excess - relief)
            if m != a and value < least and not is_taken(placed, lows[w], highs[w], m):
                best, least = m, value
        if best != a:
            moved += 1
            loads[a] -= leave
            loads[best] += f - have[best]
            total += f - have[best] - leave
            placed[w] = best
            for k in range(starts[w], starts[w + 1]):
                move_one(a, best, offsets[rows[k]], rows[k], near, counts, sizes)
    return moved


@numba.njit(cache=True, nogil=True)
def move_one(a, b, begin, i, near, counts, sizes):
    """Let one word of row i be at matcher b, no longer at a."""
    end = begin + sizes[i]
    j = begin
    while near[j] != a:
        j += 1
    counts[j] -= 1
    if counts[j] == 0:
        end -= 1
        near[j], counts[j] = near[end], counts[end]
    j = begin
    while j < end and near[j] != b:
        j += 1
    if j == end:
        near[end], counts[end] = b, 0
        end += 1
    counts[j] += 1
    sizes[i] = end - begin


@numba.njit(cache=True, nogil=True)
def count_neighbours(starts, rows, offsets, ids, bounds):
    """Fill ``bounds`` int64[words + 1] for :func:`meet`: where the words that share a row with word w begin."""
    seen = np.full(len(starts) - 1, -1, dtype=np.int32)
    for w in range(len(starts) - 1):
        found = 0
        for k in range(starts[w], starts[w + 1]):
            for j in range(offsets[rows[k]], offsets[rows[k] + 1]):
                if ids[j] != w and seen[ids[j]] != w:
                    seen[ids[j]] = w
                    found += 1
        bounds[w + 1] = bounds[w] + found


@numba.njit(cache=True, nogil=True)
def meet(starts, rows, offsets, ids, weights, bounds, others, together):
    """Fill ``others`` int32 from ``bounds[w]`` on: the words that share rows with w; ``together`` int64: how many."""
    place = np.full(len(starts) - 1, -1, dtype=np.int64)
    for w in range(len(starts) - 1):
        end = bounds[w]
        for k in range(starts[w], starts[w + 1]):
            i = rows[k]
            for j in range(offsets[i], offsets[i + 1]):
                v = ids[j]
                if v != w:
                    if place[v] < bounds[w]:
                        place[v] = end
                        others[end], together[end] = v, 0
                        end += 1
                    together[place[v]] += weights[i]
