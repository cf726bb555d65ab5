"""At which matchers does each subscription live, and which of them delivers?"""

from tidings.placement.burdens import Burdens, burdens_of
from tidings.placement.cost import Line, LookUps, fitted, look_ups
from tidings.placement.homes import Homes, found_along, once
from tidings.placement.lasp import Lasp
from tidings.placement.placers import RAREST, Anycast, Placer, Rarest
from tidings.placement.placing import Placement, Routing, Share, place
from tidings.placement.policy import PlacementPolicy, PlacerName

__all__ = [
    "RAREST",
    "Anycast",
    "Burdens",
    "Homes",
    "Lasp",
    "Line",
    "LookUps",
    "Placement",
    "PlacementPolicy",
    "Placer",
    "PlacerName",
    "Rarest",
    "Routing",
    "Share",
    "burdens_of",
    "fitted",
    "found_along",
    "look_ups",
    "once",
    "place",
]
