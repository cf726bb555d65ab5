"""What does a partitioner of [PS2] give? Leaves and their matchers, and so a mapping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tidings.arrays import IdArray
from tidings.partitioning.gridt.gridt import Gridt, WordShare
from tidings.partitioning.hybrid.ground import Ground, Node
from tidings.partitioning.mapping import Mapping, hash_names


@dataclass(frozen=True, slots=True, eq=False)
class KdtLeaves:
    """The leaves of a kdt-tree; leaf n goes to matcher ``owner[n]`` (int32)."""

    ground: Ground
    nodes: Sequence[Node]
    owner: IdArray
    matchers: int

    def mapping(self) -> Mapping:
        """The mapping of these leaves: each is a parcel, or one for each region of its cells.

        Each matcher has a parcel everywhere, so that words which nobody has asked for yet are divided between all.
        """
        work, none = self.ground.workload, np.zeros(0, dtype=np.uint64)
        hashes = hash_names(work.names)
        words = [np.unique(work.entry_word[node.entries]) if node.words is None else node.words for node in self.nodes]
        shares = [WordShare(node.block, hashes[own]) for node, own in zip(self.nodes, words, strict=True)]
        everywhere = self.owner[[node.block is None for node in self.nodes]]
        padding = np.setdiff1d(np.arange(self.matchers, dtype=np.int32), everywhere)
        shares += [WordShare(None, none) for _ in padding]
        gridt, share = Gridt.flattened(self.ground.grid, shares, self.ground.fine)
        return Mapping(gridt, np.concatenate([self.owner, padding])[share], self.matchers)
