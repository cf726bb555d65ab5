"""How good are the estimates of the load balancer? What sessions were expected to bring, and what they brought."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tidings.balancing.padres import EdgeBalancer, Expectation, Metric, Metrics, Status
from tidings.balancing.padres.metrics import mean
from tidings.simulate.world import World

MOST_WINDOWS = 4
"""So many windows are measured at most: two minutes, in which publishers go through their 60 days once."""
_STABLE = (Status.OK, Status.NOT_AVAILABLE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The load of one broker after a session: as estimated before, and as measured when it was stable again."""

    begun_s: float
    """When the session was noticed, half a minute after it began at most."""
    at_s: float
    """Until when the load was measured."""
    broker: str
    estimated: Metrics
    measured: Metrics

    def error(self, metric: Metric) -> float:
        """How far the estimate is off, as a share of what was measured."""
        measured = self.measured.of(metric)
        return abs(self.estimated.of(metric) - measured) / measured if measured else 0.0


@dataclass(slots=True)
class _Session:
    """A session whose outcome is not known yet, and the loads of both brokers since they are stable."""

    begun_s: float
    expected: dict[str, Metrics]
    measured: list[dict[str, Metrics]] = field(default_factory=list)
    at_s: float = 0.0

    def outcomes(self) -> Iterator[Outcome]:
        if self.measured:
            for name, estimated in self.expected.items():
                yield Outcome(self.begun_s, self.at_s, name, estimated, mean([each[name] for each in self.measured]))


@dataclass(slots=True)
class EstimateLog:
    """Is asked to look regularly. A session counts if both brokers get stable before either begins another one.

    What is measured is the mean of up to four windows, as many as there are before that other session: the load of a
    single one goes up and down by some percent, whoever has moved.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    _known: dict[str, Expectation] = field(default_factory=dict)
    _open: list[_Session] = field(default_factory=list)

    def look(self, world: World) -> None:
        balancers = {
            name: balancer
            for name in world.topology.edges
            if isinstance(balancer := world.brokers[name].balancer, EdgeBalancer)
        }
        for name, balancer in balancers.items():
            new = balancer.expectation
            if new is not None and new is not self._known.get(name):
                self._known[name] = new
                self._close([each for each in self._open if {name, new.broker} & each.expected.keys()])
                self._open.append(_Session(world.clock.now, {name: new.giver, new.broker: new.taker}))
        for session in self._open:
            if session.measured or all(balancers[name].status in _STABLE for name in session.expected):
                session.measured.append({name: world.brokers[name].metrics for name in session.expected})
                session.at_s = world.clock.now
        self._close([each for each in self._open if len(each.measured) == MOST_WINDOWS])

    def _close(self, sessions: list[_Session]) -> None:
        for session in sessions:
            self.outcomes += session.outcomes()
            self._open.remove(session)
