"""How good is a mapping? The spread, the loads and the throughput that it gives on publications it has not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidings.arrays import IntArray
from tidings.partitioning.learning import kernels
from tidings.partitioning.learning.incidence import Incidence
from tidings.partitioning.mapping import Mapping


@dataclass(frozen=True, slots=True, eq=False)
class Quality:
    """Of ``posts`` publications, ``loads[m]`` are sent to matcher m (int64).

    Implements [S3TM] 3.1, Eq. 1-7. Departs from the paper where its Eq. 3 counts a publication once for each of its
    words on a matcher: it is sent, and counts, once.

    >>> quality = Quality(100, np.array([50, 30, 40, 40]))
    >>> quality.spread, quality.imbalance, quality.throughput, quality.estimate
    (1.6, 1.25, 2.0, 0.5)
    """

    posts: int
    loads: IntArray

    @property
    def spread(self) -> float:
        """R, Eq. 2: to how many matchers a publication is sent on average."""
        return float(self.loads.sum() / self.posts) if self.posts else 0.0

    @property
    def imbalance(self) -> float:
        """B, Eq. 4: the largest load, where the mean is 1."""
        return float(self.loads.max() / self.loads.mean()) if self.loads.any() else 1.0

    @property
    def throughput(self) -> float:
        """T, Eq. 6: how many matchers that get everything would be as fast; N for perfect division."""
        return float(self.posts / self.loads.max()) if self.loads.any() else float(len(self.loads))

    @property
    def estimate(self) -> float:
        """1 / (R · B), Eq. 7, which is the throughput by N."""
        return 1 / (self.spread * self.imbalance) if self.loads.any() else 1.0


def measure(mapping: Mapping, incidence: Incidence) -> Quality:
    """The quality of a mapping for some publications, each going to one version of a split term by its key.

    Cost: some 0.2 µs a publication.
    """
    owners, sets = mapping.owners_of(incidence.names), incidence.sets
    loads = np.zeros(mapping.matchers, dtype=np.int64)
    kernels.loads(sets.offsets, sets.ids, incidence.weights, incidence.keys, owners.offsets, owners.matchers, loads)
    return Quality(incidence.posts, loads)
