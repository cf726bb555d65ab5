from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.model import DataError
from tidings.shedding import Controller, Levels, ideal_share


def levels_of(fullness: list[float], controller: Controller | None = None) -> list[int]:
    """The level after each second."""
    controller = controller or Controller()
    return [controller.step(full, float(second)) for second, full in enumerate(fullness)]


def test_overload_raises_the_level_until_the_queue_shrinks() -> None:
    assert levels_of([1.0, 1.1, 1.1, 1.05, 1.01, 1.02]) == [1, 2, 3, 3, 3, 4]


def test_the_ideal_segment_lowers_the_level_while_the_queue_clearly_shrinks() -> None:
    assert levels_of([0.4, 0.28, 0.27, 0.3, 0.2, 0.17], Controller(level=8)) == [7, 6, 6, 6, 5, 5]


def test_where_hardly_anything_waits_each_decision_lowers_the_level() -> None:
    assert levels_of([0.09, 0.08, 0.08, 0.0, 0.0], Controller(level=8)) == [7, 6, 5, 4, 3]


def test_the_stable_segment_holds_the_level() -> None:
    assert levels_of([0.48, 0.9, 0.99, 0.5], Controller(level=3)) == [3, 3, 3, 3]


def test_entering_a_segment_is_a_reason_to_step_whatever_was_before() -> None:
    assert levels_of([1.5, 0.9, 1.2, 0.1, 1.1]) == [1, 1, 2, 1, 2]


def test_levels_end_at_0_and_at_the_top() -> None:
    assert levels_of([0.0] * 3) == [0, 0, 0]
    assert levels_of([2.0] * 15)[-5:] == [11] * 5
    assert (Controller(level=99).level, Controller(level=-1).level) == (11, 0)


def test_nothing_changes_within_a_period() -> None:
    controller = Controller(Levels(period_s=2.0))
    assert [controller.step(5.0, now_s) for now_s in (0.0, 1.0, 1.9, 2.0, 3.9, 4.1)] == [1, 1, 1, 2, 2, 3]


def test_limit_and_fraction_follow_the_level() -> None:
    controller = Controller()
    assert (controller.m, controller.fraction) == (math.inf, 1.0)
    controller.step(2.0, 0.0)
    assert controller.m == 7.0 and controller.fraction == pytest.approx(49 / 55)
    whole = Levels(delta=1.0, top=7)
    assert [whole.limit(level) for level in range(1, 8)] == [7, 6, 5, 4, 3, 2, 1]
    assert [whole.fraction(level) for level in range(8)] == [1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8]


@pytest.mark.parametrize(
    ("levels", "limits"),
    [
        (Levels(delta=1.0, top=9), [7, 6, 5, 4, 3, 2, 1, 0.5, 0.25]),
        (Levels(first_limit=4.0, delta=2.0, top=4), [4, 2, 1, 0.5]),
        (Levels(first_limit=1.0, top=3), [1, 0.5, 0.25]),
        (Levels(first_limit=3.0, delta=0.2, top=14), [3 - 0.2 * step for step in range(11)] + [0.5, 0.25, 0.125]),
    ],
)
def test_below_one_matcher_the_limit_halves_and_so_do_the_posts_that_are_looked_at(
    levels: Levels, limits: list[float]
) -> None:
    assert [levels.limit(level) for level in range(1, levels.top + 1)] == pytest.approx(limits)
    assert [levels.looked_at(level) for level in range(1, levels.top + 1)] == pytest.approx([min(m, 1) for m in limits])
    assert levels.looked_at(0) == 1


@given(st.lists(st.integers(1, 64), min_size=1, max_size=40), st.floats(0.001, 1))
def test_one_step_never_leads_from_the_ideal_segment_to_overload_or_back(sizes: list[int], place: float) -> None:
    """Where the queue is as long as the load demands, as Eq. 8 assumes."""
    levels = Levels()
    loads = levels.loads(np.array(sizes))
    ideal = ideal_share(loads)
    assert 0 < ideal < 1
    for level in range(1, 12):
        growth = loads[level - 1] / loads[level]
        assert place * ideal * growth < 1 and 1 / growth > ideal


@given(st.lists(st.integers(1, 64), min_size=1, max_size=40))
def test_loads_are_the_copies_that_are_left(sizes: list[int]) -> None:
    loads = Levels(delta=1.0, top=7).loads(np.array(sizes))
    limits = [10**9, 7, 6, 5, 4, 3, 2, 1]
    assert loads.tolist() == pytest.approx([sum(min(size, limit) for size in sizes) / len(sizes) for limit in limits])


def test_where_no_post_goes_anywhere_loads_are_those_of_posts_that_go_to_one_matcher() -> None:
    levels = Levels()
    for sizes in (np.zeros(0, dtype=np.int64), np.zeros(3, dtype=np.int64)):
        assert levels.loads(sizes).tolist() == [levels.fraction(level) for level in range(12)]
    assert levels.loads(np.array([0, 9, 0])).tolist() == levels.loads(np.array([9])).tolist()


def test_settings_that_cannot_work_are_told() -> None:
    for top, first_limit, delta in (0, 7.0, 1.0), (3, 0.5, 1.0), (3, 7.0, 0.0), (3, 7.0, math.nan):
        with pytest.raises(DataError, match=f"{top} levels from {first_limit} down by {delta}"):
            Levels(first_limit, delta, top)
    with pytest.raises(DataError, match=r"between 0 and 1, got 1\.0"):
        Levels(ideal=1.0)
    with pytest.raises(DataError, match="ideal"):
        Levels(ideal=-0.5)
    with pytest.raises(DataError, match="got -1"):
        Levels(period_s=-1)
    with pytest.raises(DataError, match="0 or more, got nan"):
        Controller().step(math.nan, 0.0)
