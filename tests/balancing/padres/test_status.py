"""[PADRES] Fig. 6 and 7, transition by transition."""

import pytest

from tidings.balancing.padres.messages import Status
from tidings.balancing.padres.metrics import Metrics
from tidings.balancing.padres.parameters import Parameters
from tidings.balancing.padres.status import StatusMachine

CALM, HIGH, OVERLOADED = Metrics(0.5, 0.01, 0.5), Metrics(0.5, 0.01, 0.91), Metrics(0.96, 0.01, 0.5)


def status(machine: StatusMachine) -> Status:
    return machine.status


@pytest.fixture
def machine() -> StatusMachine:
    return StatusMachine(Parameters())


def test_a_broker_is_ok_at_first_and_may_ask(machine: StatusMachine) -> None:
    machine.measured(CALM, now=0)
    assert status(machine) is Status.OK
    assert machine.may_ask


def test_above_the_lower_threshold_it_is_not_available_and_below_ok_again(machine: StatusMachine) -> None:
    machine.measured(HIGH, now=0)
    assert status(machine) is Status.NOT_AVAILABLE
    assert machine.may_ask
    machine.measured(CALM, now=30)
    assert status(machine) is Status.OK


def test_in_a_session_it_is_busy_whatever_is_measured(machine: StatusMachine) -> None:
    machine.begin()
    machine.measured(OVERLOADED, now=0)
    assert status(machine) is Status.BUSY
    assert not machine.may_ask


def test_a_session_without_effect_leads_back(machine: StatusMachine) -> None:
    machine.measured(HIGH, now=0)
    machine.begin()
    machine.end(now=10, moved=False)
    assert status(machine) is Status.NOT_AVAILABLE
    machine.measured(CALM, now=20)
    machine.begin()
    machine.end(now=30, moved=False)
    assert status(machine) is Status.OK


def test_after_a_session_it_stabilizes_for_the_duration(machine: StatusMachine) -> None:
    machine.measured(CALM, now=0)
    machine.begin()
    machine.end(now=10, moved=True)
    assert status(machine) is Status.STABILIZING
    assert not machine.may_ask
    machine.measured(CALM, now=30)
    machine.measured(CALM, now=59)
    assert status(machine) is Status.STABILIZING
    machine.measured(CALM, now=60)
    assert status(machine) is Status.OK


def test_it_stabilizes_for_another_period_while_the_load_moves(machine: StatusMachine) -> None:
    machine.begin()
    machine.end(now=0, moved=True)
    machine.measured(Metrics(0.5, 0.01, 0.5), now=0)
    machine.measured(Metrics(0.56, 0.01, 0.5), now=30)
    assert status(machine) is Status.STABILIZING
    machine.measured(Metrics(0.56, 0.016, 0.5), now=60)
    assert status(machine) is Status.STABILIZING
    machine.measured(Metrics(0.57, 0.018, 0.5), now=90)
    assert status(machine) is Status.OK


def test_it_may_ask_while_stabilizing_if_it_is_overloaded(machine: StatusMachine) -> None:
    machine.begin()
    machine.end(now=0, moved=True)
    machine.measured(OVERLOADED, now=30)
    assert status(machine) is Status.STABILIZING
    assert machine.may_ask


def test_stabilizing_ends_as_not_available_if_the_load_stays_high(machine: StatusMachine) -> None:
    machine.begin()
    machine.end(now=0, moved=True)
    machine.measured(HIGH, now=30)
    machine.measured(HIGH, now=60)
    assert status(machine) is Status.NOT_AVAILABLE


def test_a_cluster_is_not_available_as_soon_as_one_edge_is(machine: StatusMachine) -> None:
    machine.measured(CALM, now=0, overloaded_member=True)
    assert status(machine) is Status.NOT_AVAILABLE
    machine.measured(CALM, now=60)
    assert status(machine) is Status.OK


def at(machine: StatusMachine, begun: Status) -> None:
    """Bring a machine into a state."""
    machine.measured(HIGH if begun is Status.NOT_AVAILABLE else CALM, now=0)
    if begun in (Status.BUSY, Status.STABILIZING):
        machine.begin()
    if begun is Status.STABILIZING:
        machine.end(now=0, moved=True)
        machine.measured(CALM, now=0)
    assert machine.status is begun


OK, NOT_AVAILABLE, BUSY, STABILIZING = Status.OK, Status.NOT_AVAILABLE, Status.BUSY, Status.STABILIZING
STEADY, MOVING = Metrics(0.54, 0.01, 0.5), Metrics(0.56, 0.01, 0.5)
TRANSITIONS = [
    (OK, "calm", OK),
    (OK, "high", NOT_AVAILABLE),
    (OK, "begin", BUSY),
    (NOT_AVAILABLE, "high", NOT_AVAILABLE),
    (NOT_AVAILABLE, "calm", OK),
    (NOT_AVAILABLE, "begin", BUSY),
    (BUSY, "calm", BUSY),
    (BUSY, "high", BUSY),
    (BUSY, "moved", STABILIZING),
    (BUSY, "nobody", OK),
    (STABILIZING, "steady", OK),
    (STABILIZING, "moving", STABILIZING),
    (STABILIZING, "high", STABILIZING),
    (STABILIZING, "begin", BUSY),
]


@pytest.mark.parametrize(("begun", "event", "ended"), TRANSITIONS)
def test_every_transition(machine: StatusMachine, begun: Status, event: str, ended: Status) -> None:
    at(machine, begun)
    match event:
        case "calm" | "high":
            machine.measured(CALM if event == "calm" else HIGH, now=31)
        case "steady" | "moving":
            machine.measured(STEADY if event == "steady" else MOVING, now=31)
        case "begin":
            machine.begin()
        case "moved" | "nobody":
            machine.end(now=31, moved=event == "moved")
    assert machine.status is ended
