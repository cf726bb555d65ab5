"""The inner loops for entries that all have a test: which of many boxes are the rows in, 32 rows at a time.

Entries are those of :mod:`tidings.index.kernels`. A test is also there as four int32, the upper halves of its keys
(``boxes``): they decide all but the numbers whose upper half is that of a bound, and the processor compares several at
once. A mask uint32 says which of 32 rows have something.
"""

# ruff: noqa: PLR0912, PLR0913, PLR0915, PLR0917  (kernels take arrays, not objects, and calls cost)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False

import numba
import numpy as np

from tidings.index.kernels import ALWAYS
from tidings.index.predicate_kernels import CIRCLE, holds, in_box, in_circle
from tidings.tables.columns import ABSENT, LEAST

_MANY = 1024
_FEW = 8
_FEW_HELD = 64
_PLACES = np.zeros(32, dtype=np.int64)
_PLACES[[((0x077CB531 << _i) & 0xFFFFFFFF) >> 27 for _i in range(32)]] = np.arange(32)


@numba.njit(cache=True, nogil=True)
def place_of(bit):
    """Which bit of a mask is set, where only one is."""
    return _PLACES[np.uint32(bit * np.uint32(0x077CB531)) >> np.uint32(27)]


@numba.njit(cache=True, nogil=True)
def _bits_in(mask):
    """How many bits of a mask are set."""
    count = mask - ((mask >> np.uint32(1)) & np.uint32(0x55555555))
    count = (count & np.uint32(0x33333333)) + ((count >> np.uint32(2)) & np.uint32(0x33333333))
    count = (count + (count >> np.uint32(4))) & np.uint32(0x0F0F0F0F)
    return np.int64(np.uint32(count * np.uint32(0x01010101)) >> np.uint32(24))


@numba.njit(cache=True, nogil=True)
def _set_masks(first, stop, terms, term_offsets, starts, masks, guards):
    """Let ``masks`` uint32[terms], all 0 before, say which of the rows have each term; returns how many guards."""
    count = 0
    for row in range(first, stop):
        bit = np.uint32(1) << np.uint32(row - first)
        masks[ALWAYS] |= bit
        for k in range(term_offsets[row], term_offsets[row + 1]):
            t = terms[k]
            if t >= 0:
                if masks[t] == 0 and t < len(starts) - 1 and starts[t] < starts[t + 1]:
                    guards[count] = t
                    count += 1
                masks[t] |= bit
    return count


@numba.njit(cache=True, nogil=True)
def _entry_count(guards, starts):
    """How many entries there are under the guards."""
    count = 0
    for guard in guards:
        count += starts[guard + 1] - starts[guard]
    return count


@numba.njit(cache=True, nogil=True)
def _upper_halves(first, mask, slot, numbers, halves):
    """The upper halves of a number of those rows of a mask that have one; returns the mask of those, and of the rows
    that have several."""
    having = several = np.uint32(0)
    while mask:
        bit = mask & (~mask + np.uint32(1))
        mask ^= bit
        i = place_of(bit)
        number = numbers[first + i, slot]
        halves[i] = np.int32(number >> 32)
        if number >= LEAST:
            having |= bit
        elif number != ABSENT:
            several |= bit
    return having, several


@numba.njit(cache=True, nogil=True)
def _least_and_most(mask, halves):
    least, most = np.int32(2**31 - 1), np.int32(-(2**31))
    while mask:
        bit = mask & (~mask + np.uint32(1))
        mask ^= bit
        half = halves[place_of(bit)]
        least, most = min(least, half), max(most, half)
    return least, most


@numba.njit(cache=True, nogil=True)
def _compare(a0, a1, b0, b1, west, east, south, north, flags):
    """For each box 0 if all numbers a0 … a1, b0 … b1 are outside, 2 if all are inside, 1 if it is not so easy."""
    for i in range(len(flags)):
        meets = (west[i] <= a1) & (a0 <= east[i]) & (south[i] <= b1) & (b0 <= north[i])
        inside = (west[i] < a0) & (a1 < east[i]) & (south[i] < b0) & (b1 < north[i])
        flags[i] = np.uint8(meets) + np.uint8(inside)


@numba.njit(cache=True, nogil=True)
def _parted(count, flags, sure, unsure):
    """The places of flags 2, and of flags 1, without a branch that no processor could foresee; how many of each."""
    n_sure = n_unsure = np.uint64(0)
    for i in range(np.uint64(count)):
        sure[n_sure] = unsure[n_unsure] = np.int32(i)
        n_sure += np.uint64(flags[i] == 2)
        n_unsure += np.uint64(flags[i] == 1)
    return np.int64(n_sure), np.int64(n_unsure)


@numba.njit(cache=True, nogil=True)
def _having(e, count, places, rows, firsts, masks, n, held, held_rows):
    """Add those of the entries e + place whose first term some of the rows have, and which of the rows, to n; how many
    there are then."""
    n = np.uint64(n)
    for k in range(np.uint64(count)):
        at = np.uint64(e) + np.uint64(places[k])
        having = np.uint32(rows & masks[np.uint64(firsts[at])])
        held[n] = np.int32(at)
        held_rows[n] = having
        n += np.uint64(having != 0)
    return np.int64(n)


@numba.njit(cache=True, nogil=True)
def _having_few(e, count, rows, firsts, masks, n, held, held_rows):
    """:func:`_having` for the entries from e on."""
    n = np.uint64(n)
    for at in range(np.uint64(e), np.uint64(e) + np.uint64(count)):
        having = np.uint32(rows & masks[np.uint64(firsts[at])])
        held[n] = np.int32(at)
        held_rows[n] = having
        n += np.uint64(having != 0)
    return np.int64(n)


@numba.njit(cache=True, nogil=True)
def _rows_at_edges(mask, p, first, slots, keys, numbers):
    """Which rows of a mask are in a box, by the whole of their numbers."""
    inside = np.uint32(0)
    while mask:
        bit = mask & (~mask + np.uint32(1))
        mask ^= bit
        if in_box(p, first + place_of(bit), slots, keys, numbers):
            inside |= bit
    return inside


@numba.njit(cache=True, nogil=True)
def _mark(a, b, bit, west, east, south, north, within, touching):
    """Give the bit of a row to each box that the row is well within, and to each that it touches at least."""
    for k in range(len(within)):
        is_within = (west[k] < a) & (a < east[k]) & (south[k] < b) & (b < north[k])
        touches = (west[k] <= a) & (a <= east[k]) & (south[k] <= b) & (b <= north[k])
        within[k] |= bit if is_within else np.uint32(0)
        touching[k] |= bit if touches else np.uint32(0)


@numba.njit(cache=True, nogil=True)
def _mark_few(n, held, held_rows, rows, a, b, boxes, within, touching):
    """:func:`_mark` for those of the rows that each of n entries ``held`` has: for a few entries."""
    for k in range(n):
        at, mask = held[k], held_rows[k] & rows
        west, east, south, north = boxes[0, at], boxes[1, at], boxes[2, at], boxes[3, at]
        while mask:
            bit = mask & (~mask + np.uint32(1))
            mask ^= bit
            i = place_of(bit)
            is_within = (west < a[i]) & (a[i] < east) & (south < b[i]) & (b[i] < north)
            touches = (west <= a[i]) & (a[i] <= east) & (south <= b[i]) & (b[i] <= north)
            within[k] |= bit if is_within else np.uint32(0)
            touching[k] |= bit if touches else np.uint32(0)


@numba.njit(cache=True, nogil=True)
def _rows_in_circle(mask, c, first, shapes, points):
    """Which rows of a mask are in a circle."""
    inside = np.uint32(0)
    while mask:
        bit = mask & (~mask + np.uint32(1))
        mask ^= bit
        if in_circle(c, first + place_of(bit), shapes, points):
            inside |= bit
    return inside


@numba.njit(cache=True, nogil=True)
def _rows_of_stream(s, stop, first, mask, stream, masks, kinds, slots, keys, shapes, sequence_words, sequence_offsets,
                    numbers, points, token_offsets, tokens):  # fmt: skip
    """For which rows of a mask all that stands in a stream from s to stop holds."""
    while s < stop and mask:
        u = -stream[s] - 1
        if u < 0:
            mask &= masks[stream[s]]
        elif u & 1 == 0:
            mask &= ~masks[u >> 1]
        elif kinds[u >> 2] == CIRCLE:
            inside = _rows_in_circle(mask, slots[u >> 2, 0], first, shapes, points)
            mask = mask & ~inside if u & 2 else inside
        else:
            left = mask
            while left:
                bit = left & (~left + np.uint32(1))
                left ^= bit
                if holds(
                    u >> 2, first + place_of(bit), kinds, slots, keys, shapes, sequence_words, sequence_offsets,
                    numbers, points, token_offsets, tokens,
                ) == ((u & 2) != 0):  # fmt: skip
                    mask ^= bit
        s += 1
    return mask


@numba.njit(cache=True, nogil=True)
def _verify(n, held, held_rows, first, a, b, several, tests, boxes, slots, keys, numbers, some, within, touching):
    """Leave with each of n entries ``held`` those of its rows that are in its box.

    All compare the slots whose upper halves are ``a`` and ``b`` int32[32], but for the rows ``several`` that have more
    than one number; the last three are room.
    """
    rows = np.uint32(0)
    for i in range(n):
        rows |= held_rows[i]
        within[i], touching[i] = np.uint32(0), several
    rows &= ~several
    if n <= _FEW_HELD:
        _mark_few(n, held, held_rows, rows, a, b, boxes, within, touching)
        rows = np.uint32(0)
    for side in range(4 if rows else 0):
        for i in range(n):
            some[side, i] = boxes[side, held[i]]
    while rows:
        bit = np.uint32(rows & (~rows + np.uint32(1)))
        rows ^= bit
        i = place_of(bit)
        _mark(a[i], b[i], bit, some[0], some[1], some[2], some[3], within[:n], touching[:n])
    for i in range(n):
        edges = np.uint32(held_rows[i] & (touching[i] ^ within[i]))
        held_rows[i] &= within[i]
        if edges:
            held_rows[i] |= _rows_at_edges(edges, tests[held[i]], first, slots, keys, numbers)


@numba.njit(cache=True, nogil=True)
def _settled(begin, end, held, held_rows, first, stream_offsets, stream, entry_queries, kinds, slots, keys, shapes,
             sequence_words, sequence_offsets, numbers, points, token_offsets, tokens, masks, query_masks, found, out,
             out_rows, counters):  # fmt: skip
    """Add the queries of the entries held[begin:end], with those of their rows that fulfil the streams and do not have
    the query already, to those found; returns how many there are then. Both may lie in the same arrays."""
    for i in range(begin, end):
        at, mask = held[i], held_rows[i]
        if mask and stream_offsets[at] < stream_offsets[at + 1]:
            counters[1] += _bits_in(mask)
            mask = _rows_of_stream(
                stream_offsets[at], stream_offsets[at + 1], first, mask, stream, masks, kinds, slots, keys, shapes,
                sequence_words, sequence_offsets, numbers, points, token_offsets, tokens,
            )  # fmt: skip
        q = entry_queries[at]
        if q < 0:
            q = -q - 1
            mask &= ~query_masks[q]
            query_masks[q] |= mask
        out[found], out_rows[found] = q, mask
        found += mask != 0
    return found


@numba.njit(cache=True, nogil=True)
def _once(found, end, entry_queries, query_masks, out, out_rows):
    """:func:`_settled` in place for the entries out[found:end], without streams, of queries that have others."""
    n = np.uint64(found)
    for i in range(np.uint64(found), np.uint64(end)):
        q = -entry_queries[np.uint64(out[i])] - 1
        mask = np.uint32(out_rows[i] & ~query_masks[np.uint64(q)])
        query_masks[np.uint64(q)] |= mask
        out[n], out_rows[n] = q, mask
        n += np.uint64(mask != 0)
    return np.int64(n)


@numba.njit(cache=True, nogil=True)
def _finished(first, last, terms, term_offsets, masks, begin, end, queries, query_rows, query_masks):
    """Let all masks be 0 that some rows and their queries from begin to end have set; how many matches these are."""
    count = 0
    masks[ALWAYS] = 0
    for k in range(term_offsets[first], term_offsets[last]):
        if terms[k] >= 0:
            masks[terms[k]] = 0
    for i in range(begin, end):
        query_masks[queries[i]] = 0
        count += _bits_in(query_rows[i])
    return count


@numba.njit(cache=True, nogil=True)
def match_boxes(first_row, terms, term_offsets, numbers, points, token_offsets, tokens, starts, runs, firsts, tests,
                boxes, stream_offsets, stream, entry_queries, kinds, slots, keys, shapes, sequence_words,
                sequence_offsets, masks, query_masks, out, out_rows, group_ends, counters):  # fmt: skip
    """Match rows, 32 at a time, against entries that have a test each; best where rows that are alike are neighbours.

    The arguments are those of tidings.index.kernels.match_side_by_side, but that matched queries go to ``out`` once for
    32 rows, with a mask of the rows that match in ``out_rows`` uint32; those of the g-th 32 rows end at group_ends[g].
    ``boxes`` int32[4, entries]. The entries from e to e + |runs[e]| compare the same slots; if runs[e] > 0 they have no
    stream, and their queries no other entries. ``masks`` uint32[terms], which rows have a term, and ``query_masks``
    uint32[queries], which have a query already, are scratch, all 0 before and after. A box is compared with all the
    rows at once that have its guard: most have either all or none of them inside. Where a guard has few entries, these
    are kept for later, to be compared together with those of other guards. ``counters`` int64[4] adds up in the
    last one how many comparisons were spared by that.
    """
    rows = len(term_offsets) - 1
    found = 0
    flags = np.empty(_MANY, dtype=np.uint8)
    sure, unsure = np.empty(_MANY, dtype=np.int32), np.empty(_MANY, dtype=np.int32)
    held, held_rows = np.empty(2 * _MANY, dtype=np.int32), np.empty(2 * _MANY, dtype=np.uint32)
    within, touching = np.empty(2 * _MANY, dtype=np.uint32), np.empty(2 * _MANY, dtype=np.uint32)
    some = np.empty((4, 2 * _MANY), dtype=np.int32)
    a, b = np.zeros(32, dtype=np.int32), np.zeros(32, dtype=np.int32)
    for first in range(first_row, rows, 32):
        last = min(first + 32, rows)
        chunk = np.uint32((np.uint64(1) << np.uint64(last - first)) - np.uint64(1))
        guards = np.empty(term_offsets[last] - term_offsets[first], dtype=np.int32)
        guards = guards[: _set_masks(first, last, terms, term_offsets, starts, masks, guards)]
        before, n, slot_a, slot_b = found, 0, -1, -1
        having = several = np.uint32(0)
        if _entry_count(guards, starts) > len(out) - found:
            _finished(first, last, terms, term_offsets, masks, 0, 0, out, out_rows, query_masks)
            return first
        for g in range(len(guards) + 1):
            e = end = 0
            all_rows = its_rows = np.uint32(0)
            a0 = a1 = b0 = b1 = np.int32(0)
            if g < len(guards):
                e, end, all_rows = starts[guards[g]], starts[guards[g] + 1], masks[guards[g]]
                counters[0] += (end - e) * _bits_in(all_rows)
                counters[3] += (end - e) * (_bits_in(all_rows) - 1)
            is_known = False
            while e < end or (n > 0 and g == len(guards)):
                others = e < end and (slots[tests[e], 0] != slot_a or slots[tests[e], 1] != slot_b)
                if n > 0 and (others or n >= _MANY or e == end):
                    _verify(
                        n, held, held_rows, first, a, b, several, tests, boxes, slots, keys, numbers, some, within,
                        touching,
                    )  # fmt: skip
                    found = _settled(
                        0, n, held, held_rows, first, stream_offsets, stream, entry_queries, kinds, slots, keys,
                        shapes, sequence_words, sequence_offsets, numbers, points, token_offsets, tokens, masks,
                        query_masks, found, out, out_rows, counters,
                    )  # fmt: skip
                    n = 0
                    if e == end:
                        break
                if others:
                    slot_a, slot_b = slots[tests[e], 0], slots[tests[e], 1]
                    having, several = _upper_halves(first, chunk, slot_a, numbers, a)
                    having &= _upper_halves(first, chunk, slot_b, numbers, b)[0]
                is_known &= not others
                its_rows = all_rows & (having | several)
                count = min(_MANY, abs(runs[e]))
                if its_rows and count <= _FEW:
                    n = _having_few(e, count, its_rows, firsts, masks, n, held, held_rows)
                elif its_rows:
                    if not is_known:
                        is_known = True
                        a0, a1 = _least_and_most(its_rows, a)
                        b0, b1 = _least_and_most(its_rows, b)
                    if its_rows & several:
                        flags[:count] = 1
                    else:
                        _compare(a0, a1, b0, b1, boxes[0, e:], boxes[1, e:], boxes[2, e:], boxes[3, e:], flags[:count])
                    n_sure, n_unsure = _parted(count, flags, sure, unsure)
                    n = _having(e, n_unsure, unsure, its_rows, firsts, masks, n, held, held_rows)
                    upto = _having(e, n_sure, sure, its_rows, firsts, masks, found, out, out_rows)
                    if runs[e] > 0:
                        for i in range(found, upto):
                            out[i] = entry_queries[out[i]]
                        found = upto
                    elif stream_offsets[e] == stream_offsets[e + count]:
                        found = _once(found, upto, entry_queries, query_masks, out, out_rows)
                    else:
                        found = _settled(
                            found, upto, out, out_rows, first, stream_offsets, stream, entry_queries, kinds, slots,
                            keys, shapes, sequence_words, sequence_offsets, numbers, points, token_offsets, tokens,
                            masks, query_masks, found, out, out_rows, counters,
                        )  # fmt: skip
                e += count
        counters[2] += _finished(first, last, terms, term_offsets, masks, before, found, out, out_rows, query_masks)
        group_ends[(first - first_row) >> 5] = found
    return rows
