"""How many matches does an occurrence of a term bring? As many as it did lately; of a new term, as the others did.

Of a term with little past the estimate leans on the subscriptions filed under it, times the matches that a filed
subscription gives on the whole.
"""

from __future__ import annotations

import numpy as np

from tidings.arrays import IntArray
from tidings.model import DataError
from tidings.shedding.coins import FloatArray

_DOUBT = 4.0
"""So many occurrences of its own count as much as what is known of all terms."""


class Rates:
    """Learns from counts by term, and forgets: what was seen ``half_life_s`` seconds ago counts half.

    ``filed`` int64[terms]: subscriptions under each term. Cost: some passes over all terms for each :meth:`learn` and
    :meth:`estimate`, so once for each batch of posts, not for each part of it.

    >>> rates = Rates(np.array([10, 10, 20]))
    >>> rates.learn(occurrences=np.array([100, 100]), matches=np.array([0, 200]), now_s=0.0)
    >>> rates.estimate().round(2).tolist()
    [0.04, 1.96, 2.0]
    """

    def __init__(self, filed: IntArray, half_life_s: float = 600.0) -> None:
        if not half_life_s > 0:
            raise DataError(f"half_life_s is a time in seconds, more than 0, got {half_life_s}; give such a time")
        self._filed = filed
        self._half_life_s = half_life_s
        self._occurrences = np.zeros(len(filed))
        self._matches = np.zeros(len(filed))
        self._now_s: float | None = None

    def refile(self, filed: IntArray) -> None:
        """Other subscriptions are filed under the terms now, and terms may have been added."""
        if len(filed) < len(self._filed):
            raise DataError(f"{len(self._filed)} terms became {len(filed)}; terms are only added: begin with new rates")
        more = (0, len(filed) - len(self._filed))
        self._filed = filed
        self._occurrences, self._matches = np.pad(self._occurrences, more), np.pad(self._matches, more)

    def learn(self, occurrences: IntArray, matches: IntArray, now_s: float) -> None:
        """Count a batch: how often each term occurred in copies that were *not* shed, and the matches filed under it.

        Both are int64, by term, and may end early: a term beyond the end did not occur.
        """
        if max(len(occurrences), len(matches)) > len(self._filed):
            raise DataError(f"there are counts for more than the {len(self._filed)} terms that are filed; refile first")
        if self._now_s is not None:
            share = 0.5 ** (max(now_s - self._now_s, 0.0) / self._half_life_s)
            self._occurrences *= share
            self._matches *= share
        self._now_s = now_s if self._now_s is None else max(now_s, self._now_s)
        self._occurrences[: len(occurrences)] += occurrences
        self._matches[: len(matches)] += matches

    def ratio(self) -> float:
        """Matches for each subscription that was looked at; 1, which is the most that can be, before any was."""
        looked_at = float(self._filed @ self._occurrences)
        return float(self._matches.sum()) / looked_at if looked_at else 1.0

    def estimate(self) -> FloatArray:
        """Matches to expect of one occurrence of each term, float64[terms]."""
        usual = self._filed * self.ratio()
        learned: FloatArray = (self._matches + _DOUBT * usual) / (self._occurrences + _DOUBT)
        return learned
