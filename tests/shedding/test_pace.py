from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from tidings.shedding.pace import FIRST, Pace


def after(batches: int, each_s: float, fixed_s: float, pace: Pace | None = None, level: int = 0) -> Pace:
    """After full batches that may take a second, of posts that cost so much."""
    pace = pace or Pace()
    for _ in range(batches):
        pace = pace.after(pace.admitted, fixed_s + each_s * pace.admitted, batch_s=1.0, level=level)
    return pace


@given(st.floats(1e-6, 1e-3), st.floats(0, 0.5))
def test_full_batches_come_to_last_as_long_as_they_may(each_s: float, fixed_s: float) -> None:
    pace, took = after(60, each_s, fixed_s), []
    for _ in range(20):
        took.append(fixed_s + each_s * pace.admitted)
        pace = after(1, each_s, fixed_s, pace)
    assert max(took) <= 1.3 and 0.9 < sum(took) / len(took) < 1.15


@given(st.floats(0.05, 5), st.floats(1e-5, 1e-2), st.sampled_from([100, 10_000, 1_000_000]), st.randoms())
def test_what_is_admitted_neither_fades_away_nor_piles_up(
    fixed_s: float, each_s: float, first: int, rng: random.Random
) -> None:
    pace, took = Pace(first), []
    for _ in range(60):
        seconds = (fixed_s + each_s * pace.admitted) * rng.uniform(0.7, 1.3)
        took.append(seconds)
        pace = pace.after(pace.admitted, seconds, batch_s=1.0)
    best = max(1.0 - fixed_s, fixed_s) / each_s
    assert min(best / 20, 10_000) <= max(pace.admitted, 100) <= max(6 * best, 100)
    assert max(took[40:]) <= 8 * (fixed_s + max(1.0, fixed_s, 100 * each_s))


@given(st.floats(1e-5, 1e-4), st.floats(0, 0.4), st.floats(0.1, 10))
def test_another_level_is_taken_up_in_a_few_batches(each_s: float, fixed_s: float, times: float) -> None:
    """More is admitted where a post takes less time, though the batches before were slower; and the other way round."""
    before = after(40, each_s, fixed_s)
    later = after(5, each_s * times, fixed_s, before, level=1)
    assert 0.85 < fixed_s + later.admitted * each_s * times < 1.3
    assert 0.85 < fixed_s + after(60, each_s, fixed_s, later).admitted * each_s < 1.3


def test_small_batches_do_not_make_a_system_seem_slow() -> None:
    pace = after(60, 1e-5, 0.1)
    before = pace
    for posts in (10, 0) * 50:
        pace = pace.after(posts, 0.1, batch_s=1.0)
    assert pace == before


def test_where_a_batch_takes_all_that_waits_and_so_lasts_longer_not_more_and_more_is_admitted() -> None:
    """What comes during a batch is the next one; batches that are alike say nothing new."""
    pace, posts = after(20, 3e-5, 0.1), 20_000
    for _ in range(200):
        seconds = 0.1 + 3e-5 * posts
        pace = pace.after(posts, seconds, batch_s=1.0)
        posts = min(int(32_000 * seconds) + 1_000, pace.admitted)
    assert 25_000 < pace.admitted < 45_000


def test_something_is_always_admitted() -> None:
    assert after(50, 10.0, 100.0).admitted == 100
    assert (Pace().admitted, Pace().is_measured, after(1, 1e-5, 0.0).is_measured) == (FIRST, False, True)
