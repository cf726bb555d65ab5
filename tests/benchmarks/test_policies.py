from pathlib import Path

from benchmarks.balancing.policies import POLICIES, measure
from benchmarks.balancing.world import Drift, World


def test_all_policies_find_the_same_and_both_even_out_a_skew(tmp_path: Path) -> None:
    world = World.made(None, 3_000, 3_000, seed=1)
    figures = measure(world, Drift(300, batches=30, rows=300, interval=300), tmp_path, matchers=4, skew=0.5)
    assert figures["policy"] == list(POLICIES) and figures["matches"] > 0
    none, local, padres = figures["largest_by_mean"]
    assert local < none and padres < none
    assert figures["times_moved"][0] == 0 < min(figures["times_moved"][1:])
