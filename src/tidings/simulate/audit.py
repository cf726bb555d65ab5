"""Is everything delivered as promised? Checks after every event, and of everything at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidings.model import Publication, TidingsError
from tidings.simulate.messages import InFlight

if TYPE_CHECKING:
    from tidings.simulate.world import World


class Violation(TidingsError):  # noqa: N818  # what is broken is a promise
    """A promise was broken. The seed brings the same run again."""

    def __init__(self, world: World, problem: str) -> None:
        super().__init__(f"seed {world.seed}, {world.clock.now:.3f} s, event {world.clock.events:,}: {problem}")


@dataclass(slots=True)
class _Interest:
    query: int
    since: float
    until: float = float("inf")


@dataclass(slots=True)
class Audit:
    """Each publication reaches each matching subscriber exactly once; with ``may_lose``, at most once, never wrongly.

    ``margin_s``: a publication so soon after a subscriber came may be missed; ``leaving_s``: so shortly before it left,
    because whoever leaves is not owed what still lies in a queue.
    """

    may_lose: bool = False
    margin_s: float = 5.0
    leaving_s: float = 30.0
    _interests: dict[str, _Interest] = field(default_factory=dict)
    _published: list[tuple[int, Publication, float]] = field(default_factory=list)
    _received: dict[str, set[int]] = field(default_factory=dict)

    def joined(self, name: str, query: int, now: float) -> None:
        self._interests[name] = _Interest(query, now)
        self._received[name] = set()

    def left(self, name: str, now: float) -> None:
        self._interests[name].until = now

    def published(self, number: int, publication: Publication, now: float) -> None:
        self._published.append((number, publication, now))

    def delivered(self, world: World, broker: str, name: str, query: int, packet: InFlight) -> None:
        """One publication comes to an application."""
        what = f"{packet.publication.id} (number {packet.number}) came to {name} from {broker}"
        if not world.universe.answers(packet.publication) >> query & 1:
            raise Violation(world, f"{what}, who has not asked for it")
        if packet.number in self._received[name]:
            raise Violation(world, f"{what} for the second time")
        self._received[name].add(packet.number)

    def check_homes(self, world: World) -> None:
        """Every subscriber has one home, or two and a session; no broker that is no home holds it for good."""
        for client in world.clients.values():
            homes = client.migrant.homes
            if len(homes) != (2 if client.migrant.moving else 1) or len(set(homes)) != len(homes):
                raise Violation(world, f"{client.name} is at home at {homes} without a session")

    def check_end(self, world: World) -> None:
        """When all is quiet: nothing is missing, and each subscriber is where it thinks it is, and nowhere else."""
        for client in world.clients.values():
            if client.migrant.moving is not None:
                raise Violation(world, f"{client.name} is still moving to {client.migrant.moving.to}")
            holding = [broker.name for broker in world.brokers.values() if client.name in broker.subscribers]
            if holding != [client.migrant.home]:
                raise Violation(world, f"{client.name} is at home at {client.migrant.home}, but {holding} hold it")
        if not self.may_lose:
            self._check_missing(world)

    def _check_missing(self, world: World) -> None:
        for number, publication, sent_at in self._published:
            answers = world.universe.answers(publication)
            for name, interest in self._interests.items():
                wanted = interest.since + self.margin_s <= sent_at <= interest.until - self.leaving_s
                if wanted and answers >> interest.query & 1 and number not in self._received[name]:
                    raise Violation(
                        world, f"{publication.id} (number {number}) of {sent_at:.3f} s never came to {name}"
                    )
