"""Which parcels should a matcher give away, so that enough load goes and little has to be carried?

Implements [PS2] V-A, Phase II, the minimum cost migration problem (Def. 4), and the four algorithms of the paper: the
dynamic programme DP, the greedy GR, and the bases SI and RA. Symbols: S ``sizes``, what it costs to carry a parcel; L
``loads``; τ ``amount``, the least load that has to go.

Departs from the paper: in the recurrence of DP a parcel whose size is exactly j fits (the paper prints j ≤ S where it
means j < S). P, the bound of DP, is what GR costs. A parcel without load is never chosen. If all parcels together have
less than τ, all that have a load are chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from tidings.arrays import IntArray
from tidings.model import DataError
from tidings.partitioning.load import FloatArray

Select: TypeAlias = Callable[[IntArray, FloatArray, float], IntArray]
"""From the sizes (int64) and loads (float64) of parcels, and the load that has to go, to the places of those chosen,
rising."""

SelectorName = Literal["dp", "gr", "si", "ra"]

MAX_TABLE = 1 << 30
"""DP refuses to fill a table of more elements than that, of a bit each."""


def select_dp(sizes: IntArray, loads: FloatArray, amount: float) -> IntArray:
    """DP: the least size there is. A(i, j) is the largest load of some of the first i parcels of size j in all.

    Cost: n · P steps in numpy, n parcels of which P are to go; a table of as many truth values.
    """
    order = np.flatnonzero(loads > 0)
    if loads[order].sum() < amount or not len(order):
        return order
    bound = int(sizes[select_gr(sizes, loads, amount)].sum())
    if len(order) * (bound + 1) > MAX_TABLE:
        raise DataError(f"{len(order):,} parcels of {bound:,} subscriptions are too many for DP; choose gr")
    most, taken = np.zeros(bound + 1), np.zeros((len(order), bound + 1), dtype=np.bool_)
    for i, (size, load) in enumerate(zip(sizes[order].tolist(), loads[order].tolist(), strict=True)):
        if size <= bound:
            with_it = most[: bound + 1 - size] + load
            taken[i, size:] = with_it > most[size:]
            most[size:] = np.maximum(most[size:], with_it)
    return order[_traced(taken, sizes[order], int(np.argmax(most >= _enough(amount))))]


def _enough(amount: float) -> float:
    """What a sum has to reach: sums in another order differ in their last digits."""
    return amount * (1 - 1e-12)


def _traced(taken: np.ndarray[tuple[int, int], np.dtype[np.bool_]], sizes: IntArray, j: int) -> IntArray:
    """The parcels of A(n, j), from the last to the first."""
    chosen = []
    for i in reversed(range(len(taken))):
        if taken[i, j]:
            chosen.append(i)
            j -= int(sizes[i])
    return np.array(chosen[::-1], dtype=np.int64)


def select_gr(sizes: IntArray, loads: FloatArray, amount: float) -> IntArray:
    """GR: parcels by rising S/L. One with which the sum stays under τ is taken (GS); any other would end the choice
    (GL): with those taken so far it is a candidate, and of all candidates the least is chosen."""
    order = np.flatnonzero(loads > 0)
    order = order[np.argsort(sizes[order] / loads[order], kind="stable")]
    taken: list[int] = []
    best, least, enough = order, np.inf, _enough(amount)
    load, size = 0.0, 0
    for parcel in order.tolist():
        if load + loads[parcel] >= enough:
            if size + sizes[parcel] < least:
                best, least = np.array([*taken, parcel], dtype=np.int64), size + sizes[parcel]
        else:
            taken.append(parcel)
            load, size = load + loads[parcel], size + int(sizes[parcel])
    return np.sort(best)


def select_si(sizes: IntArray, loads: FloatArray, amount: float) -> IntArray:
    """SI: the largest first, until the load is enough."""
    order = np.flatnonzero(loads > 0)
    return _until(order[np.argsort(-sizes[order], kind="stable")], loads, amount)


@dataclass(frozen=True, slots=True)
class RandomChoice:
    """RA: parcels by chance, until the load is enough. The same seed and loads give the same choice."""

    seed: int = 0

    def __call__(self, sizes: IntArray, loads: FloatArray, amount: float) -> IntArray:  # noqa: ARG002
        return _until(np.random.default_rng(self.seed).permutation(np.flatnonzero(loads > 0)), loads, amount)


def _until(order: IntArray, loads: FloatArray, amount: float) -> IntArray:
    """The first of these whose loads are enough."""
    enough = np.cumsum(loads[order]) >= _enough(amount)
    count = int(np.argmax(enough)) + 1 if enough.any() else len(order)
    return np.sort(order[:count])


SELECTORS: dict[SelectorName, Select] = {
    "dp": select_dp,
    "gr": select_gr,
    "si": select_si,
    "ra": RandomChoice(),
}
