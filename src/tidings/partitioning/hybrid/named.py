"""Which partitioners of [PS2] are there, by the names that people give them?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, get_args

from tidings.model import DataError
from tidings.partitioning.hybrid.bases import Space, Text
from tidings.partitioning.hybrid.hybrid import Hybrid
from tidings.partitioning.hybrid.workload import Workload
from tidings.partitioning.learning.network import pymetis
from tidings.partitioning.load import COSTS, LoadCosts
from tidings.partitioning.mapping import Mapping

PlacePartitionerName = Literal["hybrid", "grid", "kd-tree", "r-tree", "frequency", "hypergraph", "metric"]


class PlacePartitioner(Protocol):
    """Divides words and places by a sample of posts and queries."""

    def partition(self, workload: Workload, matchers: int) -> Mapping:
        """A mapping of :class:`tidings.partitioning.gridt.Gridt`; the same for the same workload."""


_ALL: dict[str, Callable[[LoadCosts], PlacePartitioner]] = {
    "hybrid": lambda costs: Hybrid(costs=costs),
    "grid": lambda costs: Space(method="grid", costs=costs),
    "kd-tree": lambda costs: Space(method="kd-tree", costs=costs),
    "r-tree": lambda costs: Space(method="r-tree", costs=costs),
    "frequency": lambda costs: Text(method="frequency", costs=costs),
    "hypergraph": lambda costs: Text(method="hypergraph", costs=costs),
    "metric": lambda costs: Text(method="metric", costs=costs),
}


def place_partitioner(name: str, costs: LoadCosts = COSTS) -> PlacePartitioner:
    """The partitioner of a name; one that needs METIS is refused where METIS is missing.

    >>> place_partitioner("kd-tree").method
    'kd-tree'
    """
    if name not in _ALL:
        known = ", ".join(get_args(PlacePartitionerName))
        raise DataError(f"a partitioner of words and places is one of {known}, got {name!r}; choose one of them")
    if name == "hypergraph":
        pymetis()
    return _ALL[name](costs)
