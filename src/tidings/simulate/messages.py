"""What travels through the overlay?"""

from __future__ import annotations

from dataclasses import dataclass

from tidings.balancing.padres.messages import Leave, Message, MoveTo
from tidings.model import Publication
from tidings.simulate.routing import TableMessage

UNLIMITED = 1 << 30
"""A time to live that never ends."""


@dataclass(slots=True)
class InFlight:
    """A publication on its way; ``number`` tells two with the same content apart.

    Nobody changes one. It is not frozen because frozen ones take three times as long to make.

    ``ttl``: over how many links between clusters it may still go.

    A control publication carries a payload that does not route it.
    """

    publication: Publication
    sent_at: float
    number: int = 0
    payload: Message | None = None
    in_order: bool = False
    ttl: int = UNLIMITED


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


@dataclass(slots=True)
class Outgoing:
    """Something in the output queue: for a neighbour, or one thing for each of some subscribers (as bits)."""

    packet: Packet | MoveTo | Leave
    size_bytes: float
    neighbour: str = ""
    subscribers: int = 0
    is_first: bool = False
    """Whether it overtakes the rest; then it is not measured."""


@dataclass(slots=True)
class MessageCounts:
    """How many messages a broker has sent, by kind, and how many sessions it has begun as the one that gives.

    ``announced``: how often an edge broker has told its load; ``pie`` counts each message to a neighbour for that.
    """

    publications: int = 0
    deliveries: int = 0
    pie: int = 0
    announced: int = 0
    coordination: int = 0
    subscriptions: int = 0
    refused: int = 0
    sessions: int = 0

    @property
    def overhead(self) -> int:
        return self.pie + self.coordination + self.subscriptions


def has_priority(packet: Packet) -> bool:
    """Control messages overtake publications, unless they have to stay in order ([PADRES] 3.2)."""
    return type(packet) is not InFlight or (packet.payload is not None and not packet.in_order)
