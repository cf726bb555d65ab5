"""Which few nodes of a hierarchy contain an area?

The guard of a region or a range of numbers is a small cover: a publication carries the label of its own leaf and all
the ancestors, so it meets the cover whenever it lies in the area. What a cover has too much is verified later; nodes
that lie inside the area entirely need no verifying.

The law: a cover contains the whole area, has at most ``max_nodes`` nodes, and grows tighter (never looser) with
``max_nodes``: each node of a larger cover lies in a node of the smaller one.

Best first: from the smallest node that contains everything, the coarsest node that is only partly inside is split, and
its parts are drawn tight. The order of splits does not depend on ``max_nodes``, which only says when to stop: at the
first split that does not fit. To take a later one instead would use the bound better and break the law. Splits that
took nothing away are undone at the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidings.terms.grid import kernels

IntArray = NDArray[np.int64]


class Covers(NamedTuple):
    """The covers of many areas; that of area a is ``labels[offsets[a] : offsets[a + 1]]``, sorted and disjoint.

    ``offsets`` int64[areas + 1], ``labels`` uint64, ``inside`` bool: whether all of the node lies in the area.
    """

    offsets: IntArray
    labels: NDArray[np.uint64]
    inside: NDArray[np.bool_]


def bounded_covers(touched: IntArray, whole: IntArray, first_block: IntArray, max_nodes: int, dims: int) -> Covers:
    """At most ``max_nodes`` nodes for each area; a node of a tree of cells has ``dims`` 2, of intervals 1.

    Area a touches the leaves of the blocks first_block[a] … first_block[a + 1] of ``touched``, int64[blocks, 4] with
    the first column and row and the last ones; those of ``whole`` lie in it entirely. Cost: about 1 µs an area at
    8 nodes, and it grows with their square.

    >>> block, first_block = np.array([[0, 0, 2, 0]]), np.array([0, 1])
    >>> bounded_covers(block, block, first_block, max_nodes=8, dims=1).labels.tolist()
    [4, 10]
    """
    if max_nodes < 1:
        raise ValueError(f"a cover has at least one node, got max_nodes={max_nodes}")
    areas = len(first_block) - 1
    offsets = np.zeros(areas + 1, dtype=np.int64)
    labels, inside = np.empty(areas * max_nodes, dtype=np.uint64), np.empty(areas * max_nodes, dtype=np.bool_)
    found = kernels.cover_areas(touched, whole, first_block, dims, max_nodes, offsets, labels, inside)
    return Covers(offsets, labels[:found], inside[:found])
