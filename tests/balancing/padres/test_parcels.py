"""The decisions of PADRES on parcels: worked by hand, and what holds for any loads."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.balancing.hand import loads_of, words
from tests.examples import examples
from tidings.balancing import Adjuster, Estimate
from tidings.balancing.padres import OnParcels, Stabilized
from tidings.balancing.padres.parcels import metrics_of, profile_of
from tidings.cluster import Cluster
from tidings.partitioning import Mapping, Move
from tidings.partitioning.load import FloatArray, LoadCosts

POSTS_ONLY = LoadCosts(pair=0, post=1, insertion=0, deletion=0)
SMALL = LoadCosts(pair=0.001, post=1, insertion=0, deletion=0)
EVEN, UNEVEN, WORSE = np.array([10.0, 9.5]), np.array([12.0, 8.0]), np.array([15.0, 5.0])


def test_in_a_balanced_cluster_every_ratio_is_a_half() -> None:
    assert [metrics.input_ratio for metrics in metrics_of(np.array([7.0, 7.0, 7.0]))] == [0.5] * 3
    assert [metrics.input_ratio for metrics in metrics_of(np.zeros(2))] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("history", "due"),
    [
        ([], False),
        ([UNEVEN] * 3, False),  # three batches have not passed since the first
        ([UNEVEN] * 4, True),
        ([EVEN] * 4, False),
        ([UNEVEN, UNEVEN, UNEVEN, WORSE], False),  # it still changes
        ([EVEN, UNEVEN, UNEVEN, UNEVEN, UNEVEN], True),
        ([np.array([39.0, 1.0])], True),  # overloaded: 1.95 times the mean does not wait
        ([np.zeros(2)] * 4, False),
        ([np.array([3.0])] * 4, False),
    ],
)
def test_a_session_begins_when_loads_differ_and_have_been_steady(history: list[FloatArray], due: bool) -> None:
    assert Stabilized(batches=3).is_due(history) is due


def test_load_goes_to_the_matcher_that_gains_least_input() -> None:
    # Matcher 0 has parcels 0, 1 and 2. Parcel 2 at matcher 1 and parcel 3 at matcher 2: the posts of parcel 0 are sent
    # to matcher 2 anyway.
    posts = [[0, 4]] * 6 + [[1]] * 6 + [[2]] * 6 + [[3]] * 6
    moves = OnParcels(costs=SMALL, tries=0).plan(loads_of(posts, [1] * 5, 3), words([0, 0, 0, 1, 2], 3))
    assert moves == [Move(0, to=2)]


def test_an_idle_matcher_gets_load_though_another_one_gains_less() -> None:
    # All posts of matcher 0 are sent to matcher 1 as well, for parcel 8: it gains nothing by any. Matcher 2 is idle.
    posts = [[parcel, 8] for parcel in range(8) for _ in range(3)] + [[parcel] for parcel in range(8) for _ in range(6)]
    moves = OnParcels(costs=SMALL, tries=0).plan(loads_of(posts, [1] * 9, 3), words([0] * 8 + [1], 3))
    assert moves and {move.to for move in moves} == {2}


def test_of_matchers_that_are_about_as_idle_the_one_takes_that_gains_least() -> None:
    # As before, but matcher 2 has nearly as much as matcher 1.
    posts = [[parcel, 8] for parcel in range(8) for _ in range(3)] + [[9]] * 22
    posts += [[parcel] for parcel in range(8) for _ in range(6)]
    moves = OnParcels(costs=SMALL, tries=0).plan(loads_of(posts, [1] * 10, 3), words([0] * 8 + [1, 2], 3))
    assert moves and {move.to for move in moves} == {1}


def test_a_matcher_gives_until_both_are_close_and_no_more() -> None:
    posts = [[parcel] for parcel in range(8) for _ in range(3)]
    moves = OnParcels(costs=SMALL, tries=0).plan(loads_of(posts, [1] * 8), words([0] * 8))
    assert len(moves) == 4 and {move.to for move in moves} == {1}


def test_a_parcel_that_is_all_the_load_stays() -> None:
    assert OnParcels(costs=POSTS_ONLY).plan(loads_of([[0]] * 9, [1, 1]), words([0, 1])) == []


def test_one_matcher_has_nothing_to_give() -> None:
    assert OnParcels().plan(loads_of([[0]], [1], 1), words([0], 1)) == []


def test_the_sample_are_the_latest_posts() -> None:
    loads = loads_of([[0], [1], [1, 2], [2]], [1] * 3)
    assert profile_of(loads.touches, 2).vectors == {1: 0b01, 2: 0b11}
    assert profile_of(loads.touches, 2).rate_of(0b11) == 4  # as many posts as all were


@examples(300)
@given(
    posts=st.lists(st.sets(st.integers(0, 11), min_size=1, max_size=3).map(sorted), max_size=40),
    owner=st.lists(st.integers(0, 3), min_size=12, max_size=12),
    samples=st.sampled_from([5, 1_000]),
    tries=st.sampled_from([0, 50]),
)
def test_a_plan_never_raises_the_largest_load_nor_the_difference(
    posts: list[list[int]], owner: list[int], samples: int, tries: int
) -> None:
    loads, mapping = loads_of(posts, [1] * 12, 4), words(owner, 4)
    policy = OnParcels(costs=SMALL, samples=samples, tries=tries)
    moves = policy.plan(loads, mapping)
    estimate = Estimate(loads, mapping, SMALL, "measured")
    before, after = estimate.matchers(mapping.owner), estimate.matchers(mapping.moved(moves).owner)
    assert after.max() <= before.max() and np.ptp(after) <= np.ptp(before)
    assert all(mapping.owner[parcel] != to for parcel, to in moves)
    assert policy.plan(loads, mapping) == moves


@examples(100)
@given(
    posts=st.lists(st.sets(st.integers(0, 11), min_size=1, max_size=2).map(sorted), min_size=1, max_size=40),
    owner=st.lists(st.integers(0, 2), min_size=12, max_size=12),
)
def test_plan_after_plan_comes_to_rest(posts: list[list[int]], owner: list[int]) -> None:
    loads, mapping = loads_of(posts, [1] * 12, 3), words(owner, 3)
    for _ in range(50):
        moves = OnParcels(costs=SMALL).plan(loads, mapping)
        if not moves:
            return
        mapping = mapping.moved(moves)
    raise AssertionError("it moves for ever")


@pytest.mark.thorough
def test_a_cluster_converges_and_comes_to_rest() -> None:
    """100 batches over an in-process cluster in which at first one matcher has half of all parcels."""
    rng = np.random.default_rng(5)
    vocabulary = np.array([f"w{n}" for n in range(300)])
    odds = 1 / np.arange(10, 310)
    odds /= odds.sum()
    mapping = Mapping.hashed(4)
    owner = np.where(rng.random(mapping.parcels.count) < 0.5, 0, mapping.owner).astype(np.int32)
    cluster = Cluster(Mapping(mapping.parcels, owner, 4))
    asked = [" ".join(rng.choice(vocabulary, 2, replace=False, p=odds)) for _ in range(400)]
    cluster.change(pa.table({"id": [f"s{n}" for n in range(400)], "query": asked}))
    adjuster, moved, uneven = Adjuster(OnParcels(samples=1_000), Stabilized()), list[int](), list[float]()
    for batch in range(100):
        texts = [" ".join(rng.choice(vocabulary, 5, p=odds)) for _ in range(50)]
        before = cluster.loads().matchers.posts
        cluster.deliver(pa.table({"id": [f"p{batch}-{n}" for n in range(50)], "text": texts}))
        posts = cluster.loads().matchers.posts - before
        uneven.append(float(posts.max() / max(posts.min(), 1)))
        assert cluster.mapping is not None
        moves = adjuster.look(cluster.loads(), cluster.mapping)
        if moves:
            moved.append(batch)
            cluster.move(moves)
    assert moved and moved[-1] < 80
    assert np.mean(uneven[-20:]) < 1.5 < np.mean(uneven[:5])
