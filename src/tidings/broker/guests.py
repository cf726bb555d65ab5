"""Who is connected to a broker as a client, and what may it ask for?"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tidings.broker.config import Limits
from tidings.broker.connection import Connection
from tidings.broker.core import BrokerPacket, Entering, Leaving
from tidings.broker.frames import FrameError
from tidings.broker.messages import (
    Advert,
    AdvertiseRequest,
    ClientRequest,
    PublishRequest,
    SubscribeRequest,
    Transit,
    UnsubscribeRequest,
)

_NAME_CHARS = 200


@dataclass(slots=True)
class Guest:
    """A client that is connected."""

    name: str
    connection: Connection
    subscribers: set[str] = field(default_factory=set)

    def packet(self, request: ClientRequest) -> BrokerPacket:
        """What a request means to the broker. Refuses with FrameError what is done in the name of others."""
        match request:
            case SubscribeRequest(_, subscriber, query, session, total):
                return Entering(self._own(subscriber), query, session, total)
            case UnsubscribeRequest(_, subscriber):
                return Leaving(self._own(subscriber))
            case AdvertiseRequest(_, name, query):
                return Advert(self._own(name), query)
            case PublishRequest(_, key, publication):
                return Transit(publication, self._own(key))

    def excess(
        self, packet: BrokerPacket, limits: Limits, subscribers: int, adverts: Mapping[str, Collection[str]]
    ) -> str:
        """What the broker has too many of already to take this; empty if there is room. ``adverts``: by client."""
        if isinstance(packet, Entering) and subscribers >= limits.subscribers:
            return f"{subscribers:,} subscribers"
        if isinstance(packet, Advert) and packet.name not in adverts.get(self.name, ()):
            count = sum(map(len, adverts.values()))
            return f"{count:,} advertisements" if count >= limits.adverts else ""
        return ""

    def _own(self, name: str) -> str:
        if not name.startswith(f"{self.name}/") or len(name) > _NAME_CHARS:
            raise FrameError(f"what {self.name} has is called {self.name}/…, got {name[:_NAME_CHARS]!r}")
        return name


@dataclass(slots=True)
class Tallies:
    """What a broker has done since it was started."""

    publications: int = 0
    deliveries: int = 0
    refused: int = 0
    """Connections and requests that were refused."""
    slow: int = 0
    """Clients that were disconnected because they did not read."""
    unsent: int = 0
    """Messages for a neighbour that was away."""
