"""The inner loop of GI2: inverted lists are walked, and what was deleted falls out of them. Compiled by numba.

List l has the entries ``listed[begins[l] : begins[l] + counts[l]]`` (all int32, ``begins`` int64), and beside them, in
``firsts``, the first further term of each. Entries are those of :mod:`tidings.index.kernels`. ``walked[l]`` (int64):
how many deletions there had been when list l was last rid of deleted entries. ``is_deleted`` bool[queries];
``left`` int32[queries]: in how many lists each query still is. ``state`` int64[2]: how many deletions there have been,
and how many deleted queries are still in some list.
"""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects, and calls cost)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False

import numba
import numpy as np

from tidings.index.kernels import emit, finish, has_term, set_bits

_MANY = 1024
DELETIONS, PENDING = 0, 1


@numba.njit(cache=True, nogil=True)
def _rid(number, begins, counts, walked, listed, firsts, entry_queries, is_deleted, left, state):
    """Drop the entries of deleted queries from a list."""
    begin, kept = begins[number], 0
    for at in range(begin, begin + counts[number]):
        q = entry_queries[listed[at]]
        q = -q - 1 if q < 0 else q
        if is_deleted[q]:
            left[q] -= 1
            state[PENDING] -= left[q] == 0
        else:
            listed[begin + kept], firsts[begin + kept] = listed[at], firsts[at]
            kept += 1
    counts[number] = kept
    walked[number] = state[DELETIONS]


@numba.njit(cache=True, nogil=True)
def match_lists(first_row, list_offsets, lists, terms, term_offsets, numbers, points, token_offsets, tokens, begins,
                counts, walked, listed, firsts, is_deleted, left, state, tests, stream_offsets, stream, entry_queries,
                kinds, slots, keys, shapes, sequence_words, sequence_offsets, bits, query_bits, out, row_ends,
                counters):  # fmt: skip
    """Match rows, each with its ``lists`` int32 (``list_offsets`` int64[rows + 1]); stops before one that does not fit.

    Everything else, and what is returned, is as in :func:`tidings.index.kernels.match_chained`.
    """
    found = 0
    rows = len(term_offsets) - 1
    held = np.empty(_MANY, dtype=np.int32)
    for row in range(first_row, rows):
        candidates = verified = n = 0
        set_bits(row, terms, term_offsets, bits)
        before = found
        k, at, end = list_offsets[row], 0, 0
        while True:
            if at == end and k < list_offsets[row + 1]:
                number = lists[k]
                k += 1
                if state[PENDING] > 0 and walked[number] != state[DELETIONS]:
                    _rid(number, begins, counts, walked, listed, firsts, entry_queries, is_deleted, left, state)
                at, end = begins[number], begins[number] + counts[number]
                candidates += counts[number]
            stop = min(end, at + _MANY - n)
            for i in range(at, stop):
                held[n] = listed[i]
                n += has_term(bits, firsts[i])
            at = stop
            is_last = at == end and k == list_offsets[row + 1]
            if n < _MANY and not is_last:
                continue
            verified += n
            found = emit(
                held[:n], row, tests, stream_offsets, stream, entry_queries, kinds, slots, keys, shapes,
                sequence_words, sequence_offsets, numbers, points, token_offsets, tokens, bits, query_bits, out,
                found,
            )  # fmt: skip
            if found < 0:
                return finish(row, terms, term_offsets, bits, query_bits, out, before, len(out))
            n = 0
            if is_last:
                break
        finish(row, terms, term_offsets, bits, query_bits, out, before, found)
        row_ends[row] = found
        counters[0] += candidates
        counters[1] += verified
        counters[2] += found - before
    return rows
