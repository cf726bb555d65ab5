from __future__ import annotations

import numpy as np
import pytest

from tidings.model import DataError
from tidings.shedding import Rates


def test_much_seen_terms_have_their_own_rate_and_new_ones_that_of_their_subscriptions() -> None:
    rates = Rates(np.array([100, 100, 0, 50]))
    rates.learn(np.array([10_000, 10_000]), np.array([30_000, 10_000]), now_s=0.0)
    assert rates.ratio() == 0.02  # 40,000 matches of 2,000,000 that were looked at
    assert rates.estimate().tolist() == pytest.approx([3.0, 1.0, 0.0, 1.0], rel=1e-3)


def test_before_anything_is_learned_every_subscription_is_expected_to_match() -> None:
    assert Rates(np.array([3, 0])).estimate().tolist() == [3, 0]


def test_the_past_is_forgotten_by_halves() -> None:
    rates = Rates(np.array([1]), half_life_s=10)
    rates.learn(np.array([1_000_000]), np.array([1_000_000]), now_s=0.0)
    rates.learn(np.array([500_000]), np.array([0]), now_s=10.0)  # as much as is left of the past
    assert rates.estimate()[0] == pytest.approx(0.5, rel=1e-3)
    rates.learn(np.array([1_000_000]), np.array([0]), now_s=1_000.0)
    assert rates.estimate()[0] < 1e-3


def test_a_clock_that_goes_back_forgets_nothing() -> None:
    rates, other = Rates(np.array([1, 1]), half_life_s=10), Rates(np.array([1, 1]), half_life_s=10)
    for now_s in (50.0, 0.0, 50.0):
        rates.learn(np.array([10, 10]), np.array([5, 0]), now_s)
        other.learn(np.array([10, 10]), np.array([5, 0]), 50.0)
    assert rates.estimate().tolist() == other.estimate().tolist()


def test_terms_are_added() -> None:
    rates = Rates(np.array([2]))
    rates.learn(np.array([96]), np.array([96]), now_s=0.0)
    rates.refile(np.array([2, 8]))
    assert rates.estimate().tolist() == pytest.approx([1.0, 4.0])
    with pytest.raises(DataError, match="terms are only added"):
        rates.refile(np.array([2]))
    with pytest.raises(DataError, match="refile first"):
        rates.learn(np.ones(3, dtype=np.int64), np.ones(3, dtype=np.int64), now_s=0.0)


def test_a_half_life_is_a_time() -> None:
    with pytest.raises(DataError, match="more than 0, got 0"):
        Rates(np.array([2]), half_life_s=0)
