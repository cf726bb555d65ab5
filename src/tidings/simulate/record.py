"""What did a run look like? Figures of every half minute, and a summary ([PADRES] Fig. 12-16)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tidings.balancing.padres import EdgeBalancer, Metrics
from tidings.simulate.scenario import Scenario
from tidings.simulate.world import World

WINDOW_S = 30.0


@dataclass(frozen=True, slots=True)
class WindowRecord:
    """The state at one time; counts are those of the window before."""

    at_s: float
    metrics: dict[str, Metrics]
    subscribers: dict[str, int]
    delay_s: float
    deliveries: int
    moves: int
    publications: int
    pie: int
    coordination: int
    subscriptions: int

    @property
    def overhead(self) -> float:
        """Control messages as a share of all messages between brokers and to clients."""
        control = self.pie + self.coordination + self.subscriptions
        total = control + self.publications + self.deliveries
        return control / total if total else 0.0


@dataclass(slots=True)
class Recording:
    """The samples of one run."""

    scenario: Scenario
    samples: list[WindowRecord] = field(default_factory=list)
    events: int = 0
    moved: int = 0

    def spread(self, metric: str) -> float:
        """The largest difference between two edge brokers at the end."""
        values = [getattr(metrics, metric) for metrics in self.samples[-1].metrics.values()]
        return float(max(values) - min(values))

    def last_move_s(self) -> float:
        """When a subscriber was told to move for the last time."""
        return max((sample.at_s for sample in self.samples if sample.moves), default=0.0)

    def summary(self) -> dict[str, float | int]:
        last = self.samples[-1]
        return {
            "simulated_s": last.at_s,
            "events": self.events,
            "deliveries": sum(sample.deliveries for sample in self.samples),
            "mean_delay_s": _mean([sample.delay_s for sample in self.samples if sample.deliveries]),
            "subscriber_moves": sum(sample.moves for sample in self.samples),
            "last_move_s": self.last_move_s(),
            "input_ratio_spread": self.spread("input_ratio"),
            "matching_delay_spread_s": self.spread("matching_delay_s"),
            "output_ratio_spread": self.spread("output_ratio"),
            "final_overhead": _mean([sample.overhead for sample in self.samples[-10:]]),
            "pie_messages": sum(sample.pie for sample in self.samples),
        }


def record(scenario: Scenario, progress: Callable[[float], None] | None = None) -> Recording:
    """Run a scenario; ``progress`` hears how many simulated seconds are over."""
    world = scenario.world()
    recording = Recording(scenario)
    before = _counts(world)
    at = WINDOW_S
    while at <= scenario.duration_s:
        world.run(at)
        now = _counts(world)
        recording.samples.append(_sample(world, at, {name: now[name] - before[name] for name in now}))
        before = now
        if progress is not None:
            progress(at)
        at += WINDOW_S
    recording.events = world.clock.events
    balancers = [broker.balancer for broker in world.brokers.values()]
    recording.moved = sum(each.moved for each in balancers if isinstance(each, EdgeBalancer))
    return recording


def _sample(world: World, at: float, counted: dict[str, int]) -> WindowRecord:
    recent = world.recent
    delay = recent.total_s / recent.deliveries if recent.deliveries else 0.0
    edges = world.topology.edges
    sample = WindowRecord(
        at,
        {name: world.brokers[name].metrics for name in edges},
        {name: len(world.brokers[name].subscribers) for name in edges},
        delay,
        recent.deliveries,
        recent.moves,
        **counted,
    )
    world.recent = type(recent)()
    return sample


def _counts(world: World) -> dict[str, int]:
    kinds = ("publications", "pie", "coordination", "subscriptions")
    return {kind: sum(getattr(broker.counts, kind) for broker in world.brokers.values()) for kind in kinds}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
