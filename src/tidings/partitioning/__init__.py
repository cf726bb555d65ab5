"""Which matchers own which terms?"""

from tidings.partitioning.mapping import (
    MAX_MATCHERS,
    Mapping,
    Move,
    NamedParcels,
    Owners,
    Parcels,
    TermParcels,
    diff,
)
from tidings.partitioning.sets import MatcherSets

__all__ = [
    "MAX_MATCHERS",
    "Mapping",
    "MatcherSets",
    "Move",
    "NamedParcels",
    "Owners",
    "Parcels",
    "TermParcels",
    "diff",
]
