"""What travels through the overlay?"""

from __future__ import annotations

from dataclasses import dataclass

from tidings.balancing.padres.messages import Leave, Message, MoveTo
from tidings.model import Publication
from tidings.simulate.routing import TableMessage

UNLIMITED = 1 << 30
"""A time to live that never ends."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """A publication on its way; ``number`` tells two with the same content apart.

    ``ttl``: over how many links between clusters it may still go.

    A control publication carries a payload that does not route it.
    """

    publication: Publication
    sent_at: float
    number: int = 0
    payload: Message | None = None
    in_order: bool = False
    ttl: int = UNLIMITED

    @property
    def is_control(self) -> bool:
        return self.payload is not None


@dataclass(frozen=True, slots=True)
class Join:
    """A client subscribes; a migrating one names its session and how many come."""

    subscriber: str
    query: int
    session: str = ""
    total: int = 0


@dataclass(frozen=True, slots=True)
class Quit:
    """A client unsubscribes."""

    subscriber: str


Packet = InFlight | Join | Quit | TableMessage
ToClient = InFlight | MoveTo | Leave


def has_priority(packet: Packet) -> bool:
    """Control messages overtake publications, unless they have to stay in order ([PADRES] 3.2)."""
    return not isinstance(packet, InFlight) or (packet.is_control and not packet.in_order)
