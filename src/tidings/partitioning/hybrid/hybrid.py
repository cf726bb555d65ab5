"""Where is it better to divide words, and where places? And are queries kept at several matchers, or posts sent there?

After [PS2] IV-B, whose Alg. 1 is :class:`tidings.partitioning.hybrid.PaperHybrid`. What this does instead:

* A query may be *at home* in the leaf of its centre alone; then posts near a border are sent to both sides
  (:mod:`tidings.partitioning.gridt`). In the paper a query is kept at every matcher that its square reaches.
* It begins with leaves of a kd-tree, with words alone, or with leaves of a kd-tree where queries are at home. Each is
  made better step by step (:mod:`tidings.partitioning.hybrid.growing`).
* Which one, and how often it is cut, is chosen by halves: a division that is made with every other post and query has
  some load for the rest of them. Loads on what made the leaves are too good to be true, so even those must not be
  larger. What is simpler comes first, and what comes later has to be clearly better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tidings.model import DataError
from tidings.partitioning.hybrid import space, text
from tidings.partitioning.hybrid.bases import LEVEL, everywhere
from tidings.partitioning.hybrid.ground import Ground
from tidings.partitioning.hybrid.growing import grown
from tidings.partitioning.hybrid.leaves import KdtLeaves
from tidings.partitioning.hybrid.measuring import measure
from tidings.partitioning.hybrid.workload import Workload
from tidings.partitioning.load import COSTS, LoadCosts
from tidings.partitioning.mapping import Mapping, check_matchers

_BEGIN = {"places": space.kd_tree, "words": text.divided}
_BETTER, _WORSE = 1.05, 1.1  # a matcher gets 1,000 queries of a sample, or by chance 3 % more or less


class Beginning(NamedTuple):
    """How a division begins: by what, and whether queries are at home."""

    by: str
    homed: bool


_ALL = (
    Beginning("places", homed=False),
    Beginning("words", homed=False),
    Beginning("places", homed=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid:
    """The same workload, number of matchers and fields give the same mapping.

    ``most`` leaves for each matcher; with fewer than ``split`` posts only loads on all of them choose. ``level``: cuts
    are between 2^level columns and rows.
    """

    most: int = 8
    split: int = 1_000
    level: int = LEVEL
    costs: LoadCosts = COSTS

    def __post_init__(self) -> None:
        if self.most < 1:
            raise DataError(f"a matcher has 1 leaf or more, got {self.most}; choose another number")

    def partition(self, workload: Workload, matchers: int) -> Mapping:
        """The mapping of the leaves."""
        return self.leaves(workload, matchers).mapping()

    def leaves(self, workload: Workload, matchers: int) -> KdtLeaves:
        """The leaves and their matchers. Cost: some ten seconds for 24,000 posts, 100,000 queries and 8 matchers."""
        check_matchers(matchers)
        ground = Ground.of(workload, self.costs, self.level)
        is_split = len(workload.posts) >= self.split
        halves = (ground.every_other(0), ground.every_other(1)) if is_split else ()
        made, judged = (ground, *halves), (ground, *reversed(halves))
        found, least = list[KdtLeaves](), np.inf
        for beginning in _ALL:
            grown = (self._grown(part, beginning, matchers, self.most * matchers) for part in made)
            for step in zip(*grown, strict=False):
                own, *others = (_largest(leaves, part) for leaves, part in zip(step, judged, strict=True))
                load = max(own, float(np.mean(others or own)))
                if load < least / _BETTER:
                    found, least = [step[0]], load
                elif load > _WORSE * least and len(step[0].nodes) > matchers:
                    break
        return found[0]

    @staticmethod
    def _grown(ground: Ground, beginning: Beginning, matchers: int, most: int) -> Iterator[KdtLeaves]:
        """A division as it begins, each time it has twice as many leaves, and with all of them."""
        ground = replace(ground, homed=beginning.homed)
        nodes, rest = _BEGIN[beginning.by](ground, ground.map(), matchers), everywhere(ground, matchers)
        owner = np.concatenate([np.arange(len(own), dtype=np.int32) for own in (nodes, rest)])
        for leaves, found in grown(ground, [*nodes, *rest], owner, matchers, most):
            yield KdtLeaves(ground, leaves, found.owner, matchers)


def _largest(leaves: KdtLeaves, ground: Ground) -> float:
    """The largest load that the mapping of some leaves gives, which regions make worse than they promise."""
    return float(measure(leaves.mapping(), ground.workload).loads(ground.costs).max())
