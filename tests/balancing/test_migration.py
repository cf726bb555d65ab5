"""Which parcels go: hand-worked examples of the four algorithms, and DP against all subsets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.arrays import IntArray
from tidings.balancing.migration import SELECTORS, RandomChoice, Select, SelectorName, select_dp, select_gr, select_si
from tidings.model import DataError
from tidings.partitioning.load import FloatArray


def parcels(*pairs: tuple[int, float]) -> tuple[IntArray, FloatArray]:
    """Sizes and loads."""
    return np.array([s for s, _ in pairs], dtype=np.int64), np.array([load for _, load in pairs], dtype=np.float64)


# By S/L: a 1/4, b 3/6, c 4/5, d 10/12, e 9/3.
FIVE = parcels((1, 4), (3, 6), (4, 5), (10, 12), (9, 3))


def test_gr_takes_parcels_by_relative_size_and_the_least_candidate_of_those_that_end_the_choice() -> None:
    # τ = 12: a (4) and b (10) are GS; c (15 ≥ 12) is GL: {a, b, c} of size 8; d is GL: 14; e is GL: {a, b, e}, 13.
    assert select_gr(*FIVE, 12).tolist() == [0, 1, 2]


def test_gr_goes_on_after_a_candidate_and_finds_a_smaller_one() -> None:
    # By S/L: a 1/2, b 30/20, c 4/2, d 6/3. τ = 6: a is GS (2). b is GL: {a, b}, size 31. c is GS (4).
    # d is GL: {a, c, d} has 7 ≥ 6 and size 11.
    assert select_gr(*parcels((1, 2), (30, 20), (4, 2), (6, 3)), 6).tolist() == [0, 2, 3]


def test_dp_finds_what_gr_misses() -> None:
    # τ = 10. GR: a (1/3) is GS; b (4/10) ends it: {a, b}, size 5. Alone, b would do: size 4.
    sizes, loads = parcels((1, 3), (4, 10))
    assert select_gr(sizes, loads, 10).tolist() == [0, 1]
    assert select_dp(sizes, loads, 10).tolist() == [1]


def test_dp_takes_a_parcel_whose_size_is_all_there_is_room_for() -> None:
    # The paper's j ≤ S would leave it out: A(1, 4) would be 0.
    assert select_dp(*parcels((4, 10)), 10).tolist() == [0]


def test_si_takes_the_largest_first_whatever_their_load() -> None:
    # τ = 12: d (10) has 12, enough. τ = 13: e (9) too. τ = 16: c (4) too.
    assert [select_si(*FIVE, amount).tolist() for amount in (12, 13, 16)] == [[3], [3, 4], [2, 3, 4]]


def test_ra_takes_by_chance_until_it_is_enough_and_the_same_by_the_same_seed() -> None:
    chosen = {tuple(RandomChoice(seed)(*FIVE, 12).tolist()) for seed in range(50)}
    assert chosen == {tuple(RandomChoice(seed)(*FIVE, 12).tolist()) for seed in range(50)} and len(chosen) > 5


SIZED = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 20)), max_size=8)


@pytest.mark.parametrize("name", SELECTORS)
@given(pairs=SIZED, amount=st.integers(1, 60))
def test_what_is_chosen_is_enough_where_there_is_enough_and_rises(
    name: SelectorName, pairs: list[tuple[int, float]], amount: int
) -> None:
    sizes, loads = parcels(*pairs)
    chosen = SELECTORS[name](sizes, loads, amount)
    assert np.all(np.diff(chosen) > 0) and np.all(loads[chosen] > 0)
    if loads.sum() >= amount:
        assert loads[chosen].sum() >= amount
    else:
        assert len(chosen) == np.count_nonzero(loads)


@given(pairs=SIZED, amount=st.integers(1, 60))
def test_dp_carries_as_little_as_the_best_of_all_subsets(pairs: list[tuple[int, float]], amount: int) -> None:
    sizes, loads = parcels(*pairs)
    subsets = [list(some) for count in range(len(sizes) + 1) for some in combinations(range(len(sizes)), count)]
    enough = [int(sizes[some].sum()) for some in subsets if loads[some].sum() >= amount]
    if enough:
        assert int(sizes[select_dp(sizes, loads, amount)].sum()) == min(enough)


@given(pairs=SIZED, amount=st.integers(1, 60))
def test_gr_never_carries_less_than_dp(pairs: list[tuple[int, float]], amount: int) -> None:
    sizes, loads = parcels(*pairs)
    costs = [int(sizes[select(sizes, loads, amount)].sum()) for select in (select_dp, select_gr)]
    assert costs[0] <= costs[1]


@pytest.mark.parametrize("select", SELECTORS.values())
def test_of_nothing_nothing_is_chosen(select: Select) -> None:
    assert select(*parcels(), 5).tolist() == []
    assert select(*parcels((3, 0)), 5).tolist() == []


def test_dp_refuses_a_table_that_does_not_fit() -> None:
    with pytest.raises(DataError, match="too many for DP"):
        select_dp(*parcels(*((10**9, 2.0) for _ in range(9))), 3)
