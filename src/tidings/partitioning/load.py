"""How much work does a matcher have? The load of [PS2]: posts, queries, and the pairs of both.

Implements [PS2] Def. 1 and Def. 3. Symbols: O, the posts sent to a matcher in some time; Qi and Qd, the queries
inserted and deleted there in that time. Departs from the paper: nothing; where it has a set, here is its size.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tidings.model import DataError

FloatArray = npt.NDArray[np.float64]
Counts = npt.NDArray[np.integer[Any]] | npt.NDArray[np.floating[Any]] | float


@dataclass(frozen=True, slots=True)
class LoadCosts:
    """What one thing costs, in any unit of time: ``pair`` c1, to check one post against one query; ``post`` c2, to
    handle a post; ``insertion`` c3 and ``deletion`` c4, to handle those of a query.

    >>> LoadCosts(pair=0.5, post=1, insertion=10, deletion=2).load(100, 8, 3)
    586.0
    """

    pair: float = 2e-5
    post: float = 1.0
    insertion: float = 5.0
    deletion: float = 1.0

    def __post_init__(self) -> None:
        if not all(0 <= cost < np.inf for cost in astuple(self)) or not any(astuple(self)):
            raise DataError(f"costs are not below 0, and one of them is above, got {self}; choose others")

    def load(self, posts: Counts, insertions: Counts, deletions: Counts) -> Any:
        """Def. 1: c1 · |O| · |Qi| + c2 · |O| + c3 · |Qi| + c4 · |Qd|; of numbers, or of arrays of one shape."""
        return (
            self.pair * (1.0 * posts * insertions)
            + self.post * posts
            + self.insertion * insertions
            + self.deletion * deletions
        )


COSTS = LoadCosts()


def cell_load(posts: Counts, queries: Counts) -> Any:
    """Def. 3: the load of a cell, its posts times the queries that it has on average.

    >>> cell_load(np.array([3, 0]), np.array([4, 9])).tolist()
    [12.0, 0.0]
    """
    return 1.0 * posts * queries
