"""Which cuts, of places and of words, give the least maximum of loads? The best kdt-tree with a leaf for each matcher.

Not in [PS2], whose Alg. 1 decides by similarity where words are divided. Here every node is cut both ways, and the way
whose leaves have the least maximum of loads is taken: all sequences of cuts are tried for up to ``MOST_TRIED`` leaves;
above that the cut with the lighter halves is taken at once. Unlike in the paper, a share of the words of some cells may
be cut by space again, so that frequent words are divided by places and the others by words.
"""

from __future__ import annotations

from tidings.partitioning.hybrid import space, text
from tidings.partitioning.hybrid.ground import Ground, Node

MOST_TRIED = 8

Parts = list[tuple[Node, int]]
"""Nodes, and how many leaves each of them shall have."""


def best_leaves(ground: Ground, node: Node, count: int) -> list[Node]:
    """A node in ``count`` leaves; fewer if it cannot be cut so often. Cost: at most 4^3 cuts for 8 leaves."""
    if count == 1:
        return [node]
    ways = _ways(ground, node, count)
    if ways and count > MOST_TRIED:
        ways = [min(ways, key=lambda parts: max(part.load / own for part, own in parts))]
    tried = [[leaf for part, own in parts for leaf in best_leaves(ground, part, own)] for parts in ways]
    return min([text.divided(ground, node, count), *tried], key=_weight)


def _ways(ground: Ground, node: Node, count: int) -> list[Parts]:
    """The node in two, by places and by words, with the leaves that each half shall have."""
    low, ways = count // 2, []
    if node.block is not None and (pair := space.cut(ground, node, count - low, low)):
        ways.append([(pair[0], count - low), (pair[1], low)])
    halves = text.divided(ground, node, 2) if count % 2 == 0 else []
    if len(halves) > 1:
        ways.append([(half, low) for half in halves])
    return ways


def _weight(leaves: list[Node]) -> tuple[float, float]:
    return max(leaf.load for leaf in leaves), sum(leaf.load for leaf in leaves)
