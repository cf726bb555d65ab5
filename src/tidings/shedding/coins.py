"""How is something left to chance, and yet the same whenever it is decided again? By a coin of the post's own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidings.shedding import kernels

HashArray = npt.NDArray[np.uint64]
FloatArray = npt.NDArray[np.float64]


def scattered(keys: HashArray, seed: int) -> HashArray:
    """A random number for each key, uint64: the same for the same key and seed, in every process and version."""
    mixed = np.empty(len(keys), dtype=np.uint64)
    kernels.mix_all(keys, np.uint64(seed), mixed)
    return mixed


def coins(keys: HashArray, seed: int) -> FloatArray:
    """A number in [0, 1) for each key, float64; other seeds give coins that have nothing to do with these.

    >>> coins(np.array([1, 2, 1], dtype=np.uint64), seed=0).round(3).tolist()
    [0.567, 0.591, 0.567]
    """
    upper = scattered(keys, seed) >> np.uint64(11)
    drawn: FloatArray = upper.astype(np.float64) * 2.0**-53
    return drawn
