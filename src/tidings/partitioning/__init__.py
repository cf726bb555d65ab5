"""Which matchers own which terms?"""

from tidings.partitioning.mapping import MAX_MATCHERS, HashMapping, LearnedMapping, Mapping, Owners
from tidings.partitioning.sets import MatcherSets

__all__ = ["MAX_MATCHERS", "HashMapping", "LearnedMapping", "Mapping", "MatcherSets", "Owners"]
