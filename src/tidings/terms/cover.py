"""Which few nodes of a hierarchy contain an area?

The guard of a region or a range of numbers is a small cover: a publication carries the label of its own leaf and all
the ancestors, so it meets the cover whenever it lies in the area. What a cover has too much is verified later.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Protocol

from tidings.terms.labels import ROOT, children, depth_of


class Area(Protocol):
    """A set of leaves of the tree of bit labels: a leaf is in it or not, never in part."""

    def tightest(self, label: int) -> int | None:
        """The smallest node with all that the area has at or below ``label``; None if it has nothing there."""

    def holds(self, label: int) -> bool:
        """Whether all leaves at or below ``label`` are in the area."""


def bounded_cover(area: Area, max_nodes: int, step: int = 1) -> list[int]:
    """At most ``max_nodes`` nodes that contain the area, sorted and disjoint; ``step`` bits lead to a child.

    The law: the result covers everything, has at most ``max_nodes`` nodes, and grows tighter (never looser) with
    ``max_nodes``: each node of a larger cover lies in a node of the smaller one.

    Best first: from the smallest node that contains everything, the coarsest node that is only partly inside is split,
    and its parts are drawn tight. The order of splits does not depend on ``max_nodes``, which only says when to stop:
    at the first split that does not fit. To take a later one instead would use the bound better and break the law.
    Cost: O(max_nodes) questions to the area.
    """
    if max_nodes < 1:
        raise ValueError(f"a cover has at least one node, got max_nodes={max_nodes}")
    whole = area.tightest(ROOT)
    if whole is None:
        return []
    nodes, waiting, splits = {whole}, [(depth_of(whole), whole)], []
    while waiting:
        _, node = heappop(waiting)
        if area.holds(node):
            continue
        parts = [part for child in children(node, step) if (part := area.tightest(child)) is not None]
        if len(nodes) - 1 + len(parts) > max_nodes:
            break
        nodes.remove(node)
        nodes.update(parts)
        splits.append(node)
        for part in parts:
            heappush(waiting, (depth_of(part), part))
    _merge_siblings(nodes, splits, step)
    return sorted(nodes)


def _merge_siblings(nodes: set[int], splits: list[int], step: int) -> None:
    """Undo the splits whose parts are all there and whole: they take nothing away from the node."""
    for node in reversed(splits):
        family = children(node, step)
        if nodes.issuperset(family):
            nodes.difference_update(family)
            nodes.add(node)
