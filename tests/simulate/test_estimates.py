"""The load that a session was expected to bring is compared with the one that is measured when both are stable."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.balancing.padres.brokers import edge
from tidings.balancing.padres import Expectation, Metric, Metrics
from tidings.balancing.padres.metrics import mean
from tidings.simulate.estimates import MOST_WINDOWS, EstimateLog, Outcome
from tidings.simulate.record import Recording
from tidings.simulate.scenario import scenario_of

LOW, HIGH = Metrics(0.2, 0.01, 0.5), Metrics(0.25, 0.01, 0.4)


@pytest.fixture
def world() -> Any:
    brokers = {
        name: SimpleNamespace(balancer=edge(name, []), metrics=metrics)
        for name, metrics in (("B1", LOW), ("B2", HIGH), ("B3", LOW))
    }
    return SimpleNamespace(
        topology=SimpleNamespace(edges=tuple(brokers)), brokers=brokers, clock=SimpleNamespace(now=60.0)
    )


def end_session(world: Any, *brokers: str) -> None:
    for name in brokers:
        world.brokers[name].balancer._state.end(world.clock.now, moved=False)


def test_both_brokers_of_a_session_are_compared_once_they_are_stable(world: Any) -> None:
    log = EstimateLog()
    giver = world.brokers["B1"].balancer
    giver.expectation = Expectation("B2", HIGH, LOW)
    giver._state.begin()
    log.look(world)
    assert log.outcomes == []
    end_session(world, "B1")
    for _ in range(MOST_WINDOWS + 2):
        world.clock.now += 30.0
        log.look(world)
    end_s = 60.0 + 30.0 * MOST_WINDOWS
    assert log.outcomes == [Outcome(60.0, end_s, "B1", HIGH, LOW), Outcome(60.0, end_s, "B2", LOW, HIGH)]
    assert log.outcomes[0].error(Metric.INPUT) == pytest.approx(0.25)


def test_what_is_measured_is_the_mean_until_one_of_them_begins_another_session(world: Any) -> None:
    log = EstimateLog()
    first, second = world.brokers["B1"].balancer, world.brokers["B3"].balancer
    first.expectation = Expectation("B2", HIGH, LOW)
    log.look(world)
    world.brokers["B1"].metrics = HIGH
    world.clock.now = 90.0
    log.look(world)
    world.brokers["B1"].metrics = Metrics(9.0, 9.0, 9.0)
    world.clock.now = 120.0
    second.expectation = Expectation("B1", HIGH, HIGH)
    log.look(world)
    assert [(each.broker, each.at_s) for each in log.outcomes] == [("B1", 90.0), ("B2", 90.0)]
    assert log.outcomes[0].measured == mean([LOW, HIGH])


def test_a_session_counts_only_if_neither_broker_begins_another_one_before(world: Any) -> None:
    log = EstimateLog()
    first, second = world.brokers["B1"].balancer, world.brokers["B3"].balancer
    first.expectation = Expectation("B2", HIGH, LOW)
    world.brokers["B2"].balancer._state.begin()
    log.look(world)
    second.expectation = Expectation("B2", HIGH, HIGH)
    log.look(world)
    end_session(world, "B2")
    for _ in range(MOST_WINDOWS):
        log.look(world)
    assert [(outcome.broker, outcome.estimated) for outcome in log.outcomes] == [("B3", HIGH), ("B2", HIGH)]


def test_joining_and_the_rise_of_rates_cannot_be_foreseen() -> None:
    """Estimates start from a load of two minutes before at most."""
    plan = {"publishers": {"increase_at_s": 3000}, "subscribers": {"join_within_s": 1000}}
    times = [(1110, 1200), (1150, 1260), (2800, 2999), (2900, 3010), (3110, 3200), (3130, 3250)]
    log = EstimateLog([Outcome(begun, ended, "B1", LOW, LOW) for begun, ended in times])
    found = Recording(scenario_of(plan), estimates=log).foreseeable_outcomes()
    assert [outcome.begun_s for outcome in found] == [1150, 2800, 3130]
