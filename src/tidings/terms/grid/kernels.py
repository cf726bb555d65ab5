"""The inner loops of covers: arrays in, arrays out, compiled by numba.

The leaves of a hierarchy are a grid. A node is (x, y, s): it holds the columns x … x + 2**s - 1 and as many rows from y
on. A *block* is a rectangle of leaves, int64[4]: west, south, east, north, all included. ``dims`` is 2 for cells; for
intervals it is 1, and the only row is 0. A cell has 31 levels above it, so columns and rows go up to 2**31 - 1.
"""

# ruff: noqa: PLR0913, PLR0917  (kernels take arrays, not objects)
# numba takes no annotations: shapes and types are in the docstrings.
# mypy: disallow_untyped_defs=False
# mypy: disallow_untyped_calls=False

import math

import numba
import numpy as np

from tidings.terms.labels import MAX_DEPTH

_LAST = (1 << MAX_DEPTH // 2) - 1
_WIDTH = 360 / (_LAST + 1)
_EARTH_RADIUS_M = 6_371_008.8
_SLACK_M = 0.01


@numba.njit(cache=True, nogil=True)
def _spread(bits):
    """The lower 32 bits, each moved to twice its place: half of a Morton code."""
    bits = np.uint64(bits)
    bits = (bits | bits << np.uint64(16)) & np.uint64(0x0000_FFFF_0000_FFFF)
    bits = (bits | bits << np.uint64(8)) & np.uint64(0x00FF_00FF_00FF_00FF)
    bits = (bits | bits << np.uint64(4)) & np.uint64(0x0F0F_0F0F_0F0F_0F0F)
    bits = (bits | bits << np.uint64(2)) & np.uint64(0x3333_3333_3333_3333)
    return (bits | bits << np.uint64(1)) & np.uint64(0x5555_5555_5555_5555)


@numba.njit(cache=True, nogil=True)
def _label(x, y, s, dims):
    """The bit label of a node: the code of its first leaf, then the sentinel."""
    code = np.uint64(x) if dims == 1 else _spread(x) | _spread(y) << np.uint64(1)
    return code << np.uint64(2) | np.uint64(1) << np.uint64(dims * s + 1)


@numba.njit(cache=True, nogil=True)
def _leaf(degrees, limit):
    """The column (limit 180) or row (limit 90) of the last level that holds ``degrees``.

    The difference may be rounded up to the next border, never down past one, since borders are exact.
    """
    width = 2.0 * limit / (_LAST + 1)
    index = np.int64((degrees + limit) / width)
    if index * width - limit > degrees:
        index -= 1
    return min(index, _LAST)


@numba.njit(cache=True, nogil=True)
def leaf_cells(lon, lat, labels):
    """The cells of the last level that hold some places: float64 in, uint64 out."""
    for i in range(len(lon)):
        labels[i] = _label(_leaf(lon[i], 180), _leaf(lat[i], 90), 0, 2)


@numba.njit(cache=True, nogil=True)
def _whole_leaves(low, high, limit):
    """The first and the last column (or row) of which every float64 lies in low … high, both included."""
    width = 2.0 * limit / (_LAST + 1)
    first, last = _leaf(low, limit), _leaf(high, limit)
    if first * width - limit < low:
        first += 1
    greatest = np.nextafter((last + 1) * width - limit, -np.inf) if last < _LAST else limit
    if high < greatest:
        last -= 1
    return first, last


@numba.njit(cache=True, nogil=True)
def leaf_blocks(rectangles, touched, whole):
    """From degrees, float64[n, 4], to the blocks of cells that each rectangle touches, and that it has entirely."""
    for i in range(len(rectangles)):
        west, south, east, north = rectangles[i]
        touched[i, 0], touched[i, 1] = _leaf(west, 180), _leaf(south, 90)
        touched[i, 2], touched[i, 3] = _leaf(east, 180), _leaf(north, 90)
        whole[i, 0], whole[i, 2] = _whole_leaves(west, east, 180)
        whole[i, 1], whole[i, 3] = _whole_leaves(south, north, 90)


@numba.njit(cache=True, nogil=True)
def _tightest(blocks, x, y, s, dims):
    """The smallest node with all that the blocks have in node (x, y, s); its s is -1 if they have nothing there."""
    reach = (1 << s) - 1
    west, south, east, north = x + reach + 1, y + reach + 1, x - 1, y - 1
    for b in range(len(blocks)):
        w, e = max(blocks[b, 0], x), min(blocks[b, 2], x + reach)
        u, v = max(blocks[b, 1], y), min(blocks[b, 3], y + reach * (dims - 1))
        if w <= e and u <= v:
            west, south, east, north = min(west, w), min(south, u), max(east, e), max(north, v)
    if west > east:
        return x, y, -1
    differing = (west ^ east) | (south ^ north)
    s = 0
    while differing >> s:
        s += 1
    return west >> s << s, south >> s << s, s


@numba.njit(cache=True, nogil=True)
def _is_held(blocks, x, y, s, dims):
    """Whether one of the blocks has all the leaves of node (x, y, s)."""
    reach = (1 << s) - 1
    for b in range(len(blocks)):
        if (
            blocks[b, 0] <= x
            and x + reach <= blocks[b, 2]
            and blocks[b, 1] <= y
            and y + reach * (dims - 1) <= blocks[b, 3]
        ):
            return True
    return False


@numba.njit(cache=True, nogil=True)
def _merge_siblings(nodes, n, splits, dims):
    """Undo the splits, last first, whose parts are all there and whole; returns how many nodes are left."""
    family = 1 << dims
    for k in range(len(splits) - 1, -1, -1):
        x, y, s = splits[k]
        half = 1 << (s - 1)
        i = 0
        while i < n and (nodes[i, 0] != x or nodes[i, 1] != y or nodes[i, 2] != s - 1):
            i += 1
        q = 0
        while (
            q < family
            and i + q < n
            and nodes[i + q, 2] == s - 1
            and nodes[i + q, 0] == x + (q & 1) * half
            and nodes[i + q, 1] == y + (q >> 1) * half
        ):
            q += 1
        if q == family:
            nodes[i, 2] = s
            nodes[i + 1 : n - family + 1] = nodes[i + family : n]
            n -= family - 1
    return n


@numba.njit(cache=True, nogil=True)
def _refine(blocks, dims, most, nodes, splits):
    """The cover of one area, as in tidings.terms.cover; returns how many nodes it has.

    Fills ``nodes`` int64[most, 4] in the order of their labels: x, y, s, and 1 while it may have to be split.
    ``splits`` int64[most, 3] is scratch.
    """
    x, y, s = _tightest(blocks, 0, 0, MAX_DEPTH // dims, dims)
    if s < 0:
        return 0
    nodes[0, 0], nodes[0, 1], nodes[0, 2], nodes[0, 3] = x, y, s, 1
    parts = np.empty((4, 4), dtype=np.int64)
    n, done = 1, 0
    while True:
        coarsest = -1
        for i in range(n):
            if nodes[i, 3] and (coarsest < 0 or nodes[i, 2] > nodes[coarsest, 2]):
                coarsest = i
        if coarsest < 0:
            break
        x, y, s = nodes[coarsest, 0], nodes[coarsest, 1], nodes[coarsest, 2]
        if _is_held(blocks, x, y, s, dims):
            nodes[coarsest, 3] = 0
            continue
        half, found = 1 << (s - 1), 0
        for q in range(1 << dims):
            part = _tightest(blocks, x + (q & 1) * half, y + (q >> 1) * half, s - 1, dims)
            if part[2] >= 0:
                parts[found, 0], parts[found, 1], parts[found, 2], parts[found, 3] = part[0], part[1], part[2], 1
                found += 1
        if n - 1 + found > most:
            break
        for i in range(n - 1, coarsest, -1):
            nodes[i + found - 1] = nodes[i]
        nodes[coarsest : coarsest + found] = parts[:found]
        n += found - 1
        splits[done, 0], splits[done, 1], splits[done, 2] = x, y, s
        done += 1
    return _merge_siblings(nodes, n, splits[:done], dims)


@numba.njit(cache=True, nogil=True)
def cover_areas(touched, whole, first_block, dims, most, offsets, labels, inside):
    """Cover areas, each the blocks first_block[a] … first_block[a + 1] of ``touched`` int64[blocks, 4].

    The labels uint64 of area a go to labels[offsets[a] : offsets[a + 1]]; there is room for ``most`` of each area.
    ``inside`` bool says of which nodes one of the blocks ``whole`` has all the leaves.
    """
    nodes = np.empty((most, 4), dtype=np.int64)
    splits = np.empty((most, 3), dtype=np.int64)
    out = 0
    for a in range(len(first_block) - 1):
        own = slice(first_block[a], first_block[a + 1])
        for i in range(_refine(touched[own], dims, most, nodes, splits)):
            x, y, s = nodes[i, 0], nodes[i, 1], nodes[i, 2]
            labels[out] = _label(x, y, s, dims)
            inside[out] = _is_held(whole[own], x, y, s, dims)
            out += 1
        offsets[a + 1] = out
    return out


@numba.njit(cache=True, nogil=True)
def _gather(code):
    """Every second bit, moved back to half its place: undoes :func:`_spread`."""
    bits = code & np.uint64(0x5555_5555_5555_5555)
    bits = (bits | bits >> np.uint64(1)) & np.uint64(0x3333_3333_3333_3333)
    bits = (bits | bits >> np.uint64(2)) & np.uint64(0x0F0F_0F0F_0F0F_0F0F)
    bits = (bits | bits >> np.uint64(4)) & np.uint64(0x00FF_00FF_00FF_00FF)
    bits = (bits | bits >> np.uint64(8)) & np.uint64(0x0000_FFFF_0000_FFFF)
    return np.int64((bits | bits >> np.uint64(16)) & np.uint64(0x0000_0000_FFFF_FFFF))


@numba.njit(cache=True, nogil=True)
def cells_in_circle(labels, lon, lat, radius_m, inside):
    """Which cells surely lie in a circle, borders included: those whose corners do, with a centimetre to spare.

    Within 90 degrees of longitude of the centre, no place of a cell is farther from it than the farthest corner: on a
    parallel the distance grows with the difference in longitude, and on a meridian it is greatest at an end. Circles
    larger than half of the globe have no cells inside; cells of 180 degrees or more have a corner at least a quarter of
    the globe away, so they are in none. Distances are compared as haversines, hav(d) = sin(d / 2) ** 2.
    """
    is_fit = _SLACK_M < radius_m <= math.pi / 2 * _EARTH_RADIUS_M
    most = math.sin((radius_m - _SLACK_M) / _EARTH_RADIUS_M / 2) ** 2
    for i in range(len(labels)):
        sentinel = labels[i] & (~labels[i] + np.uint64(1))
        code = (labels[i] ^ sentinel) >> np.uint64(2)
        side = math.sqrt(float(sentinel >> np.uint64(1)))
        west, south = _gather(code) * _WIDTH - 180.0, _gather(code >> np.uint64(1)) * _WIDTH / 2 - 90.0
        east, north = west + side * _WIDTH, south + side * _WIDTH / 2
        across = max(math.sin(math.radians(west - lon) / 2) ** 2, math.sin(math.radians(east - lon) / 2) ** 2)
        inside[i] = is_fit and across < 0.5
        for parallel in (south, north):
            up = math.sin(math.radians(parallel - lat) / 2) ** 2
            distance = up + math.cos(math.radians(lat)) * math.cos(math.radians(parallel)) * across
            inside[i] = inside[i] and distance <= most
