"""By which of its words is a conjunction placed? By the rarest, or by chance; :mod:`tidings.placement.lasp` by load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tidings.arrays import IdArray
from tidings.partitioning.mapping import hash_names
from tidings.placement import kernels
from tidings.placement.choices import Choices

_SPREAD = 0x9E3779B97F4A7C15


class Placer(Protocol):
    """The contract, to which ``tests/placement/test_placers.py`` holds every implementation."""

    def choose(self, choices: Choices) -> IdArray:
        """The word that files each conjunction, int32: one of those eligible, or -1 for its guards by the statistics.

        A conjunction without eligible words gets -1.
        """


@dataclass(frozen=True, slots=True)
class Rarest:
    """Files a conjunction where an index would: under its guards by the statistics, unless one of them is split.

    Then its rarest word that is not split files it, if it has one. Publications are sent for rare terms only.
    """

    def choose(self, choices: Choices) -> IdArray:
        guards, eligible = choices.conjunctions.guards, choices.eligible
        is_split = choices.owners.counts() > 1
        conjunction = np.repeat(np.arange(len(guards)), np.diff(guards.offsets))
        hot = np.bincount(conjunction[is_split[guards.ids]], minlength=len(guards)) > 0
        turned = np.flatnonzero(hot & (np.diff(eligible.offsets) > 0))
        chosen = np.full(len(guards), -1, dtype=np.int32)
        chosen[turned] = eligible.ids[eligible.offsets[turned]]
        return chosen


@dataclass(frozen=True, slots=True)
class Anycast:
    """Files a conjunction at any eligible matcher: the same one for the same subscription and seed.

    Implements [S3TM] 4, the default policy. Departs from the paper: the draw is a hash of the subscription's id and the
    matcher, of which the lowest wins; so alternatives of one query meet at one matcher where they can.
    """

    seed: int = 0

    def choose(self, choices: Choices) -> IdArray:
        eligible = choices.eligible
        first = choices.owners.matchers[choices.owners.offsets[eligible.ids]]
        keys = hash_names(choices.ids)[choices.conjunctions.queries]
        picks = np.full(len(eligible), -1, dtype=np.int64)
        kernels.draw(eligible.offsets, first, keys, np.uint64(self.seed * _SPREAD % 2**64), picks)
        return np.append(eligible.ids, np.int32(-1))[picks]


RAREST = Rarest()
