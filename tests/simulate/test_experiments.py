"""The paper's local experiment: does the load converge, and does it stay there?"""

from dataclasses import replace
from pathlib import Path

import pytest

from tidings.balancing.padres import Parameters
from tidings.simulate.record import Recording, record
from tidings.simulate.scenario import read_scenario

SCENARIOS = Path(__file__).parents[2] / "docs" / "scenarios"
PARAMETERS = Parameters()


@pytest.fixture(scope="module")
def local() -> Recording:
    return record(read_scenario(SCENARIOS / "local.toml"))


@pytest.mark.slow
def test_all_metrics_converge_within_their_thresholds(local: Recording) -> None:
    assert local.spread("input_ratio") <= PARAMETERS.local_ratio_triggering_threshold
    assert local.spread("output_ratio") <= PARAMETERS.local_ratio_triggering_threshold
    assert local.spread("matching_delay_s") <= 0.1 * PARAMETERS.local_delay_triggering_threshold


@pytest.mark.slow
def test_nobody_moves_in_the_last_ten_stabilize_periods(local: Recording) -> None:
    assert local.last_move_s() < local.samples[-1].at_s - 10 * PARAMETERS.stabilize_duration_s


@pytest.mark.slow
def test_adaptive_pie_halves_the_load_messages_at_rest(local: Recording) -> None:
    plain = record(read_scenario(SCENARIOS / "local-pie.toml"))
    rest = slice(-20, None)
    assert sum(sample.pie for sample in local.samples[rest]) <= 0.5 * sum(sample.pie for sample in plain.samples[rest])


@pytest.mark.slow
def test_the_random_algorithm_moves_twice_as_many(local: Recording) -> None:
    random = record(read_scenario(SCENARIOS / "local-random.toml"))
    assert random.summary()["subscriber_moves"] >= 2 * local.summary()["subscriber_moves"]


@pytest.mark.slow
def test_without_balancing_the_first_broker_is_overloaded() -> None:
    scenario = read_scenario(SCENARIOS / "local.toml")
    scenario = replace(scenario, duration_s=1500, rules=replace(scenario.rules, algorithm="none"))
    assert record(scenario).samples[-1].metrics["B1"].output_ratio > 1
