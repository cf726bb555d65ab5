"""Brokers without a network: what a balancer asks of its broker, as plain fields."""

from random import Random

from tidings.balancing.padres import (
    BrokerLoad,
    ByProfile,
    Candidate,
    DelayLine,
    EdgeBalancer,
    Key,
    LoadProfile,
    Metrics,
    Parameters,
    Place,
    Poset,
)
from tidings.balancing.padres.messages import Effect, Message, Send, Tick, Wake

BANDWIDTH = 1000.0
PARAMETERS = Parameters()


class FakeBroker:
    """Subscribers with as many bytes a second each as their names say: ``s7-20`` gets 20."""

    def __init__(self, subscribers: list[str]) -> None:
        self.subscribers = subscribers

    def measure(self, now: float) -> Metrics:
        return self.load().metrics

    def load(self) -> BrokerLoad:
        sent = sum(float(name.split("-")[1]) for name in self.subscribers)
        rate = 1.0 if self.subscribers else 0.0
        return BrokerLoad(rate, DelayLine(0.0, 0.01), len(self.subscribers), sent, BANDWIDTH)

    def poset(self) -> Poset[Key]:
        poset: Poset[Key] = Poset(self.covers)
        for name in self.subscribers:
            poset.add(name)
        return poset

    def candidates(self, profile: LoadProfile) -> list[Candidate]:
        return [Candidate(name, (name,), 1, float(name.split("-")[1])) for name in self.subscribers]

    def covers(self, wide: Key, narrow: Key) -> bool:
        """Everybody gets the same publications: the first name in the order of the alphabet covers the rest."""
        return str(wide) <= str(narrow)


def edge(name: str, subscribers: list[str], *, adaptive: bool = False) -> EdgeBalancer:
    place = Place(name, "C1", "B0")
    broker = FakeBroker(subscribers)
    return EdgeBalancer(place, broker, PARAMETERS, ByProfile(PARAMETERS), Random(1), adaptive=adaptive)


def sent(effects: list[Effect], kind: type) -> list[Message]:
    """The messages of one kind among effects."""
    return [effect.message for effect in effects if isinstance(effect, Send) and isinstance(effect.message, kind)]


def woken(effects: list[Effect], what: str) -> Tick:
    return next(effect.tick for effect in effects if isinstance(effect, Wake) and effect.tick.what == what)
