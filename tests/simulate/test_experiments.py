"""The paper's experiments ([PADRES] 6.3): does the load converge, does it stay there, and at what price?"""

from pathlib import Path

import pytest

from tidings.balancing.padres import Metric, Parameters
from tidings.simulate.record import Recording, Span, record
from tidings.simulate.scenario import Scenario, read_scenario

SCENARIOS = Path(__file__).parents[2] / "docs" / "scenarios"
PARAMETERS = Parameters()
AT_REST_S = 10 * PARAMETERS.stabilize_duration_s

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def scenario(name: str) -> Scenario:
    return read_scenario(SCENARIOS / f"{name}.toml")


@pytest.fixture(scope="module")
def local() -> Recording:
    return record(scenario("local"))


@pytest.fixture(scope="module")
def plain_pie() -> Recording:
    return record(scenario("local-pie"))


def rests(recording: Recording) -> list[Span]:
    """The ten stabilize periods before the rates rise, and the last ten."""
    rise, end = recording.scenario.publishers.increase_at_s, recording.samples[-1].at_s
    return [recording.between(rise - AT_REST_S, rise), recording.between(end - AT_REST_S, end)]


def test_all_metrics_converge_within_their_thresholds_before_and_after_the_rates_rise(local: Recording) -> None:
    for rest in rests(local):
        assert rest.spread("input_ratio") <= PARAMETERS.local_ratio_triggering_threshold
        assert rest.spread("output_ratio") <= PARAMETERS.local_ratio_triggering_threshold
        assert rest.spread("matching_delay_s") <= (
            PARAMETERS.local_delay_triggering_threshold * PARAMETERS.delay_normalization_factor_s
        )


def test_no_session_begins_for_ten_stabilize_periods_after_that(local: Recording) -> None:
    assert local.between(0, local.samples[-1].at_s).sessions > 5
    assert [rest.sessions for rest in rests(local)] == [0, 0]


def test_adaptive_pie_saves_half_of_the_messages_at_rest(local: Recording, plain_pie: Recording) -> None:
    """For each time that a broker tells its load. How often one does depends on how the run came to rest."""

    def told_and_sent(recording: Recording) -> tuple[int, int]:
        samples = [sample for rest in rests(recording) for sample in rest.samples]
        sent = sum(sample.pie + sample.subscriptions for sample in samples)
        return sum(sample.announced for sample in samples), sent

    told, sent = told_and_sent(plain_pie)
    assert sent == 4 * told > 0  # to the head, and from there to three others
    told, sent = told_and_sent(local)
    assert 0 < sent <= 2 * told


def test_control_messages_are_at_most_two_in_a_thousand_after_convergence(local: Recording) -> None:
    assert all(rest.overhead <= 0.002 for rest in rests(local))


def test_loads_are_estimated_within_a_few_percent(local: Recording) -> None:
    outcomes = local.foreseeable_outcomes()
    assert len(outcomes) >= 4
    for metric, limit in ((Metric.INPUT, 0.08), (Metric.OUTPUT, 0.08)):
        assert sum(outcome.error(metric) for outcome in outcomes) / len(outcomes) <= limit


def test_at_random_twice_as_many_move_on_unlike_brokers() -> None:
    ours, random = (record(scenario(name)) for name in ("testbed", "testbed-random"))
    moved = [sum(sample.moves for sample in each.samples) for each in (ours, random)]
    assert moved[1] >= 2 * moved[0]
