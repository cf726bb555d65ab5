"""N matchers that act as one: who has what, where a publication has to go, and which of them delivers."""

from tidings.cluster.burdens import Burdens, burdens_of
from tidings.cluster.cluster import Cluster, Delivered
from tidings.cluster.homes import Homes, found_along, once
from tidings.cluster.placing import Placement, Routing, Share, place
from tidings.cluster.router import Router

__all__ = [
    "Burdens",
    "Cluster",
    "Delivered",
    "Homes",
    "Placement",
    "Router",
    "Routing",
    "Share",
    "burdens_of",
    "found_along",
    "once",
    "place",
]
