"""Parcels that are tried elsewhere: the loads that follow, what moving costs, and exchanges by exchanging."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.balancing.hand import loads_of, words
from tidings.balancing import Estimate, Formula, Loads, Standing
from tidings.balancing.trial import TRIES, Trial
from tidings.partitioning import Move
from tidings.partitioning.load import COUNTED, LoadCosts

POSTS_ONLY = LoadCosts(pair=0, post=1, insertion=0, deletion=0)
PAIRS_ONLY = LoadCosts(pair=1, post=0, insertion=0, deletion=0)
ALL = np.ones(3, dtype=np.bool_)
WEIGHT = 1 / 0.37  # sums of these are not exact

posts_of = st.lists(st.sets(st.integers(0, 11), max_size=4).map(sorted), max_size=30)
filed_in = st.lists(st.integers(0, 9), min_size=12, max_size=12)
owners = st.lists(st.integers(0, 2), min_size=12, max_size=12)
standing_in = st.lists(st.sets(st.integers(0, 11), min_size=1, max_size=3).map(sorted), max_size=12)


def test_a_subscription_of_two_parcels_is_kept_twice_where_they_belong_to_two_matchers() -> None:
    # Three subscriptions are in parcels 0 and 1, one in 1 alone, two in 2. All of matcher 0: it has four, and looked at
    # 80 entries for 20 posts. If parcel 1 goes, both have these three: the pairs are 10 * 3 and 20 * 6.
    loads = loads_of([[0]] * 10 + [[1]] * 10 + [[2]] * 10, [3, 4, 2])
    rows, parcels = [0, 0, 1, 1, 2, 2, 3, 4, 5], [0, 1, 0, 1, 0, 1, 1, 2, 2]
    loads = replace(loads, standing=Standing(np.array(rows), np.array(parcels, np.int32), np.ones(6)))
    loads.matchers.posts[:], loads.matchers.compared[:] = [20, 10], [80, 20]
    estimate = Estimate(loads, words([0, 0, 1]), PAIRS_ONLY, "measured")
    apart = np.array([0, 1, 1], dtype=np.int32)
    assert estimate.matchers(np.array([0, 0, 1], dtype=np.int32)).tolist() == [80, 20]
    assert estimate.matchers(apart).tolist() == [10 * 3 * 1, 20 * 6 * 1]
    trial = Trial(estimate)
    trial.give(np.array([1]), 0, 1)
    assert trial.loads().tolist() == [30, 120]


def some_loads(posts: list[list[int]], filed: list[int], standing: list[list[int]]) -> Loads:
    """Loads of three matchers, and subscriptions that are filed in these parcels."""
    pairs = [(row, parcel) for row, own in enumerate(standing) for parcel in own]
    rows, parcels = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    there = Standing(rows, parcels.astype(np.int32), np.full(len(standing), WEIGHT))
    loads = replace(loads_of(posts, filed, 3), standing=there)
    loads.matchers.posts[:], loads.matchers.compared[:], loads.matchers.found[:] = [9, 9, 0], [50, 7, 0], [3, 9, 0]
    return loads


@given(
    posts=posts_of,
    filed=filed_in,
    owner=owners,
    standing=standing_in,
    given_away=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sets(st.integers(0, 11)))),
    formula=st.sampled_from(get_args(Formula)),
)
def test_a_trial_has_the_loads_of_an_estimate_after_each_parcel_that_goes(
    posts: list[list[int]],
    filed: list[int],
    owner: list[int],
    standing: list[list[int]],
    given_away: list[tuple[int, int, set[int]]],
    formula: Formula,
) -> None:
    loads = some_loads(posts, filed, standing)
    estimate = Estimate(loads, words(owner, 3), COUNTED, formula)
    trial = Trial(estimate)
    for heavy, light, some in given_away:
        parcels = np.array(sorted(p for p in some if trial.owner[p] == heavy and heavy != light), dtype=np.int64)
        after = trial.owner.copy()
        given = trial.give(parcels, heavy, light)
        for parcel, *pair in zip(parcels, given.heavy, given.light, strict=True):
            after[parcel] = light
            assert np.allclose(estimate.matchers(after)[[heavy, light]], pair)
        assert np.array_equal(trial.owner, after) and np.allclose(trial.loads(), estimate.matchers(after))


@given(
    posts=posts_of,
    filed=filed_in,
    owner=owners,
    standing=standing_in,
    formula=st.sampled_from(get_args(Formula)),
    takes=st.lists(st.booleans(), min_size=3, max_size=3),
)
def test_after_exchanging_a_trial_has_the_loads_of_an_estimate(
    posts: list[list[int]],
    filed: list[int],
    owner: list[int],
    standing: list[list[int]],
    formula: Formula,
    takes: list[bool],
) -> None:
    loads, before = some_loads(posts, filed, standing), np.array(owner, dtype=np.int32)
    estimate = Estimate(loads, words(owner, 3), COUNTED, formula)
    trial, again = Trial(estimate), Trial(estimate)
    trial.exchange(TRIES, np.array(takes))
    assert np.allclose(trial.loads(), estimate.matchers(trial.owner))
    changed = trial.owner != before
    assert all(takes[matcher] for own in (trial.owner, before) for matcher in own[changed])
    homes = [[{int(own[parcel]) for parcel in each} for each in standing] for own in (before, trial.owner)]
    come = [WEIGHT * sum(m in new and m not in old for old, new in zip(*homes, strict=True)) for m in range(3)]
    gone = [WEIGHT * sum(m in old and m not in new for old, new in zip(*homes, strict=True)) for m in range(3)]
    assert np.allclose(trial.moving(), COUNTED.insertion * np.array(come) + COUNTED.deletion * np.array(gone))
    again.exchange(TRIES, np.array(takes))
    assert np.array_equal(trial.owner, again.owner)


def test_exchanging_lets_what_shares_posts_and_subscriptions_come_together() -> None:
    # Two sets of three parcels, for each of which the same 10 posts come; both matchers have some of both, and one more
    # parcel each with 10 posts.
    posts = [own for own in ([0, 1, 2], [3, 4, 5], [6], [7]) for _ in range(10)]
    trial = Trial(Estimate(loads_of(posts, [5] * 8), words([0, 0, 1, 1, 1, 0, 0, 1]), POSTS_ONLY))
    assert trial.loads().tolist() == [30, 30]
    trial.exchange(TRIES, ALL[:2])
    assert trial.loads().tolist() == [20, 20]
    assert [len(set(trial.owner[own].tolist())) for own in ([0, 1, 2], [3, 4, 5])] == [1, 1]


def test_who_takes_no_part_gives_and_gets_nothing() -> None:
    loads = loads_of([[parcel] for parcel in range(9)], [5] * 9, 3)
    trial = Trial(Estimate(loads, words([0] * 5 + [1] * 4, 3), POSTS_ONLY))
    trial.exchange(TRIES, np.array([True, False, True]))
    assert trial.owner[5:].tolist() == [1] * 4 and sorted(trial.loads().tolist()) == [2, 3, 4]


def test_what_moves_has_to_pay_with_the_posts_since_the_last_move() -> None:
    # Matcher 0 has two parcels of 10 posts, and the others none. One goes to matcher 1, and its 3 subscriptions: 15 in
    # all. After 10 posts of each parcel it would have gained 10, and after twice as many 20.
    loads, costs = loads_of([[0], [1]] * 10, [3, 3], 3), replace(POSTS_ONLY, insertion=5.0)
    for times, moves in ((1, []), (2, [Move(1, to=1)])):
        loads.matchers.posts[:] = [20 * times, 0, 0]
        trial = Trial(Estimate(loads, words([0, 0], 3), costs))
        trial.give(np.array([1]), 0, 1)
        assert trial.times == times and trial.moving().tolist() == [0, 15, 0]
        assert trial.moves() == moves


def test_exchanging_waits_too_until_what_moves_pays() -> None:
    loads, costs = loads_of([[0], [1]] * 10, [3, 3], 3), replace(POSTS_ONLY, insertion=5.0)
    for times, changed in ((1, 0), (2, 1)):
        loads.matchers.posts[:] = [20 * times, 0, 0]
        trial = Trial(Estimate(loads, words([0, 0], 3), costs))
        trial.exchange(TRIES, ALL)
        assert np.count_nonzero(trial.owner != 0) == changed


def test_where_one_load_cannot_be_lowered_the_others_are_left_alone() -> None:
    # Parcel 0 is most of all load. What is at the others is even, and each post and subscription is at one of them.
    posts = [[0]] * 900 + [[1 + number % 60] for number in range(600)]
    loads, owner = loads_of(posts, [5] * 61, 3), [0] + [1 + number % 2 for number in range(60)]
    for costs in (POSTS_ONLY, COUNTED):
        trial = Trial(Estimate(loads, words(owner, 3), costs))
        before = trial.loads()
        trial.exchange(TRIES, ALL)
        assert np.count_nonzero(trial.owner != owner) <= 30
        assert trial.loads().max() == before.max() and trial.loads().sum() <= before.sum()


def test_all_of_one_matcher_is_divided_and_large_costs_change_nothing() -> None:
    posts = [[parcel] for parcel in range(64) for _ in range(5)]
    for post in (1.0, 1e7, 1e-12):
        costs = LoadCosts(pair=0, post=post, insertion=0, deletion=0)
        trial = Trial(Estimate(loads_of(posts, [5] * 64, 8), words([0] * 64, 8), costs))
        trial.exchange(400, np.ones(8, dtype=np.bool_))
        assert np.allclose(trial.loads(), 40 * post)
