"""The inner loops of the index: arrays in, arrays out, compiled by numba.

A conjunction is filed as an *entry* under its guard. What else it needs is a *stream* of int32: ``v >= 0`` is a term
that must be there; of ``u = -v - 1``, an even one forbids the term ``u >> 1``, an odd one asks predicate ``u >> 2``,
which must say yes, or no if ``u & 2``. Terms come first in a stream, and all that is frequent is decided in the main
loop, where no array changes hands (numba counts references at each call). The very first term, which decides most
often, lies in an array of its own (``firsts``), so that the scan over the entries of a guard reads memory in order.
"""

# ruff: noqa: PLR0912, PLR0913, PLR0915, PLR0917  (kernels take arrays, not objects, and calls cost)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False

import math

import numba
import numpy as np

from tidings.tables.columns import ABSENT

RANGE, RECTANGLE, CIRCLE, SEQUENCE = 0, 1, 2, 3
ALWAYS = 0
"""The term that every publication has: what an entry without further terms asks for first."""

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
def _rare_holds(p, row, predicates, publications):
    """Whether a circle or a sequence of words holds; ranges and rectangles are decided in the main loop."""
    kinds, arguments, _, areas, sequence_words, sequence_offsets = predicates
    _, lon, lat, token_offsets, tokens = publications
    if kinds[p] == CIRCLE:
        return not math.isnan(lon[row]) and _within_circle(lon[row], lat[row], areas[p])
    first, last, slop = arguments[p, 0], arguments[p, 1], arguments[p, 2]
    words, offsets = sequence_words[first:last], sequence_offsets[first:last]
    own = tokens[token_offsets[row] : token_offsets[row + 1]]
    return _has_near(words, offsets[-1] + slop, own) if slop else _has_row(words, offsets, own)


@numba.njit(cache=True, nogil=True)
def match_rows(first_row, terms, term_offsets, starts, firsts, stream_offsets, stream, entry_queries, predicates,
               publications, stamps, query_stamps, mark, out_rows, out_queries, counters):  # fmt: skip
    """Match rows against one segment; stops before a row whose matches might not fit.

    ``terms`` int32 with ``term_offsets`` int64[rows + 1]: the terms of each row, -1 for one nobody asks for. Entries of
    term t are starts[t] … starts[t + 1]; entry_queries[e] is its query q, or -q - 1 where q has other entries too.
    ``stamps`` int64[terms] and ``query_stamps`` int64[queries] are scratch without marks above ``mark``; row r uses
    mark + r + 1. Matches go to out_rows, out_queries; ``counters`` int64[3] adds up candidates, verified and matches.
    Returns (first row not matched, matches written).
    """
    kinds, arguments, keys, areas, _, _ = predicates
    numbers, lon, lat, _, _ = publications
    found = 0
    rows = len(term_offsets) - 1
    known = len(starts) - 1
    for row in range(first_row, rows):
        own = mark + row + 1
        candidates = verified = 0
        for k in range(term_offsets[row], term_offsets[row + 1]):
            t = terms[k]
            if t >= 0:
                stamps[t] = own
                if t < known:
                    candidates += starts[t + 1] - starts[t]
        stamps[ALWAYS] = own
        if found + candidates > len(out_rows):
            return row, found
        before = found
        for k in range(term_offsets[row], term_offsets[row + 1]):
            t = terms[k]
            if t < 0 or t >= known:
                continue
            for e in range(starts[t], starts[t + 1]):
                if stamps[firsts[e]] != own:
                    continue
                verified += 1
                s, end = stream_offsets[e], stream_offsets[e + 1]
                while s < end and stream[s] >= 0 and stamps[stream[s]] == own:
                    s += 1
                while s < end and stream[s] < 0:
                    u = -stream[s] - 1
                    p = u >> 2
                    if u & 1 == 0:
                        holds = stamps[u >> 1] != own
                    elif kinds[p] == RANGE:
                        number = numbers[arguments[p, 0], row]
                        holds = (number != ABSENT and keys[p, 0] <= number <= keys[p, 1]) != ((u & 2) != 0)
                    elif kinds[p] == RECTANGLE:  # false for NaN, that is, for no place
                        x, y = lon[row], lat[row]
                        inside = areas[p, 0] <= x <= areas[p, 2] and areas[p, 1] <= y <= areas[p, 3]
                        holds = inside != ((u & 2) != 0)
                    else:
                        holds = _rare_holds(p, row, predicates, publications) != ((u & 2) != 0)
                    if not holds:
                        break
                    s += 1
                if s < end:
                    continue
                q = entry_queries[e]
                if q < 0:
                    q = -q - 1
                    if query_stamps[q] == own:
                        continue
                    query_stamps[q] = own
                out_rows[found] = row
                out_queries[found] = q
                found += 1
        counters[0] += candidates
        counters[1] += verified
        counters[2] += found - before
    return rows, found


@numba.njit(cache=True, nogil=True)
def fan_out(rows, queries, first, following, alive, since, until, instants, out_rows, out_subscriptions):
    """One output row for each living subscription of each matched query that is valid at its publication's instant.

    The subscriptions of a query are a chain: first[q], then following[s], until -1. ``since`` and ``until`` are empty
    where nobody set a limit. Returns how many were written, or -1 if there is no room for them.
    """
    found = 0
    for k in range(len(rows)):
        at = instants[rows[k]]
        s = first[queries[k]]
        while s >= 0:
            if alive[s] and (len(since) == 0 or since[s] <= at < until[s]):
                if found == len(out_rows):
                    return -1
                out_rows[found] = rows[k]
                out_subscriptions[found] = s
                found += 1
            s = following[s]
    return found
