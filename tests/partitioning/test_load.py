from __future__ import annotations

import numpy as np
import pytest

from tidings.model import DataError
from tidings.partitioning.load import LoadCosts, cell_load


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
