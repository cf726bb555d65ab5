"""Which matcher has which part of the work, where an index is divided between several?"""

from tidings.partitioning.homes import Homes, once
from tidings.partitioning.mapping import MAX_MATCHERS, HashMapping, Mapping
from tidings.partitioning.partition import Partitioned, Share, partition
from tidings.partitioning.router import Router
from tidings.partitioning.sets import MatcherSets

__all__ = [
    "MAX_MATCHERS",
    "HashMapping",
    "Homes",
    "Mapping",
    "MatcherSets",
    "Partitioned",
    "Router",
    "Share",
    "once",
    "partition",
]
