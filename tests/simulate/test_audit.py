"""Would the audit notice? Each mutation breaks a broker, a client or the world on purpose, and has to be caught."""

from collections.abc import Callable
from typing import Any

import pytest

from tidings.balancing.padres import Migrant
from tidings.balancing.padres.messages import Leave, MoveTo
from tidings.balancing.padres.sessions import Giving
from tidings.model import Publication
from tidings.simulate.attached import Attached
from tidings.simulate.audit import Audit, Violation
from tidings.simulate.broker import Broker
from tidings.simulate.chaos import Faults, play
from tidings.simulate.messages import InFlight, Outgoing
from tidings.simulate.roster import Histories
from tidings.simulate.routing import Forward, Routing, Unwant
from tidings.simulate.topology import local_experiment
from tidings.simulate.world import World

Patch = Callable[[pytest.MonkeyPatch], None]
MUTATIONS: dict[str, tuple[Faults, str, Patch]] = {}


def mutation(faults: Faults, complaint: str) -> Callable[[Patch], Patch]:
    def note(patch: Patch) -> Patch:
        MUTATIONS[patch.__name__] = faults, complaint, patch
        return patch

    return note


@mutation(Faults.NONE, "never came to")
def one_delivery_in_a_hundred_is_lost(patch: pytest.MonkeyPatch) -> None:
    right, count = Broker._sent, 0

    def wrong(self: Broker, outgoing: Outgoing, duration: float) -> None:
        nonlocal count
        count += isinstance(outgoing.packet, InFlight) and not outgoing.neighbour
        if count % 100:
            right(self, outgoing, duration)

    patch.setattr(Broker, "_sent", wrong)


@mutation(Faults.NONE, "who has not asked for it")
def everybody_gets_everything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Attached, "asking", lambda self, _queries: sum(map(self._roster.bit, self.queries)))


@mutation(Faults.NONE, "holds")
def nobody_is_let_go(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Attached, "remove", lambda _self, _name: None)


@mutation(Faults.NONE, "does not hold")
def whoever_is_told_to_move_is_dropped_at_once(patch: pytest.MonkeyPatch) -> None:
    right = Broker._note_move

    def wrong(self: Broker, subscriber: str, message: MoveTo | Leave) -> None:
        right(self, subscriber, message)
        if isinstance(message, MoveTo):
            self.attached.remove(subscriber)

    patch.setattr(Broker, "_note_move", wrong)


@mutation(Faults.NONE, "never came to")
def what_was_covered_is_not_forwarded_when_its_cover_goes(patch: pytest.MonkeyPatch) -> None:
    right = Routing._drop

    def wrong(self: Routing, query: int, neighbour: str) -> list[Forward]:
        return [forward for forward in right(self, query, neighbour) if isinstance(forward[1], Unwant)]

    patch.setattr(Routing, "_drop", wrong)


@mutation(Faults.NONE, "for the second time")
def subscribers_have_no_history(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Migrant, "accepts", lambda _self, _number: True)
    patch.setattr(Histories, "accept", lambda _self, _number, subscribers: subscribers)


@mutation(Faults.NONE, "disagrees with those of all")
def only_the_histories_of_all_are_none(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Histories, "accept", lambda _self, _number, subscribers: subscribers)


@mutation(Faults.NONE, "does not hold")
def subscribers_leave_their_old_broker_before_the_new_one_has_them(patch: pytest.MonkeyPatch) -> None:
    right = Giving.move

    def wrong(self: Giving, subscribers: list[str], now: float) -> Any:
        effects = right(self, subscribers, now)
        return effects + self.finish(frozenset(subscribers)) if subscribers else effects

    patch.setattr(Giving, "move", wrong)
    patch.setattr(Broker, "_join", lambda self, join: self._around.processed(self.name, join.subscriber))


@mutation(Faults.BREAKS, "does not hold|never came to")
def subscribers_do_not_come_back_after_a_crash(patch: pytest.MonkeyPatch) -> None:
    right = World._restart

    def wrong(self: World, name: str) -> None:
        clients, self.clients = self.clients, {}
        right(self, name)
        self.clients = clients

    patch.setattr(World, "_restart", wrong)


@mutation(Faults.BREAKS, "never came to")
def nothing_is_told_to_a_neighbour_that_is_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Routing, "greet", lambda _self, _neighbour: [])


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    faults, complaint, patch = MUTATIONS[name]
    patch(monkeypatch)
    with pytest.raises(Violation, match=rf"^seed \d+, .*({complaint})"):
        for seed in range(20):
            play(seed, faults)


def test_what_is_lost_just_before_a_subscriber_leaves_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> None:
        world = World(1, local_experiment(), audit=Audit())
        world.add_publisher("p", "B0", "[a,=,'x']", [Publication("x", attributes={"a": "x"})], 2)
        world.add_subscriber("s1", "B1", "[a,=,'x']")
        world.run(30)
        world.remove_subscriber("s1")

    run()
    right = World._deliver

    def wrong(self: World, broker: str, subscribers: int, packet: Any) -> None:
        if self.clock.now < 28:
            right(self, broker, subscribers, packet)

    monkeypatch.setattr(World, "_deliver", wrong)
    with pytest.raises(Violation, match=r"^seed 1, 30\.000 s, .*never came to s1, who leaves"):
        run()


def test_a_delivery_from_where_the_subscriber_has_never_been_is_noticed() -> None:
    world = World(1, local_experiment(), audit=Audit())
    world.add_subscriber("s1", "B1", "[a,=,'x']")
    right, wrong = (InFlight(Publication(value, attributes={"a": value}), 0.0, 1) for value in "xy")
    assert world.audit is not None
    bit = world.roster.bit("s1")
    with pytest.raises(Violation, match="where it has never been"):
        world.audit.delivered(world, "B2", bit, bit, right)
    with pytest.raises(Violation, match="who has not asked for it"):
        world.audit.delivered(world, "B1", bit, 0, wrong)
