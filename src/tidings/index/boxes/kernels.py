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

from tidings.index.kernels import ALWAYS, holds, in_box
from tidings.tables.columns import ABSENT

_MANY = 1024
_FEW = 4
_PLACES = np.zeros(32, dtype=np.int64)
_PLACES[[((0x077CB531 << _i) & 0xFFFFFFFF) >> 27 for _i in range(32)]] = np.arange(32)


@numba.njit(cache=True, nogil=True)
def _place_of(bit):
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
def _upper_halves(first, mask, slot, numbers, halves):
    """The upper halves of a number of those rows of a mask that have it; returns the mask of those."""
    having = np.uint32(0)
    while mask:
        bit = mask & (~mask + np.uint32(1))
        mask ^= bit
        i = _place_of(bit)
        number = numbers[first + i, slot]
        halves[i] = np.int32(number >> 32)
        if number != ABSENT:
            having |= bit
    return having


@numba.njit(cache=True, nogil=True)
def _least_and_most(mask, halves):
    least, most = np.int32(2**31 - 1), np.int32(-(2**31))
    while mask:
        bit = mask & (~mask + np.uint32(1))
        mask ^= bit
        half = halves[_place_of(bit)]
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
def _flagged(flags, flag, values, out):
    """Copy the values of one flag, without a branch that no processor could foresee; returns how many."""
    count = 0
    for i in range(len(flags)):
        out[count] = values[i]
        count += flags[i] == flag
    return count


@numba.njit(cache=True, nogil=True)
def _common(flags, rows, firsts, masks, values, out):
    """Copy the values that have flag 2 and whose first term all the rows have; their flags become 0. How many."""
    count = 0
    for i in range(len(flags)):
        for_all = (flags[i] == 2) & (np.uint32(rows & ~masks[firsts[i]]) == 0)
        out[count] = values[i]
        count += for_all
        flags[i] *= np.uint8(not for_all)
    return count


@numba.njit(cache=True, nogil=True)
def _candidates(e, flags, most, rows, firsts, masks, held, held_rows, sure_rows):
    """The entries e, e + 1, … with flags from 1 to ``most`` whose first term some of the rows have; returns how many.

    With each go the rows that have it, and those of them that are surely inside the box.
    """
    count = 0
    for i in range(len(flags)):
        having = np.uint32(rows & masks[firsts[i]])
        held[count] = e + i
        held_rows[count] = having
        sure_rows[count] = having if flags[i] == 2 else np.uint32(0)
        count += (flags[i] != 0) & (flags[i] <= most) & (having != 0)
    return count


@numba.njit(cache=True, nogil=True)
def _rows_at_edges(mask, p, first, slots, keys, numbers):
    """Which rows of a mask are in a box, by the whole of their numbers."""
    inside = np.uint32(0)
    while mask:
        bit = mask & (~mask + np.uint32(1))
        mask ^= bit
        if in_box(p, first + _place_of(bit), slots, keys, numbers):
            inside |= bit
    return inside


@numba.njit(cache=True, nogil=True)
def _mark_within(a0, a1, b0, b1, bit, west, east, south, north, rows):
    """Give the bit to each box with west < a1, a0 < east, south < b1 and b0 < north."""
    for k in range(len(rows)):
        within = (west[k] < a1) & (a0 < east[k]) & (south[k] < b1) & (b0 < north[k])
        rows[k] |= bit if within else np.uint32(0)


@numba.njit(cache=True, nogil=True)
def _mark_rows(mask, a, b, west, east, south, north, within, touching):
    """Which rows of a mask are well within each of some boxes, and which at least touch it, by their upper halves."""
    within[:] = 0
    touching[:] = 0
    while mask:
        bit = np.uint32(mask & (~mask + np.uint32(1)))
        mask ^= bit
        i = _place_of(bit)
        _mark_within(a[i], a[i], b[i], b[i], bit, west, east, south, north, within)
        a0, a1, b0, b1 = np.int32(a[i] - 1), np.int32(a[i] + 1), np.int32(b[i] - 1), np.int32(b[i] + 1)
        _mark_within(a0, a1, b0, b1, bit, west, east, south, north, touching)


@numba.njit(cache=True, nogil=True)
def _rows_of_stream(s, stop, first, mask, stream, masks, kinds, slots, keys, circles, sequence_words, sequence_offsets,
                    numbers, lon, lat, token_offsets, tokens):  # fmt: skip
    """For which rows of a mask all that stands in a stream from s to stop holds."""
    while s < stop and mask:
        u = -stream[s] - 1
        if u < 0:
            mask &= masks[stream[s]]
        elif u & 1 == 0:
            mask &= ~masks[u >> 1]
        else:
            left = mask
            while left:
                bit = left & (~left + np.uint32(1))
                left ^= bit
                if holds(
                    u >> 2, first + _place_of(bit), kinds, slots, keys, circles, sequence_words, sequence_offsets,
                    numbers, lon, lat, token_offsets, tokens,
                ) == ((u & 2) != 0):  # fmt: skip
                    mask ^= bit
        s += 1
    return mask


@numba.njit(cache=True, nogil=True)
def _longer(array, count):
    """The array, or a longer copy if it has no room for so many."""
    if count <= len(array):
        return array
    longer = np.empty(max(count, 2 * len(array)), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


@numba.njit(cache=True, nogil=True)
def _verified(n, held, held_rows, sure_rows, first, a, b, tests, boxes, stream_offsets, stream, entry_queries, kinds,
              slots, keys, circles, sequence_words, sequence_offsets, numbers, lon, lat, token_offsets, tokens, masks,
              query_masks, some, within, touching):  # fmt: skip
    """Leave with each of n held entries the rows that match it, and its query in its place; returns how many streams
    were looked at. All compare the slots whose upper halves are ``a`` and ``b`` int32[32]."""
    for side in range(4):
        for i in range(n):
            some[side, i] = boxes[side, held[i]]
    rows = np.uint32(0)
    for i in range(n):
        rows |= held_rows[i] ^ sure_rows[i]
    _mark_rows(rows, a, b, some[0, :n], some[1, :n], some[2, :n], some[3, :n], within[:n], touching[:n])
    verified = 0
    for i in range(n):
        at = held[i]
        mask = held_rows[i] & (within[i] | sure_rows[i])
        edges = held_rows[i] & touching[i] & ~(within[i] | sure_rows[i])
        if edges:
            mask |= _rows_at_edges(edges, tests[at], first, slots, keys, numbers)
        if mask and stream_offsets[at] < stream_offsets[at + 1]:
            verified += _bits_in(mask)
            mask = _rows_of_stream(
                stream_offsets[at], stream_offsets[at + 1], first, mask, stream, masks, kinds, slots, keys, circles,
                sequence_words, sequence_offsets, numbers, lon, lat, token_offsets, tokens,
            )  # fmt: skip
        q = entry_queries[at]
        if q < 0:
            q = -q - 1
            mask &= ~query_masks[q]
            query_masks[q] |= mask
        held[i], held_rows[i] = q, mask
    return verified


@numba.njit(cache=True, nogil=True)
def match_boxes(first_row, terms, term_offsets, numbers, lon, lat, token_offsets, tokens, starts, runs, firsts, tests,
                boxes, stream_offsets, stream, entry_queries, kinds, slots, keys, circles, sequence_words,
                sequence_offsets, masks, query_masks, out, row_ends, counters):  # fmt: skip
    """As tidings.index.kernels.match_side_by_side does; best where rows that are alike are neighbours.

    32 rows at a time: a mask says which of them have a term, match an entry, or have a query already. A box is compared
    with all the rows at once that have its guard: most have either all or none of them inside. ``boxes`` int32[4,
    entries]. The entries from e to e + |runs[e]| compare the same slots. If runs[e] > 0 they ask for nothing else, but
    for a first term if the first of them does, and their queries have no other entries. ``masks`` uint32[terms] and
    ``query_masks`` uint32[queries] are scratch, all 0 before and after.
    """
    rows = len(term_offsets) - 1
    found = 0
    flags = np.empty(_MANY, dtype=np.uint8)
    held, held_rows = np.empty(2 * _MANY, dtype=np.int32), np.empty(2 * _MANY, dtype=np.uint32)
    sure_rows, some = np.empty(2 * _MANY, dtype=np.uint32), np.empty((4, 2 * _MANY), dtype=np.int32)
    within, touching = np.empty(2 * _MANY, dtype=np.uint32), np.empty(2 * _MANY, dtype=np.uint32)
    a, b = np.zeros(32, dtype=np.int32), np.zeros(32, dtype=np.int32)
    common = np.empty(_MANY, dtype=np.int32)
    many, many_rows = np.empty(_MANY, dtype=np.int32), np.empty(_MANY, dtype=np.uint32)
    few, few_rows = np.empty(_FEW * _MANY, dtype=np.int32), np.empty(_FEW * _MANY, dtype=np.uint8)
    for first in range(first_row, rows, 32):
        last = min(first + 32, rows)
        chunk = np.uint32((np.uint64(1) << np.uint64(last - first)) - np.uint64(1))
        guards = np.empty(term_offsets[last] - term_offsets[first], dtype=np.int32)
        guard_count = _set_masks(first, last, terms, term_offsets, starts, masks, guards)
        common_ends = np.empty(guard_count, dtype=np.int64)
        candidates = verified = n_common = n_many = n_few = n = 0
        slot_a = slot_b = -1
        having = np.uint32(0)
        for g in range(guard_count + 1):
            e = end = 0
            all_rows = its_rows = np.uint32(0)
            a0 = a1 = b0 = b1 = np.int32(0)
            if g < guard_count:
                e, end = starts[guards[g]], starts[guards[g] + 1]
                all_rows = masks[guards[g]]
                candidates += (end - e) * _bits_in(all_rows)
            fresh = True
            while e < end or (n > 0 and g == guard_count):
                others = e < end and (slots[tests[e], 0] != slot_a or slots[tests[e], 1] != slot_b)
                if n > 0 and (others or n >= _MANY or g == guard_count):
                    verified += _verified(
                        n, held, held_rows, sure_rows, first, a, b, tests, boxes, stream_offsets, stream,
                        entry_queries, kinds, slots, keys, circles, sequence_words, sequence_offsets, numbers, lon, lat,
                        token_offsets, tokens, masks, query_masks, some, within, touching,
                    )  # fmt: skip
                    many, many_rows = _longer(many, n_many + n), _longer(many_rows, n_many + n)
                    few, few_rows = _longer(few, n_few + _FEW * n), _longer(few_rows, n_few + _FEW * n)
                    for i in range(n):
                        mask = held_rows[i]
                        if _bits_in(mask) > _FEW:
                            many[n_many], many_rows[n_many] = held[i], mask
                            n_many += 1
                        else:
                            while mask:
                                bit = mask & (~mask + np.uint32(1))
                                mask ^= bit
                                few[n_few], few_rows[n_few] = held[i], _place_of(bit)
                                n_few += 1
                    n = 0
                if e == end:
                    break
                if others:
                    slot_a, slot_b = slots[tests[e], 0], slots[tests[e], 1]
                    having = _upper_halves(first, chunk, slot_a, numbers, a)
                    having &= _upper_halves(first, chunk, slot_b, numbers, b)
                if others or fresh:
                    fresh = False
                    its_rows = all_rows & having
                    a0, a1 = _least_and_most(its_rows, a)
                    b0, b1 = _least_and_most(its_rows, b)
                count = min(_MANY, abs(runs[e]))
                stop = e + count
                if its_rows:
                    _compare(
                        a0, a1, b0, b1, boxes[0, e:stop], boxes[1, e:stop], boxes[2, e:stop], boxes[3, e:stop],
                        flags[:count],
                    )  # fmt: skip
                    most = 2
                    if runs[e] > 0 and its_rows == all_rows:
                        common = _longer(common, n_common + count)
                        if firsts[e] == ALWAYS:
                            n_common += _flagged(flags[:count], np.uint8(2), entry_queries[e:stop], common[n_common:])
                            most = 1
                        else:
                            n_common += _common(
                                flags[:count], its_rows, firsts[e:stop], masks, entry_queries[e:stop], common[n_common:]
                            )
                    n += _candidates(
                        e, flags[:count], most, its_rows, firsts[e:stop], masks, held[n:], held_rows[n:], sure_rows[n:]
                    )
                e = stop
            if g < guard_count:
                common_ends[g] = n_common
        total = _written(
            first, last, found, guards[:guard_count], common_ends, common, masks, many[:n_many], many_rows[:n_many],
            few[:n_few], few_rows[:n_few], out, row_ends,
        )  # fmt: skip
        masks[ALWAYS] = 0
        for k in range(term_offsets[first], term_offsets[last]):
            if terms[k] >= 0:
                masks[terms[k]] = 0
        for i in range(n_many):
            query_masks[many[i]] = 0
        for i in range(n_few):
            query_masks[few[i]] = 0
        if total < 0:
            return first
        counters[0] += candidates
        counters[1] += verified
        counters[2] += total - found
        found = total
    return rows


@numba.njit(cache=True, nogil=True)
def _written(first, last, found, guards, common_ends, common, masks, many, many_rows, few, few_rows, out, row_ends):
    """Write the queries of the rows one after another: those common to all rows of a guard, those of many rows and of
    few; returns where they end, or -1 if there may be no room for them."""
    few_ends = np.zeros(33, dtype=np.int64)
    for row in few_rows:
        few_ends[row + 1] += 1
    for i in range(32):
        few_ends[i + 1] += few_ends[i]
    in_order = np.empty(len(few), dtype=np.int32)
    for i in range(len(few)):
        in_order[few_ends[few_rows[i]]] = few[i]
        few_ends[few_rows[i]] += 1
    for row in range(first, last):
        i = row - first
        bit = np.uint32(1) << np.uint32(i)
        begin = 0
        for g in range(len(guards)):
            end = common_ends[g]
            if end > begin and masks[guards[g]] & bit:
                if found + end - begin > len(out):
                    return -1
                out[found : found + end - begin] = common[begin:end]
                found += end - begin
            begin = end
        begin = few_ends[i - 1] if i else 0
        if found + len(many) + few_ends[i] - begin > len(out):
            return -1
        for k in range(begin, few_ends[i]):
            out[found] = in_order[k]
            found += 1
        for k in range(len(many)):
            out[found] = many[k]
            found += (many_rows[k] >> np.uint32(i)) & np.uint32(1)
        row_ends[row] = found
    return found


@numba.njit(cache=True)
def match_boxes_briefly(*arguments):
    """The same for one publication, while other threads wait: see tidings.index.kernels."""
    return match_boxes(*arguments)
