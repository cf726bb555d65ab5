from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.balancing import drift, loads, migration, sides
from benchmarks.balancing.world import Drift, World
from benchmarks.matching import silent
from tidings.balancing import Adjuster, Detector, Local, WorkDone
from tidings.partitioning.load import COUNTED


def test_a_drift_changes_some_regions_and_keeps_about_as_many_queries() -> None:
    world = World.made(None, 2_000, 3_000, seed=1)
    batches = [*Drift(standing=400, batches=20, rows=200, interval=100).stream(world)]
    live = set(batches[0].added["id"].to_pylist())
    for batch in batches[1:]:
        assert set(batch.gone) <= live and batch.added.num_rows == 20 and batch.posts.num_rows == 200
        live = (live - set(batch.gone)) | set(batch.added["id"].to_pylist())
    texts = [world.queries(np.arange(50), np.full(100, kind), "q")["query"].to_pylist() for kind in (False, True)]
    assert all(one != other for one, other in zip(*texts, strict=True))


def test_crowds_move_on_and_bring_posts_and_queries() -> None:
    world = World.made(None, 2_000, 3_000, seed=1)
    _, *batches = Drift(standing=2_000, batches=4, rows=4_000, interval=800, share=0.0, crowd=5.0).stream(world)
    columns = [world.posts[name].to_pylist() for name in ("lon", "lat")]
    region = dict(zip(zip(*columns, strict=True), world.region_of_posts.tolist(), strict=True))
    there = np.bincount(world.region_of_posts, minlength=100)
    drawn = []
    for batch in batches:
        columns = [batch.posts[name].to_pylist() for name in ("lon", "lat")]
        regions = [region[place] for place in zip(*columns, strict=True)]
        drawn.append(np.bincount(regions, minlength=100)[there > 9] / there[there > 9])
    first, second, third = (float(np.corrcoef(one, two)[0, 1]) for one, two in pairwise(drawn))
    assert second > 0.95 and max(first, third) < 0.8  # the crowds move on after batches 0 and 2


def test_costs_are_fitted_for_each_formula_to_other_matchers_than_are_predicted() -> None:
    figures = loads.measure(World.made(None, 3_000, 4_000, seed=1), 4_000, matchers=3)
    assert figures["formula"] == [formula.name for formula in loads.FORMULAS]
    assert figures["standing"] == "437 1,166 3,500" and figures["observations"] == 3 * 13 * 3
    assert all(min(figures[f"{name}_us"]) >= 0 for name in ("pair", "post", "insertion", "deletion", "match"))
    assert max(figures["post_us"]) > 0 and max(figures["insertion_us"]) > 0
    paper = figures["formula"].index("Def. 1")
    assert figures["delivery_us"][paper] == figures["change_us"][paper] == figures["match_us"][paper] == 0


def test_the_best_try_of_each_matcher_counts_by_the_time_for_each_thing() -> None:
    first, second = WorkDone.none(2), WorkDone.none(2)
    first.insertions[:], first.ms[:] = [10, 10], [1.0, 5.0]
    second.insertions[:], second.ms[:] = [30, 12], [2.4, 3.0]
    best, slower = loads.best_of([first, second])
    assert best.insertions.tolist() == [30, 12] and best.ms.tolist() == [2.4, 3.0]
    assert slower == pytest.approx((1.25 + 2.0) / 2)


def test_no_algorithm_carries_less_than_dp() -> None:
    figures = migration.measure(World.made(None, 3_000, 800, seed=1), 800, posts=1_000, matchers=3)
    assert figures["algorithm"] == ["DP", "GR", "SI", "RA"] * 2
    assert figures["carried_by_dp"][0] == figures["carried_by_dp"][4] == 1 <= min(figures["carried_by_dp"])


FREE = Local(costs=replace(COUNTED, insertion=0.0, deletion=0.0))
"""In a run so short no move is worth what it costs."""

SMALL = Drift(standing=300, batches=20, rows=100, interval=100, share=0.5)


def test_a_drift_with_adjustment_is_measured_beside_one_without(tmp_path: Path) -> None:
    adjuster = Adjuster(FREE, Detector(hits=1, pause=0))
    world, picture = World.made(None, 2_000, 1_000, seed=1), tmp_path / "drift.svg"
    figures = drift.measure(world, SMALL, tmp_path, adjuster, matchers=3, picture=picture)
    assert figures["times_moved"] > 0 and figures["posts_a_second"] > 0 and figures["moving_ms"] > 0
    assert figures["bytes_written"] > 0 and figures["bytes_moved"] > 0 and picture.stat().st_size > 0
    assert figures["by_load_moved_beside"] >= figures["by_load"] > 0
    assert figures["interval_number"] == [1, 2]
    assert 0 < sum(figures["then_moved"]) <= figures["subscriptions_moved"]  # some move in the first batches
    assert figures["adjusted_largest_by_mean"] >= 1 and figures["bound_by_load"] >= 1


def test_a_drift_is_measured_for_several_shares_of_regions_each_from_the_start(tmp_path: Path) -> None:
    adjuster = Adjuster(FREE, Detector(hits=1, pause=0))
    figures = drift.shares(World.made(None, 2_000, 1_000, seed=1), SMALL, tmp_path, adjuster, matchers=3)
    assert figures["share"] == list(drift.SHARES) and figures["standing"] == 300
    assert len(figures["by_load"]) == len(figures["last_moved_at"]) == len(drift.SHARES)
    assert len(set(figures["subscriptions_moved"])) > 1


def test_a_steady_workload_moves_nothing_after_it_has_settled(tmp_path: Path) -> None:
    world, steady = World.made(None, 10_000, 4_000, seed=4), Drift(2_000, 60, 4_000, 20_000, share=0.0)
    _, adjusted = drift.played(world, steady, tmp_path, Adjuster(FREE), 4, silent)
    assert 1 <= len(adjusted.moved_at) <= 2 and max(adjusted.moved_at) < 30


def test_clusters_that_find_different_matches_are_refused(tmp_path: Path) -> None:
    world = World.made(None, 2_000, 1_000, seed=1)
    stream = SMALL.stream(world)
    first = next(stream)
    mapping = world.mapping(first.added, 3, SMALL.standing)
    one, other = sides.sides_of(world, mapping, tmp_path, {"one": None, "other": None}).values()
    one.take(first)
    with pytest.raises(AssertionError, match="differ in what they find"):
        sides.run([one, other], [next(stream)])
