"""How much work does a matcher have? The load of [PS2]: posts, queries, and the pairs of both.

Implements [PS2] Def. 1 and Def. 3. Symbols: O, the posts sent to a matcher in some time; Qi and Qd, the queries
inserted and deleted there in that time. Where the paper has a set, here is its size.

Departs from the paper: an index does not check all pairs, so the pairs may also be counted: the entries that a matcher
looked at. Both formulas are fitted to the same counters (:func:`fitted`, ``benchmarks/balancing/loads.py``).
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from tidings.model import DataError

FloatArray = npt.NDArray[np.float64]
Counts = npt.NDArray[np.integer[Any]] | npt.NDArray[np.floating[Any]] | float


@dataclass(frozen=True, slots=True)
class LoadCosts:
    """What one thing costs, in any unit of time: ``pair`` c1, to check one post against one query; ``post`` c2, to
    handle a post; ``insertion`` c3 and ``deletion`` c4, to handle those of a query; ``match``, to find a match, which
    the paper does not have.

    >>> LoadCosts(pair=0.5, post=1, insertion=10, deletion=2).load(100, 8, 3)
    586.0
    """

    pair: float = 2e-5
    post: float = 1.0
    insertion: float = 5.0
    deletion: float = 1.0
    match: float = 0.0

    def __post_init__(self) -> None:
        if not all(0 <= cost < np.inf for cost in astuple(self)) or not any(astuple(self)):
            raise DataError(f"costs are not below 0, and one of them is above, got {self}; choose others")

    def of(self, pairs: Counts, posts: Counts, insertions: Counts, deletions: Counts) -> Any:
        """c1 · pairs + c2 · |O| + c3 · |Qi| + c4 · |Qd|; of numbers, or of arrays of one shape."""
        return self.pair * pairs + self.post * posts + self.insertion * insertions + self.deletion * deletions

    def load(self, posts: Counts, insertions: Counts, deletions: Counts) -> Any:
        """Def. 1, in which each post is a pair with each query; of numbers, or of arrays of one shape."""
        return self.of(1.0 * posts * insertions, posts, insertions, deletions)


COSTS = LoadCosts(pair=1.7e-4, post=1.0, insertion=290.0, deletion=18.0)
"""Of Def. 1, where a pair is a post and a query that stands at the matcher, in units of a post. Fitted to matchers in
one process by ``python -m benchmarks balancing loads`` (docs/results/loads.json), beside a cost of each delivery and
each change, which is the same for all matchers."""

COUNTED = LoadCosts(pair=0.064, match=0.11)
"""Where a pair is a comparison with an entry, of one post or of several at once. Fitted to 100,000 subscriptions by
``python -m benchmarks balancing loads --queries 115000``; a later run (docs/results/loads-large.json), in which a
comparison is quicker, has 0.052 and 0.12. Insertions and deletions count little: a pipeline compiles them beside its
batches."""


def cell_load(posts: Counts, queries: Counts) -> Any:
    """Def. 3: the load of a cell, its posts times the queries that it has on average.

    >>> cell_load(np.array([3, 0]), np.array([4, 9])).tolist()
    [12.0, 0.0]
    """
    return 1.0 * posts * queries


def fitted(counts: FloatArray, ms: FloatArray) -> FloatArray:
    """What each thing costs, in microseconds, none below 0, so that the sum of squared errors is least.

    ``counts`` float64[observations, things] says how many of each thing there were, ``ms`` float64[observations] how
    long all of them took. An error counts in proportion to the time, so that small loads are fitted as well as large
    ones. Exact: of each subset of the things the least squares are found, and the best without a negative one is taken.

    >>> counts = np.array([[100.0, 10, 0, 0], [100, 20, 5, 0], [300, 10, 0, 4], [900, 5, 5, 5]])
    >>> fitted(counts, counts @ [0.001, 0.25, 0.5, 0]).round(6).tolist()
    [1.0, 250.0, 500.0, 0.0]
    """
    used, things = ms > 0, counts.shape[1]
    if not used.any():
        raise DataError("there is nothing to fit costs to: no observation took any time")
    rows = counts[used] / ms[used, None]
    scale = np.where(rows.any(axis=0), np.abs(rows).max(axis=0), 1.0)
    best, least = np.zeros(things), np.inf
    for chosen in product((False, True), repeat=things):
        columns = np.flatnonzero(chosen)
        found = np.zeros(things)
        found[columns] = np.linalg.lstsq(rows[:, columns] / scale[columns], np.ones(len(rows)), rcond=None)[0]
        error = float(((rows / scale @ found - 1) ** 2).sum())
        if found.min() >= 0 and error < least:
            best, least = found, error
    return np.asarray(1e3 * best / scale)
