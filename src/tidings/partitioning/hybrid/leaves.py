"""What does a partitioner of [PS2] give? Leaves and their matchers, and so a mapping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tidings.arrays import IdArray
from tidings.partitioning.gridt.gridt import Block, Gridt, WordShare
from tidings.partitioning.hybrid.ground import Ground, Node, halves
from tidings.partitioning.mapping import Mapping, hash_names


@dataclass(frozen=True, slots=True, eq=False)
class KdtLeaves:
    """The leaves of a kdt-tree; leaf n goes to matcher ``owner[n]`` (int32)."""

    ground: Ground
    nodes: Sequence[Node]
    owner: IdArray
    matchers: int

    def mapping(self) -> Mapping:
        """The mapping of these leaves: those of a matcher with the same cells are a parcel, or one for each region.

        Words which nobody has asked for yet are divided as those that somebody has asked for there: each word that is
        known is asked for a little less often later, and new ones instead. Each matcher has a parcel everywhere, so
        that all matchers have some of them.
        """
        work, none = self.ground.workload, np.zeros(0, dtype=np.uint64)
        hashes = hash_names(work.names)
        words = [np.unique(work.entry_word[node.entries]) if node.words is None else node.words for node in self.nodes]
        everywhere = [n for n, node in enumerate(self.nodes) if node.block is None]
        last = self.ground.grid.side - 1
        whole: Block = (0, 0, last, last)
        placed: list[tuple[int, Block]] = [(n, node.block) for n, node in enumerate(self.nodes) if node.block]
        parts: list[tuple[Block | None, list[int]]] = [*tiles(whole, placed), (None, everywhere)]
        shares, owner = list[WordShare](), list[int]()
        for block, own in parts:
            for matcher in range(self.matchers) if block is None else np.unique(self.owner[own]).tolist():
                known = [hashes[words[n]] for n in own if self.owner[n] == matcher]
                shares.append(WordShare(block, np.concatenate([none, *known])))
                owner.append(matcher)
        homed = work.entry_box[~np.isnan(work.entry_box[:, 0])] if self.ground.homed else None
        gridt, share = Gridt.flattened(self.ground.grid, shares, self.ground.fine, homed=homed)
        return Mapping(gridt, np.array(owner, dtype=np.int32)[share], self.matchers)


def tiles(block: Block, leaves: Sequence[tuple[int, Block]]) -> list[tuple[Block, list[int]]]:
    """A block cut where leaves begin and end, so that each leaf has all of a tile or nothing; and the leaves of each.

    Leaves are numbers and their blocks, which may overlap: there they share words. Of all lines the one that cuts the
    fewest leaves is taken first, so leaves of a kd-tree stay whole.

    >>> tiles((0, 0, 7, 7), [(0, (0, 0, 3, 7)), (1, (4, 0, 7, 7)), (2, (0, 0, 7, 7))])
    [((0, 0, 3, 7), [0, 2]), ((4, 0, 7, 7), [1, 2])]
    """
    members: dict[Block, list[int]] = {}
    for n, own in leaves:
        members.setdefault(own, []).append(n)
    if sum(map(_size, members)) == _size(block):  # they are equal or apart
        return list(members.items())
    cuts = {(axis, line) for own in members for axis in (0, 1) for line in (own[axis], own[2 + axis] + 1)}
    inner = [cut for cut in sorted(cuts) if _is_cut(block, *cut)]
    if not inner:
        return [(block, [n for n, _ in leaves])] if leaves else []
    axis, line = min(inner, key=lambda cut: sum(_is_cut(own, *cut) for own in members))
    parts = []
    for half in halves(block, axis, line):
        parts += tiles(half, [(n, _common(own, half)) for n, own in leaves if _meet(own, half)])
    return parts


def _size(block: Block) -> int:
    return (block[2] - block[0] + 1) * (block[3] - block[1] + 1)


def _is_cut(block: Block, axis: int, line: int) -> bool:
    return block[axis] < line <= block[2 + axis]


def _meet(one: Block, other: Block) -> bool:
    return all(one[k] <= other[2 + k] and other[k] <= one[2 + k] for k in (0, 1))


def _common(one: Block, other: Block) -> Block:
    return max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3])
