"""Does any small random world break a promise? Worlds from a seed, with faults, until all is quiet again."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from math import inf
from random import Random

from tidings.balancing.padres import Parameters
from tidings.model import Publication
from tidings.simulate.audit import Audit, Violation
from tidings.simulate.links import Weather
from tidings.simulate.machines import Machine
from tidings.simulate.topology import BrokerCluster, Topology
from tidings.simulate.world import Rules, World

QUICK = Parameters(
    local_pie_publishing_period_s=3,
    global_pie_publishing_period_s=6,
    stabilize_duration_s=3,
    local_detection_minimum_interval_s=2,
    local_detection_maximum_interval_s=4,
    global_detection_minimum_interval_s=5,
    global_detection_maximum_interval_s=7,
    press_samples=5,
    press_timeout_s=3,
)
"""Everything ten times as fast as in the paper, so that a minute has several sessions."""

SYMBOLS = ("A", "B", "C")
LIFE_S = 45.0
STEP_S = 5.0
LONGEST_S = 1500.0
"""By then every timeout of the protocol is over, and a world that is not quiet yet never will be."""


class Faults(StrEnum):
    """What may go wrong in a world; each kind includes those before it."""

    NONE = "none"
    DELAYS = "delays"
    """Messages between brokers are late or come twice. Still all is delivered exactly once."""
    BREAKS = "breaks"
    """Brokers crash and are started again, links break. What is published when that is over comes exactly once."""
    DROPS = "drops"
    """Single messages get lost, also those of the balancers. Nothing comes twice or wrongly."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A world that broke a promise; its seed brings it again."""

    seed: int
    faults: Faults
    problem: str


def faults_of(seed: int) -> Faults:
    """The kinds take turns."""
    return list(Faults)[seed % len(Faults)]


def search(seeds: Iterable[int], progress: Callable[[int], None] | None = None) -> Iterator[Failure]:
    """Play the worlds of some seeds and give those that break a promise; ``progress`` hears of each that is over."""
    for seed in seeds:
        failure = _failure_of(seed)
        if failure is not None:
            yield failure
        if progress is not None:
            progress(1)


def _failure_of(seed: int) -> Failure | None:
    with _without_collecting():
        try:
            play(seed)
        except Violation as violation:
            return Failure(seed, faults_of(seed), str(violation))
    return None


@contextmanager
def _without_collecting() -> Iterator[None]:
    """A world lives for a moment: looking for cycles in it, while it runs, took a fifth of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def play(seed: int, faults: Faults | None = None, weather: Weather | None = None) -> World:
    """Some life; then a silence until everything is quiet; then a roll call of all publications, checked."""
    random = Random(seed)
    kind = faults_of(seed) if faults is None else faults
    world = small_world(seed, random, kind, weather)
    assert world.audit is not None
    world.run(LIFE_S)
    world.is_publishing = False
    _settle(world)
    if kind is Faults.BREAKS:
        world.audit.owed_from_s = world.clock.now
    world.publish_all()
    _settle(world)
    world.audit.check_end(world)
    return world


def small_world(seed: int, random: Random, faults: Faults, weather: Weather | None = None) -> World:
    """One or two clusters, three publishers, up to 25 subscribers that come, go and are moved."""
    places = _topology(random)
    conditions = weather or _weather(random, faults)
    rules = Rules(QUICK, random.choice(["proposed", "proposed", "random"]), random.random() < 0.5, conditions)
    owed_from_s = 0.0 if faults in (Faults.NONE, Faults.DELAYS) else inf
    world = World(seed, places, rules, Audit(owed_from_s, _margin_s(places, conditions)))
    for symbol in SYMBOLS:
        world.add_publisher(
            f"p{symbol}", random.choice(sorted(places.heads)), f"[symbol,=,'{symbol}']", _quotes(symbol), 2
        )
    home = random.choice(places.edges)
    for number in range(random.randint(5, 25)):
        broker = home if random.random() < 0.8 else random.choice(places.edges)
        at, name = random.uniform(0, 15), f"s{number}"
        world.clock.at(at, world.add_subscriber, name, broker, _query(random))
        if random.random() < 0.3:
            world.clock.at(at + random.uniform(5, 30), world.remove_subscriber, name)
    if faults in (Faults.BREAKS, Faults.DROPS):
        _break(world, random)
    return world


def _settle(world: World) -> None:
    """Let time pass until nothing is on its way and nobody is moving."""
    end = world.clock.now + LONGEST_S
    world.run(world.clock.now + STEP_S)
    while not world.is_quiet and world.clock.now < end:
        world.run(world.clock.now + STEP_S)


def _weather(random: Random, faults: Faults) -> Weather:
    latency = random.choice([0.0, 0.001, 0.05])
    if faults is Faults.NONE:
        return Weather(latency)
    drop = random.choice([0.002, 0.02]) if faults is Faults.DROPS else 0.0
    return Weather(latency, delay=random.choice([0.0, 0.1, 0.2]), drop=drop, duplicate=random.choice([0.0, 0.1]))


def _margin_s(places: Topology, weather: Weather) -> float:
    """How long a subscription may take: an advertisement comes over all links, the subscription goes back over them.

    Two seconds are for what is being sent on a slow broker when they come.
    """
    slowest_s = weather.latency_s + (weather.longest_delay_s if weather.delay else 0.0)
    return 2.0 + 2 * len(places.clusters) * slowest_s


def _topology(random: Random) -> Topology:
    machines, clusters = {}, []
    for number in range(1, random.randint(1, 2) + 1):
        names = [f"B{number}{edge}" for edge in range(random.randint(2, 3) + 1)]
        for name in names:
            slow = random.choice([1, 2, 4])
            machines[name] = Machine(cpu_mhz=100 * slow, memory_mb=100, bandwidth_mbps=0.05 * random.choice([1, 2, 4]))
        machines[names[0]] = Machine(2000, 100, 10)
        clusters.append(BrokerCluster(f"C{number}", names[0], tuple(names[1:])))
    return Topology(machines, tuple(clusters))


@cache
def _quotes(symbol: str) -> list[Publication]:
    return [
        Publication(f"{symbol}{volume}", attributes={"class": "STOCK", "symbol": symbol, "volume": volume})
        for volume in range(0, 100, 10)
    ]


def _query(random: Random) -> str:
    symbol = f",[symbol,=,'{random.choice(SYMBOLS)}']" if random.random() < 0.7 else ""
    volume = f",[volume,>,{random.randrange(0, 100, 10)}]" if random.random() < 0.5 else ""
    return f"[class,=,'STOCK']{symbol}{volume}"


def _break(world: World, random: Random) -> None:
    for _ in range(random.randint(1, 3)):
        at, down_s = random.uniform(5, 35), random.uniform(0.5, 10)
        if random.random() < 0.5:
            world.clock.at(at, world.crash, random.choice(sorted(world.topology.machines)), down_s)
        else:
            world.clock.at(at, world.partition, *random.choice(world.topology.links), down_s)
