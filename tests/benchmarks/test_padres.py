"""Do the figures of [PADRES] come out of small runs?"""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from benchmarks.padres import experiments
from benchmarks.padres.__main__ import app
from benchmarks.padres.experiments import PadresFigure, Run, neighbours, runs
from tidings.balancing.padres import Metric, Metrics
from tidings.simulate.audit import Violation
from tidings.simulate.chaos import Faults, small_world
from tidings.simulate.record import Span, WindowRecord
from tidings.simulate.scenario import scenario_of
from tidings.simulate.topology import equal_brokers

runner = CliRunner()
TINY = scenario_of(
    {
        "duration_s": 120,
        "publishers": {"count": 4, "rate_per_min": 60},
        "subscribers": {"count": 40, "join_within_s": 30},
    }
)


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """All figures are made of two tiny runs."""
    monkeypatch.setattr(experiments, "_RUNS", dict.fromkeys(PadresFigure, lambda: [Run("2", TINY), Run("3", TINY)]))


@pytest.mark.parametrize("name", ["local", "edges"])
def test_a_figure_is_told_and_drawn(name: str, tmp_path: Path) -> None:
    ran = runner.invoke(app, ["figure", name, "--save", f"{tmp_path}/it.json", "--plot", f"{tmp_path}/it.svg"])
    assert ran.exit_code == 0, ran.output
    figures = json.loads((tmp_path / "it.json").read_text())["figures"]
    assert figures["run"] == ["2", "3"]
    assert figures["deliveries"][0] == figures["deliveries"][1] > 0
    assert figures["steps"][0] > 1000
    assert (tmp_path / "it.svg").read_text().startswith("<?xml")


def test_a_figure_that_there_is_not_is_misuse() -> None:
    ran = runner.invoke(app, ["figure", "fig12"])
    assert ran.exit_code == 2
    assert "choose one of local, random" in ran.output


def test_the_runs_of_a_figure_have_the_seed_and_the_quotes_that_are_asked_for() -> None:
    one = runs(PadresFigure.local, Path("stocks.parquet"), 5)[0].scenario
    assert (one.seed, one.publishers.quotes) == (5, "stocks.parquet")
    assert replace(one, seed=1, publishers=TINY.publishers) == TINY


def test_neighbouring_clusters_are_compared_by_their_means() -> None:
    places = equal_brokers(clusters=3, edges=2)
    outputs = dict(zip(places.edges, [0.5, 0.3, 0.2, 0.0, 0.3, 0.5], strict=True))
    loads = {name: Metrics(output_ratio=output) for name, output in outputs.items()}
    window = WindowRecord(30.0, loads, {}, 0.0, 0, 0, 0, 0, 0, 0, 0, 0)
    assert neighbours(Span([window, window]), places, Metric.OUTPUT) == pytest.approx(0.3)
    assert neighbours(Span([window]), places, Metric.INPUT) == 0.0
    assert neighbours(Span([window]), equal_brokers(clusters=1, edges=2), Metric.OUTPUT) == 0.0


def test_only_a_figure_that_there_is_can_be_repeated() -> None:
    ran = runner.invoke(app, ["repeated", "--figure", "none"])
    assert ran.exit_code == 2
    assert "choose one of local, random" in ran.output


def test_runs_are_repeated_with_several_seeds() -> None:
    ran = runner.invoke(app, ["repeated", "--seeds", "2", "--format", "json"])
    assert ran.exit_code == 0, ran.output
    figures = json.loads(ran.stdout)["figures"]
    assert (figures["run"], figures["seeds"]) == (["2", "3"], [2, 2])
    assert figures["announced_at_rest_per_s"][0] > 0
    # a cluster of four: each message goes to the head, and from there to the three others, or to fewer
    assert 1 <= figures["messages_each"][0] <= 4
    assert max(figures["pie_at_rest_per_s_deviation"]) > 0  # the seeds are different ones


def test_seeds_are_played() -> None:
    ran = runner.invoke(app, ["seeds", "--count", "4", "--first", "8", "--format", "json"])
    assert ran.exit_code == 0, ran.output
    figures = json.loads(ran.stdout)["figures"]
    assert (figures["worlds"], figures["first_seed"], figures["broken"], figures["with_drops"]) == (4, 8, 0, 1)


def test_what_was_played_so_far_is_in_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The run is killed by its fifth world: what was played in whole chunks is kept."""
    monkeypatch.setattr("benchmarks.padres.__main__.SAVE_EVERY", 2)

    def killed(seed: int) -> None:
        if seed == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr("tidings.simulate.chaos.play", killed)
    runner.invoke(app, ["seeds", "--count", "7", "--save", f"{tmp_path}/it.json"])
    figures = json.loads((tmp_path / "it.json").read_text())["figures"]
    assert (figures["worlds"], figures["with_none"]) == (4, 1)


def test_a_seed_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(seed: int) -> None:
        raise Violation(small_world(seed, Random(seed), Faults.NONE), "all is lost")

    monkeypatch.setattr("tidings.simulate.chaos.play", broken)
    ran = runner.invoke(app, ["seeds", "--count", "1", "--first", "3"])
    assert ran.exit_code == 1
    assert "seed 3" in ran.output
    assert "all is lost" in ran.output


def test_speed_tells_steps_and_events() -> None:
    ran = runner.invoke(app, ["speed", "--rounds", "1", "--seconds", "60", "--format", "json"])
    assert ran.exit_code == 0, ran.output
    figures = json.loads(ran.stdout)["figures"]
    assert figures["events_per_s"] > figures["steps_per_s"] > 0
