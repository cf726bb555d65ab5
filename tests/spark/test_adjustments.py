"""Does a stream find what brute force finds through adjustments of any policy, whoever is killed meanwhile?

A run can be repeated by its seed: ``pytest -m slow -s tests/spark/test_adjustments.py -k "driver-7"``.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark import oracle
from tests.spark.adjustments import PLAYS, SCENES, AdjustmentPlay, PadresPlay
from tests.spark.plays import played
from tidings.cluster.mappings import MappingPage

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes by /proc"),
]
KILLS = {
    "driver": [*(("global", seed) for seed in range(20)), *(("padres", seed) for seed in range(30, 42))],
    "worker": [*(("global", seed) for seed in range(20, 25)), *(("padres", seed) for seed in range(42, 46))],
    "executor": [*(("global", seed) for seed in range(25, 30)), *(("padres", seed) for seed in range(46, 50))],
}


def runs(*kinds: str) -> list[tuple[str, str, int]]:
    """What is killed, the policy, and the seed."""
    return [(kind, policy, seed) for kind in kinds for policy, seed in KILLS[kind]]


def point_of(policy: str, kind: str, seed: int) -> str:
    """Where something is killed: all points in turn."""
    points = PLAYS[policy].points if kind == "driver" else PLAYS[policy].in_a_job
    return points[seed % len(points)]


def suffer(play: AdjustmentPlay, policy: str, kind: str, java: str = "") -> int:
    """How a play ended in which something was killed."""
    point = point_of(policy, kind, play.seed)
    how = played("adjustments", play.folder, str(play.seed), policy, kind, point, java=java)
    is_killed = how == -9 or (play.folder / "killed").exists()
    print(f"run {play.seed}: the {kind} {'was' if is_killed else 'was not'} killed {point}", flush=True)
    return how


def log_of(play: AdjustmentPlay) -> str:
    return (play.folder / "log").read_text()[-3000:]


def check(play: AdjustmentPlay) -> None:
    """What the sink and the reports hold is what brute force finds, and the policy has adjusted something."""
    expected = oracle.expected(play.home.path, play.registry)
    assert len(play.check(expected, SCENES)) > 100
    names = {batch: pin.mapping for batch in sorted(expected) if (pin := play.home.journal.pin(batch))}
    print(f"run {play.seed}: {list(names.values())}", flush=True)
    (check_parcels if isinstance(play, PadresPlay) else check_anew)(play, names)


def check_anew(play: AdjustmentPlay, names: dict[int, str]) -> None:
    """Parcels moved, and all was divided anew."""
    assert {name.partition("-")[0] for name in names.values()} == {"hash", "learned", "moved"}
    page = play.home.mappings.page(play.home.mappings.parcels(play.home.mappings.newest(3)))
    assert isinstance(page, MappingPage) and page.beside and page.partitioner == "hybrid"


def check_parcels(play: AdjustmentPlay, names: dict[int, str]) -> None:
    """Parcels moved by themselves: orders leave all at one matcher, and later another one had something to do again."""
    assert {name.partition("-")[0] for name in names.values()} == {"hash", "moved"}
    busy = [
        sum(work.candidates > 0 for work in report.loads)
        for batch, name in names.items()
        if name.startswith("moved") and (report := play.home.journal.report(batch))
    ]
    assert min(busy) == 1 and max(busy) > 1


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("policy", "seed", "point"), [("global", 6, "before anew 1"), ("padres", 33, "after pin 4")])
def test_a_driver_that_is_killed_between_two_mappings_loses_and_doubles_nothing(
    tmp_path: Path, spark: SparkSession, policy: str, seed: int, point: str
) -> None:
    play = PLAYS[policy](tmp_path, spark, seed)
    assert point_of(policy, "driver", seed) == point and suffer(play, policy, "driver") == -9, log_of(play)
    play.play()
    check(play)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("kind", "policy", "seed"), runs("driver"), ids=str)
def test_drivers_that_are_killed_in_adjustments_lose_and_double_nothing(
    tmp_path: Path, spark: SparkSession, java: str, kind: str, policy: str, seed: int
) -> None:
    play = PLAYS[policy](tmp_path, spark, seed)
    how = suffer(play, policy, kind, java)
    assert how == -9 or (how == -15 and play.is_prepared), log_of(play)
    if how == -9:
        play.play()
    check(play)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("kind", "policy", "seed"), runs("worker", "executor"), ids=str)
def test_workers_and_executors_that_are_killed_in_adjustments_lose_and_double_nothing(
    tmp_path: Path, spark: SparkSession, java: str, kind: str, policy: str, seed: int
) -> None:
    play = PLAYS[policy](tmp_path, spark, seed)
    assert suffer(play, policy, kind, "" if kind == "executor" else java) == 0, log_of(play)
    assert (tmp_path / "killed").exists() or play.is_prepared
    check(play)
