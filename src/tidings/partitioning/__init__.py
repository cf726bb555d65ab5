"""Which matchers own which terms, and so: which of them does a publication have to reach?"""

from tidings.partitioning.mapping import MAX_MATCHERS, HashMapping, LearnedMapping, Mapping, Owners
from tidings.partitioning.router import Router
from tidings.partitioning.sets import MatcherSets

__all__ = [
    "MAX_MATCHERS",
    "HashMapping",
    "LearnedMapping",
    "Mapping",
    "MatcherSets",
    "Owners",
    "Router",
]
