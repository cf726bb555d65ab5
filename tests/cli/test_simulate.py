import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tidings

SCENARIO = """
name = "tiny"
duration_s = 90
[publishers]
count = 3
rate_per_min = 60
[subscribers]
count = 10
join_within_s = 20
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(SCENARIO)
    return path


def test_a_scenario_is_played_and_summed_up(tidings: Tidings, scenario: Path) -> None:
    ran = tidings("simulate", scenario)
    assert ran.code == 0
    assert "tiny, seed 1: at 90 s" in ran.out
    assert "subscriber moves" in ran.out


def test_seed_and_duration_can_be_chosen(tidings: Tidings, scenario: Path) -> None:
    page = json.loads(tidings("simulate", scenario, "--seed", 5, "--seconds", 60, "--format", "json").out)
    assert (page["seed"], page["simulated_s"]) == (5, 60)
    assert sum(broker["subscribers"] for broker in page["brokers"].values()) == 10
    assert tidings("simulate", scenario, "--format", "csv").out.startswith("figure,value\nsimulated_s,90.0\n")


@pytest.mark.thorough
def test_a_picture_is_drawn(tidings: Tidings, scenario: Path, tmp_path: Path) -> None:
    assert tidings("simulate", scenario, "--plot", tmp_path / "load.svg").code == 0
    assert (tmp_path / "load.svg").read_text().startswith("<?xml")


def test_a_scenario_that_is_missing_is_one_line(tidings: Tidings, tmp_path: Path) -> None:
    ran = tidings("simulate", tmp_path / "none.toml")
    assert ran.code == 1
    assert ran.err.startswith("tidings: there is no scenario")
