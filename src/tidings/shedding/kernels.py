"""Which matchers of a post are worth most to it, and which number stands for its chance? The loops, compiled.

Symbols: row i has the term occurrences ``offsets[i] : offsets[i + 1]``, each with a term ``ids`` and the matcher
``owners`` (int32, -1 for nobody's); set i has matcher m where bit ``m % 64`` of ``words[i, m // 64]`` is set.
"""

# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects)

from __future__ import annotations

import numba
import numpy as np

_STEP = np.uint64(0x9E3779B97F4A7C15)


@numba.njit(cache=True, nogil=True)
def mix(value, salt):
    """A uint64 that looks random, of two: splitmix64. What is kept follows from it, so it must not change."""
    h = value + (salt + np.uint64(1)) * _STEP
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@numba.njit(cache=True, nogil=True)
def mix_all(values, salt, mixed):
    """Fill ``mixed`` uint64[values] with :func:`mix` of each of ``values`` uint64 and one salt."""
    for i in range(len(values)):
        mixed[i] = mix(values[i], salt)


@numba.njit(cache=True, nogil=True)
def mark(offsets, owners, words):
    """Put all owners of a row into its set: ``words`` uint64[rows, …], all 0 before."""
    for i in range(len(offsets) - 1):
        for k in range(offsets[i], offsets[i + 1]):
            if owners[k] >= 0:
                words[i, owners[k] >> 6] |= np.uint64(1) << np.uint64(owners[k] & 63)


@numba.njit(cache=True, nogil=True)
def _weigh(i, offsets, ids, owners, weights, worths, weight, worth, seen, last):
    """Fill ``seen`` with the matchers of row ``i``, and ``weight`` and ``worth`` of each; how many these are.

    No weights: 1 for each term. ``last[m]`` is the row in which matcher ``m`` was there last.
    """
    count = 0
    for k in range(offsets[i], offsets[i + 1]):
        m = owners[k]
        if m < 0:
            continue
        if last[m] != i:
            last[m], weight[m], worth[m], seen[count] = i, 0.0, 0.0, m
            count += 1
        weight[m] += weights[ids[k]] if len(weights) else 1.0
        worth[m] += worths[ids[k]]
    return count


@numba.njit(cache=True, nogil=True)
def keep_best(offsets, ids, owners, weights, worths, quotas, ties, words, shed, lost):
    """Keep of each row the ``quotas[i]`` matchers with most weight in ``words``, all 0 before.

    The weight of a matcher is the sum of ``weights`` of the terms that it owns there (no weights: 1 each); the higher
    :func:`mix` of ``ties[i]`` and the matcher wins a tie. ``shed`` int64[matchers] counts what is not kept, and
    ``lost`` float64[matchers] adds up its ``worths`` by term.
    """
    weight, worth = np.zeros(len(shed)), np.zeros(len(shed))
    seen, last = np.empty(len(shed), np.int64), np.full(len(shed), -1)
    for i in range(len(offsets) - 1):
        count = _weigh(i, offsets, ids, owners, weights, worths, weight, worth, seen, last)
        quota = min(quotas[i], count)
        for kept in range(quota):
            if quota < count:
                best, tie = kept, mix(ties[i], np.uint64(seen[kept]))
                for j in range(kept + 1, count):
                    ahead = weight[seen[j]] - weight[seen[best]]
                    if ahead >= 0:
                        other = mix(ties[i], np.uint64(seen[j]))
                        if ahead > 0 or other > tie:
                            best, tie = j, other
                seen[kept], seen[best] = seen[best], seen[kept]
            m = seen[kept]
            words[i, m >> 6] |= np.uint64(1) << np.uint64(m & 63)
        for j in range(quota, count):
            shed[seen[j]] += 1
            lost[seen[j]] += worth[seen[j]]


@numba.njit(cache=True, nogil=True)
def grade(weight):
    """In steps: a weight that doubles is four grades higher."""
    return int(4.0 * np.log2(1.0 + weight))


@numba.njit(cache=True, nogil=True)
def grade_all(weights, grades):
    """Fill ``grades`` int64 with the :func:`grade` of each of ``weights`` float64."""
    for i in range(len(weights)):
        grades[i] = grade(weights[i])


@numba.njit(cache=True, nogil=True)
def keep_above(offsets, ids, owners, weights, worths, floor, chance, ties, words, shed, lost, grades):
    """Keep of each row the matchers whose weight has a :func:`grade` above ``floor``, or just that and luck.

    Arguments as those of :func:`keep_best`; ``chance`` is how many of 2**64 are lucky. ``grades`` int64[…] counts the
    copies that have each grade, the last one those above as well.
    """
    weight, worth = np.zeros(len(shed)), np.zeros(len(shed))
    seen, last = np.empty(len(shed), np.int64), np.full(len(shed), -1)
    for i in range(len(offsets) - 1):
        count = _weigh(i, offsets, ids, owners, weights, worths, weight, worth, seen, last)
        for j in range(count):
            m = seen[j]
            own = min(grade(weight[m]), len(grades) - 1)
            grades[own] += 1
            if own > floor or (own == floor and mix(ties[i], np.uint64(m)) < chance):
                words[i, m >> 6] |= np.uint64(1) << np.uint64(m & 63)
            else:
                shed[m] += 1
                lost[m] += worth[m]


@numba.njit(cache=True, nogil=True)
def grade_copies(offsets, ids, owners, weights, grades):
    """Fill ``grades`` uint8[rows, matchers], all 0 before, with the :func:`grade` of each copy, as by keep_above."""
    weight = np.zeros(grades.shape[1])
    for i in range(len(offsets) - 1):
        for k in range(offsets[i], offsets[i + 1]):
            if owners[k] >= 0:
                weight[owners[k]] += weights[ids[k]]
        for k in range(offsets[i], offsets[i + 1]):
            m = owners[k]
            if m >= 0 and weight[m] > 0:
                grades[i, m] = min(grade(weight[m]), 255)
                weight[m] = 0.0


@numba.njit(cache=True, nogil=True)
def add_up(offsets, ids, owners, worths, sums):
    """Fill ``sums`` float64[rows]: the ``worths`` of all terms of a row that have an owner."""
    for i in range(len(sums)):
        total = 0.0
        for k in range(offsets[i], offsets[i + 1]):
            if owners[k] >= 0:
                total += worths[ids[k]]
        sums[i] = total
