"""The inner loops of the index: arrays in, arrays out, compiled by numba.

A conjunction is filed as an *entry* under its guard. What else it needs is its *first* further term (ALWAYS if there is
none), its *test*, a predicate that is a box (-1 for none), and a *stream* of int32: ``v >= 0`` is a term that must be
there; of ``u = -v - 1``, an even one forbids the term ``u >> 1``, an odd one asks predicate ``u >> 2``, which must say
yes, or no if ``u & 2``. Terms come first in a stream.

Entries of a guard lie side by side, or in a chain (``link``) where they are still added to. A test of entries side by
side is also there as four int32, the upper halves of its keys (``boxes``): they decide all but the numbers whose upper
half is that of a bound, and the processor compares several at once.
"""

# ruff: noqa: PLR1714, PLR0912, PLR0913, PLR0915, PLR0917  (kernels take arrays, not objects, and calls cost)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False

import math

import numba
import numpy as np

from tidings.tables.columns import ABSENT

BOX, CIRCLE, SEQUENCE = 0, 1, 2
ALWAYS = 0
"""The term that every publication has: what an entry without further terms asks for first."""

_EARTH_RADIUS_M = 6_371_008.8
_MANY = 1024
_FEW = 4
_PLACES = np.zeros(32, dtype=np.int64)
_PLACES[[((0x077CB531 << _i) & 0xFFFFFFFF) >> 27 for _i in range(32)]] = np.arange(32)


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
def _has_near(words, window, tokens):
    """Whether all words (a repeated one as often) stand in some window of tokens."""
    for start in range(len(tokens)):
        if not np.any(words == tokens[start]):
            continue
        inside = tokens[start : start + window + 1]
        enough = True
        for word in words:
            if np.sum(words == word) > np.sum(inside == word):
                enough = False
                break
        if enough:
            return True
    return False


@numba.njit(cache=True, nogil=True)
def _in_box(p, row, slots, keys, numbers):
    """Whether both numbers of a box are there and between its keys."""
    a, b = numbers[row, slots[p, 0]], numbers[row, slots[p, 1]]
    return a != ABSENT and b != ABSENT and keys[p, 0] <= a <= keys[p, 1] and keys[p, 2] <= b <= keys[p, 3]


@numba.njit(cache=True, nogil=True)
def _holds(p, row, kinds, slots, keys, circles, sequence_words, sequence_offsets, numbers, lon, lat, token_offsets,
           tokens):  # fmt: skip
    """Whether a predicate holds of a row."""
    if kinds[p] == BOX:
        return _in_box(p, row, slots, keys, numbers)
    first, last = slots[p, 0], slots[p, 1]
    if kinds[p] == CIRCLE:
        return not math.isnan(lon[row]) and _within_circle(lon[row], lat[row], circles[first])
    words, offsets = sequence_words[first:last], sequence_offsets[first:last]
    own = tokens[token_offsets[row] : token_offsets[row + 1]]
    slop = keys[p, 0]
    return _has_near(words, offsets[-1] + slop, own) if slop else _has_row(words, offsets, own)


@numba.njit(cache=True, nogil=True)
def _has(bits, t):
    """Whether the row at hand has a term."""
    return (bits[t >> 5] >> np.uint32(t & 31)) & np.uint32(1) != 0


@numba.njit(cache=True, nogil=True)
def _set(row, terms, term_offsets, bits):
    """Let ``bits`` uint32[terms / 32], all 0 before, say which terms a row has."""
    for k in range(term_offsets[row], term_offsets[row + 1]):
        t = terms[k]
        if t >= 0:
            bits[t >> 5] |= np.uint32(1) << np.uint32(t & 31)
    bits[ALWAYS] |= np.uint32(1)


@numba.njit(cache=True, nogil=True)
def _clear(row, terms, term_offsets, bits):
    for k in range(term_offsets[row], term_offsets[row + 1]):
        if terms[k] >= 0:
            bits[terms[k] >> 5] = np.uint32(0)
    bits[ALWAYS] = np.uint32(0)


@numba.njit(cache=True, nogil=True)
def _stream_holds(s, stop, row, stream, bits, kinds, slots, keys, circles, sequence_words, sequence_offsets, numbers,
                  lon, lat, token_offsets, tokens):  # fmt: skip
    """Whether all that stands in a stream from s to stop holds of a row."""
    while s < stop and stream[s] >= 0:
        if not _has(bits, stream[s]):
            return False
        s += 1
    while s < stop:
        u = -stream[s] - 1
        if u & 1 == 0:
            holds = not _has(bits, u >> 1)
        else:
            holds = _holds(
                u >> 2, row, kinds, slots, keys, circles, sequence_words, sequence_offsets, numbers, lon, lat,
                token_offsets, tokens,
            ) != ((u & 2) != 0)  # fmt: skip
        if not holds:
            return False
        s += 1
    return True


@numba.njit(cache=True, nogil=True)
def _emitted(held, row, tests, stream_offsets, stream, entry_queries, kinds, slots, keys, circles, sequence_words,
             sequence_offsets, numbers, lon, lat, token_offsets, tokens, bits, query_bits, out, found):  # fmt: skip
    """Write the queries of those of the entries ``held`` whose test (``tests`` may be empty) and stream hold.

    A query that has other entries gets its bit, and so does the last one, which is nobody's. Returns how many queries
    there are in ``out`` now, or -1 if there is no room.
    """
    for i in range(len(held)):
        at = held[i]
        if len(tests) and tests[at] >= 0 and not _in_box(tests[at], row, slots, keys, numbers):
            continue
        if stream_offsets[at] < stream_offsets[at + 1] and not _stream_holds(
            stream_offsets[at], stream_offsets[at + 1], row, stream, bits, kinds, slots, keys, circles, sequence_words,
            sequence_offsets, numbers, lon, lat, token_offsets, tokens,
        ):  # fmt: skip
            continue
        q = entry_queries[at]
        if q < 0:
            q = -q - 1
            if _has(query_bits, q):
                continue
            query_bits[q >> 5] |= np.uint32(1) << np.uint32(q & 31)
            query_bits[len(query_bits) - 1] = np.uint32(1)
        if found == len(out):
            query_bits[q >> 5] = np.uint32(0)
            return -1
        out[found] = q
        found += 1
    return found


@numba.njit(cache=True, nogil=True)
def _done(row, terms, term_offsets, bits, queries, query_bits):
    """Clear all bits that a row and its queries have set; returns the row."""
    _clear(row, terms, term_offsets, bits)
    if query_bits[len(query_bits) - 1] != 0:
        query_bits[len(query_bits) - 1] = np.uint32(0)
        for q in queries:
            query_bits[q >> 5] = np.uint32(0)
    return row


@numba.njit(cache=True, nogil=True)
def match_chained(first_row, terms, term_offsets, numbers, lon, lat, token_offsets, tokens, starts, link, limit, firsts,
                  tests, stream_offsets, stream, entry_queries, kinds, slots, keys, circles, sequence_words,
                  sequence_offsets, bits, query_bits, out, row_ends, counters):  # fmt: skip
    """Match rows against chained entries; stops before a row whose matches do not fit into ``out``.

    ``terms`` int32 with ``term_offsets`` int64[rows + 1]: the terms of each row, -1 for one nobody asks for.
    ``numbers`` int64[rows, slots]. The entries of term t are starts[t], then link[e], until -1; those from ``limit`` on
    are newer than the reader and not there. entry_queries[e] is the query q of an entry, or -q - 1 where q has other
    entries in this table that may match the same row. ``bits`` uint32[terms / 32 + 1] and ``query_bits``
    uint32[queries / 32 + 2] are scratch, all 0 before and after. Matched queries go to ``out``; those of row r end at
    row_ends[r]. ``counters`` int64[3] adds up candidates, verified and matches. Returns the first row that was not
    matched.
    """
    found = 0
    rows = len(term_offsets) - 1
    held = np.empty(_MANY, dtype=np.int32)
    for row in range(first_row, rows):
        candidates = verified = n = 0
        _set(row, terms, term_offsets, bits)
        before = found
        for k in range(term_offsets[row], term_offsets[row + 1] + 1):
            at = -1
            if k < term_offsets[row + 1] and 0 <= terms[k] < len(starts):
                at = starts[terms[k]]
            while at >= 0 or (n > 0 and k == term_offsets[row + 1]):
                if at >= 0:
                    if at < limit:
                        candidates += 1
                        held[n] = at
                        n += _has(bits, firsts[at])
                    at = link[at]
                    if n < _MANY:
                        continue
                verified += n
                found = _emitted(
                    held[:n], row, tests, stream_offsets, stream, entry_queries, kinds, slots, keys,
                    circles, sequence_words, sequence_offsets, numbers, lon, lat, token_offsets, tokens, bits,
                    query_bits, out, found,
                )  # fmt: skip
                if found < 0:
                    return _done(row, terms, term_offsets, bits, out[before:], query_bits)
                n = 0
        _done(row, terms, term_offsets, bits, out[before:found], query_bits)
        row_ends[row] = found
        counters[0] += candidates
        counters[1] += verified
        counters[2] += found - before
    return rows


@numba.njit(cache=True, nogil=True)
def _with_first(e, firsts, bits, held):
    """The numbers, from e on, of those entries whose first term the row has; returns how many."""
    count = 0
    for i in range(len(firsts)):
        held[count] = e + i
        count += _has(bits, firsts[i])
    return count


@numba.njit(cache=True, nogil=True)
def _with_second(held, stream_offsets, stream, bits):
    """Keep of the entries ``held`` those whose stream does not begin with a term that the row lacks; how many."""
    count = 0
    for i in range(len(held)):
        at = held[i]
        second = ALWAYS
        if stream_offsets[at] < stream_offsets[at + 1]:
            second = max(stream[stream_offsets[at]], ALWAYS)
        held[count] = at
        count += _has(bits, second)
    return count


@numba.njit(cache=True, nogil=True)
def match_side_by_side(first_row, terms, term_offsets, numbers, lon, lat, token_offsets, tokens, starts, firsts, tests,
                       stream_offsets, stream, entry_queries, kinds, slots, keys, circles, sequence_words,
                       sequence_offsets, bits, query_bits, out, row_ends, counters):  # fmt: skip
    """:func:`match_chained` for entries side by side: those of term t are starts[t] … starts[t + 1].

    Entries are sifted in passes over many, each without branches: a pass that only looks something up waits for many
    places of memory at once, and one that decided entry by entry would wait for each.
    """
    found = 0
    rows = len(term_offsets) - 1
    held = np.empty(_MANY, dtype=np.int32)
    for row in range(first_row, rows):
        candidates = verified = n = 0
        _set(row, terms, term_offsets, bits)
        before = found
        for k in range(term_offsets[row], term_offsets[row + 1] + 1):
            e = end = 0
            if k < term_offsets[row + 1] and 0 <= terms[k] < len(starts) - 1:
                e, end = starts[terms[k]], starts[terms[k] + 1]
            candidates += end - e
            while e < end or (n > 0 and k == term_offsets[row + 1]):
                stop = min(end, e + _MANY - n)
                n += _with_first(e, firsts[e:stop], bits, held[n:])
                e = stop
                if n < _MANY and e < end:
                    continue
                if n < _MANY and k < term_offsets[row + 1]:
                    break
                verified += n
                n = _with_second(held[:n], stream_offsets, stream, bits)
                found = _emitted(
                    held[:n], row, tests, stream_offsets, stream, entry_queries, kinds, slots, keys,
                    circles, sequence_words, sequence_offsets, numbers, lon, lat, token_offsets, tokens, bits,
                    query_bits, out, found,
                )  # fmt: skip
                if found < 0:
                    return _done(row, terms, term_offsets, bits, out[before:], query_bits)
                n = 0
        _done(row, terms, term_offsets, bits, out[before:found], query_bits)
        row_ends[row] = found
        counters[0] += candidates
        counters[1] += verified
        counters[2] += found - before
    return rows


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
        if _in_box(p, first + _place_of(bit), slots, keys, numbers):
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
                if _holds(
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
    """:func:`match_side_by_side` for entries that all have a test; best where rows that are alike are neighbours.

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


@numba.njit(cache=True, nogil=True)
def fan_out(first_row, row, row_ends, queries, starts, link, limit, died, now, since, until, instants, out_rows, out):
    """One output row for each subscription, living and valid at its publication's instant, of each matched query.

    ``queries`` and ``row_ends`` are those of :func:`match_chained` for the rows first_row … row. Side by side the
    subscriptions of q are starts[q] … starts[q + 1], in a chain starts[q], then link[s], until -1, those before
    ``limit``. One that died at ``now`` or earlier is dead; 0 is never. ``since`` and ``until`` are empty where nobody
    set a limit. Returns how many were written, or -1 if there is no room for them.
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
                if found == len(out):
                    return -1
                out_rows[found] = r
                out[found] = this
                found += 1
    return found


# For one publication: the same, but other threads wait meanwhile. A thread that lets go of the interpreter for some
# microseconds gets it back only after its neighbour's whole turn, which is a hundred times as long.


@numba.njit(cache=True)
def match_chained_briefly(*arguments):
    return match_chained(*arguments)


@numba.njit(cache=True)
def match_side_by_side_briefly(*arguments):
    return match_side_by_side(*arguments)


@numba.njit(cache=True)
def match_boxes_briefly(*arguments):
    return match_boxes(*arguments)


@numba.njit(cache=True)
def fan_out_briefly(*arguments):
    return fan_out(*arguments)
