"""Which posts and queries must meet, and how many pairs of them have no post and no query in common? Compiled loops."""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def meetings(lon, lat, offsets, ids, starts, entries, box, query, ends, found):
    """The queries that each post must meet: those with an entry whose word it has and in whose box it lies.

    Post i has the words ``ids[offsets[i] : offsets[i + 1]]``, and word 0. The entries of word w are
    ``entries[starts[w] : starts[w + 1]]``; entry e is of ``query[e]`` and asks for ``box[e]``, NaN for no place.
    ``ends`` int64[posts + 1] is filled, and ``found`` int32 as far as it reaches. Returns how many there are, and the
    most under one word of one post.
    """
    n = most = 0
    for i in range(len(lon)):
        for k in range(offsets[i] - 1, offsets[i + 1]):
            w = ids[k] if k >= offsets[i] else 0
            begin, last = n, -1
            for j in range(starts[w], starts[w + 1]):
                e = entries[j]
                inside = box[e, 0] <= lon[i] <= box[e, 2] and box[e, 1] <= lat[i] <= box[e, 3]
                if (inside or np.isnan(box[e, 0])) and query[e] != last:  # entries are in the order of queries
                    last = query[e]
                    if n < len(found):
                        found[n] = query[e]
                    n += 1
            most = max(most, n - begin)
        ends[i + 1] = n
    return n, most


@numba.njit(cache=True)
def matching(ends, found, queries, posts_each, queries_each):
    """The size of a largest set of pairs that meet, in which a post is at most ``posts_each`` times and a query at most
    ``queries_each`` times: maximum flow by augmenting paths."""
    posts = len(ends) - 1
    held = np.full((queries, queries_each), -1, dtype=np.int32)
    seen = np.full(queries, -1, dtype=np.int64)
    todo = np.full(posts, posts_each, dtype=np.int32)
    path = np.zeros((4, posts + 1), dtype=np.int64)
    size = stamp = 0
    progress = True
    while progress:
        progress = False
        stamp += 1
        for start in range(posts):
            while todo[start] > 0:
                if not augmented(start, ends, found, held, seen, stamp, path):
                    break
                todo[start] -= 1
                size += 1
                progress = True
    return size


@numba.njit(cache=True)
def augmented(start, ends, found, held, seen, stamp, path):
    """Whether ``start`` gets a query, if others may take other queries instead; depth first, each query seen once.

    Level d of the ``path`` int64[4, levels]: post ``stack[d]`` has come to ``at[d]`` of its list and looks at the query
    ``via[d]``, of whose places those before ``slot[d]`` were tried.
    """
    stack, at, slot, via = path[0], path[1], path[2], path[3]
    depth = 0
    stack[0], at[0], slot[0] = start, ends[start], held.shape[1]
    while depth >= 0:
        if slot[depth] < held.shape[1]:  # go on with who holds the query
            other = held[via[depth], slot[depth]]
            slot[depth] += 1
            if depth + 1 < len(stack):
                depth += 1
                stack[depth], at[depth], slot[depth] = other, ends[other], held.shape[1]
            continue
        if at[depth] == ends[stack[depth] + 1]:
            depth -= 1
            continue
        q = found[at[depth]]
        at[depth] += 1
        if seen[q] == stamp:
            continue
        seen[q] = stamp
        via[depth] = q
        for s in range(held.shape[1]):
            if held[q, s] < 0:
                held[q, s] = stack[depth]
                for d in range(depth - 1, -1, -1):
                    held[via[d], slot[d] - 1] = stack[d]
                return True
        slot[depth] = 0
    return False
