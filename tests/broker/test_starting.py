"""Brokers that start on a busy machine: what they say to each other comes late."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from random import Random

import pytest

from tidings.balancing.padres import ByProfile, EdgeBalancer, HeadBalancer, Parameters
from tidings.balancing.padres.balancer import Place
from tidings.balancing.padres.messages import Wake
from tidings.broker.core import BrokerCore, BrokerPacket, Linked, Outcome, ToBroker, ToItself

PARAMETERS = Parameters(local_pie_publishing_period_s=1.0)


class Slow:
    """A head and an edge broker; each message takes some seconds for as long as they start, then none."""

    def __init__(self, delay_s: float, starting_s: float) -> None:
        self.delay_s, self.starting_s = delay_s, starting_s
        self.now = 0.0
        self.cores = {
            "B0": BrokerCore("B0", ("B1",), frozenset({"B0"}), 1e6, 0.0),
            "B1": BrokerCore("B1", ("B0",), frozenset({"B0"}), 1e6, 0.0),
        }
        self.head = HeadBalancer(Place("B0", "C0", "B0"), ("B1",), PARAMETERS, Random(1))
        edge = EdgeBalancer(Place("B1", "C0", "B0"), self.cores["B1"], PARAMETERS, ByProfile(PARAMETERS), Random(1))
        self._due: list[tuple[float, int, str, BrokerPacket, str]] = []
        self._number = count()
        self._apply("B0", self.cores["B0"].start(self.head, 0.0))
        self._apply("B1", self.cores["B1"].start(edge, 0.0))
        for name, other in (("B0", "B1"), ("B1", "B0")):
            self._put(0.0, name, Linked(other), other)

    def run(self, until: float) -> None:
        while self._due and self._due[0][0] <= until:
            self.now, _, name, packet, hop = heappop(self._due)
            self._apply(name, self.cores[name].on(packet, hop, self.now))

    def _put(self, at: float, name: str, packet: BrokerPacket, hop: str) -> None:
        heappush(self._due, (at, next(self._number), name, packet, hop))

    def _apply(self, name: str, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            match outcome:
                case ToBroker(neighbour, message):
                    late = self.delay_s if self.now < self.starting_s else 0.0
                    self._put(self.now + late, neighbour, message, name)
                case Wake(at, tick):
                    self._put(at, name, tick, "")
                case ToItself(carried):
                    self._put(self.now, name, carried, "")


@pytest.mark.parametrize("delay_s", [0.1, 2.0, 5.0])
def test_an_idle_broker_is_heard_of_however_slowly_all_start(delay_s: float) -> None:
    """Its load never changes, so what it tells before anybody listens it would not tell again."""
    slow = Slow(delay_s, starting_s=20.0)
    slow.run(90.0)
    assert slow.head.edges["B1"] is not None
