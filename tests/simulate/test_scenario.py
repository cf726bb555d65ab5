from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tidings.balancing.padres import Parameters
from tidings.model import DataError
from tidings.simulate.record import record
from tidings.simulate.scenario import read_scenario, scenario_of
from tidings.workloads import Stocks

SCENARIOS = sorted((Path(__file__).parents[2] / "docs" / "scenarios").glob("*.toml"))
SMALL = {
    "duration_s": 120,
    "publishers": {"count": 4, "rate_per_min": 60},
    "subscribers": {"count": 40, "join_within_s": 30},
}


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_scenarios_of_the_paper_are_read(path: Path) -> None:
    scenario = read_scenario(path)
    assert scenario.name == path.stem
    assert scenario.rules.parameters == Parameters()


def test_a_small_run_is_recorded() -> None:
    heard: list[float] = []
    recording = record(scenario_of(SMALL), heard.append)
    assert heard == [30, 60, 90, 120]
    last = recording.samples[-1]
    assert sum(last.subscribers.values()) == 40
    assert last.deliveries > 0
    assert 0 < last.delay_s < 1
    summary = recording.summary()
    assert summary["simulated_s"] == 120
    assert summary["events"] == recording.events > 1000


def test_the_same_scenario_gives_the_same_figures() -> None:
    crash = {
        "crash": [{"broker": "B2", "at_s": 20, "down_s": 10}],
        "partition": [{"between": ["B0", "B3"], "at_s": 40}],
    }
    one, same, other = (record(scenario_of(SMALL | crash | {"seed": seed})).summary() for seed in (1, 1, 2))
    assert one == same != other


def test_subscribers_come_and_go() -> None:
    churn = {"count": 0, "churn_per_min": 30, "stay_s": [20, 30], "grouped": True}
    recording = record(scenario_of(SMALL | {"subscribers": churn, "duration_s": 150}))
    counts = [sum(sample.subscribers.values()) for sample in recording.samples]
    assert max(counts) > 0
    assert counts[-1] < 45


def test_rates_rise() -> None:
    rising = SMALL["publishers"] | {"increase_at_s": 60, "increase_by": 3.0, "increase_share": 1.0}  # type: ignore[operator]
    recording = record(scenario_of(SMALL | {"publishers": rising}))
    assert recording.samples[-1].publications > 2 * recording.samples[1].publications


def test_quotes_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "stocks.parquet"
    pq.write_table(Stocks(seed=3, symbols=8).table(80).drop_columns(["id", "ts", "class"]), path)
    scenario = scenario_of(SMALL | {"publishers": {"count": 4, "rate_per_min": 60, "quotes": str(path)}})
    world = scenario.world()
    symbols = {name.removeprefix("publisher-") for name in world.publishers}
    assert len(symbols) == 4
    assert symbols <= set(Stocks(seed=3, symbols=8).table(8)["symbol"].to_pylist())
    world.run(60)
    assert world.recent.deliveries > 0
    with pytest.raises(DataError, match="quotes of 8 symbols, 10 are needed"):
        scenario_of(SMALL | {"publishers": {"count": 5, "quotes": str(path)}}).world()


def test_own_brokers_can_be_given() -> None:
    broker = {"cpu_mhz": 100, "memory_mb": 16, "bandwidth_mbps": 1}
    cluster = {"name": "C", "head": {"name": "H"} | broker, "edges": [{"name": "E1"} | broker, {"name": "E2"} | broker]}
    scenario = scenario_of({"cluster": [cluster], "publishers": {"broker": "H"}, "subscribers": {"broker": "E1"}})
    assert scenario.topology.edges == ("E1", "E2")


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"sed": 1}, "the file has no 'sed'; there are: "),
        ({"parameters": {"press_sample": 5}}, "parameters has no 'press_sample'"),
        ({"topology": "star"}, "the topology is one of local, global, testbed"),
        ({"algorithm": "best"}, "the algorithm is 'proposed', 'random' or 'none', got 'best'"),
        ({"publishers": {"broker": "B1"}}, "publishers connect to a head, got 'B1'"),
        ({"subscribers": {"broker": "B0"}}, "subscribers connect to an edge broker, got 'B0'"),
        ({"crash": [{"broker": "B9", "at_s": 1}]}, "there is no broker 'B9' to crash"),
        ({"partition": [{"between": ["B1", "B2"], "at_s": 1}]}, "there is no link between B1 and B2"),
        ({"links": {"drop": 1.5}}, "the probability drop lies between 0 and 1, got 1.5"),
    ],
)
def test_a_scenario_that_makes_no_sense_is_refused(given: dict[str, object], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        scenario_of(given)


def test_a_file_that_is_missing_or_no_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no scenario"):
        read_scenario(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("a = = 1")
    with pytest.raises(DataError, match=r"bad\.toml: this is no TOML"):
        read_scenario(tmp_path / "bad.toml")
