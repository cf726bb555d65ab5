"""Which terms are too much for one matcher, and are worth to be at several?

A split term has versions at different matchers. A publication goes to the matcher of one of them, by its id, and a
subscription that the term files lives at all of them.
"""

from __future__ import annotations

import numpy as np

from tidings.arrays import IntArray
from tidings.model import DataError
from tidings.partitioning.learning.incidence import Incidence


def split(incidence: Incidence, matchers: int, share: float = 0.5, copies: float = 0.0) -> IntArray:
    """How many versions each term needs, int64[terms]; 1 for most, ``matchers`` for what is to be everywhere.

    Implements [S3TM] 5.1: no version has more than ``share`` of the load that a matcher would have if all had as much
    (sum of f / N); ``inf`` splits nothing. Departs from the paper: versions are doubled until they suffice, so that
    those of two terms belong together, there are at most as many as matchers, and a version occurs in the sample.

    ``copies`` is ours. A frequent term that files few subscriptions is better everywhere: they live at all matchers,
    and a publication is sent for all such terms together to one matcher, which its id gives. Those with the most
    publications for a subscription are taken, while the copies are at most ``copies`` of all subscriptions; it needs
    ``incidence.filed``.
    """
    if not share > 0 or not copies >= 0:
        raise DataError(f"a share is above 0 and copies are not below 0, got {share} and {copies}; choose others")
    frequencies = incidence.frequencies()
    fair = frequencies.sum() / matchers
    needed = np.maximum(np.minimum(frequencies / (share * max(fair, 1.0)), frequencies), 1.0)
    counts: IntArray = np.minimum(2 ** np.ceil(np.log2(needed)), matchers).astype(np.int64)
    if copies:
        counts[_everywhere(incidence, frequencies, matchers, copies)] = matchers
    return counts


def _everywhere(incidence: Incidence, frequencies: IntArray, matchers: int, copies: float) -> IntArray:
    if incidence.filed is None:
        raise DataError("copies need to know how many subscriptions each term files; give the incidence filed=…")
    filed = incidence.filed
    order = np.argsort(-frequencies / np.maximum(filed, 0.5), kind="stable")
    order = order[frequencies[order] > 0]
    spent = np.cumsum(filed[order]) * (matchers - 1)
    taken: IntArray = order[: np.searchsorted(spent, copies * filed.sum(), side="right")]
    return taken
