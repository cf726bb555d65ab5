"""The paper's local experiment before the rates rise: does the load converge, and does it stay there?"""

from dataclasses import replace
from pathlib import Path

import pytest

from tidings.balancing.padres import Parameters
from tidings.simulate.record import Recording, record
from tidings.simulate.scenario import read_scenario

SCENARIOS = Path(__file__).parents[2] / "docs" / "scenarios"
PARAMETERS = Parameters()

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def local() -> Recording:
    return record(replace(read_scenario(SCENARIOS / "local.toml"), duration_s=2400))


def test_all_metrics_converge_within_their_thresholds(local: Recording) -> None:
    assert local.spread("input_ratio") <= PARAMETERS.local_ratio_triggering_threshold
    assert local.spread("output_ratio") <= PARAMETERS.local_ratio_triggering_threshold
    assert local.spread("matching_delay_s") <= 0.1 * PARAMETERS.local_delay_triggering_threshold


def test_nobody_moves_in_the_last_ten_stabilize_periods(local: Recording) -> None:
    assert local.last_move_s() < local.samples[-1].at_s - 10 * PARAMETERS.stabilize_duration_s
