"""The inner loops from matched queries to subscriptions: arrays in, arrays out, compiled by numba."""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects, and calls cost)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False

import numba
import numpy as np

from tidings.index.boxes.kernels import place_of


@numba.njit(cache=True, nogil=True)
def fan_out(first_row, row, row_ends, queries, starts, link, limit, died, now, since, until, instants, out_rows, out):
    """One output row for each subscription, living and valid at its publication's instant, of each matched query.

    ``queries`` and ``row_ends`` are those of tidings.index.kernels.match_chained for the rows first_row … row. Side by
    side the subscriptions of q are starts[q] … starts[q + 1], in a chain starts[q], then link[s], until -1, those
    before ``limit``. One that died at ``now`` or earlier is dead; 0 is never. ``since`` and ``until`` are empty where
    nobody set a limit. Returns how many there are, of which as many are written as there is room for.
    """
    chained = len(link) > 0
    found = 0
    k = 0
    for r in range(first_row, row):
        at = instants[r]
        while k < row_ends[r]:
            q = queries[k]
            k += 1
            s = starts[q]
            end = -1 if chained else starts[q + 1]
            while s != end:
                this = s
                s = link[s] if chained else s + 1
                if this >= limit or (died[this] != 0 and died[this] <= now):
                    continue
                if len(since) and (since[this] > at or at >= until[this]):
                    continue
                if found < len(out):
                    out_rows[found] = r
                    out[found] = this
                found += 1
    return found


@numba.njit(cache=True, nogil=True)
def _rows_alive(s, first, mask, died, now, since, until, instants):
    """For which rows of a mask a subscription is there: not dead at the moment ``now``, valid at the row's instant."""
    if died[s] != 0 and died[s] <= now:
        return np.uint32(0)
    if len(since):
        left = mask
        while left:
            bit = np.uint32(left & (~left + np.uint32(1)))
            left ^= bit
            at = instants[first + place_of(bit)]
            if since[s] > at or at >= until[s]:
                mask ^= bit
    return mask


@numba.njit(cache=True, nogil=True)
def fan_out_masks(first_row, rows, group_ends, queries, query_rows, starts, died, now, since, until, instants, out_rows,
                  out):  # fmt: skip
    """The same where each query is there once for 32 rows: ``rows`` rows from ``first_row`` on.

    ``queries``, ``query_rows`` and ``group_ends`` are those of tidings.index.boxes.kernels.match_boxes. Those of 32
    rows come together, in order of their queries. Returns how many there are; where ``out`` has not room for 32 more
    than that, some may not be written.
    """
    every = np.uint32(0xFFFFFFFF)
    found = 0
    k = 0
    for g in range((rows + 31) >> 5):
        first = first_row + 32 * g
        while k < group_ends[g]:
            q = queries[k]
            for s in range(starts[q], starts[q + 1]):
                mask = _rows_alive(s, first, query_rows[k], died, now, since, until, instants)
                if found + 32 > len(out):
                    while mask:
                        mask &= mask - np.uint32(1)
                        found += 1
                elif mask == every:
                    for i in range(32):
                        out_rows[found + i] = first + i
                        out[found + i] = s
                    found += 32
                else:
                    while mask:
                        bit = np.uint32(mask & (~mask + np.uint32(1)))
                        mask ^= bit
                        out_rows[found] = first + place_of(bit)
                        out[found] = s
                        found += 1
            k += 1
    return found
