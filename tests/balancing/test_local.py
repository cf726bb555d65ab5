"""Local adjustment: both phases worked by hand, and what holds for any loads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.balancing.hand import halves, loads_of, words
from tidings.balancing import SELECTORS, Churn, Estimate, Local, SelectorName, Standing
from tidings.model import DataError
from tidings.partitioning import Mapping, Move
from tidings.partitioning.load import COUNTED, LoadCosts

POSTS_ONLY = LoadCosts(pair=0, post=1, insertion=0, deletion=0)
PAIRS_ONLY = LoadCosts(pair=1, post=0, insertion=0, deletion=0)
PAIRS_TOO = LoadCosts(pair=1, post=1, insertion=0, deletion=0)


def test_a_post_that_comes_for_two_parcels_of_a_matcher_counts_once() -> None:
    estimate = Estimate(loads_of([[0, 1], [0], [2]], [1, 1, 1]), words([0, 0, 1]), POSTS_ONLY)
    assert estimate.parcels.tolist() == [2, 1, 1]
    assert estimate.matchers(np.array([0, 0, 1], dtype=np.int32)).tolist() == [2, 1]
    assert estimate.matchers(np.array([0, 1, 1], dtype=np.int32)).tolist() == [2, 2]


def test_a_bulk_of_insertions_does_not_hide_what_posts_bring() -> None:
    loads = loads_of([[p] for p in (0, 1, 2, 3, 4, 5, 5)], [1] * 6)
    loads.parcels.insertions[:] = 10_000
    assert Local(heaviest=0).plan(loads, words([0] * 5 + [1])) != []


def test_changes_between_the_latest_posts_are_load_as_well() -> None:
    # Parcels 0 to 3 have the same posts, but all insertions are those of parcels 0 and 1, at matcher 0. Parcels count
    # them twice, for two terms each, matchers once: 40 filings were 20 insertions.
    loads = loads_of([[0], [1], [2], [3]], [1] * 4)
    changed = replace(loads, churn=Churn(np.array([20, 20, 0, 0]), np.array([0, 0, 10, 0])))
    changed.parcels.insertions[:], changed.matchers.insertions[:] = [20, 20, 0, 0], [20, 0]
    costs = LoadCosts(pair=0, post=1, insertion=2, deletion=1)
    estimate = Estimate(changed, words([0, 0, 1, 1]), costs)
    assert estimate.parcels.tolist() == [21, 21, 6, 1]
    assert estimate.matchers(np.array([0, 0, 1, 1], dtype=np.int32)).tolist() == [42, 7]
    assert Local(costs=costs, heaviest=0, tries=0).plan(loads, words([0, 0, 1, 1])) == []
    assert (
        Local(costs=costs, heaviest=0, tries=0).plan(changed, words([0, 0, 1, 1])) == []
    )  # a parcel is more than half of 35
    finer = replace(changed, churn=Churn(np.array([34, 6, 0, 0]), np.zeros(4, dtype=np.int64)))
    assert Local(costs=costs, heaviest=0, tries=0).plan(finer, words([0, 0, 1, 1])) == [Move(1, to=1)]


def test_phase_1_splits_a_cell_by_text_where_that_lowers_the_sum() -> None:
    # West is parcels 2 and 3, at matcher 0, with 10 posts each; 5 and 4 queries. All pairs cost: 20 · 9 + 20 = 200.
    # After the split: 10 · 5 + 10 = 60 and 10 · 4 + 10 = 50, less in all. The smaller one goes: parcel 3.
    loads = loads_of([[2]] * 10 + [[3]] * 10, [0, 0, 5, 4, 0, 0])
    plan = Local(costs=PAIRS_TOO, formula="paper", tries=0).plan(loads, halves([0, 0, 0, 0, 1, 1]))
    assert plan == [Move(3, to=1)]


def test_phase_1_does_not_split_where_each_post_would_have_to_go_to_both() -> None:
    # Each post comes for both parts: 10 posts become 20, and no pair that an index looks at is saved. Phase II may
    # not help either: wl would get as much as wo keeps.
    loads = loads_of([[2, 3]] * 10, [0, 0, 5, 5, 0, 0])
    estimate = Estimate(loads, halves([0, 0, 0, 0, 1, 1]), COUNTED)
    together, apart = (estimate.matchers(np.array(own, dtype=np.int32)) for own in ([0] * 6, [0, 0, 0, 1, 0, 0]))
    assert apart.sum() > together.sum()
    assert Local(costs=POSTS_ONLY, tries=0).plan(loads, halves([0, 0, 0, 0, 1, 1])) == []


def test_phase_1_merges_a_cell_that_both_have_a_part_of() -> None:
    # West: parcel 2 at wo, 3 at wl, and 10 posts come for both. East is wo's: 20 posts. Loads 30 and 10.
    # With parcel 2 at wl these are 20 and 10, less in all. East is too much to move: it is more than half of 10.
    loads = loads_of([[2, 3]] * 10 + [[4]] * 20, [0, 0, 1, 1, 1, 0])
    assert Local(costs=POSTS_ONLY, tries=0).plan(loads, halves([0, 0, 0, 1, 0, 0])) == [Move(2, to=1)]
    # Without Phase I it would be moved as well, since it costs the least: the sum is what Phase II does not look at.
    assert Local(costs=POSTS_ONLY, heaviest=0, tries=0).plan(loads, halves([0, 0, 0, 1, 0, 0])) == [Move(2, to=1)]


def test_phase_2_gives_by_the_least_size_and_at_most_half_of_the_difference() -> None:
    # wo has parcels of loads 4, 6, 5, 12 and 3, wl one of 6: 30 and 6. τ = (30 - 1.02 · 6) / 2.02 = 11.8, and half of
    # the difference is 12. GR chooses the first three, 15: too much. Without the third: 20 and 16.
    posts = [[parcel] for parcel, count in enumerate((4, 6, 5, 12, 3, 6)) for _ in range(count)]
    plan = Local(costs=POSTS_ONLY, heaviest=0, tries=0).plan(
        loads_of(posts, [1, 3, 4, 10, 9, 1]), words([0, 0, 0, 0, 0, 1])
    )
    assert plan == [Move(0, to=1), Move(1, to=1)]


def test_pairs_are_measured_where_matchers_have_counted_what_they_looked_at() -> None:
    # Matcher 0 has 20 posts and 10 queries, and looked at 400 entries: two for each pair. Matcher 1: 10, 5, and one.
    loads = loads_of([[0]] * 10 + [[1]] * 10 + [[2]] * 10, [5, 5, 5])
    loads.matchers.posts[:], loads.matchers.compared[:] = [40, 10], [800, 50]  # more posts than are remembered
    estimate = Estimate(loads, words([0, 0, 1]), PAIRS_ONLY, "measured")
    assert estimate.matchers(np.array([0, 0, 1], dtype=np.int32)).tolist() == [400, 50]
    assert estimate.parcels.tolist() == [200, 200, 50]
    # Half of what matcher 0 has: a quarter of its pairs are left. Matcher 1 has four times as many as before.
    assert estimate.matchers(np.array([0, 1, 1], dtype=np.int32)).tolist() == [100, 200]


def test_pairs_are_those_that_a_router_sees_where_no_matcher_has_counted() -> None:
    loads, mapping = loads_of([[0]] * 10 + [[1]] * 10 + [[2]] * 10, [5, 5, 5], 3), words([0, 0, 1], 3)
    measured, counted = (Estimate(loads, mapping, PAIRS_ONLY, formula) for formula in ("measured", "counted"))
    assert measured.matchers(mapping.owner).tolist() == counted.matchers(mapping.owner).tolist() == [20, 10, 0]
    # Matcher 2 has no pairs yet: it is taken to look at as many as all of them together, 30 of 250.
    assert measured.matchers(np.array([0, 2, 1], dtype=np.int32))[2] == pytest.approx(10 * 5 * 30 / 250)


def test_a_parcel_goes_where_its_subscriptions_are() -> None:
    # Matcher 0 has parcels 0 to 2. The subscriptions of 1 are those of parcel 3 at matcher 1 as well, and those of 2
    # those of parcel 4 at matcher 2. Each can get half of what matcher 0 has too much: one parcel.
    posts = [[parcel] for parcel in (0, 0, 1, 2, 3, 4) for _ in range(10)]
    rows, parcels = np.array([(0, 0), (1, 1), (1, 3), (2, 2), (2, 4)]).T
    loads = loads_of(posts, [1] * 5, 3)
    for swapped in (False, True):
        homes = np.array([0, 1, 4, 2, 3] if swapped else parcels, dtype=np.int32)
        own = replace(loads, standing=Standing(rows, homes, np.full(3, 9.0)))
        plan = Local(costs=POSTS_ONLY, heaviest=0).plan(own, words([0, 0, 0, 1, 2], 3))
        assert sorted(plan) == [Move(1, to=2 if swapped else 1), Move(2, to=1 if swapped else 2)]


def test_parcels_move_when_waiting_has_cost_as_much_as_moving() -> None:
    # 160 and 100 posts; three parcels with one query each even it out: 30 posts less in the time of 260 posts.
    posts = [[parcel] for parcel in range(26) for _ in range(10)]
    loads, mapping = loads_of(posts, [1] * 26), words([0] * 16 + [1] * 10)
    policy = Local(costs=replace(POSTS_ONLY, insertion=28.0, deletion=1.0), aim=1.0, tries=0)
    for times, moved in ((1, 0), (2, 0), (3, 3)):
        loads.matchers.posts[:] = [160 * times, 100 * times]
        assert len(policy.plan(loads, mapping)) == moved, times


def test_what_is_uneven_by_less_than_the_trigger_stays_and_what_moves_aims_at_less() -> None:
    posts = [[parcel] for parcel in range(21) for _ in range(10)]
    assert Local(costs=POSTS_ONLY).plan(loads_of(posts, [1] * 21), words([0] * 11 + [1] * 10)) == []
    posts = [[parcel] for parcel in range(26) for _ in range(10)]
    for aim, count in ((1.2, 2), (1.0, 3)):  # 160 and 100: half of the difference is three parcels
        plan = Local(costs=POSTS_ONLY, uneven=1.2, aim=aim, tries=0).plan(
            loads_of(posts, [1] * 26), words([0] * 16 + [1] * 10)
        )
        assert len(plan) == count


@pytest.mark.parametrize("aim", [0.9, 1.3, float("nan")])
def test_an_aim_is_no_less_even_than_what_triggers(aim: float) -> None:
    with pytest.raises(DataError, match="a move aims at loads that differ by 1 to"):
        Local(aim=aim)


def test_who_is_above_the_mean_gives_to_those_below_until_all_are_near_it() -> None:
    # Loads 12, 1, 8, 2 in parcels of 3, 1, 2 and 1: the mean is 5.75. Matcher 0 can give two parcels and 2 one;
    # then the loads are 6, 6, 6 and 5.
    owner = [0] * 4 + [1] + [2] * 4 + [3, 3]
    posts = [[p] for p, count in enumerate([3] * 4 + [1] + [2] * 4 + [1, 1]) for _ in range(count)]
    loads, mapping = loads_of(posts, [1] * 11, 4), words(owner, 4)
    plan = Local(costs=POSTS_ONLY, heaviest=0).plan(loads, mapping)
    assert sorted(owner[parcel] for parcel, _ in plan) == [0, 0, 2] and {to for _, to in plan} == {1, 3}
    after = Estimate(loads, mapping, POSTS_ONLY).matchers(mapping.moved(plan).owner)
    assert sorted(after.tolist()) == [5, 6, 6, 6]


def test_a_parcel_that_is_all_the_load_stays() -> None:
    assert Local(costs=POSTS_ONLY).plan(loads_of([[0]] * 9, [1, 1]), words([0, 1])) == []


@pytest.mark.parametrize("tries", [0, 50])
@pytest.mark.parametrize("select", SELECTORS)
@given(
    posts=st.lists(st.sets(st.integers(0, 11), min_size=1, max_size=3).map(sorted), max_size=30),
    filed=st.lists(st.integers(0, 9), min_size=12, max_size=12),
    owner=st.lists(st.integers(0, 2), min_size=12, max_size=12),
)
def test_a_plan_makes_the_largest_load_less_and_without_exchanges_no_load_less_than_the_smallest(
    select: SelectorName, tries: int, posts: list[list[int]], filed: list[int], owner: list[int]
) -> None:
    loads, mapping = loads_of(posts, filed, 3), words(owner, 3)
    moves = Local(select=select, costs=POSTS_ONLY, tries=tries).plan(loads, mapping)
    estimate = Estimate(loads, mapping, POSTS_ONLY)
    before, after = estimate.matchers(mapping.owner), estimate.matchers(mapping.moved(moves).owner)
    assert all(mapping.owner[parcel] != to for parcel, to in moves)
    if moves:
        assert after.max() < before.max() and (tries or after.min() >= before.min())
    assert Local(select=select, costs=POSTS_ONLY, tries=tries).plan(loads, mapping) == moves


@pytest.mark.parametrize("bad", [{"select": "best"}, {"uneven": 1.0}, {"heaviest": -1}, {"tries": -1}])
def test_settings_that_are_none_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(DataError, match="choose"):
        Local(**bad)  # type: ignore[arg-type]


def test_one_matcher_has_nothing_to_give() -> None:
    assert Local().plan(loads_of([[0]], [1], 1), Mapping(words([0], 1).parcels, np.zeros(1, np.int32), 1)) == []
