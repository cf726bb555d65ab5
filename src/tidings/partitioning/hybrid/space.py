"""How is a part of the map cut, so that the parts have equal loads and few queries lie across?

Implements the space partitioning of [PS2] VI-B: a grid of 2^6 x 2^6 cells, a kd-tree, an R-tree; and the cuts of the
hybrid (IV-B). Departs from the paper, which gives no details: a kd-tree cuts where the loads of both sides are as the
numbers of their leaves, in the direction with the smaller sum of loads. The leaves of the R-tree are those of a packed
one (sort, tile, recurse), and have no gaps. Cells of the grid are taken along the curve Z, which keeps neighbours
together.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tidings.arrays import IdArray, IntArray
from tidings.partitioning.gridt.gridt import Block
from tidings.partitioning.hybrid.ground import Ground, Node, halves

_FEW = 2


def cut(ground: Ground, node: Node, low: int = 1, high: int = 1) -> tuple[Node, Node] | None:
    """A whole node in two, with loads as ``low`` to ``high``; None if it is a single cell."""
    pairs = [_cut_along(ground, node, axis, low, high) for axis in (0, 1)]
    found = [pair for pair in pairs if pair is not None]
    return min(found, key=lambda pair: (pair[0].load + pair[1].load, max(pair[0].load, pair[1].load)), default=None)


def _cut_along(ground: Ground, node: Node, axis: int, low: int, high: int) -> tuple[Node, Node] | None:
    """The cut in one direction after which the larger of load / leaves is least."""
    assert node.block is not None
    begin, end = node.block[axis], node.block[2 + axis]
    if begin == end:
        return None
    lines = np.clip(ground.places[axis][node.sent], begin, end)  # some are sent from beyond the border
    spans = ground.spans[node.queries]
    left, right = _counts(lines, spans[:, axis], spans[:, 2 + axis], begin, end)
    sides = ground.loads(*left) / low, ground.loads(*right) / high
    line = begin + 1 + int(np.argmin(np.maximum(*sides)))
    return _parted(ground, node, axis, line)


def _counts(
    lines: IdArray, first: IdArray, last: IdArray, begin: int, end: int
) -> tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]:
    """Posts and queries before, and from, each of the lines begin + 1 … end; a query has lines ``first`` … ``last``."""
    width = end - begin + 1
    posts = np.cumsum(np.bincount(lines - begin, minlength=width))[:-1]
    before = np.cumsum(np.bincount(np.clip(first - begin, 0, width - 1), minlength=width))[:-1]
    over = np.cumsum(np.bincount(np.clip(last - begin, 0, width - 1), minlength=width))[:-1]
    return (posts, before), (len(lines) - posts, len(first) - over)


def _parted(ground: Ground, node: Node, axis: int, line: int) -> tuple[Node, Node]:
    assert node.block is not None
    one, other = halves(node.block, axis, line)
    return ground.within(node, one), ground.within(node, other)


def median_cuts(ground: Ground, node: Node) -> list[tuple[Node, Node]]:
    """A whole node cut at the median of its posts in either direction, as a kd-tree does; none where it cannot be."""
    assert node.block is not None
    cuts = []
    for axis in (0, 1):
        begin, end = node.block[axis], node.block[2 + axis]
        if begin < end and len(node.posts):
            middle = int(np.median(ground.places[axis][node.posts]))
            cuts.append(_parted(ground, node, axis, min(max(middle, begin) + 1, end)))
    return cuts


def kd_tree(ground: Ground, node: Node, count: int) -> list[Node]:
    """A whole node cut into ``count`` leaves of about the same load; fewer if it has not so many cells."""
    if count < _FEW:
        return [node]
    low = count // 2
    parts = cut(ground, node, count - low, low)
    if parts is None:
        return [node]
    return kd_tree(ground, parts[0], count - low) + kd_tree(ground, parts[1], low)


def r_tree(ground: Ground, node: Node, count: int) -> list[Node]:
    """The leaves of a packed R-tree of the posts, about ``count``: slices of equally many posts, each cut likewise."""
    slices = max(round(np.sqrt(count)), 1)
    leaves = []
    for column in _sliced(ground, node, 0, slices):
        leaves += _sliced(ground, column, 1, max(round(count / slices), 1))
    return leaves


def _sliced(ground: Ground, node: Node, axis: int, count: int) -> list[Node]:
    """A node cut at the quantiles of its posts, in one direction."""
    assert node.block is not None
    lines = np.sort(ground.places[axis][node.posts])
    begin, end = node.block[axis], node.block[2 + axis]
    wanted = [lines[len(lines) * n // count] if len(lines) else begin for n in range(1, count)]
    borders = [begin, *sorted({int(line) for line in wanted if begin < line <= end}), end + 1]
    blocks = []
    for low, high in pairwise(borders):
        block = list(node.block)
        block[axis], block[2 + axis] = low, high - 1
        blocks.append((block[0], block[1], block[2], block[3]))
    return [ground.within(node, block) for block in blocks]


def cells(ground: Ground, node: Node) -> list[Node]:
    """Every cell of a whole node as a leaf, along the curve Z. Cost: a pass over the node for each cut in half."""
    assert node.block is not None
    west, south, east, north = node.block
    if (west, south) == (east, north):
        return [node]
    axis = 0 if east - west >= north - south else 1
    line = (node.block[axis] + node.block[2 + axis] + 1) // 2
    if not len(node.posts) and not len(node.entries):
        return _empty_cells(node.block)
    return [leaf for half in _parted(ground, node, axis, line) for leaf in cells(ground, half)]


def _empty_cells(block: Block) -> list[Node]:
    west, south, east, north = block
    none = np.zeros(0, dtype=np.int32)
    cells = ((x, y, x, y) for y in range(south, north + 1) for x in range(west, east + 1))
    return [Node(cell, None, none, none, none, none, 0.0) for cell in cells]


def in_turn(leaves: list[Node], matchers: int) -> IdArray:
    """Leaves to matchers in their order, as many to each as make the same sum of loads."""
    loads = np.array([leaf.load for leaf in leaves])
    middle = np.cumsum(loads) - loads / 2
    share = middle / max(float(loads.sum()), 1e-300) * matchers
    return np.clip(share.astype(np.int32), 0, matchers - 1)
