"""Which posts are dropped where none is sent to several matchers? Those of which the fewest matches are expected.

In the replicated layout every post is handled once, so there are no copies to save: the same budget, as a fraction of
the posts, drops whole posts.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidings.model import DataError
from tidings.shedding.coins import FloatArray, HashArray, coins, scattered


def keep_posts(expected: FloatArray, fraction: float, keys: HashArray, seed: int = 0) -> npt.NDArray[np.bool_]:
    """Which posts of a batch are kept, bool[posts]: that fraction of them, those with most ``expected`` matches.

    A tie is decided by the keys, and so is whether one post more is kept where the fraction of the batch is no whole
    number: the same posts in any order give the same answer. Which posts a batch has does count.

    >>> keep_posts(np.array([0.5, 3.0, 0.0, 0.5]), 0.5, np.array([7, 8, 9, 5], dtype=np.uint64)).tolist()
    [True, True, False, False]
    """
    if not 0 <= fraction <= 1:
        raise DataError(f"a fraction of the posts is kept, 0 to 1, got {fraction}; give such a number")
    order = np.lexsort((scattered(keys, 2 * seed + 1), -expected))
    whole, rest = divmod(fraction * len(order), 1.0)
    kept = np.zeros(len(order), dtype=np.bool_)
    kept[order[: int(whole)]] = True
    last = order[int(whole) : int(whole) + 1]
    kept[last] = coins(keys[last], 2 * seed) < rest
    return kept
