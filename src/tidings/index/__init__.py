"""From the terms of publications to the subscriptions that they answer."""

from tidings.index.brute import BruteForce
from tidings.index.guard import GuardIndex
from tidings.index.matcher import Counters, Matcher, Matches
from tidings.index.trie import Trie

__all__ = ["BruteForce", "Counters", "GuardIndex", "Matcher", "Matches", "Trie"]
