"""What happens when brokers, links and clients meet? A world in simulated time, all of it from one seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from tidings.balancing.padres import AtRandom, ByProfile, EdgeBalancer, HeadBalancer, Migrant, Parameters, Place
from tidings.balancing.padres.messages import (
    Attach,
    Detach,
    Lost,
    SubscriberEffect,
    ToSubscriber,
)
from tidings.model import DataError, Publication
from tidings.simulate.audit import Audit
from tidings.simulate.broker import Broker, Surroundings
from tidings.simulate.clock import Clock
from tidings.simulate.links import Link, Weather
from tidings.simulate.messages import InFlight, Join, Packet, Quit, ToClient
from tidings.simulate.roster import Histories, SubscriberRoster
from tidings.simulate.routing import LOCAL, Advertise
from tidings.simulate.topology import Topology
from tidings.simulate.universe import Universe

Algorithm = Literal["proposed", "random", "none"]
CLIENT_LATENCY_S = 0.001


def _nobody(_packet: Packet, _sender: str) -> None:
    """Who receives at a broker that was not started yet."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How load is balanced in a world, and how its links behave."""

    parameters: Parameters = field(default_factory=Parameters)
    algorithm: Algorithm = "proposed"
    adaptive_pie: bool = True
    weather: Weather = field(default_factory=Weather)

    def __post_init__(self) -> None:
        if self.algorithm not in ("proposed", "random", "none"):
            raise DataError(f"the algorithm is 'proposed', 'random' or 'none', got {self.algorithm!r}")


@dataclass(slots=True)
class Publisher:
    """Publishes its quotes one after the other, so many a second; ``next`` is the number of the one that follows."""

    name: str
    broker: str
    advertised: int
    quotes: Sequence[Publication]
    rate: float
    random: Random
    next: int = 0


@dataclass(slots=True)
class Client:
    """A subscriber: what it asks for, and where it is."""

    name: str
    query: int
    migrant: Migrant


@dataclass(slots=True)
class Delays:
    """What was delivered since somebody looked."""

    deliveries: int = 0
    total_s: float = 0.0
    moves: int = 0


class World:
    """Brokers, links, publishers and subscribers. An ``audit`` checks every delivery, and in the end the rest."""

    def __init__(self, seed: int, topology: Topology, rules: Rules | None = None, audit: Audit | None = None) -> None:
        self.seed = seed
        self.topology = topology
        self.rules = rules or Rules()
        self.clock = Clock(seed)
        self.universe = Universe()
        self.roster = SubscriberRoster()
        self.audit = audit
        self.publishers: dict[str, Publisher] = {}
        self.clients: dict[str, Client] = {}
        self.recent = Delays()
        self.published = 0
        self.is_publishing = True
        """Set to False, publishers publish nothing more."""
        self._histories = Histories()
        self._present = 0
        self._starts = 0
        self.links = self._connect()
        self.brokers: dict[str, Broker] = {}
        for name in topology.machines:
            self._start(name)

    def random(self, name: str) -> Random:
        """A stream of chance of its own for each part of the world."""
        return Random(f"{self.seed}/{name}")

    def run(self, until: float) -> None:
        self.clock.run(until)

    # --- clients

    def add_publisher(self, name: str, broker: str, query: str, quotes: Sequence[Publication], rate: float) -> None:
        """A publisher advertises a query now and then publishes; ``rate`` is in publications a second.

        It begins with any of its quotes: publishers that went through the same days in step would swing together.
        """
        random = self.random(name)
        first = random.randrange(len(quotes))
        publisher = Publisher(name, broker, self.universe.number(query), quotes, rate, random, first)
        self.publishers[name] = publisher
        self._advertise(publisher)
        self.clock.after(publisher.random.uniform(0, 1 / rate) + 1.0, self._publish_next, publisher)

    def add_subscriber(self, name: str, broker: str, query: str) -> None:
        """A subscriber joins at a broker now."""
        client = Client(name, self.universe.number(query), Migrant(broker))
        self.clients[name] = client
        self._present |= self.roster.bit(name)
        if self.audit is not None:
            self.audit.joined(self, name, client.query)
        self._to_broker(broker, Join(name, client.query))

    def remove_subscriber(self, name: str) -> None:
        """A subscriber leaves now, wherever it is."""
        if self.audit is not None:
            self.audit.left(self, name)
        client = self.clients.pop(name)
        self._present &= ~self.roster.bit(name)
        for broker in client.migrant.homes:
            self._to_broker(broker, Quit(name))

    def _advertise(self, publisher: Publisher) -> None:
        self.brokers[publisher.broker].receive(Advertise(publisher.name, publisher.advertised), LOCAL)

    def publish_all(self) -> None:
        """Every publisher publishes all that it has, now."""
        for publisher in self.publishers.values():
            for publication in publisher.quotes:
                self._publish(publisher, publication)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing waits in a queue or is on a link, and nobody is moving."""
        return (
            not any(len(broker.input) or len(broker.output) for broker in self.brokers.values())
            and not any(link.flying for link in self.links.values())
            and not any(client.migrant.moving for client in self.clients.values())
        )

    def _publish_next(self, publisher: Publisher) -> None:
        if not self.is_publishing:
            return
        self._publish(publisher, publisher.quotes[publisher.next])
        publisher.next = (publisher.next + 1) % len(publisher.quotes)
        self.clock.after(publisher.random.uniform(0.5, 1.5) / publisher.rate, self._publish_next, publisher)

    def _publish(self, publisher: Publisher, publication: Publication) -> None:
        self.published += 1
        if self.audit is not None:
            self.audit.published(self.published, publication, self.clock.now)
        self.brokers[publisher.broker].receive(InFlight(publication, self.clock.now, self.published))

    def _deliver(self, broker: str, subscribers: int, packet: ToClient) -> None:
        here = subscribers & self._present
        if not isinstance(packet, InFlight):
            for name in self.roster.names(here):
                self._tell(self.clients[name], packet)
            return
        fresh = self._histories.accept(packet.number, here)
        if self.audit is not None:
            self.audit.delivered(self, broker, here, fresh, packet)
        count = fresh.bit_count()
        self.recent.deliveries += count
        self.recent.total_s += count * (self.clock.now - packet.sent_at)

    def _tell(self, client: Client, message: ToSubscriber) -> None:
        for effect in client.migrant.on(message):
            self._apply(client, effect)
        if self.audit is not None:
            self.audit.check_homes(self, client.name)

    def _apply(self, client: Client, effect: SubscriberEffect) -> None:
        match effect:
            case Attach(to, session, total):
                self.recent.moves += 1
                self._to_broker(to, Join(client.name, client.query, session, total))
            case Detach(broker):
                self._to_broker(broker, Quit(client.name))

    def _to_broker(self, broker: str, packet: Join | Quit) -> None:
        if self.audit is not None:
            self.audit.sent(self, broker, packet.subscriber)
        self.clock.after(CLIENT_LATENCY_S, self._arrive, broker, packet)

    def _arrive(self, broker: str, packet: Join | Quit) -> None:
        if self.brokers[broker].is_alive:
            self.brokers[broker].receive(packet)
        else:
            self._processed(broker, packet.subscriber)

    def _processed(self, broker: str, name: str) -> None:
        if self.audit is not None:
            self.audit.processed(self, broker, name)

    # --- brokers and faults

    def _connect(self) -> dict[tuple[str, str], Link]:
        found = {}
        for one, other in self.topology.links:
            for sender, receiver in ((one, other), (other, one)):
                random = self.random(f"{sender}>{receiver}")
                found[sender, receiver] = Link(self.clock, self.rules.weather, random, sender, _nobody)
        return found

    def _start(self, name: str) -> None:
        self._starts += 1
        topology = self.topology
        links = {other: self.links[name, other] for other in topology.neighbours(name)}
        around = Surroundings(
            self.clock, self.universe, self.roster, self._deliver, self._processed, links, topology.heads
        )
        broker = Broker(name, topology.machines[name], around, topology.neighbours(name))
        if name in self.brokers:
            broker.counts = self.brokers[name].counts
        self.brokers[name] = broker
        for other in links:
            self.links[other, name].receive = broker.receive
        if self.rules.algorithm == "none":
            self._measure(broker)
        else:
            broker.start(self._balancer(broker))

    def _measure(self, broker: Broker) -> None:
        """Without a balancer nobody else closes the windows of measurement."""
        broker.measure(self.clock.now)
        self.clock.after(self.rules.parameters.local_pie_publishing_period_s, self._measure, broker)

    def _balancer(self, broker: Broker) -> EdgeBalancer | HeadBalancer:
        cluster = self.topology.cluster_of(broker.name)
        place = Place(broker.name, cluster.name, cluster.head)
        parameters, random = self.rules.parameters, self.random(f"{broker.name}#{self._starts}")
        if broker.name == cluster.head:
            return HeadBalancer(place, cluster.edges, parameters, random)
        chooser = ByProfile(parameters) if self.rules.algorithm == "proposed" else AtRandom(random)
        return EdgeBalancer(place, broker, parameters, chooser, random, adaptive=self.rules.adaptive_pie)

    def crash(self, name: str, down_s: float) -> None:
        """A broker loses all that it had, and is started again after a while; its clients come back to it then."""
        broker = self.brokers[name]
        if not broker.is_alive:
            return
        broker.stop()
        for packet, _ in broker.input:
            if isinstance(packet, (Join, Quit)):
                self._processed(name, packet.subscriber)
        for other in self.topology.neighbours(name):
            self._cut(name, other)
        for client in list(self.clients.values()):
            self._tell(client, Lost(name))
        self.clock.after(down_s, self._restart, name)

    def _restart(self, name: str) -> None:
        self._start(name)
        for other in self.topology.neighbours(name):
            if self.brokers[other].is_alive:
                self._reconnect(name, other)
        for publisher in self.publishers.values():
            if publisher.broker == name:
                self._advertise(publisher)
        for client in self.clients.values():
            if name in client.migrant.homes:
                self._to_broker(name, Join(client.name, client.query))

    def partition(self, one: str, other: str, down_s: float) -> None:
        """A link is down for a while; both sides notice when it is up again."""
        if self.links[one, other].is_down:
            return
        self._cut(one, other)
        self.clock.after(down_s, self._heal, one, other)

    def _heal(self, one: str, other: str) -> None:
        if self.links[one, other].is_down and self.brokers[one].is_alive and self.brokers[other].is_alive:
            self._reconnect(one, other)

    def _cut(self, one: str, other: str) -> None:
        self.links[one, other].cut()
        self.links[other, one].cut()

    def _reconnect(self, one: str, other: str) -> None:
        """Both sides forget what they had from each other, and greet: the rest follows from the advertisements."""
        for near, far in ((one, other), (other, one)):
            self.links[near, far].restore()
        for near, far in ((one, other), (other, one)):
            self.brokers[near].reconnect(far)
