"""Who gives which subscribers to whom? The load balancer of [PADRES], as state machines without I/O.

A broker owns an :class:`EdgeBalancer` or a :class:`HeadBalancer`, a subscriber a :class:`Migrant`. Each of them is told
what happened by ``on(message, now)`` and answers with effects. What moves messages and time lies elsewhere.
"""

from tidings.balancing.padres.balancer import Place
from tidings.balancing.padres.choosing import AtRandom, BrokerView, ByProfile, Choice, Chooser
from tidings.balancing.padres.delay_model import DelayLine, DelayModel
from tidings.balancing.padres.edge import EdgeBalancer, Expectation
from tidings.balancing.padres.head import HeadBalancer
from tidings.balancing.padres.loads import BrokerLoad, Candidate, Offer
from tidings.balancing.padres.messages import Status
from tidings.balancing.padres.metrics import Meter, Metric, Metrics
from tidings.balancing.padres.migration import Migrant
from tidings.balancing.padres.parameters import Parameters
from tidings.balancing.padres.parcels import OnParcels, Stabilized
from tidings.balancing.padres.poset import Poset
from tidings.balancing.padres.press import Key, LoadProfile, Press
from tidings.balancing.padres.traffic import Traffic

__all__ = [
    "AtRandom",
    "BrokerLoad",
    "BrokerView",
    "ByProfile",
    "Candidate",
    "Choice",
    "Chooser",
    "DelayLine",
    "DelayModel",
    "EdgeBalancer",
    "Expectation",
    "HeadBalancer",
    "Key",
    "LoadProfile",
    "Meter",
    "Metric",
    "Metrics",
    "Migrant",
    "Offer",
    "OnParcels",
    "Parameters",
    "Place",
    "Poset",
    "Press",
    "Stabilized",
    "Status",
    "Traffic",
]
