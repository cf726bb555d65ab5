"""What did a run look like? Figures of every half minute, and a summary ([PADRES] Fig. 12-16)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tidings.balancing.padres import EdgeBalancer, Metrics
from tidings.simulate.estimates import EstimateLog, Outcome
from tidings.simulate.scenario import Scenario
from tidings.simulate.world import World

WINDOW_S = 30.0
LAST_S = 300.0
BEFORE_SESSION_S = 120.0
"""How long before a session is noticed the load may have been measured that its estimates start from."""


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
    announced: int
    coordination: int
    subscriptions: int
    sessions: int

    @property
    def control(self) -> int:
        """All messages that are no publications."""
        return self.pie + self.coordination + self.subscriptions

    @property
    def overhead(self) -> float:
        """Control messages as a share of all messages between brokers and to clients."""
        total = self.control + self.publications + self.deliveries
        return self.control / total if total else 0.0


@dataclass(frozen=True, slots=True)
class Span:
    """Some windows in a row."""

    samples: list[WindowRecord]

    def mean(self, broker: str, metric: str) -> float:
        """The mean load of a broker."""
        return _mean([getattr(sample.metrics[broker], metric) for sample in self.samples])

    def spread(self, metric: str) -> float:
        """The largest difference between the mean loads of two edge brokers."""
        means = [self.mean(broker, metric) for broker in self.samples[-1].metrics]
        return max(means) - min(means)

    @property
    def moves(self) -> int:
        """How many subscribers were told to move."""
        return sum(sample.moves for sample in self.samples)

    @property
    def sessions(self) -> int:
        """How many local sessions began, also those in which nobody moved."""
        return sum(sample.sessions for sample in self.samples)

    @property
    def deliveries(self) -> int:
        return sum(sample.deliveries for sample in self.samples)

    @property
    def delay_s(self) -> float:
        """The mean delay of a delivery."""
        total = sum(sample.delay_s * sample.deliveries for sample in self.samples)
        return total / self.deliveries if self.deliveries else 0.0

    @property
    def overhead(self) -> float:
        """Control messages as a share of all messages."""
        control = sum(sample.control for sample in self.samples)
        total = control + self.deliveries + sum(sample.publications for sample in self.samples)
        return control / total if total else 0.0

    def rate(self, kind: str) -> float:
        """Messages of one kind a second: pie, announced, coordination or subscriptions."""
        return float(sum(getattr(sample, kind) for sample in self.samples)) / (WINDOW_S * len(self.samples))


@dataclass(slots=True)
class Recording:
    """The samples of one run."""

    scenario: Scenario
    samples: list[WindowRecord] = field(default_factory=list)
    estimates: EstimateLog = field(default_factory=EstimateLog)
    events: int = 0
    """Entries of the clock's heap that happened. One of them hands a publication to all its subscribers at a broker."""
    moved: int = 0

    def between(self, start_s: float, end_s: float) -> Span:
        """The windows that lie in a stretch of time."""
        return Span([sample for sample in self.samples if start_s < sample.at_s <= end_s])

    @property
    def last(self) -> Span:
        """The last five minutes."""
        end = self.samples[-1].at_s
        return self.between(end - LAST_S, end)

    def foreseeable_outcomes(self) -> list[Outcome]:
        """Those of sessions after all have joined, without the rise of the rates between: nobody can foresee that."""
        joined_s, rise_s = self.scenario.subscribers.join_within_s, self.scenario.publishers.increase_at_s
        return [
            outcome
            for outcome in self.estimates.outcomes
            if (since := outcome.begun_s - BEFORE_SESSION_S) > joined_s and not since < rise_s <= outcome.at_s
        ]

    def last_move_s(self) -> float:
        """When a subscriber was told to move for the last time."""
        return max((sample.at_s for sample in self.samples if sample.moves), default=0.0)

    def summary(self) -> dict[str, float | int]:
        whole, last = Span(self.samples), self.last
        return {
            "simulated_s": self.samples[-1].at_s,
            "events": self.events,
            "deliveries": whole.deliveries,
            "mean_delay_s": whole.delay_s,
            "subscriber_moves": whole.moves,
            "last_move_s": self.last_move_s(),
            "input_ratio_spread": last.spread("input_ratio"),
            "matching_delay_spread_s": last.spread("matching_delay_s"),
            "output_ratio_spread": last.spread("output_ratio"),
            "final_overhead": last.overhead,
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
        recording.estimates.look(world)
        if progress is not None:
            progress(at)
        at += WINDOW_S
    recording.events = world.clock.events
    recording.moved = sum(balancer.moved for balancer in _edge_balancers(world))
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
    kinds = ("publications", "pie", "announced", "coordination", "subscriptions", "sessions")
    return {kind: sum(getattr(broker.counts, kind) for broker in world.brokers.values()) for kind in kinds}


def _edge_balancers(world: World) -> list[EdgeBalancer]:
    return [each.balancer for each in world.brokers.values() if isinstance(each.balancer, EdgeBalancer)]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
