from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.model import DataError
from tidings.shedding import Levels, keep_posts

BATCHES = st.lists(st.sampled_from([0.0, 0.5, 1.0, 7.25]), max_size=20)


def keys(count: int, first: int = 0) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.arange(first, first + count, dtype=np.uint64)


@given(BATCHES, st.floats(0, 1), st.integers(0, 99))
def test_those_with_fewest_expected_matches_go_first_in_any_order(
    expected: list[float], fraction: float, seed: int
) -> None:
    worth, own = np.array(expected), keys(len(expected), 99)
    kept = keep_posts(worth, fraction, own)
    assert abs(kept.sum() - fraction * len(worth)) < 1
    assert worth[kept].min(initial=np.inf) >= worth[~kept].max(initial=0)
    order = np.random.default_rng(seed).permutation(len(expected))
    assert keep_posts(worth[order], fraction, own[order]).tolist() == kept[order].tolist()


@given(BATCHES, st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_a_smaller_fraction_keeps_a_part_of_a_larger(expected: list[float], fractions: tuple[float, float]) -> None:
    low, high = (keep_posts(np.array(expected), part, keys(len(expected))) for part in sorted(fractions))
    assert not np.any(low & ~high)


@given(BATCHES)
def test_level_0_drops_nothing(expected: list[float]) -> None:
    assert keep_posts(np.array(expected), Levels().fraction(0), keys(len(expected))).all()


def test_small_batches_keep_the_fraction_on_average() -> None:
    kept = [keep_posts(np.ones(1), 0.3, keys(1, key)).sum() for key in range(4_000)]
    assert np.mean(kept) == pytest.approx(0.3, abs=0.03)


def test_a_fraction_is_between_0_and_1() -> None:
    with pytest.raises(DataError, match=r"0 to 1, got 1\.5"):
        keep_posts(np.ones(1), 1.5, keys(1))
