"""What is dropped when there is too much to do, and how much of it?"""

from tidings.shedding.controller import Controller, Levels, ideal_share
from tidings.shedding.posts import keep_posts
from tidings.shedding.rates import Rates
from tidings.shedding.shedder import PER_POST, POLICIES, Consensus, Random, Routed, Shed, Shedder, Subscription, shedder
from tidings.shedding.threshold import Floor, Threshold, graded

__all__ = [
    "PER_POST",
    "POLICIES",
    "Consensus",
    "Controller",
    "Floor",
    "Levels",
    "Random",
    "Rates",
    "Routed",
    "Shed",
    "Shedder",
    "Subscription",
    "Threshold",
    "graded",
    "ideal_share",
    "keep_posts",
    "shedder",
]
