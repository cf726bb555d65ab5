"""What users of other brokers reported of their load balancers: each defect as a scenario that must not come true here.

Each subscriber gets a publication every two seconds, so load is a matter of numbers: 100 of them fill a broker.
"""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.examples import thorough_but
from tidings.balancing.padres import Parameters
from tidings.model import Publication
from tidings.simulate.machines import Machine
from tidings.simulate.topology import HEAD, BrokerCluster, Topology
from tidings.simulate.world import Algorithm, Rules, World

PARAMETERS = Parameters()
RATE = 0.5
FULL = 100
SYMBOLS = [f"S{number}" for number in range(10)]


BALANCED_OR_NOT: list[Any] = ["proposed", pytest.param("none", marks=pytest.mark.xfail(strict=True))]
"""Each scenario has to fail where nobody balances."""


def world_of(seed: int, sizes: list[int], algorithm: Algorithm = "proposed") -> World:
    """As many edge brokers as sizes, all alike, with so many subscribers each."""
    names = [f"B{number}" for number in range(1, len(sizes) + 1)]
    edge = Machine(cpu_mhz=1000, memory_mb=100, bandwidth_mbps=RATE * FULL * 250 * 8 / 1e6)
    topology = Topology({"B0": HEAD} | dict.fromkeys(names, edge), (BrokerCluster("C", "B0", tuple(names)),))
    world = World(seed, topology, Rules(PARAMETERS, algorithm))
    for symbol in SYMBOLS:
        quote = Publication(symbol, attributes={"class": "STOCK", "symbol": symbol})
        world.add_publisher(symbol, "B0", f"[symbol,=,'{symbol}']", [quote], RATE)
    for name, size in zip(names, sizes, strict=True):
        for number in range(size):
            add(world, f"{name}-{number}", name, number)
    return world


def add(world: World, subscriber: str, broker: str, number: int) -> None:
    symbol = SYMBOLS[number % len(SYMBOLS)]
    world.add_subscriber(subscriber, broker, f"[symbol,=,'{symbol}']")


def counts(world: World) -> list[int]:
    return [len(world.brokers[name].subscribers) for name in world.topology.edges]


def outputs(world: World, seconds: float) -> list[float]:
    """The mean output ratio of each edge broker from now on."""
    sums = dict.fromkeys(world.topology.edges, 0.0)
    rounds = round(seconds / PARAMETERS.local_pie_publishing_period_s)
    for _ in range(rounds):
        world.run(world.clock.now + PARAMETERS.local_pie_publishing_period_s)
        for name in sums:
            sums[name] += world.brokers[name].metrics.output_ratio / rounds
    return list(sums.values())


def is_at_rest(world: World) -> bool:
    """Whether nobody moves for ten stabilize periods."""
    world.recent.moves = 0
    world.run(world.clock.now + 10 * PARAMETERS.stabilize_duration_s)
    return world.recent.moves == 0


def test_a_world_that_is_still_balancing_is_not_at_rest() -> None:
    assert not is_at_rest(world_of(1, [90, 0, 0]))


def moves_and_returns(homes: Iterable[list[str]]) -> tuple[int, int]:
    """How many moves there were, and how many of them led to where the subscriber had been before."""
    known = [(len(each), len(set(each))) for each in homes]
    return sum(count - 1 for count, _ in known), sum(count - different for count, different in known)


def test_a_subscriber_that_comes_back_is_noticed() -> None:
    assert moves_and_returns([["B1"], ["B1", "B2"], ["B1", "B2", "B1"]]) == (3, 1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_hardly_anybody_comes_back_to_a_broker_that_gave_it_away(seed: int) -> None:
    """A unit that is unloaded from an overloaded broker and assigned to the same broker again.

    Those of one symbol, nine or ten, may come back later: the broker that was overloaded is then as light as the third,
    and either may be the one that the second asks.
    """
    world = world_of(seed, [90, 0, 0])
    homes = {name: [client.migrant.home] for name, client in world.clients.items()}
    for _ in range(200):
        world.run(world.clock.now + 10)
        for name, client in world.clients.items():
            if client.migrant.home != homes[name][-1]:
                homes[name].append(client.migrant.home)
    assert max(counts(world)) <= 45
    moves, returns = moves_and_returns(homes.values())
    assert moves >= 50
    assert returns <= 10


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", BALANCED_OR_NOT)
def test_one_idle_broker_beside_ten_at_80_percent_gets_its_share(algorithm: Algorithm) -> None:
    """All are near the mean but one, so a threshold above the mean never triggers."""
    world = world_of(1, [80] * 10 + [0], algorithm)
    world.run(1500)
    found = outputs(world, 300)
    assert found[-1] > 0.6
    assert max(found) - min(found) < 0.15


@pytest.mark.parametrize("algorithm", BALANCED_OR_NOT)
def test_a_rolling_restart_leaves_no_broker_empty(algorithm: Algorithm) -> None:
    """24, 24 and 24 became 45, 27 and 0: whoever lost its broker went to another one and stayed there."""
    world = world_of(1, [24, 24, 24], algorithm)
    world.run(200)
    others = {"B1": ["B2", "B3"], "B2": ["B1", "B3"], "B3": ["B1", "B2"]}
    for broker, rest in others.items():
        for number, name in enumerate([n for n, c in world.clients.items() if c.migrant.home == broker]):
            world.remove_subscriber(name)
            add(world, f"{name}+", rest[number % 2], number)
        world.crash(broker, down_s=20)
        world.run(world.clock.now + 30)
    assert counts(world)[-1] == 0
    world.run(world.clock.now + 1500)
    assert sum(counts(world)) == 72
    found = outputs(world, 300)
    assert max(found) - min(found) <= PARAMETERS.local_ratio_triggering_threshold


@pytest.mark.parametrize("start", thorough_but([[80, 80, 80, 80], [240, 0, 0, 0], [0, 120, 0, 120]], [240, 0, 0, 0]))
def test_nobody_is_swapped_back_and_forth(start: list[int]) -> None:
    """Each broker finds the others lighter in turn, and load goes round for ever."""
    world = world_of(1, start)
    world.run(2000)
    assert is_at_rest(world)
    found = outputs(world, 300)
    assert max(found) - min(found) <= PARAMETERS.local_ratio_triggering_threshold
