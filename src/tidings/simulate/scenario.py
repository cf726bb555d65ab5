"""What shall be simulated? A file in TOML: brokers, clients, what changes, what breaks."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tidings.balancing.padres import Parameters
from tidings.model import DataError
from tidings.simulate.links import Weather
from tidings.simulate.machines import Machine
from tidings.simulate.topology import (
    BrokerCluster,
    Topology,
    cluster_testbed,
    global_experiment,
    local_experiment,
)
from tidings.simulate.workload import Quotes, add_publishers
from tidings.simulate.world import Rules, World

TOPOLOGIES = {"local": local_experiment, "global": global_experiment, "testbed": cluster_testbed}


@dataclass(frozen=True, slots=True)
class PublisherPlan:
    """``increase_share`` of them publish ``increase_by`` times more from ``increase_at_s`` on.

    ``quotes``: a Parquet file of daily quotes; without, they are made up.
    """

    count: int = 40
    broker: str = "B0"
    rate_per_min: float = 30.0
    increase_at_s: float = 0.0
    increase_share: float = 0.5
    increase_by: float = 1.0
    quotes: str = ""


@dataclass(frozen=True, slots=True)
class SubscriberPlan:
    """All join at one broker at random times of the first seconds; a share of them gets nothing.

    With ``churn_per_min``, so many more join every minute and leave after ``stay_s``, at a random edge broker each,
    or all of one minute at the same one if ``grouped``.
    """

    count: int = 2000
    broker: str = "B1"
    join_within_s: float = 1010.0
    without_traffic: float = 0.25
    churn_per_min: int = 0
    stay_s: tuple[float, float] = (420.0, 840.0)
    grouped: bool = False


@dataclass(frozen=True, slots=True)
class Crash:
    """A broker is down for a while."""

    broker: str
    at_s: float
    down_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Partition:
    """The link between two brokers is down for a while."""

    between: tuple[str, str]
    at_s: float
    down_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that a run depends on."""

    topology: Topology
    name: str = "scenario"
    seed: int = 1
    duration_s: float = 3600.0
    rules: Rules = field(default_factory=Rules)
    publishers: PublisherPlan = field(default_factory=PublisherPlan)
    subscribers: SubscriberPlan = field(default_factory=SubscriberPlan)
    crashes: tuple[Crash, ...] = ()
    partitions: tuple[Partition, ...] = ()

    def world(self) -> World:
        """A world in which all of it will happen."""
        world = World(self.seed, self.topology, self.rules)
        path = Path(self.publishers.quotes) if self.publishers.quotes else None
        quotes = Quotes(self.publishers.count, self.seed, path)
        add_publishers(world, quotes, self.publishers.broker, self.publishers.rate_per_min)
        self._let_join(world, quotes)
        if self.publishers.increase_at_s:
            world.clock.at(self.publishers.increase_at_s, self._increase, world)
        for crash in self.crashes:
            world.clock.at(crash.at_s, world.crash, crash.broker, crash.down_s)
        for partition in self.partitions:
            world.clock.at(partition.at_s, world.partition, *partition.between, partition.down_s)
        return world

    def _let_join(self, world: World, quotes: Quotes) -> None:
        asked, random = self.subscribers, world.random("subscribers")
        churning = round(self.duration_s / 60) * asked.churn_per_min
        queries = quotes.subscriptions(asked.count + churning, asked.without_traffic)
        for number, query in enumerate(queries[: asked.count]):
            at = random.uniform(0, asked.join_within_s)
            world.clock.at(at, world.add_subscriber, f"s{number}", asked.broker, query)
        edges = self.topology.edges
        for number, query in enumerate(queries[asked.count :]):
            minute = number // asked.churn_per_min
            together = world.random(f"minute {minute}").choice(edges)
            broker = together if asked.grouped else random.choice(edges)
            name, at = f"c{number}", 60 * minute + random.uniform(0, 60)
            world.clock.at(at, world.add_subscriber, name, broker, query)
            world.clock.at(at + random.uniform(*asked.stay_s), world.remove_subscriber, name)

    def _increase(self, world: World) -> None:
        names = sorted(world.publishers)
        for name in world.random("increase").sample(names, round(len(names) * self.publishers.increase_share)):
            world.publishers[name].rate *= 1 + self.publishers.increase_by


def read_scenario(path: Path) -> Scenario:
    """The scenario in a file; what it does not say has the paper's value."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"there is no scenario {str(path)!r}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: this is no TOML: {error}") from None
    try:
        return scenario_of(given)
    except (DataError, TypeError, ValueError) as error:
        raise DataError(f"{path}: {error}") from None


def scenario_of(given: Mapping[str, Any]) -> Scenario:
    """A scenario from the tables of a TOML file."""
    _check_names("the file", given, {*_TOP, "topology", "cluster", "parameters", "links", "algorithm", "adaptive_pie"})
    rules = Rules(
        _filled("parameters", Parameters, given.get("parameters", {})),
        given.get("algorithm", "proposed"),
        bool(given.get("adaptive_pie", True)),
        _filled("links", Weather, given.get("links", {})),
    )
    topology = _topology(given)
    scenario = Scenario(
        topology,
        str(given.get("name", "scenario")),
        int(given.get("seed", 1)),
        float(given.get("duration_s", 3600.0)),
        rules,
        _filled("publishers", PublisherPlan, given.get("publishers", {})),
        _filled("subscribers", SubscriberPlan, given.get("subscribers", {})),
        tuple(_filled("crash", Crash, each) for each in given.get("crash", ())),
        tuple(_filled("partition", Partition, each) for each in given.get("partition", ())),
    )
    _check_brokers(scenario)
    return scenario


_TOP = {"name", "seed", "duration_s", "publishers", "subscribers", "crash", "partition"}


def _filled(where: str, kind: Any, given: Mapping[str, Any]) -> Any:
    known = {each.name for each in fields(kind)}
    _check_names(where, given, known)
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})


def _check_names(where: str, given: Mapping[str, Any], known: set[str]) -> None:
    if unknown := sorted(given.keys() - known):
        raise DataError(f"{where} has no {unknown[0]!r}; there are: {', '.join(sorted(known))}")


def _topology(given: Mapping[str, Any]) -> Topology:
    if "cluster" not in given:
        name = given.get("topology", "local")
        if name not in TOPOLOGIES:
            raise DataError(f"the topology is one of {', '.join(TOPOLOGIES)}, or clusters are given; got {name!r}")
        return TOPOLOGIES[name]()
    machines: dict[str, Machine] = {}
    clusters = []
    for cluster in given["cluster"]:
        _check_names("a cluster", cluster, {"name", "head", "edges"})
        for broker in (cluster["head"], *cluster["edges"]):
            rest = {key: value for key, value in broker.items() if key != "name"}
            machines[broker["name"]] = _filled("a broker", Machine, rest)
        edges = tuple(edge["name"] for edge in cluster["edges"])
        clusters.append(BrokerCluster(cluster["name"], cluster["head"]["name"], edges))
    return Topology(machines, tuple(clusters))


def _check_brokers(scenario: Scenario) -> None:
    """Publishers are at heads, subscribers at edges; what breaks exists."""
    topology = scenario.topology
    if scenario.publishers.broker not in topology.heads:
        raise DataError(f"publishers connect to a head, got {scenario.publishers.broker!r}")
    if scenario.subscribers.broker not in topology.edges:
        raise DataError(f"subscribers connect to an edge broker, got {scenario.subscribers.broker!r}")
    for crash in scenario.crashes:
        if crash.broker not in topology.machines:
            raise DataError(f"there is no broker {crash.broker!r} to crash")
    for partition in scenario.partitions:
        if partition.between not in topology.links and partition.between[::-1] not in topology.links:
            raise DataError(f"there is no link between {' and '.join(partition.between)}")
