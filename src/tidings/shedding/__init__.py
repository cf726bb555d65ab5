"""What is dropped when there is too much to do, and how much of it?"""

from tidings.shedding.capacity import Capacity, Graded, Kept, Memory, Profile, allowed_s
from tidings.shedding.controller import Controller, Levels, ideal_share
from tidings.shedding.costs import Costs, Timed, Work
from tidings.shedding.posts import keep_posts
from tidings.shedding.rates import Rates
from tidings.shedding.shedder import (
    PER_POST,
    POLICIES,
    BySubscriptions,
    Consensus,
    Random,
    Routed,
    Shed,
    Shedder,
    shedder,
)
from tidings.shedding.threshold import Floor, Threshold, graded

__all__ = [
    "PER_POST",
    "POLICIES",
    "BySubscriptions",
    "Capacity",
    "Consensus",
    "Controller",
    "Costs",
    "Floor",
    "Graded",
    "Kept",
    "Levels",
    "Memory",
    "Profile",
    "Random",
    "Rates",
    "Routed",
    "Shed",
    "Shedder",
    "Threshold",
    "Timed",
    "Work",
    "allowed_s",
    "graded",
    "ideal_share",
    "keep_posts",
    "shedder",
]
