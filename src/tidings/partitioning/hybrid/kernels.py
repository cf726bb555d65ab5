"""Which posts have words that are asked for, and which words and leaves belong together? The loops, compiled.

Symbols: post i has the words ``ids[offsets[i] : offsets[i + 1]]`` (int64 and int32); entry e is filed under
``entry_word[e]``. Costs are those of [PS2] Def. 1: (c1, c2, c3 + c4 · deletions by insertions).
"""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False

from __future__ import annotations

import numba
import numpy as np

POWER = 6.0
"""Of loads that are summed up instead of their maximum: where it is large, only the largest load counts."""


@numba.njit(cache=True, nogil=True)
def load(costs, posts, queries):
    """[PS2] Def. 1."""
    return costs[0] * posts * queries + costs[1] * posts + costs[2] * queries


@numba.njit(cache=True, nogil=True)
def sent(posts, offsets, ids, entries, entry_word, words, found):
    """Fill ``found`` with those of ``posts`` that have a word of one of ``entries``; returns how many.

    ``words`` is how many words there are.
    """
    asked = np.zeros(words, dtype=np.uint8)
    for e in entries:
        asked[entry_word[e]] = 1
    count = 0
    for i in posts:
        has = 0
        for k in range(offsets[i], offsets[i + 1]):
            has |= asked[ids[k]]
        found[count] = i
        count += has
    return count


@numba.njit(cache=True, nogil=True)
def mark_near(entries, offsets, keys, starts, posts, has):
    """Set ``has`` uint8[posts] for each post of a key of one of ``entries``: entry e has the keys ``keys[offsets[e] :
    offsets[e + 1]]``, and key k the posts ``posts[starts[k] : starts[k + 1]]``.
    """
    seen = np.zeros(len(starts), dtype=np.uint8)
    for e in entries:
        for j in range(offsets[e], offsets[e + 1]):
            k = keys[j]
            if not seen[k]:
                seen[k] = 1
                for i in range(starts[k], starts[k + 1]):
                    has[posts[i]] = 1


@numba.njit(cache=True, nogil=True)
def similarity(posts, offsets, ids, queries, query_offsets, query_ids, words):
    """The cosine of the vectors that count how many posts and queries have each word; 0 where there are none."""
    ours, theirs = np.zeros(words, dtype=np.float64), np.zeros(words, dtype=np.float64)
    for i in posts:
        for k in range(offsets[i], offsets[i + 1]):
            ours[ids[k]] += 1
    for q in queries:
        for k in range(query_offsets[q], query_offsets[q + 1]):
            theirs[query_ids[k]] += 1
    dot = a = b = 0.0
    for w in range(words):
        dot += ours[w] * theirs[w]
        a += ours[w] * ours[w]
        b += theirs[w] * theirs[w]
    return dot / np.sqrt(a * b) if a > 0 and b > 0 else 0.0


@numba.njit(cache=True, nogil=True)
def renumber(posts, offsets, ids, number, out_offsets, out):
    """The words of some posts by their ``number`` int32[words], without those of -1; returns how many."""
    n = 0
    for j in range(len(posts)):
        i = posts[j]
        for k in range(offsets[i], offsets[i + 1]):
            if number[ids[k]] >= 0:
                out[n] = number[ids[k]]
                n += 1
        out_offsets[j + 1] = n
    return n


@numba.njit(cache=True, nogil=True)
def divide(order, starts, rows, offsets, queries, costs, attraction, placed, posts_at, queries_at):
    """Place words one by one where ``attraction`` · S + N · sd is least: S the sum of all loads, sd their deviation.

    Word w is in the rows ``rows[starts[w] : starts[w + 1]]`` and files ``queries[w]`` queries; row i has room for the
    shares of ``offsets[i + 1] - offsets[i]`` words. ``placed`` int32[words] is filled; ``posts_at`` and ``queries_at``
    int64[shares] are 0 before. Symbols: ``near`` the shares that a row has so far, ``have`` the rows of w at a share.
    """
    n = len(posts_at)
    near, sizes = np.empty(max(offsets[-1], 1), dtype=np.int32), np.zeros(len(offsets) - 1, dtype=np.int32)
    have, loads = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.float64)
    total = squares = 0.0
    for w in order:
        have[:] = 0
        for k in range(starts[w], starts[w + 1]):
            i = rows[k]
            for j in range(offsets[i], offsets[i] + sizes[i]):
                have[near[j]] += 1
        best, least, least_load = 0, np.inf, 0.0
        for m in range(n):
            more = starts[w + 1] - starts[w] - have[m]
            after = load(costs, posts_at[m] + more, queries_at[m] + queries[w])
            s = total + after - loads[m]
            q = squares + after * after - loads[m] * loads[m]
            value = attraction * s + np.sqrt(max(n * q - s * s, 0.0))
            if value < least:
                best, least, least_load = m, value, after
        placed[w] = best
        posts_at[best] += starts[w + 1] - starts[w] - have[best]
        queries_at[best] += queries[w]
        total += least_load - loads[best]
        squares += least_load * least_load - loads[best] * loads[best]
        loads[best] = least_load
        for k in range(starts[w], starts[w + 1]):
            i = rows[k]
            j, end = offsets[i], offsets[i] + sizes[i]
            while j < end and near[j] != best:
                j += 1
            if j == end:
                near[end] = best
                sizes[i] += 1


@numba.njit(cache=True, nogil=True)
def by_share(offsets, ids, placed, shares, rows, numbers):
    """Fill ``rows`` and ``numbers`` int32 with each row and each share that it has a word of; returns how many."""
    last = np.full(shares, -1, dtype=np.int64)
    n = 0
    for i in range(len(offsets) - 1):
        for k in range(offsets[i], offsets[i + 1]):
            s = placed[ids[k]]
            if last[s] != i:
                last[s] = i
                rows[n], numbers[n] = i, s
                n += 1
    return n


@numba.njit(cache=True, nogil=True)
def merge(order, post_offsets, posts, query_offsets, queries, costs, has_post, has_query, owner, at):
    """[PS2] MergeNodesIntoPartitions: leaves in ``order`` to matchers, each post and query of a matcher counted once.

    Leaf n has the posts ``posts[post_offsets[n] : post_offsets[n + 1]]`` and such queries. ``has_post`` uint8[posts,
    matchers] and ``has_query`` are 0 before, ``owner`` int32[leaves] is filled, and ``at`` float64[3, matchers] (posts,
    queries, load), which is 0 before.
    """
    count = at.shape[1]
    more = np.empty((2, count), dtype=np.float64)
    for n in order:
        more[0, :] = post_offsets[n + 1] - post_offsets[n]
        for k in range(post_offsets[n], post_offsets[n + 1]):
            for m in range(count):
                more[0, m] -= has_post[posts[k], m]
        more[1, :] = query_offsets[n + 1] - query_offsets[n]
        for k in range(query_offsets[n], query_offsets[n + 1]):
            for m in range(count):
                more[1, m] -= has_query[queries[k], m]
        best, least = 0, np.inf
        for m in range(count):
            growth = load(costs, at[0, m] + more[0, m], at[1, m] + more[1, m]) - at[2, m]
            if growth < least or (growth == least and at[2, m] < at[2, best]):
                best, least = m, growth
        if is_less_even(at[2], best, least):
            best = int(np.argmin(at[2]))
        owner[n] = best
        at[0, best] += more[0, best]
        at[1, best] += more[1, best]
        at[2, best] = load(costs, at[0, best], at[1, best])
        for k in range(post_offsets[n], post_offsets[n + 1]):
            has_post[posts[k], best] = 1
        for k in range(query_offsets[n], query_offsets[n + 1]):
            has_query[queries[k], best] = 1


@numba.njit(cache=True, nogil=True)
def count_at(offsets, members, owner, has):
    """Fill ``has`` int32[members, matchers] with how many leaves of each matcher have each post (or query)."""
    for n in range(len(owner)):
        for k in range(offsets[n], offsets[n + 1]):
            has[members[k], owner[n]] += 1


@numba.njit(cache=True, nogil=True)
def changes(begin, end, members, has, own, more):
    """Of one leaf: fill ``more`` float64[matchers] with how many posts (or queries) it would bring to each matcher;
    returns how many its owner would lose."""
    lost = 0
    more[:] = end - begin
    for k in range(begin, end):
        row = has[members[k]]
        lost += row[own] == 1
        for m in range(len(row)):
            more[m] -= row[m] > 0
    return lost


@numba.njit(cache=True, nogil=True)
def refine(order, post_offsets, posts, query_offsets, queries, costs, has_post, has_query, owner, at, rounds):
    """Move leaves one by one, in ``order``, while that lowers the sum of the ``POWER``-th powers of the loads.

    ``has_post`` and ``has_query`` as :func:`count_at` fills them, ``owner`` and ``at`` as :func:`merge` does; all of
    them are kept up. At most so many ``rounds`` over all leaves.
    """
    count = at.shape[1]
    more = np.empty((2, count), dtype=np.float64)
    for _ in range(rounds):
        moved = 0
        for n in order:
            own = owner[n]
            p0, p1, q0, q1 = post_offsets[n], post_offsets[n + 1], query_offsets[n], query_offsets[n + 1]
            lost_posts = changes(p0, p1, posts, has_post, own, more[0])
            lost_queries = changes(q0, q1, queries, has_query, own, more[1])
            left = load(costs, at[0, own] - lost_posts, at[1, own] - lost_queries)
            scale = at[2].max()
            if scale <= 0:
                return
            saved = (at[2, own] / scale) ** POWER - (left / scale) ** POWER
            best, most = own, 1e-9
            for m in range(count):
                if m != own:
                    after = load(costs, at[0, m] + more[0, m], at[1, m] + more[1, m])
                    gain = saved - (after / scale) ** POWER + (at[2, m] / scale) ** POWER
                    if gain > most:
                        best, most = m, gain
            if best == own:
                continue
            moved += 1
            owner[n] = best
            at[0, own] -= lost_posts
            at[1, own] -= lost_queries
            at[2, own] = left
            at[0, best] += more[0, best]
            at[1, best] += more[1, best]
            at[2, best] = load(costs, at[0, best], at[1, best])
            for k in range(p0, p1):
                has_post[posts[k], own] -= 1
                has_post[posts[k], best] += 1
            for k in range(q0, q1):
                has_query[queries[k], own] -= 1
                has_query[queries[k], best] += 1
        if not moved:
            return


@numba.njit(cache=True, nogil=True)
def is_less_even(loads, m, growth):
    """Whether max / min of the loads rises if matcher m gets more, or some matcher has nothing even then."""
    low = high = loads[0]
    low_after = high_after = loads[0] + (growth if m == 0 else 0.0)
    for k in range(1, len(loads)):
        after = loads[k] + (growth if k == m else 0.0)
        low, high = min(low, loads[k]), max(high, loads[k])
        low_after, high_after = min(low_after, after), max(high_after, after)
    if low_after <= 0:
        return True
    return low > 0 and high_after * low > high * low_after
