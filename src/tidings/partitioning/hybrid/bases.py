"""What is the hybrid compared with? Partitioning by text alone, and by space alone.

Implements [PS2] VI-B. What asks for no place cannot be divided by space: there it is divided by words, by a metric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from tidings.model import DataError
from tidings.partitioning.hybrid import space, text
from tidings.partitioning.hybrid.ground import Ground, Node
from tidings.partitioning.hybrid.leaves import KdtLeaves
from tidings.partitioning.hybrid.merging import merged
from tidings.partitioning.hybrid.workload import Workload
from tidings.partitioning.load import COSTS, LoadCosts
from tidings.partitioning.mapping import Mapping, check_matchers

TextMethod = Literal["frequency", "hypergraph", "metric"]
SpaceMethod = Literal["grid", "kd-tree", "r-tree"]
GRID_LEVEL = 6
LEVEL = 8
_LEAVES_PER_MATCHER = 4
_DIVIDE: dict[str, text.Divide] = {
    "frequency": text.by_frequency,
    "hypergraph": text.by_hypergraph,
    "metric": text.by_metric,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """By words alone: each word has one matcher, wherever it is asked for.

    ``level``: with 0 a post is sent if one of its words is asked for anywhere. With more, as other partitioners do,
    only if one is asked for near it: what is asked for is known for regions of 2^level columns and rows.
    """

    method: TextMethod = "metric"
    level: int = 0
    costs: LoadCosts = COSTS

    def __post_init__(self) -> None:
        _check(self.method, TextMethod)

    def leaves(self, workload: Workload, matchers: int) -> KdtLeaves:
        """The leaves: the words of each matcher."""
        check_matchers(matchers)
        ground = Ground.of(workload, self.costs, self.level)
        parts = (ground.map(), ground.everywhere()) if self.level else (ground.whole(),)
        each = [text.divided(ground, part, matchers, _DIVIDE[self.method]) for part in parts if len(part.entries)]
        owner = np.concatenate([np.zeros(0, dtype=np.int32), *(np.arange(len(own), dtype=np.int32) for own in each)])
        return KdtLeaves(ground, [leaf for own in each for leaf in own], owner, matchers)

    def partition(self, workload: Workload, matchers: int) -> Mapping:
        """The mapping of the leaves."""
        return self.leaves(workload, matchers).mapping()


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """By places alone: a query is at the matchers of all parts that its box touches.

    ``level``: cuts are between 2^level columns and rows; 6 for the grid and 8 for trees, if not said.
    """

    method: SpaceMethod = "kd-tree"
    level: int | None = None
    costs: LoadCosts = COSTS
    homed: bool = False

    def __post_init__(self) -> None:
        _check(self.method, SpaceMethod)

    def leaves(self, workload: Workload, matchers: int) -> KdtLeaves:
        """The leaves: the parts of each matcher, and the words of what asks for no place."""
        check_matchers(matchers)
        level = (GRID_LEVEL if self.method == "grid" else LEVEL) if self.level is None else self.level
        ground = Ground.of(workload, self.costs, level, homed=self.homed)
        root = ground.map()
        match self.method:
            case "grid":
                nodes = space.cells(ground, root)
                owner = space.in_turn(nodes, matchers)
            case "kd-tree":
                nodes = space.kd_tree(ground, root, matchers)
                owner = np.arange(len(nodes), dtype=np.int32)
            case "r-tree":
                nodes = space.r_tree(ground, root, _LEAVES_PER_MATCHER * matchers)
                owner = merged(ground, nodes, matchers).owner
        rest = everywhere(ground, matchers)
        return KdtLeaves(
            ground, [*nodes, *rest], np.concatenate([owner, np.arange(len(rest), dtype=np.int32)]), matchers
        )

    def partition(self, workload: Workload, matchers: int) -> Mapping:
        """The mapping of the leaves."""
        return self.leaves(workload, matchers).mapping()


def everywhere(ground: Ground, matchers: int) -> list[Node]:
    """What asks for no place, divided by words; none if nobody does."""
    node = ground.everywhere()
    return text.divided(ground, node, matchers) if len(node.entries) else []


def _check(method: str, allowed: object) -> None:
    if method not in get_args(allowed):
        raise DataError(f"a method is one of {', '.join(get_args(allowed))}, got {method!r}; choose one of them")
