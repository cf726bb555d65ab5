"""From the terms of publications to the subscriptions that they answer."""

from tidings.index.brute import BruteForce
from tidings.index.compaction import COMPACTION, Compaction
from tidings.index.gi2 import GI2
from tidings.index.guard import GuardIndex
from tidings.index.matcher import Matcher
from tidings.index.trie import Trie

__all__ = ["COMPACTION", "GI2", "BruteForce", "Compaction", "GuardIndex", "Matcher", "Trie"]
