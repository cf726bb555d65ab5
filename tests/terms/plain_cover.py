"""What is a cover, written plainly? The oracle of the compiled one; the rule is that of :mod:`tidings.terms.cover`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from heapq import heappop, heappush
from typing import NamedTuple, Protocol

from tidings.model import Polygon, Region
from tidings.terms.cells import cell, rectangle
from tidings.terms.labels import ROOT, children, common_ancestor, depth_of, descendants
from tidings.terms.strips import strips


class Area(Protocol):
    """A set of leaves of the tree of bit labels: a leaf is in it or not, never in part."""

    def tightest(self, label: int) -> int | None:
        """The smallest node with all that the area has at or below ``label``; None if it has nothing there."""

    def holds(self, label: int) -> bool:
        """Whether all leaves at or below ``label`` are in the area."""


def bounded_cover(area: Area, max_nodes: int, step: int = 1) -> list[int]:
    """At most ``max_nodes`` nodes that contain the area, sorted and disjoint; ``step`` bits lead to a child."""
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
    for node in reversed(splits):
        family = children(node, step)
        if nodes.issuperset(family):
            nodes.difference_update(family)
            nodes.add(node)
    return sorted(nodes)


@dataclass(frozen=True)
class Span:
    """The leaves from ``first`` to ``last``, both included."""

    first: int
    last: int

    def tightest(self, label: int) -> int | None:
        first, last = descendants(label)
        first, last = max(first, self.first), min(last, self.last)
        return common_ancestor(first, last) if first <= last else None

    def holds(self, label: int) -> bool:
        first, last = descendants(label)
        return self.first <= first and last <= self.last


class Block(NamedTuple):
    """Cells of one size side by side, by the south-western corners of the first and the last, both included."""

    west: float
    south: float
    east: float
    north: float

    @classmethod
    def of(cls, south_west: int, north_east: int) -> Block:
        first, last = rectangle(south_west), rectangle(north_east)
        return cls(first.west, first.south, last.west, last.south)

    def shared_with(self, other: Block) -> Block | None:
        west, east = max(self.west, other.west), min(self.east, other.east)
        south, north = max(self.south, other.south), min(self.north, other.north)
        return Block(west, south, east, north) if west <= east and south <= north else None

    def smallest(self, *others: Block) -> int:
        """The smallest cell with all the blocks in it: the one that holds their outermost corners."""
        wests, souths, easts, norths = zip(self, *others, strict=True)
        return common_ancestor(cell(min(wests), min(souths)), cell(max(easts), max(norths)), step=2)


@dataclass(frozen=True)
class Touched:
    """All the cells of the last level that a region's bounds touch, or the strips of a polygon."""

    blocks: Sequence[Block]

    @classmethod
    def by(cls, region: Region) -> Touched:
        boxes = [*strips(region)] if isinstance(region, Polygon) else [astuple(box) for box in region.bounds()]
        return cls([Block.of(cell(west, south), cell(east, north)) for west, south, east, north in boxes])

    def tightest(self, label: int) -> int | None:
        own = Block.of(*descendants(label))
        shared = [part for block in self.blocks if (part := block.shared_with(own)) is not None]
        return shared[0].smallest(*shared[1:]) if shared else None

    def holds(self, label: int) -> bool:
        own = Block.of(*descendants(label))
        return any(block.shared_with(own) == own for block in self.blocks)
