"""Where is it better to divide words, and where places? The hybrid partitioning of PS2Stream, as it is printed.

Implements [PS2] IV-B, Alg. 1. Symbols: m the matchers; O and Q posts and queries; δ ``dissimilar``, under which the
words of posts and queries are dissimilar; σ ``uneven``, the largest load by the smallest; θ ``most`` leaves for each
matcher; Nt the nodes that are divided by text, Ns those that are divided by what is cheaper.

Departs from the paper, which gives no values and no tolerance for |α - sim| ≈ 0:

* A node is cut in the first phase only if it has ``fewest`` posts, and while there are at most a quarter of θ: the
  similarity of ever smaller samples falls by chance alone.
* Of all rounds of the second phase the one with the least maximum of loads is taken.

What this project uses is :class:`tidings.partitioning.hybrid.Hybrid`.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count

import numpy as np

from tidings.model import DataError
from tidings.partitioning.hybrid import space, text
from tidings.partitioning.hybrid.bases import LEVEL
from tidings.partitioning.hybrid.ground import Ground, Node
from tidings.partitioning.hybrid.leaves import KdtLeaves
from tidings.partitioning.hybrid.merging import Merged, merged, numbers_of_parts
from tidings.partitioning.hybrid.workload import Workload
from tidings.partitioning.load import COSTS, LoadCosts
from tidings.partitioning.mapping import Mapping, check_matchers


@dataclass(frozen=True, slots=True, eq=False)
class _Tree:
    """The leaves so far, and which of them are in Nt."""

    nodes: list[Node]
    in_text: list[bool]

    def add(self, node: Node, in_text: bool) -> None:
        self.nodes.append(node)
        self.in_text.append(in_text)

    def __len__(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperHybrid:
    """Alg. 1. The same workload, number of matchers and fields give the same mapping."""

    dissimilar: float = 0.5
    minor: float = 0.02
    uneven: float = 1.1
    most: int = 32
    fewest: int = 200
    level: int = LEVEL
    costs: LoadCosts = COSTS

    def __post_init__(self) -> None:
        if not (0 <= self.dissimilar <= 1 and self.minor >= 0 and self.uneven >= 1 and self.most >= 1):
            raise DataError(f"similarities are between 0 and 1, σ and θ at least 1, got {self}; choose others")

    def partition(self, workload: Workload, matchers: int) -> Mapping:
        """The mapping of the leaves."""
        return self.leaves(workload, matchers).mapping()

    def leaves(self, workload: Workload, matchers: int) -> KdtLeaves:
        """The leaves and their matchers. Cost: seconds for 100,000 posts and queries and 8 matchers."""
        check_matchers(matchers)
        ground = Ground.of(workload, self.costs, self.level)
        nodes, found = self._second_phase(ground, self._tree(ground, matchers), matchers)
        return KdtLeaves(ground, nodes, found.owner, matchers)

    def _tree(self, ground: Ground, matchers: int) -> _Tree:
        """Where the second phase begins: what the first one has found, and what asks for no place."""
        rest = ground.everywhere()
        tree = self._first_phase(ground, max(self.most * matchers // 4, 1))
        if len(rest.entries):
            tree.add(rest, True)
        return self._cut_to(ground, tree, matchers) if len(tree) < matchers else tree

    # ------------------------------------------------------------------------------------------------ first phase

    def _first_phase(self, ground: Ground, most: int) -> _Tree:
        """Lines 1 to 12: cut while posts and queries are dissimilar and become more so. The largest node first."""
        tree, order, root = _Tree([], []), count(), ground.map()
        undecided = [(-len(root.posts), next(order), root)]
        while undecided:
            _, _, node = heapq.heappop(undecided)
            similarity = ground.similarity(node)
            if similarity >= self.dissimilar:
                tree.add(node, False)
                continue
            full = len(tree) + len(undecided) + 2 > most
            halves = None if full else self._halves(ground, node, similarity)
            if halves is None:
                tree.add(node, True)
            else:
                for half in halves:
                    heapq.heappush(undecided, (-len(half.posts), next(order), half))
        return tree

    def _halves(self, ground: Ground, node: Node, similarity: float) -> tuple[Node, Node] | None:
        """Lines 8 to 10: the cut after which one half is least similar; None if that is no less, or not known."""
        if len(node.posts) < self.fewest:
            return None
        cuts = [(min(map(ground.similarity, halves)), halves) for halves in space.median_cuts(ground, node)]
        if not cuts:
            return None
        least, halves = min(cuts, key=lambda cut: cut[0])
        return None if abs(least - similarity) <= self.minor else halves

    # ------------------------------------------------------------------------------------------------ second phase

    def _cut_to(self, ground: Ground, tree: _Tree, matchers: int) -> _Tree:
        """Lines 13 to 16: as many leaves as matchers, at the least sum of loads."""
        most = matchers - len(tree) + 1
        parts = [
            [self._parts(ground, node, k, in_text) for k in range(1, most + 1)]
            for node, in_text in zip(tree.nodes, tree.in_text, strict=True)
        ]
        costs = np.array([[sum(leaf.load for leaf in leaves.nodes) for leaves in own] for own in parts])
        cut = _Tree([], [])
        for own, number in zip(parts, numbers_of_parts(costs, matchers), strict=True):
            for node, in_text in zip(own[number - 1].nodes, own[number - 1].in_text, strict=True):
                cut.add(node, in_text)
        return cut

    def _parts(self, ground: Ground, node: Node, parts: int, in_text: bool) -> _Tree:
        """PartitionNode: by text where posts and queries are dissimilar, else by what is cheaper."""
        if parts == 1:
            return _Tree([node], [in_text])
        by_text = text.divided(ground, node, parts, text.by_metric)
        if node.is_whole and not in_text:
            by_space = space.kd_tree(ground, node, parts)
            is_dearer = sum(leaf.load for leaf in by_text) > sum(leaf.load for leaf in by_space)
            if len(by_text) < len(by_space) or (is_dearer and len(by_space) > 1):
                return _Tree(by_space, [in_text] * len(by_space))
        return _Tree(by_text, [in_text or len(by_text) > 1] * len(by_text))

    def _second_phase(self, ground: Ground, tree: _Tree, matchers: int) -> tuple[list[Node], Merged]:
        """Lines 17 to 27: give leaves to matchers; while the loads are uneven, cut the heaviest leaf in two."""
        solid: set[int] = set()
        found = merged(ground, tree.nodes, matchers)
        best = tree.nodes.copy(), found
        while found.unevenness > self.uneven and len(tree) < self.most * matchers:
            if not self._cut_heaviest(ground, tree, solid):
                break
            found = merged(ground, tree.nodes, matchers)
            if found.loads.max() < best[1].loads.max():
                best = tree.nodes.copy(), found
        return best

    def _cut_heaviest(self, ground: Ground, tree: _Tree, solid: set[int]) -> bool:
        """Cut the heaviest leaf that can be cut; whether there was one. ``solid``: those that cannot, by identity."""
        loads = np.array([-np.inf if id(node) in solid else node.load for node in tree.nodes])
        while loads.max() > 0:
            heaviest = int(np.argmax(loads))
            parts = self._parts(ground, tree.nodes[heaviest], 2, tree.in_text[heaviest])
            if len(parts) > 1:
                del tree.nodes[heaviest], tree.in_text[heaviest]
                for node, in_text in zip(parts.nodes, parts.in_text, strict=True):
                    tree.add(node, in_text)
                return True
            solid.add(id(tree.nodes[heaviest]))
            loads[heaviest] = -np.inf
        return False
