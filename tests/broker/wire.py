"""One message of every type, with every kind of value in it."""

from __future__ import annotations

from datetime import UTC, datetime

from tidings.balancing.padres import BrokerLoad, DelayLine, Metrics, Offer, Status
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
from tidings.broker.messages import (
    Accepted,
    Advert,
    AdvertGone,
    AdvertiseRequest,
    Challenge,
    Coordination,
    Delivery,
    Goodbye,
    Hello,
    Interest,
    InterestGone,
    LeaveOrder,
    MoveOrder,
    Proof,
    PublishRequest,
    Refused,
    SubscribeRequest,
    Transit,
    UnsubscribeRequest,
    Welcome,
)
from tidings.model import Publication

POST = Publication(
    "p1",
    "Fire \N{FIRE} in the harbour",
    datetime(2026, 1, 2, 3, 4, 5, 678, UTC),
    -33.9,
    151.2,
    ("news/fires", "sports"),
    {"symbol": "YHOO", "volume": 300000, "price": 1.5, "open": True, "at": datetime(2026, 1, 1, tzinfo=UTC), "n": (1,)},
)
OFFER = Offer(BrokerLoad(12.5, DelayLine(1e-5, -0.001), 40, 1000.0, 125000.0), ("symbol:YHOO", "fire -drill"))
PAYLOADS: tuple[Coordination, ...] = (
    Pie("B1", "C0", Metrics(0.5, 0.001, 0.25), Status.OK, frozenset({"B2", "B3"})),
    Pie("B0", "C0", Metrics(), Status.NOT_AVAILABLE, is_global=True),
    Request("B1-1@2.5", "B1"),
    Reply("B1-1@2.5", "B2", Status.OK, OFFER),
    Reply("B1-1@2.5", "B2", Status.BUSY),
    Cancel("B1-1@2.5"),
    Done("B1-1@2.5", frozenset({"ada/1"})),
    AskGlobal("B1"),
    Catchup("B1"),
    WatchCluster("C1", on=True),
    EndGlobal("B0-1@3"),
)
MESSAGES: tuple[object, ...] = (
    Hello("ada", "client", "0" * 32),
    Challenge("B1", "1" * 32),
    Proof("2" * 64),
    Welcome("3" * 64),
    Goodbye("you do not read"),
    SubscribeRequest(1, "ada/1", "symbol:YHOO", "B1-1@2.5", 7),
    UnsubscribeRequest(2, "ada/1"),
    AdvertiseRequest(3, "ada/2", "*"),
    PublishRequest(4, "ada/x/4", POST),
    Accepted(5),
    Refused(6, "query, column 1: no"),
    Delivery("ada/1", "bob/x/9", POST),
    MoveOrder("ada/1", "127.0.0.1:7002", MoveTo("B1-1@2.5", "B2", 7)),
    LeaveOrder("ada/1", Leave("B1-1@2.5", arrived=True)),
    Advert("ada/2", "symbol:YHOO"),
    AdvertGone("ada/2"),
    Interest("symbol:YHOO"),
    InterestGone("symbol:YHOO"),
    Transit(POST, "ada/x/4"),
    *(Transit(Publication("c1", attributes={"class": "BALANCE"}), payload=payload, ttl=1) for payload in PAYLOADS),
)
