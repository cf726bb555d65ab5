"""Are the draws distinct, in range, and as likely as they should be?"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidings.workloads.draws import distinct_draws, weighted_draws, zipf_ranks


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 6)), max_size=20), st.integers(0, 2**32))
def test_distinct_draws_are_distinct_in_range_and_as_many_as_asked(pairs: list[tuple[int, int]], seed: int) -> None:
    sizes = np.array([size for size, _ in pairs], dtype=np.int64)
    lengths = np.minimum(np.array([length for _, length in pairs], dtype=np.int64), sizes)
    drawn = distinct_draws(sizes, lengths, np.random.default_rng(seed))
    for row, size, length in zip(drawn.tolist(), sizes.tolist(), lengths.tolist(), strict=True):
        kept = [number for number in row if number >= 0]
        assert len(kept) == len(set(kept)) == length
        assert all(number < size for number in kept)


def test_every_set_of_distinct_draws_is_equally_likely() -> None:
    rows = 60_000
    drawn = distinct_draws(np.full(rows, 5), np.full(rows, 2), np.random.default_rng(1))
    pairs = np.sort(drawn, axis=1) @ np.array([10, 1])
    _, counts = np.unique(pairs, return_counts=True)
    assert len(counts) == 10
    assert counts.min() > 0.94 * rows / 10 and counts.max() < 1.06 * rows / 10


@given(st.lists(st.integers(1, 50), min_size=3, max_size=12), st.integers(0, 2**32))
def test_weighted_draws_are_distinct_and_the_first_keeps_its_bound(weights: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 4, size=50)
    first = rng.integers(0, len(weights), size=50)
    drawn = weighted_draws(np.array(weights), lengths, rng, first)
    assert (drawn[:, 0] >= first).all()
    for row, length in zip(drawn.tolist(), lengths.tolist(), strict=True):
        kept = [number for number in row if number >= 0]
        assert len(kept) == len(set(kept)) == length
        assert all(number < len(weights) for number in kept)


def test_weighted_draws_follow_the_weights_without_replacement() -> None:
    rows = 100_000
    weights = np.array([6, 3, 1])
    drawn = weighted_draws(weights, np.full(rows, 2), np.random.default_rng(1), np.zeros(rows, dtype=np.int64))
    assert np.allclose(np.bincount(drawn[:, 0]) / rows, weights / 10, atol=0.01)
    after_the_first = drawn[drawn[:, 0] == 0, 1]
    assert np.allclose(np.bincount(after_the_first, minlength=3) / len(after_the_first), [0, 3 / 4, 1 / 4], atol=0.01)


def test_zipf_ranks_follow_the_power_law() -> None:
    for skew in (0.5, 1.0, 1.3):
        uniform = np.random.default_rng(1).random(400_000, np.float32)
        counts = np.bincount(zipf_ranks(uniform, 1000, skew), minlength=1000)
        ranks = np.arange(10, 200)
        slope, _ = np.polyfit(np.log(ranks + 1.5), np.log(counts[ranks]), 1)
        assert abs(slope + skew) < 0.05
        assert len(counts) == 1000
