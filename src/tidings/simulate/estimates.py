"""How good are the estimates of the load balancer? What sessions were expected to bring, and what they brought."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidings.balancing.padres import EdgeBalancer, Expectation, Metric, Metrics, Status
from tidings.simulate.world import World


@dataclass(frozen=True, slots=True)
class Outcome:
    """The load of one broker after a session: as estimated before, and as measured when it was stable again."""

    begun_s: float
    """When the session was noticed, half a minute after it began at most."""
    at_s: float
    """When the load was measured."""
    broker: str
    estimated: Metrics
    measured: Metrics

    def error(self, metric: Metric) -> float:
        """How far the estimate is off, as a share of what was measured."""
        measured = self.measured.of(metric)
        return abs(self.estimated.of(metric) - measured) / measured if measured else 0.0


@dataclass(slots=True)
class EstimateLog:
    """Is asked to look regularly. A session counts if both brokers get stable before either begins another one."""

    outcomes: list[Outcome] = field(default_factory=list)
    _known: dict[str, Expectation] = field(default_factory=dict)
    _pending: list[tuple[str, Expectation, float]] = field(default_factory=list)

    def look(self, world: World) -> None:
        balancers = {
            name: balancer
            for name in world.topology.edges
            if isinstance(balancer := world.brokers[name].balancer, EdgeBalancer)
        }
        for name, balancer in balancers.items():
            if balancer.expectation is not None and balancer.expectation is not self._known.get(name):
                self._known[name] = balancer.expectation
                self._drop(name, balancer.expectation.broker)
                self._pending.append((name, balancer.expectation, world.clock.now))
        for name, estimate, begun in list(self._pending):
            pair = {name: estimate.giver, estimate.broker: estimate.taker}
            if all(balancers[each].status in (Status.OK, Status.NOT_AVAILABLE) for each in pair):
                self._pending.remove((name, estimate, begun))
                for each, expected in pair.items():
                    self.outcomes.append(Outcome(begun, world.clock.now, each, expected, world.brokers[each].metrics))

    def _drop(self, *brokers: str) -> None:
        self._pending = [pending for pending in self._pending if not {pending[0], pending[1].broker} & set(brokers)]
