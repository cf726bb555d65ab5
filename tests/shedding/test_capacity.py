"""Does shedding to capacity keep what fits, bound the wait, and end when the overload does? On a simulated clock."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.shedding.capacity import Capacity, Graded, Kept, Memory, Profile, allowed_s
from tidings.shedding.costs import Costs, Timed, Work
from tidings.shedding.simulation import Served, Server, serve
from tidings.shedding.threshold import Floor

COPIES = {grade: Graded(10.0, 10.0, 10.0 * 1.17 ** (grade - 20)) for grade in range(0, 40, 2)}
PROFILE = Profile(20.0, 200.0, sum(one.matches for one in COPIES.values()), COPIES)
"""Ten copies of a post, of which those of a high grade have most matches."""

COSTS = Costs(fixed=0.6, post=2e-5, looked_at=5e-6, copy=7e-6, match=1.5e-6)
DELAY_S = 10.0
QUIET = Capacity(COSTS, PROFILE)
RATE = 60_000 / QUIET.seconds(60_000)
"""Posts a second that can be handled in large batches."""


def server(by_grade: bool = True, most: float = 10 * RATE) -> Server:
    return Server(COSTS, PROFILE, DELAY_S, most, by_grade=by_grade)


def noisy(seed: int, part: float = 0.15, stalls: float = 0.03) -> Iterator[float]:
    """Times that differ by that part, and now and then by much more; not twice in a row, for then a post waits for both
    batches, whatever is shed."""
    rng, is_stalled = random.Random(seed), False
    while True:
        usual = rng.uniform(1 - part, 1 + part)
        is_stalled = rng.random() < stalls and not is_stalled
        yield usual * (2.5 if is_stalled else 1.0)


def between(batches: list[Served], start_s: float, end_s: float) -> list[Served]:
    return [batch for batch in batches if start_s <= batch.begin_s < end_s]


def lag_s(batch: Served) -> float:
    """How long its oldest post has waited when it is done."""
    return batch.age_s + batch.busy_s


def kept(batches: list[Served]) -> float:
    """The share of the matches that is kept."""
    return sum(batch.posts * (1 - batch.lost) for batch in batches) / sum(batch.posts for batch in batches)


SPIKE = ((60.0, 0.5 * RATE), (120.0, 2.0 * RATE), (60.0, 0.25 * RATE))


@pytest.mark.parametrize("seed", range(8))
def test_in_a_spike_of_twice_the_capacity_the_lag_settles_within_twice_the_delay(seed: int) -> None:
    batches = serve(SPIKE, server(), noisy(seed))
    assert max(map(lag_s, between(batches, 80, 180))) < 2 * DELAY_S
    assert not any(batch.lost for batch in between(batches, 0, 60) + between(batches, 210, 240))


def test_a_steady_overload_is_shed_evenly() -> None:
    batches = between(serve([(400.0, 2.0 * RATE)], server(), repeat(1.0)), 60, 400)
    assert max(batch.lost for batch in batches) - min(batch.lost for batch in batches) < 0.1
    assert all(0.7 < batch.busy_s / (DELAY_S / 2) < 1.3 for batch in batches)


def test_more_is_kept_than_by_dropping_posts_at_random_to_the_same_capacity() -> None:
    ours, chance = (between(serve(SPIKE, server(by_grade), repeat(1.0)), 60, 180) for by_grade in (True, False))
    assert kept(ours) > 1.15 * kept(chance) > 1.15 * 0.3


@examples(30)
@given(st.floats(0, 0.6), st.integers(0, 10**6), st.sampled_from([6_000.0, 10 * RATE]))
def test_nothing_is_shed_where_the_load_can_be_borne(load: float, seed: int, most: float) -> None:
    """A batch that stalls may cost a little, where another comes soon after."""
    rate = load * min(RATE, most / QUIET.seconds(most))
    steady, stalling = (
        serve([(300.0, rate)], server(most=most), noisy(seed, part=0.1, stalls=stalls)) for stalls in (0.0, 0.03)
    )
    assert not any(batch.lost for batch in steady)
    assert not any(batch.posts for batch in stalling) or kept(stalling) > 0.98


@examples(20)
@given(st.floats(1.0, 4.0), st.integers(0, 10**6), st.booleans())
def test_under_any_overload_that_can_be_read_the_lag_is_bounded_and_shedding_ends(
    load: float, seed: int, by_grade: bool
) -> None:
    readable = 1 / (COSTS.post + 0.02 * (QUIET.seconds(2) - QUIET.seconds(1)))
    rate = min(load * RATE, 0.7 * readable)
    batches = serve([(60.0, 0.4 * RATE), (200.0, rate), (60.0, 0.3 * RATE)], server(by_grade), noisy(seed))
    # Of 3,000 seeds the longest is 2.4 delays for up to twice the capacity, and 3.2 for four times: stalls in turns.
    assert max(map(lag_s, between(batches, 90, 260)), default=0.0) < (2.5 if load <= 2 else 3.5) * DELAY_S
    assert not any(batch.lost for batch in between(batches, 285, 320))


@given(st.floats(0.05, 20), st.integers(1_000, 200_000), st.booleans(), st.sampled_from([0.0, 0.02, 0.2]))
def test_what_is_chosen_fits_and_is_no_worse_than_chance(
    seconds: float, posts: int, by_grade: bool, spared: float
) -> None:
    capacity = Capacity(COSTS, PROFILE, spared)
    chosen, seconds = capacity.chosen(posts, seconds, by_grade), max(seconds, 1.5 * COSTS.fixed)
    if chosen is None:
        assert capacity.seconds(posts) <= seconds
        return
    least = capacity.seconds(posts, Kept(0.01, Floor(38, 0.0)))
    assert capacity.seconds(posts, chosen) <= max(seconds, capacity.seconds(posts, Kept(0.01, None)), least) * 1.000001
    random_kept = capacity.chosen(posts, seconds, by_grade=False)
    assert random_kept is not None and capacity.lost(chosen) <= capacity.lost(random_kept) + 1e-9
    assert by_grade or chosen.floor is None


def test_posts_are_dropped_unread_where_looking_at_them_is_most_of_the_work() -> None:
    looking = Capacity(Costs(0.1, 1e-6, 1e-3, 1e-6, 0.0), PROFILE).chosen(10_000, 5.0)
    matching = Capacity(Costs(0.1, 1e-6, 1e-6, 1e-4, 0.0), PROFILE).chosen(10_000, 5.0)
    assert looking is not None and looking.looked_at < 0.6
    assert matching is not None and matching.looked_at == 1.0 and matching.floor is not None


def test_nothing_is_shed_of_a_small_batch_that_takes_its_fixed_time_whatever_is_shed() -> None:
    assert QUIET.chosen(1_000, seconds=0.1) is None
    assert QUIET.chosen(20_000, seconds=0.1) is not None


def test_nothing_is_shed_before_three_batches_were_measured() -> None:
    memory = Memory()
    for _ in range(3):
        assert memory.kept(10**6, 0.001) is None and memory.admitted(5.0) is None
        memory = memory.after(Timed(Work(1000, 1000, 9000, 4000), 1.0))
    assert memory.kept(10**6, 0.001) is not None and memory.admitted(5.0)


@given(st.lists(st.floats(0.3, 3.0), min_size=5, max_size=5), st.integers(0, 10**6))
def test_costs_are_found_where_batches_differ(factors: list[float], seed: int) -> None:
    """One batch of ten took ten times as long, for reasons of its own."""
    rng, usual = random.Random(seed), [0.6, 2e-5, 5e-6, 7e-6, 1e-6]
    truth = Costs(*(cost * factor for cost, factor in zip(usual, factors, strict=True)))
    batches = []
    for number in range(32):
        posts = rng.choice([2_000, 10_000, 40_000, 80_000])
        looked_at, part = posts * rng.uniform(0.2, 1), rng.uniform(0.1, 1)
        work = Work(posts, looked_at, 10 * looked_at * part, 20 * looked_at * part * rng.uniform(0.8, 1.2))
        batches.append(Timed(work, truth.seconds(work) * rng.uniform(0.97, 1.03) * (10 if number % 10 == 5 else 1)))
    found = Costs.fit(batches)
    assert found is not None
    for batch in batches[-8:]:
        assert found.seconds(batch.work) == pytest.approx(truth.seconds(batch.work), rel=0.4)


def test_batches_that_are_alike_are_told_by_the_usual_costs() -> None:
    work = Work(20_000, 20_000, 200_000, 400_000)
    found = Costs.fit([Timed(work, 3.0)] * 10)
    assert found is not None and found.seconds(work) == pytest.approx(3.0, rel=0.05)
    assert found.seconds(Work(40_000, 40_000, 400_000, 800_000)) == pytest.approx(5.5, rel=0.2)


def test_time_in_which_something_else_was_done_is_no_overload() -> None:
    assert math.isinf(allowed_s(10.0, age_s=8.0, rest_s=0.0, excused_s=6.0))
    assert allowed_s(10.0, age_s=9.0, rest_s=0.0, excused_s=6.0) == 11.0
