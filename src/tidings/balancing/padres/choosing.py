"""Whom does a broker move in this session? From its own view and a profile to names ([PADRES] 5)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Protocol

from tidings.balancing.padres.cards import Bargain, Covers
from tidings.balancing.padres.loads import BrokerLoad, Candidate, Offer
from tidings.balancing.padres.metrics import Metric, Metrics
from tidings.balancing.padres.offloading import offload, offload_random, random_count
from tidings.balancing.padres.parameters import Parameters
from tidings.balancing.padres.poset import Poset
from tidings.balancing.padres.press import Key, LoadProfile


class BrokerView(Protocol):
    """What a balancer may ask of the broker it sits in."""

    def measure(self, now: float) -> Metrics:
        """Close the window of measurement."""

    def load(self) -> BrokerLoad:
        """The load as of the last window."""

    def poset(self) -> Poset[Key]:
        """The distinct subscriptions of the broker's own subscribers."""

    def candidates(self, profile: LoadProfile) -> list[Candidate]:
        """All subscriptions with those subscribers that are not moving already."""

    def covers(self, wide: Key, narrow: Key) -> bool: ...


@dataclass(frozen=True, slots=True)
class Choice:
    """Who goes, and the loads of both brokers that are expected then, where they are estimated."""

    subscribers: list[str]
    giver: Metrics | None = None
    taker: Metrics | None = None


class Chooser(Protocol):
    """One way to choose subscribers: by the paper's algorithms, or at random."""

    def choose(self, metric: Metric, view: BrokerView, offer: Offer, profile: LoadProfile) -> Choice: ...


class ByProfile:
    """The input, match and output offload algorithms."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    def choose(self, metric: Metric, view: BrokerView, offer: Offer, profile: LoadProfile) -> Choice:
        covers: Covers = view.covers
        bargain = Bargain(metric, view.load(), offer, view.candidates(profile), profile, self._parameters, covers)
        poset = view.poset().copy()

        def css() -> set[Key]:
            for gone in [key for key in poset if key not in bargain.left]:
                poset.remove(gone)
            return poset.css

        chosen = offload(bargain, css, lambda key: key in poset and bool(poset.children(key)))
        return Choice(chosen, bargain.giver.metrics, bargain.taker.metrics)


class AtRandom:
    """The random algorithm, the base to compare with."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def choose(self, metric: Metric, view: BrokerView, offer: Offer, profile: LoadProfile) -> Choice:
        names = [name for candidate in view.candidates(profile) for name in candidate.subscribers]
        return Choice(offload_random(names, random_count(metric, view.load(), offer.load), self._random))
