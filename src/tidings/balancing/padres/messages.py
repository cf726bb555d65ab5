"""What do balancers say to each other, and what do they ask of the broker they sit in?

Messages travel as publications through the overlay ([PADRES] 3.2). Effects are what a state machine wants done.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tidings.balancing.padres.loads import Offer
from tidings.balancing.padres.metrics import Metric, Metrics
from tidings.balancing.padres.press import LoadProfile


class Status(StrEnum):
    """Whether a broker or a cluster can balance load ([PADRES] 3.3.3)."""

    OK = "OK"
    BUSY = "BUSY"
    NOT_AVAILABLE = "N/A"
    STABILIZING = "STABILIZING"


@dataclass(frozen=True, slots=True)
class Pie:
    """The load of a broker, or the mean load of a cluster if ``is_global`` ([PADRES] 3.3.2)."""

    broker: str
    cluster: str
    metrics: Metrics
    status: Status
    balanced_with: frozenset[str] = frozenset()
    is_global: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """May I balance with you? ``session`` is named by who asks."""

    session: str
    sender: str
    is_global: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """The status of who was asked; an offer if that is OK."""

    session: str
    sender: str
    status: Status
    offer: Offer | None = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """The session is over and nobody moves."""

    session: str


@dataclass(frozen=True, slots=True)
class Done:
    """All that were expected have arrived, or the time is over."""

    session: str
    arrived: frozenset[str]


@dataclass(frozen=True, slots=True)
class AskGlobal:
    """An overloaded edge broker finds nobody in its cluster."""

    broker: str


@dataclass(frozen=True, slots=True)
class Catchup:
    """To the head: repeat the loads that it knows. Whoever has just subscribed has missed them."""

    broker: str


@dataclass(frozen=True, slots=True)
class WatchCluster:
    """Subscribe to the local load messages of another cluster, or stop doing so."""

    cluster: str
    on: bool


@dataclass(frozen=True, slots=True)
class EndGlobal:
    """All edge brokers of both clusters are balanced."""

    session: str


@dataclass(frozen=True, slots=True)
class MoveTo:
    """To a subscriber: subscribe at ``to`` as well, and say that ``total`` of you come in this session."""

    session: str
    to: str
    total: int


@dataclass(frozen=True, slots=True)
class Arrived:
    """A subscription of a migrating subscriber has reached its new broker."""

    session: str
    subscriber: str
    total: int


@dataclass(frozen=True, slots=True)
class Leave:
    """To a subscriber: the new paths are there, unsubscribe here. ``arrived``: whether the new broker knows you."""

    session: str
    arrived: bool


@dataclass(frozen=True, slots=True)
class Profiled:
    """PRESS is over."""

    session: str
    profile: LoadProfile


@dataclass(frozen=True, slots=True)
class Lost:
    """To a subscriber: the connection to this broker broke."""

    broker: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A time that was asked for has come; ``what`` and ``session`` are as they were asked."""

    what: str
    session: str = ""


Message = (
    Pie | Request | Reply | Cancel | Done | AskGlobal | Catchup | WatchCluster | EndGlobal | Arrived | Profiled | Tick
)
ToSubscriber = MoveTo | Leave | Lost


@dataclass(frozen=True, slots=True)
class Send:
    """Publish a message to one broker. ``in_order``: behind all publications before it, not with their priority."""

    to: str
    message: Message
    in_order: bool = False


@dataclass(frozen=True, slots=True)
class Tell:
    """Give a message to a subscriber of this broker. ``in_order``: behind what is in its queues."""

    subscriber: str
    message: MoveTo | Leave
    in_order: bool = False


@dataclass(frozen=True, slots=True)
class Announce:
    """Publish a load message."""

    pie: Pie


@dataclass(frozen=True, slots=True)
class Attach:
    """A subscriber subscribes at another broker as well, in a session of so many."""

    to: str
    session: str
    total: int


@dataclass(frozen=True, slots=True)
class Detach:
    """A subscriber unsubscribes at a broker."""

    broker: str


@dataclass(frozen=True, slots=True)
class Wake:
    """Call ``on(tick, now)`` at that time."""

    at: float
    tick: Tick


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Subscribe to the load messages of a cluster with a metric below a bound (None: to all), instead of before."""

    cluster: str
    metric: Metric | None = None
    below: float | None = None


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """No load messages of this cluster any more."""

    cluster: str


@dataclass(frozen=True, slots=True)
class BeginSampling:
    """Begin PRESS: note which publications answer which subscription, and which of them the other's CSS."""

    session: str
    offer: Offer


Effect = Send | Tell | Announce | Wake | Subscribe | Unsubscribe | BeginSampling
SubscriberEffect = Attach | Detach


@dataclass(frozen=True, slots=True)
class Action:
    """Somebody to give load to, which algorithm, and by how much we have more."""

    broker: str
    metric: Metric
    difference: float = field(compare=False)
