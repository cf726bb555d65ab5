"""How is a division made better, step by step? Cut a leaf of the most loaded matcher, and move leaves while that helps.

Not in [PS2], where leaves are given to matchers anew after each cut. Here they stay where they are, so no step makes
the largest loads worse.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tidings.arrays import IdArray
from tidings.partitioning.hybrid import space, text
from tidings.partitioning.hybrid.ground import Ground, Node
from tidings.partitioning.hybrid.merging import Merged, refined


def grown(
    ground: Ground, nodes: list[Node], owner: IdArray, matchers: int, most: int
) -> Iterator[tuple[list[Node], Merged]]:
    """Leaves and their matchers: as they are, each time there are twice as many, and at last.

    There are at most ``most`` leaves; at first leaf n is at ``owner[n]``. Cost: a pass over the posts and queries of
    all leaves for each new one.
    """
    found = refined(ground, nodes, matchers, owner)
    yield nodes, found
    told = len(nodes)
    solid: set[int] = set()  # leaves that cannot be cut, by identity; all of them are in nodes
    while len(nodes) < most:
        own = np.flatnonzero(found.owner == np.argmax(found.loads)).tolist()
        own = [n for n in own if id(nodes[n]) not in solid]
        if not own:
            break
        heaviest = max(own, key=lambda n: nodes[n].load)
        halves = cheapest_halves(ground, nodes[heaviest])
        if not halves:
            solid.add(id(nodes[heaviest]))
            continue
        nodes = [*nodes[:heaviest], *nodes[heaviest + 1 :], *halves]
        stays = np.delete(found.owner, heaviest)
        same = np.full(len(halves), found.owner[heaviest], dtype=np.int32)
        found = refined(ground, nodes, matchers, np.concatenate([stays, same]))
        if len(nodes) >= 2 * told:
            yield nodes, found
            told = len(nodes)
    if len(nodes) > told:
        yield nodes, found


def cheapest_halves(ground: Ground, node: Node) -> list[Node]:
    """A node in two, by words or by places, whichever gives the smaller sum of loads; none if it cannot be cut."""
    pair = space.cut(ground, node) if node.block is not None else None
    ways = [halves for halves in (text.divided(ground, node, 2), list(pair or ())) if len(halves) > 1]
    return min(ways, key=lambda halves: sum(half.load for half in halves), default=[])
