"""What do brokers and clients say to each other over a connection? Queries are told as text."""

from __future__ import annotations

from dataclasses import dataclass

from tidings.balancing.padres.messages import (
    AskGlobal,
    Cancel,
    Catchup,
    Done,
    EndGlobal,
    Leave,
    MoveTo,
    Pie,
    Reply,
    Request,
    WatchCluster,
)
from tidings.model import Publication
from tidings.simulate.messages import UNLIMITED

Coordination = Pie | Request | Reply | Cancel | Done | AskGlobal | Catchup | WatchCluster | EndGlobal
"""What balancers of different brokers say to each other."""

# --- how a connection begins and ends


@dataclass(frozen=True, slots=True)
class Hello:
    """Who calls; ``role`` is "client" or "broker"."""

    name: str
    role: str
    nonce: str


@dataclass(frozen=True, slots=True)
class Challenge:
    """Who answers."""

    name: str
    nonce: str


@dataclass(frozen=True, slots=True)
class Proof:
    """The caller knows the secret."""

    proof: str


@dataclass(frozen=True, slots=True)
class Welcome:
    """So does the one who answers."""

    proof: str


@dataclass(frozen=True, slots=True)
class Goodbye:
    """The connection ends, and why."""

    reason: str


# --- from a client; each is answered by Accepted or Refused with the same number


@dataclass(frozen=True, slots=True)
class SubscribeRequest:
    """A migrating subscriber names its session, and how many come in that."""

    number: int
    subscriber: str
    query: str
    session: str = ""
    total: int = 0


@dataclass(frozen=True, slots=True)
class UnsubscribeRequest:
    number: int
    subscriber: str


@dataclass(frozen=True, slots=True)
class AdvertiseRequest:
    number: int
    name: str
    query: str


@dataclass(frozen=True, slots=True)
class PublishRequest:
    """``key`` names the publication in the whole overlay. One that is sent again has the same key."""

    number: int
    key: str
    publication: Publication


ClientRequest = SubscribeRequest | UnsubscribeRequest | AdvertiseRequest | PublishRequest

# --- to a client


@dataclass(frozen=True, slots=True)
class Accepted:
    number: int


@dataclass(frozen=True, slots=True)
class Refused:
    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """A publication for one subscriber."""

    subscriber: str
    key: str
    publication: Publication


@dataclass(frozen=True, slots=True)
class MoveOrder:
    """A subscriber shall subscribe at another broker as well, which is at ``address``."""

    subscriber: str
    address: str
    move: MoveTo


@dataclass(frozen=True, slots=True)
class LeaveOrder:
    subscriber: str
    leave: Leave


# --- between brokers


@dataclass(frozen=True, slots=True)
class Advert:
    """An advertisement is flooded."""

    name: str
    query: str


@dataclass(frozen=True, slots=True)
class AdvertGone:
    name: str


@dataclass(frozen=True, slots=True)
class Interest:
    """A subscription goes back on the path of advertisements."""

    query: str


@dataclass(frozen=True, slots=True)
class InterestGone:
    query: str


@dataclass(frozen=True, slots=True)
class Transit:
    """A publication on its way. One with a payload is for balancers; the payload does not route it.

    ``ttl``: over how many links between clusters it may still go. ``in_order``: it overtakes no publication.
    """

    publication: Publication
    key: str = ""
    payload: Coordination | None = None
    in_order: bool = False
    ttl: int = UNLIMITED

    @property
    def is_data(self) -> bool:
        return self.payload is None


TableText = Advert | AdvertGone | Interest | InterestGone
BrokerMessage = TableText | Transit

GREETINGS = (Hello, Challenge, Proof, Welcome, Goodbye)
FROM_CLIENT = (SubscribeRequest, UnsubscribeRequest, AdvertiseRequest, PublishRequest, Goodbye)
TO_CLIENT = (Accepted, Refused, Delivery, MoveOrder, LeaveOrder, Goodbye)
BETWEEN_BROKERS = (Advert, AdvertGone, Interest, InterestGone, Transit, Goodbye)
