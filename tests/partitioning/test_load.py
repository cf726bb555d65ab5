from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.model import DataError
from tidings.partitioning.load import LoadCosts, cell_load, fitted


def test_the_load_of_a_matcher_is_that_of_definition_1() -> None:
    costs = LoadCosts(pair=0.01, post=2, insertion=3, deletion=5)
    assert costs.load(posts=100, insertions=20, deletions=4) == 0.01 * 100 * 20 + 2 * 100 + 3 * 20 + 5 * 4
    loads = costs.load(np.array([100, 0]), np.array([20, 7]), np.array([4, 0]))
    assert loads.tolist() == [300.0, 21.0]


def test_the_load_of_a_cell_is_that_of_definition_3_and_does_not_overflow() -> None:
    assert cell_load(np.array([2**40]), np.array([2**40])).tolist() == [2.0**80]


@pytest.mark.parametrize("bad", [{"pair": -1}, {"post": np.inf}, {"pair": 0, "post": 0, "insertion": 0, "deletion": 0}])
def test_costs_that_are_none_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(DataError, match="not below 0"):
        LoadCosts(**bad)


@given(st.tuples(*[st.sampled_from([0.0, 1e-4, 0.3, 2.0])] * 4).filter(any), st.integers(0, 1000))
def test_fitting_finds_the_costs_that_made_the_times(costs: tuple[float, ...], seed: int) -> None:
    counts = np.random.default_rng(seed).uniform(1, 1000, (20, 4)) * [1000, 1, 1, 1]
    found = fitted(counts, counts @ costs / 1e3)
    assert np.allclose(found, costs, atol=1e-6)


def test_no_fitted_cost_is_below_0_where_plain_least_squares_would_have_one() -> None:
    counts = np.array([[1.0, 1, 0, 0], [1, 2, 0, 0], [1, 3, 0, 0]])
    pair, post, insertion, deletion = fitted(counts, np.array([3.0, 2.0, 1.0]))
    assert post == 0 < pair and insertion == deletion == 0


def test_costs_cannot_be_fitted_to_no_time() -> None:
    with pytest.raises(DataError, match="took any time"):
        fitted(np.ones((2, 4)), np.zeros(2))
