"""Which leaves does a matcher get? And into how many parts is each node cut?

Implements [PS2] IV-B: MergeNodesIntoPartitions, and the dynamic programme of ComputeNumberPartitions. Departs from the
paper: a post and a query that two leaves of a matcher have are counted once, since the matcher has them once; and as
long as a matcher has nothing, the next leaf is its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray, IntArray
from tidings.partitioning.hybrid import kernels
from tidings.partitioning.hybrid.ground import Ground, Node
from tidings.partitioning.load import FloatArray

_ROUNDS = 20


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """Leaf n goes to ``owner[n]`` (int32), and matchers have these ``loads`` (float64)."""

    owner: IdArray
    loads: FloatArray

    @property
    def unevenness(self) -> float:
        """The largest load by the smallest: what σ bounds."""
        low, high = float(self.loads.min()), float(self.loads.max())
        return high / low if low else (np.inf if high else 1.0)


def merged(ground: Ground, leaves: Sequence[Node], matchers: int) -> Merged:
    """Leaves to matchers, the heaviest first: where the load grows least, or to the least loaded if that is evener."""
    order = np.argsort([-leaf.load for leaf in leaves], kind="stable")
    posts, queries = _sets([leaf.sent for leaf in leaves]), _sets([leaf.queries for leaf in leaves])
    has_post, has_query = _none_at(posts, matchers, np.uint8), _none_at(queries, matchers, np.uint8)
    owner, at = np.zeros(len(leaves), dtype=np.int32), np.zeros((3, matchers))
    kernels.merge(
        order, posts.offsets, posts.ids, queries.offsets, queries.ids, ground.weights, has_post, has_query, owner, at
    )
    return Merged(owner, at[2])


def refined(ground: Ground, leaves: Sequence[Node], matchers: int, owner: IdArray) -> Merged:
    """Leaves moved from matcher to matcher, beginning with ``owner``, while that lowers the largest loads."""
    posts, queries = _sets([leaf.sent for leaf in leaves]), _sets([leaf.queries for leaf in leaves])
    has_post, has_query = _none_at(posts, matchers, np.int32), _none_at(queries, matchers, np.int32)
    kernels.count_at(posts.offsets, posts.ids, owner, has_post)
    kernels.count_at(queries.offsets, queries.ids, owner, has_query)
    counts = [np.count_nonzero(has, axis=0) for has in (has_post, has_query)]
    at = np.stack([*counts, ground.loads(*counts)]).astype(np.float64)
    owner, order = owner.copy(), np.argsort([-leaf.load for leaf in leaves], kind="stable")
    kernels.refine(
        order, posts.offsets, posts.ids, queries.offsets, queries.ids, ground.weights, has_post, has_query, owner, at,
        _ROUNDS,
    )  # fmt: skip
    return Merged(owner, at[2])


def numbers_of_parts(costs: FloatArray, parts: int) -> IntArray:
    """Into how many parts each node is cut, int64, ``parts`` together, at the least sum of costs.

    ``costs[i, k - 1]`` is C[i, k], what node i costs in k parts; each has one at least. L[i, j] is the least that the
    first i nodes cost in j parts: L[i, j] = min over k of L[i - 1, j - k] + C[i, k].

    >>> numbers_of_parts(np.array([[9.0, 7, 6], [9, 2, 2]]), parts=4).tolist()
    [2, 2]
    """
    nodes, most = costs.shape
    least = np.full((nodes + 1, parts + 1), np.inf)
    choice = np.zeros((nodes + 1, parts + 1), dtype=np.int64)
    least[0, 0] = 0.0
    for i in range(1, nodes + 1):
        for j in range(i, parts + 1):
            ks = np.arange(1, min(j - i + 1, most) + 1)
            sums = least[i - 1, j - ks] + costs[i - 1, ks - 1]
            best = int(np.argmin(sums))
            least[i, j], choice[i, j] = sums[best], ks[best]
    numbers, left = np.ones(nodes, dtype=np.int64), parts
    for i in range(nodes, 0, -1):
        numbers[i - 1] = choice[i, left]
        left -= numbers[i - 1]
    return numbers


def _sets(arrays: list[IdArray]) -> TermSets:
    """All of them side by side."""
    offsets = np.concatenate([[0], np.cumsum([len(array) for array in arrays], dtype=np.int64)])
    return TermSets(offsets, np.concatenate([np.zeros(0, dtype=np.int32), *arrays]))


def _none_at(sets: TermSets, matchers: int, dtype: type[np.integer[Any]]) -> npt.NDArray[np.integer[Any]]:
    """For each element of the sets, that no matcher has it yet."""
    return np.zeros((int(sets.ids.max(initial=-1)) + 1, matchers), dtype=dtype)
