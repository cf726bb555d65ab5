from pathlib import Path

import pytest

from benchmarks.balancing import live
from benchmarks.balancing.policies import POLICIES, measure
from benchmarks.balancing.world import Drift, World


def test_all_policies_find_the_same_and_both_even_out_a_skew(tmp_path: Path) -> None:
    world = World.made(None, 3_000, 3_000, seed=1)
    figures = measure(world, Drift(300, batches=30, rows=300, interval=300), tmp_path, matchers=4, skew=0.5)
    assert figures["policy"] == list(POLICIES) and figures["matches"] > 0
    none, local, padres = figures["largest_by_mean"]
    assert local < none and padres < none
    assert figures["times_moved"][0] == 0 < min(figures["times_moved"][1:])


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_pipelines_on_spark_find_what_is_found_in_process_whatever_moves(tmp_path: Path) -> None:
    world, drift = World.made(None, 3_000, 3_000, seed=1), Drift(300, batches=12, rows=300, interval=300)
    (tmp_path / "here").mkdir()
    here = measure(world, drift, tmp_path / "here", matchers=3, skew=0.5)
    figures = live.measure(world, drift, tmp_path / "live", matchers=3, skew=0.5)
    assert figures["policy"] == list(POLICIES) and figures["matches"] == here["matches"] > 0
    assert figures["posts_to_matchers"][0] == here["posts_to_matchers"][0]
    none, local, padres = figures["largest_by_mean"]
    assert local < none and padres < none
    for name in ("times_moved", "parcels_moved", "subscriptions_moved"):
        assert figures[name][0] == 0 < min(figures[name][1:])
