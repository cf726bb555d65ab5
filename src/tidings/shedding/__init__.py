"""What is dropped when there is too much to do, and how much of it?"""

from tidings.shedding.admission import Admission
from tidings.shedding.controller import Controller, Levels, ideal_share
from tidings.shedding.posts import keep_posts
from tidings.shedding.rates import Rates
from tidings.shedding.shedder import POLICIES, Consensus, Random, Routed, Shed, Shedder, Subscription, shedder

__all__ = [
    "POLICIES",
    "Admission",
    "Consensus",
    "Controller",
    "Levels",
    "Random",
    "Rates",
    "Routed",
    "Shed",
    "Shedder",
    "Subscription",
    "ideal_share",
    "keep_posts",
    "shedder",
]
