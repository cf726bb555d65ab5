"""Under which of its terms is a new subscription filed, and so: at which matchers does it live?"""

from tidings.placement.cost import Line, LookUps, fitted, look_ups
from tidings.placement.lasp import Lasp
from tidings.placement.placers import RAREST, Anycast, Placer, Rarest
from tidings.placement.policy import PlacementPolicy, PlacerName

__all__ = [
    "RAREST",
    "Anycast",
    "Lasp",
    "Line",
    "LookUps",
    "PlacementPolicy",
    "Placer",
    "PlacerName",
    "Rarest",
    "fitted",
    "look_ups",
]
