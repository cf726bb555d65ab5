"""Which runs make up the evaluation of [PADRES] 6, and what is told of each?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from statistics import pstdev
from time import process_time
from typing import Any

from benchmarks.result import Result
from tidings.balancing.padres import Metric
from tidings.simulate.chaos import faults_of
from tidings.simulate.record import Recording, Span, record
from tidings.simulate.scenario import Scenario, read_scenario
from tidings.simulate.topology import Topology, equal_brokers

SCENARIOS = Path(__file__).parents[2] / "docs" / "scenarios"


class PadresFigure(StrEnum):
    """local: Fig. 12, 14, 15, 16, 18. random: Fig. 13, 15d. churn: Fig. 12g, h. edges: Fig. 17. clusters: Fig. 20.
    global: Fig. 19."""

    local = "local"
    random = "random"
    churn = "churn"
    edges = "edges"
    clusters = "clusters"
    global_ = "global"


@dataclass(frozen=True, slots=True)
class Run:
    """One row of a figure."""

    name: str
    scenario: Scenario


@dataclass(frozen=True, slots=True)
class Played:
    """A run that is over, and how many seconds of CPU it took. All of it is done by one thread."""

    run: Run
    recording: Recording
    cpu_s: float


def runs(figure: PadresFigure, quotes: Path | None, seed: int) -> list[Run]:
    """The runs of a figure."""
    found = list(_RUNS[figure]())
    file = str(quotes) if quotes else ""
    return [
        Run(each.name, replace(each.scenario, seed=seed, publishers=replace(each.scenario.publishers, quotes=file)))
        for each in found
    ]


def play(run: Run, progress: Callable[[float], None] | None = None) -> Played:
    begun = process_time()
    recording = record(run.scenario, progress)
    return Played(run, recording, process_time() - begun)


def row(played: Played) -> dict[str, Any]:
    """What is told of a run: at rest before the rates rise, at rest in the end, and over all."""
    recording, scenario = played.recording, played.run.scenario
    end = recording.samples[-1].at_s
    rise = scenario.publishers.increase_at_s or end
    before, after = recording.between(rise - 600, rise), recording.between(end - 600, end)
    whole, outcomes = recording.between(0, end), recording.foreseeable_outcomes()
    errors = {metric: [outcome.error(metric) for outcome in outcomes] for metric in Metric}
    return {
        "run": played.run.name,
        "input_spread_before": round(before.spread("input_ratio"), 3),
        "output_spread_before": round(before.spread("output_ratio"), 3),
        "delay_spread_before_ms": round(1000 * before.spread("matching_delay_s"), 2),
        "sessions_at_rest_before": before.sessions,
        "input_spread": round(after.spread("input_ratio"), 3),
        "output_spread": round(after.spread("output_ratio"), 3),
        "delay_spread_ms": round(1000 * after.spread("matching_delay_s"), 2),
        "sessions_at_rest": after.sessions,
        "neighbours_input_before": round(neighbours(before, scenario.topology, Metric.INPUT), 3),
        "neighbours_output_before": round(neighbours(before, scenario.topology, Metric.OUTPUT), 3),
        "neighbours_input": round(neighbours(after, scenario.topology, Metric.INPUT), 3),
        "neighbours_output": round(neighbours(after, scenario.topology, Metric.OUTPUT), 3),
        "sessions": whole.sessions,
        "moves": whole.moves,
        "moves_after_rise": recording.between(rise, end).moves,
        "last_move_s": recording.last_move_s(),
        "mean_output": round(_mean([after.mean(name, "output_ratio") for name in scenario.topology.edges]), 3),
        "worst_output": round(max(after.mean(name, "output_ratio") for name in scenario.topology.edges), 3),
        "delay_ms": round(1000 * whole.delay_s, 2),
        "delay_at_rest_ms": round(1000 * after.delay_s, 2),
        "overhead_percent": round(100 * whole.overhead, 3),
        "overhead_at_rest_percent": round(100 * after.overhead, 3),
        "pie_per_s": round(whole.rate("pie"), 3),
        "pie_at_rest_per_s": round(_mean([before.rate("pie"), after.rate("pie")]), 4),
        "announced_at_rest_per_s": round(_mean([before.rate("announced"), after.rate("announced")]), 4),
        "estimates": len(errors[Metric.INPUT]),
        "input_error_percent": round(100 * _mean(errors[Metric.INPUT]), 1),
        "output_error_percent": round(100 * _mean(errors[Metric.OUTPUT]), 1),
        "delay_error_percent": round(100 * _mean(errors[Metric.MATCH]), 1),
        "simulated_s": end,
        "steps": recording.events,
        "deliveries": whole.deliveries,
        "cpu_s": round(played.cpu_s, 1),
    }


def neighbours(rest: Span, topology: Topology, metric: Metric) -> float:
    """The largest difference between the mean loads of two neighbouring clusters: what heads compare."""
    means = [
        _mean([sample.metrics[edge].of(metric) for sample in rest.samples for edge in cluster.edges])
        for cluster in topology.clusters
    ]
    return max((abs(one - other) for one, other in pairwise(means)), default=0.0)


REPEATED = (
    "input_spread_before",
    "output_spread_before",
    "input_spread",
    "output_spread",
    "sessions_at_rest_before",
    "sessions_at_rest",
    "moves",
    "worst_output",
    "delay_ms",
    "pie_at_rest_per_s",
    "announced_at_rest_per_s",
    "overhead_at_rest_percent",
    "input_error_percent",
    "output_error_percent",
)
"""What is told of runs that differ in their seeds only."""


def repeated(played: list[Played]) -> list[dict[str, Any]]:
    """For each name of a run, the mean and the standard deviation over its seeds.

    ``messages_each``: PIE messages at rest for each time that a broker told its load. Each seed counts alike.
    """
    found = []
    for name in dict.fromkeys(each.run.name for each in played):
        same = [each for each in played if each.run.name == name]
        rows = [row(each) for each in same]
        told: dict[str, Any] = {"run": name, "seeds": len(rows), "estimates": sum(each["estimates"] for each in rows)}
        for key in REPEATED:
            values = [float(each[key]) for each in rows]
            told[key], told[f"{key}_deviation"] = round(_mean(values), 4), round(pstdev(values), 4)
        messages, announced = told["pie_at_rest_per_s"], told["announced_at_rest_per_s"]
        told["messages_each"] = round(messages / announced, 2) if announced else 0.0
        found.append(told)
    return found


def seeds_result(seeds: range, broken: int, cpu_s: float) -> Result:
    """What came of small worlds with these seeds."""
    figures = {
        "worlds": len(seeds),
        "first_seed": seeds.start,
        "broken": broken,
        "cpu_s": round(cpu_s, 1),
        "ms_each": round(1000 * cpu_s / len(seeds), 1),
    }
    kinds = Counter(str(faults_of(seed)) for seed in seeds)
    return Result("padres seeds", "small random worlds", figures | {f"with_{kind}": n for kind, n in kinds.items()})


def _local() -> Iterator[Run]:
    local = read_scenario(SCENARIOS / "local.toml")
    yield Run("proposed", local)
    yield Run("plain PIE", replace(local, rules=replace(local.rules, adaptive_pie=False)))


def _random() -> Iterator[Run]:
    """The proposed algorithms with the machines of the simulation are in the figure local."""
    yield Run("local, random", read_scenario(SCENARIOS / "local-random.toml"))
    yield Run("testbed, proposed", read_scenario(SCENARIOS / "testbed.toml"))
    yield Run("testbed, random", read_scenario(SCENARIOS / "testbed-random.toml"))


def _churn() -> Iterator[Run]:
    grouped = read_scenario(SCENARIOS / "local-churn.toml")
    single = replace(grouped, subscribers=replace(grouped.subscribers, grouped=False))
    for name, scenario in (("grouped", grouped), ("individual", single)):
        yield Run(name, scenario)
        yield Run(f"{name}, plain PIE", replace(scenario, rules=replace(scenario.rules, adaptive_pie=False)))


def _edges() -> Iterator[Run]:
    for edges in (2, 3, 4, 6, 8):
        yield Run(str(edges), _alike(1, edges))


def _clusters() -> Iterator[Run]:
    for clusters in (1, 2, 3, 4, 5, 6):
        yield Run(str(clusters), _alike(clusters, 2))


def _alike(clusters: int, edges: int) -> Scenario:
    local = read_scenario(SCENARIOS / "local.toml")
    return replace(
        local,
        topology=equal_brokers(clusters, edges),
        publishers=replace(local.publishers, broker="B10", increase_at_s=0.0),
        subscribers=replace(local.subscribers, broker="B11"),
    )


def _global() -> Iterator[Run]:
    yield Run("proposed", read_scenario(SCENARIOS / "global.toml"))


_RUNS: dict[PadresFigure, Callable[[], Iterator[Run]]] = {
    PadresFigure.local: _local,
    PadresFigure.random: _random,
    PadresFigure.churn: _churn,
    PadresFigure.edges: _edges,
    PadresFigure.clusters: _clusters,
    PadresFigure.global_: _global,
}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
