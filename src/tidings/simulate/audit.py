"""Is everything delivered as promised? Each step that could break a promise is checked when it happens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidings.model import Publication, TidingsError
from tidings.simulate.messages import InFlight, Packet

if TYPE_CHECKING:
    from tidings.simulate.world import World


class Violation(TidingsError):  # noqa: N818  # what is broken is a promise
    """A promise was broken. The seed brings the same run again."""

    def __init__(self, world: World, problem: str) -> None:
        super().__init__(f"seed {world.seed}, {world.clock.now:.3f} s, event {world.clock.events:,}: {problem}")


@dataclass(slots=True)
class _Interest:
    """What a subscriber asks for, since when, what it got, and where it has been."""

    query: int
    since: float
    received: set[int] = field(default_factory=set)
    homes: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Audit:
    """Nothing comes wrongly or twice; what is published at ``owed_from_s`` or later comes to all who asked for it.

    - A delivery is checked when it happens: by the query, by what came before, and by where the subscriber has been.
    - Homes are checked whenever a subscriber moves, and whenever a broker takes it in or lets it go: a broker holds
      those who are at home there, and nobody else. What is on its way between the two is known.
    - Whoever leaves has got everything that is not on its way to it at that moment.
    - In the end, when all is quiet: nobody is moving, and nothing that is owed is missing.

    A run with crashes or partitions owes what is published when they are over; one that drops messages owes nothing.
    ``margin_s``: how long a new subscription may take to become known.
    """

    owed_from_s: float = 0.0
    margin_s: float = 5.0
    _interests: dict[str, _Interest] = field(default_factory=dict)
    _published: list[tuple[int, Publication, float]] = field(default_factory=list)
    _sent: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many messages of a subscriber are on their way to a broker."""

    def joined(self, world: World, name: str, query: int) -> None:
        self._interests[name] = _Interest(query, world.clock.now)

    def published(self, number: int, publication: Publication, now: float) -> None:
        self._published.append((number, publication, now))

    # --- deliveries

    def delivered(self, world: World, broker: str, came: int, fresh: int, packet: InFlight) -> None:
        """A publication comes to some subscribers; ``fresh`` are those whose application gets it."""
        number, clients = packet.number, world.clients
        answers = world.universe.answers(packet.publication)
        news = set(world.roster.names(fresh))
        for name in world.roster.names(came):
            accepted = clients[name].migrant.accepts(number)
            interest = self._interests[name]
            problem = ""
            if accepted != (name in news):
                problem = ", and its history disagrees with those of all"
            elif not answers >> interest.query & 1:
                problem = ", who has not asked for it"
            elif broker not in interest.homes:
                problem = ", where it has never been"
            elif accepted and number in interest.received:
                problem = " for the second time"
            if problem:
                what = f"{packet.publication.id} (number {number}) came to {name} from {broker}"
                raise Violation(world, what + problem)
            if accepted:
                interest.received.add(number)

    # --- homes

    def sent(self, world: World, broker: str, name: str) -> None:
        """A subscriber sends a message to a broker: it comes, moves or leaves."""
        self._sent[broker, name] += 1
        if name in world.clients:
            self._interests[name].homes.add(broker)

    def processed(self, world: World, broker: str, name: str) -> None:
        """The broker has dealt with that message, or has lost it in a crash."""
        self._sent[broker, name] -= 1
        self.check_homes(world, name)

    def check_homes(self, world: World, name: str) -> None:
        """A subscriber has one home, or two and a session; these brokers hold it, and no others."""
        client = world.clients.get(name)
        homes = client.migrant.homes if client is not None else ()
        for broker in world.brokers.values():
            if not broker.is_alive or self._sent[broker.name, name]:
                continue
            holds = name in broker.subscribers
            if holds and broker.name not in homes:
                raise Violation(world, f"{broker.name} holds {name}, which is at home at {homes}")
            if homes and broker.name == homes[0] and not holds:
                raise Violation(world, f"{broker.name} does not hold {name}, which is at home there")
        if client is not None and len(set(homes)) != (2 if client.migrant.moving else 1):
            raise Violation(world, f"{name} is at home at {homes} without a session")

    # --- what is missing

    def left(self, world: World, name: str) -> None:
        """A subscriber is about to leave: what it has not got is still on its way."""
        missing = [number for number, _ in self._missing(world, name)]
        if missing:
            homes = world.clients[name].migrant.homes
            lost = sorted(set(missing) - set(on_their_way(world, name, homes)))
            if lost:
                raise Violation(world, f"number {lost[0]} never came to {name}, who leaves {homes}")

    def check_end(self, world: World) -> None:
        """When all is quiet: nobody is moving, each is where it thinks it is, nothing that is owed is missing."""
        for broker in world.brokers.values():
            for name in broker.subscribers:
                if name not in world.clients or broker.name != world.clients[name].migrant.home:
                    raise Violation(world, f"{broker.name} still holds {name} in the end")
        for client in world.clients.values():
            if client.migrant.moving is not None:
                raise Violation(world, f"{client.name} is still moving to {client.migrant.moving.to}")
            if client.name not in world.brokers[client.migrant.home].subscribers:
                raise Violation(world, f"{client.migrant.home} does not hold {client.name} in the end")
            for number, sent_at in self._missing(world, client.name):
                raise Violation(world, f"number {number} of {sent_at:.3f} s never came to {client.name}")

    def _missing(self, world: World, name: str) -> Iterator[tuple[int, float]]:
        """What is owed to a subscriber and has not come: the number, and when it was published."""
        interest = self._interests[name]
        owed_from = max(self.owed_from_s, interest.since + self.margin_s)
        for number, publication, sent_at in self._published:
            if sent_at < owed_from or number in interest.received:
                continue
            if world.universe.answers(publication) >> interest.query & 1:
                yield number, sent_at


def on_their_way(world: World, name: str, homes: tuple[str, ...]) -> Iterator[int]:
    """The publications in queues and on links that lead to a subscriber."""
    path = world.topology.heads | set(homes)
    bit = world.roster.bit(name)
    packets: list[Packet] = []
    for broker in (world.brokers[each] for each in path):
        packets += [packet for packet, _ in broker.input]
        for outgoing in broker.output:
            if isinstance(outgoing.packet, InFlight) and (outgoing.neighbour in path or outgoing.subscribers & bit):
                packets.append(outgoing.packet)
    for (sender, receiver), link in world.links.items():
        if sender in path and receiver in path:
            packets += link.flying
    return (packet.number for packet in packets if isinstance(packet, InFlight))
