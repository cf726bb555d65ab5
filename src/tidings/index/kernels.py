"""The inner loops of the index: arrays in, arrays out, compiled by numba.

A conjunction is filed as an *entry* under its guard. What else it needs is its *first* further term (ALWAYS if there is
none), its *test*, a predicate that is a box (-1 for none), and a *stream* of int32: ``v >= 0`` is a term that must be
there; of ``u = -v - 1``, an even one forbids the term ``u >> 1``, an odd one asks predicate ``u >> 2``, which must say
yes, or no if ``u & 2``. Terms come first in a stream.

Entries of a guard lie side by side, or in a chain (``link``) where they are still added to. Those side by side that all
have a test are matched by :mod:`tidings.index.boxes.kernels`.
"""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects, and calls cost)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False

import numba
import numpy as np

from tidings.index.predicate_kernels import FORMULA, holds, in_box

ACCEPT, REJECT = 0xFFFF, 0xFFFE
"""Where a step of a formula leads when it holds, and when it does not. Other numbers are those of steps."""

ALWAYS = 0
"""The term that every publication has: what an entry without further terms asks for first."""

_MANY = 1024
_FEW = 8


@numba.njit(cache=True, nogil=True)
def has_term(bits, t):
    """Whether the row at hand has a term. As an unsigned number, for a signed index may count from the end."""
    u = np.uint32(t)
    return (bits[u >> np.uint32(5)] >> (u & np.uint32(31))) & np.uint32(1) != 0


@numba.njit(cache=True, nogil=True)
def set_bits(row, terms, term_offsets, bits):
    """Let ``bits`` uint32[terms / 32], all 0 before, say which terms a row has."""
    for k in range(term_offsets[row], term_offsets[row + 1]):
        if terms[k] >= 0:
            u = np.uint32(terms[k])
            bits[u >> np.uint32(5)] |= np.uint32(1) << (u & np.uint32(31))
    bits[ALWAYS] |= np.uint32(1)


@numba.njit(cache=True, nogil=True)
def _clear(row, terms, term_offsets, bits):
    for k in range(term_offsets[row], term_offsets[row + 1]):
        if terms[k] >= 0:
            bits[np.uint32(terms[k]) >> np.uint32(5)] = np.uint32(0)
    bits[ALWAYS] = np.uint32(0)


@numba.njit(cache=True, nogil=True)
def _stream_holds(s, stop, row, stream, bits, kinds, slots, keys, shapes, sequence_words, sequence_offsets, numbers,
                  points, token_offsets, tokens):  # fmt: skip
    """Whether all that stands in a stream from s to stop holds of a row."""
    while s < stop and stream[s] >= 0:
        if not has_term(bits, stream[s]):
            return False
        s += 1
    while s < stop:
        u = -stream[s] - 1
        if u & 1 == 0:
            is_so = not has_term(bits, u >> 1)
        elif kinds[u >> 2] == FORMULA:
            is_so = _formula_holds(
                u >> 2, row, bits, kinds, slots, keys, shapes, sequence_words, sequence_offsets, numbers, points,
                token_offsets, tokens,
            )  # fmt: skip
        else:
            is_so = holds(
                u >> 2, row, kinds, slots, keys, shapes, sequence_words, sequence_offsets, numbers, points,
                token_offsets, tokens,
            ) != ((u & 2) != 0)  # fmt: skip
        if not is_so:
            return False
        s += 1
    return True


@numba.njit(cache=True, nogil=True)
def _formula_holds(p, row, bits, kinds, slots, keys, shapes, sequence_words, sequence_offsets, numbers, points,
                   token_offsets, tokens):  # fmt: skip
    """Whether a formula holds of a row.

    Its steps stand where a sequence has its words: step k asks ``sequence_words[first + k]``, coded as in a stream, and
    goes on with the step in the upper half of ``sequence_offsets[first + k]`` if that is so, else with the lower one.
    """
    step = np.uint32(0)
    while step < REJECT:
        at = slots[p, 0] + np.int64(step)
        v = sequence_words[at]
        u = -v - 1
        if v >= 0:
            is_so = has_term(bits, v)
        elif u & 1 == 0:
            is_so = not has_term(bits, u >> 1)
        else:
            is_so = holds(
                u >> 2, row, kinds, slots, keys, shapes, sequence_words, sequence_offsets, numbers, points,
                token_offsets, tokens,
            ) != ((u & 2) != 0)  # fmt: skip
        ways = np.uint32(sequence_offsets[at])
        step = ways >> np.uint32(16) if is_so else ways & np.uint32(0xFFFF)
    return step == ACCEPT


@numba.njit(cache=True, nogil=True)
def emit(held, row, tests, stream_offsets, stream, entry_queries, kinds, slots, keys, shapes, sequence_words,
             sequence_offsets, numbers, points, token_offsets, tokens, bits, query_bits, out, found):  # fmt: skip
    """Write the queries of those of the entries ``held`` whose test (``tests`` may be empty) and stream hold.

    A query that has other entries gets its bit, and so does the last one, which is nobody's. Returns how many queries
    there are in ``out`` now, or -1 if there is no room.
    """
    for i in range(len(held)):
        at = held[i]
        if len(tests) and tests[at] >= 0 and not in_box(tests[at], row, slots, keys, numbers):
            continue
        if stream_offsets[at] < stream_offsets[at + 1] and not _stream_holds(
            stream_offsets[at], stream_offsets[at + 1], row, stream, bits, kinds, slots, keys, shapes, sequence_words,
            sequence_offsets, numbers, points, token_offsets, tokens,
        ):  # fmt: skip
            continue
        q = entry_queries[at]
        if q < 0:
            q = -q - 1
            if has_term(query_bits, q):
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
def finish(row, terms, term_offsets, bits, query_bits, out, begin, end):
    """Clear all bits that a row and its queries, those in ``out`` from begin to end, have set; returns the row."""
    _clear(row, terms, term_offsets, bits)
    if query_bits[len(query_bits) - 1] != 0:
        query_bits[len(query_bits) - 1] = np.uint32(0)
        for i in range(begin, end):
            query_bits[out[i] >> 5] = np.uint32(0)
    return row


@numba.njit(cache=True, nogil=True)
def match_chained(first_row, terms, term_offsets, numbers, points, token_offsets, tokens, starts, link, limit, firsts,
                  tests, stream_offsets, stream, entry_queries, kinds, slots, keys, shapes, sequence_words,
                  sequence_offsets, bits, query_bits, out, row_ends, counters):  # fmt: skip
    """Match rows against chained entries; stops before a row whose matches do not fit into ``out``.

    ``terms`` int32 with ``term_offsets`` int64[rows + 1]: the terms of each row, -1 for one nobody asks for.
    ``numbers`` int64[rows + more, slots]: see tidings.terms.several. The entries of term t are starts[t], then link[e],
    until -1; those from ``limit`` on are newer than the reader and not there. entry_queries[e] is the query q of an
    entry, or -q - 1 where q has other entries in this table that may match the same row. ``bits``
    uint32[terms / 32 + 1] and ``query_bits`` uint32[queries / 32 + 2] are scratch, all 0 before and after. Matched
    queries go to ``out``; those of row r end at row_ends[r]. ``counters`` int64[3] adds up candidates, verified and
    matches. Returns the first row that was not matched.
    """
    found = 0
    rows = len(term_offsets) - 1
    held = np.empty(_MANY, dtype=np.int32)
    for row in range(first_row, rows):
        candidates = verified = n = 0
        set_bits(row, terms, term_offsets, bits)
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
                        n += has_term(bits, firsts[at])
                    at = link[at]
                    if n < _MANY:
                        continue
                verified += n
                found = emit(
                    held[:n], row, tests, stream_offsets, stream, entry_queries, kinds, slots, keys,
                    shapes, sequence_words, sequence_offsets, numbers, points, token_offsets, tokens, bits,
                    query_bits, out, found,
                )  # fmt: skip
                if found < 0:
                    return finish(row, terms, term_offsets, bits, query_bits, out, before, len(out))
                n = 0
        finish(row, terms, term_offsets, bits, query_bits, out, before, found)
        row_ends[row] = found
        counters[0] += candidates
        counters[1] += verified
        counters[2] += found - before
    return rows


@numba.njit(cache=True, nogil=True)
def _with_first(e, stop, firsts, bits, held, n):
    """Add to the ``n`` numbers in ``held`` those of the entries e … stop whose first term the row has; how many now."""
    count = np.uint64(n)
    for at in range(e, stop):
        held[count] = at
        count += np.uint64(has_term(bits, firsts[np.uint64(at)]))
    return np.int64(count)


@numba.njit(cache=True, nogil=True)
def _with_first_of(listed, few, firsts, bits, held, n):
    """:func:`_with_first` for the first ``listed`` entries in ``few``."""
    count = np.uint64(n)
    for i in range(listed):
        at = np.uint64(few[np.uint64(i)])
        held[count] = at
        count += np.uint64(has_term(bits, firsts[at]))
    return np.int64(count)


@numba.njit(cache=True, nogil=True)
def _with_second(n, stream_offsets, stream, bits, held):
    """Keep of the ``n`` entries in ``held`` those whose stream begins with no term that the row lacks; how many."""
    count = np.uint64(0)
    for i in range(n):
        at = np.uint64(held[np.uint64(i)])
        second = ALWAYS
        if stream_offsets[at] < stream_offsets[at + np.uint64(1)]:
            second = max(stream[np.uint64(stream_offsets[at])], ALWAYS)
        held[count] = at
        count += np.uint64(has_term(bits, second))
    return np.int64(count)


@numba.njit(cache=True, nogil=True)
def _plain(n, tests, stream_offsets, stream, entry_queries, bits, held, out, found):
    """Write the queries of those of the ``n`` entries in ``held`` that ask for terms alone, where the row has them all.

    Others that may hold, and those of queries with several entries, are kept in ``held``. Returns how many queries
    there are in ``out`` now, and how many entries are kept. ``out`` has room for all.
    """
    kept = np.uint64(0)
    for i in range(n):
        at = np.uint64(held[np.uint64(i)])
        s, stop = stream_offsets[at], stream_offsets[at + np.uint64(1)]
        while s < stop and stream[np.uint64(s)] >= 0 and has_term(bits, stream[np.uint64(s)]):
            s += 1
        if s < stop and stream[np.uint64(s)] >= 0:
            continue
        if s < stop or len(tests) or entry_queries[at] < 0:
            held[kept] = at
            kept += np.uint64(1)
        else:
            out[np.uint64(found)] = entry_queries[at]
            found += 1
    return found, np.int64(kept)


@numba.njit(cache=True, nogil=True)
def match_side_by_side(first_row, terms, term_offsets, numbers, points, token_offsets, tokens, starts, firsts, tests,
                       stream_offsets, stream, entry_queries, kinds, slots, keys, shapes, sequence_words,
                       sequence_offsets, bits, query_bits, out, row_ends, counters):  # fmt: skip
    """:func:`match_chained` for entries side by side: those of term t are starts[t] … starts[t + 1].

    Entries are sifted in passes over many, each without branches: a pass that only looks something up waits for many
    places of memory at once, and one that decided entry by entry would wait for each. Arrays are not sliced on the way:
    each slice counts references, which takes longer than to sift the usual guard's entries. Guards with few entries are
    listed and sifted together, for the processor guesses wrong at the end of each pass: _FEW numbers are written,
    whether so many are there or not.
    """
    found = 0
    rows = len(term_offsets) - 1
    last = np.uint32(max(len(starts) - 1, 0))
    few = np.empty(_MANY + _FEW, dtype=np.int32)
    held = np.empty(_MANY, dtype=np.int32)
    for row in range(first_row, rows):
        candidates = verified = n = listed = e = end = 0
        set_bits(row, terms, term_offsets, bits)
        before, k = found, term_offsets[row]
        while True:
            while e == end and k < term_offsets[row + 1] and n + listed < _MANY:
                t = np.uint32(terms[np.uint64(k)])
                k += 1
                if t < last:
                    e, end = starts[t], starts[t + np.uint32(1)]
                    candidates += end - e
                    if end - e <= min(_FEW, _MANY - n - listed):
                        for i in range(_FEW):
                            few[np.uint64(listed) + np.uint64(i)] = e + i
                        listed += end - e
                        e = end
            stop = min(end, e + _MANY - n - listed)
            n = _with_first(e, stop, firsts, bits, held, n)
            e = stop
            if n + listed < _MANY and (e < end or k < term_offsets[row + 1]):
                continue
            n = _with_first_of(listed, few, firsts, bits, held, n)
            listed = 0
            if n == 0 and e == end and k == term_offsets[row + 1]:
                break
            verified += n
            n = _with_second(n, stream_offsets, stream, bits, held)
            if found + n > len(out):
                return finish(row, terms, term_offsets, bits, query_bits, out, before, found)
            found, n = _plain(n, tests, stream_offsets, stream, entry_queries, bits, held, out, found)
            if n > 0:
                found = emit(
                    held[:n], row, tests, stream_offsets, stream, entry_queries, kinds, slots, keys,
                    shapes, sequence_words, sequence_offsets, numbers, points, token_offsets, tokens, bits,
                    query_bits, out, found,
                )  # fmt: skip
            n = 0
        finish(row, terms, term_offsets, bits, query_bits, out, before, found)
        row_ends[row] = found
        counters[0] += candidates
        counters[1] += verified
        counters[2] += found - before
    return rows
