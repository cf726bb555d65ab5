"""How near is what is said to be lost to what is lost? Of some posts nothing is shed: they tell of the others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidings.arrays import IntArray
from tidings.shedding.coins import HashArray, coins

SPARED = 0.02
"""Of so many posts nothing is shed."""

_SEED = 7


def by_spared(lost: IntArray, keys: HashArray) -> float | None:
    """What the other posts lose, by what the spared ones would have lost, divided by the truth.

    ``lost`` int64[posts]: what each loses if it is not spared.
    """
    is_spared = coins(keys, _SEED) < SPARED
    return ratio(_told(lost, is_spared), float(lost[~is_spared].sum()))


def _told(lost: IntArray, is_spared: npt.NDArray[np.bool_]) -> float:
    """What the spared ones would have lost, for all the others.

    >>> _told(np.array([2, 0, 3, 5]), np.array([True, False, False, False]))
    6.0
    """
    share = float(is_spared.mean())
    return float(lost[is_spared].sum()) * (1 - share) / share if share else 0.0


def ratio(told: float, true: float) -> float | None:
    """Nothing, where nothing is lost.

    >>> ratio(3.0, 4.0), ratio(0.0, 0.0)
    (0.75, None)
    """
    return rounded(told / true) if true else None


def rounded(value: float) -> float:
    return round(float(value), 3)
