"""Does every number in a range meet the range's cover?"""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tidings.terms.intervals import bounds, bounds_many, cover, cover_many, interval, intervals
from tidings.terms.labels import MAX_DEPTH, ROOT, ancestor, ancestors, bit_label, contains, depth_of

LARGEST, SMALLEST = sys.float_info.max, math.ulp(0.0)
REMARKABLE = [0.0, -0.0, SMALLEST, sys.float_info.min, 1.0, math.nextafter(1, 0), 300_000.0, 1.7e9, 2.0**53, LARGEST]

numbers = (
    st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([sign * number for number in REMARKABLE for sign in (1, -1)])
    | st.integers(-1000, 1000).map(float)
)
sizes = st.integers(1, 20)
open_or = st.none() | numbers


def meets(cover: list[int], number: float) -> bool:
    own = interval(number)
    return not {own, *ancestors(own)}.isdisjoint(cover)


@st.composite
def ranges(draw: st.DrawFn) -> tuple[float | None, float | None]:
    low, high = draw(open_or), draw(open_or)
    if draw(st.booleans()) and low is not None:
        high = draw(st.sampled_from([low, math.nextafter(low, LARGEST), low + abs(low) / 1000]))
    if low is not None and high is not None:
        high = min(high, LARGEST)
        low, high = min(low, high), max(low, high)
    return low, high


@given(ranges(), numbers, sizes)
@example((0.0, 0.0), -0.0, 8)
@example((-0.0, None), 0.0, 8)
@example((None, -0.0), 0.0, 8)
@example((SMALLEST, SMALLEST), SMALLEST, 1)
def test_a_number_in_a_range_meets_its_cover(
    ends: tuple[float | None, float | None], number: float, max_intervals: int
) -> None:
    low, high = ends
    inside = max(number, low if low is not None else number)
    inside = min(inside, high if high is not None else inside)
    found = cover(low, high, max_intervals)
    assert meets(found, inside)
    assert all(meets(found, end) for end in ends if end is not None)


@given(ranges(), sizes, sizes)
def test_a_cover_keeps_its_bound_and_grows_no_looser(
    ends: tuple[float | None, float | None], fewer: int, more: int
) -> None:
    loose, tight = cover(*ends, fewer), cover(*ends, fewer + more)
    assert len(loose) <= fewer
    assert all(any(contains(node, part) for node in loose) for part in tight)


@given(ranges(), numbers)
def test_with_room_enough_a_cover_is_wider_than_the_range_by_one_leaf_at_most(
    ends: tuple[float | None, float | None], number: float
) -> None:
    low, high = ends
    first = interval(low) if low is not None else 0
    last = interval(high) if high is not None else 1 << 64
    assert meets(cover(low, high, 200), number) == (first <= interval(number) <= last)


def test_eight_intervals_are_close_to_the_range() -> None:
    found = cover(10, 20)
    assert bounds(found[0])[0] >= 9.75
    assert bounds(found[-1])[1] <= 20.5


@pytest.mark.parametrize("number", [0.0, 1.0, -1.5, SMALLEST, LARGEST, -LARGEST])
def test_a_range_of_one_number_is_its_leaf(number: float) -> None:
    assert cover(number, number) == [interval(number)]


def test_a_range_open_on_both_sides_is_the_root() -> None:
    assert cover(None, None) == cover(None, None, max_intervals=100) == [ROOT]


def test_a_range_open_on_one_side_of_a_power_of_two_is_few_intervals() -> None:
    assert [bounds(label) for label in cover(0, None)] == [(0.0, LARGEST)]
    assert bounds(cover(1, None)[-1])[1] == LARGEST
    assert bounds(cover(None, 1)[0])[0] == -LARGEST


def test_a_reversed_range_is_refused() -> None:
    with pytest.raises(ValueError, match="not above"):
        cover(2, 1)


@given(numbers, numbers)
def test_labels_order_as_numbers_do(a: float, b: float) -> None:
    assert (interval(a) < interval(b)) <= (a < b) <= (interval(a) <= interval(b))


@given(numbers, numbers, st.integers(0, MAX_DEPTH))
def test_a_number_is_within_the_bounds_if_and_only_if_the_label_contains_its_own(
    number: float, other: float, depth: int
) -> None:
    label = interval(number, depth)
    low, high = bounds(label)
    assert low <= number <= high
    assert contains(label, interval(other)) == (low <= other <= high)
    assert contains(label, interval(low))
    assert contains(label, interval(high))


def test_zero_has_one_label_and_no_negative_interval_reaches_it() -> None:
    assert interval(-0.0) == interval(0.0)
    assert bounds(interval(-SMALLEST))[1] == -SMALLEST
    assert bounds(bit_label(0, 1)) == (-LARGEST, -SMALLEST)


def test_a_label_beyond_the_finite_numbers_has_no_bounds() -> None:
    with pytest.raises(ValueError, match="no finite number"):
        bounds(bit_label((1 << MAX_DEPTH) - 1, MAX_DEPTH))


@given(numbers, st.integers(0, MAX_DEPTH))
def test_an_interval_at_a_depth_is_the_ancestor_of_the_leaf(number: float, depth: int) -> None:
    label = interval(number, depth)
    assert depth_of(label) == depth
    assert label == ancestor(interval(number), depth)


@given(st.lists(numbers, max_size=20), st.integers(0, MAX_DEPTH))
def test_intervals_of_an_array_are_those_of_its_numbers(values: list[float], depth: int) -> None:
    found = intervals(np.array(values, np.float64), depth)
    assert found.dtype == np.uint64
    assert found.tolist() == [interval(value, depth) for value in values]


def test_intervals_of_an_array_with_gaps_keep_its_shape() -> None:
    table = np.arange(12.0).reshape(3, 4)[:, ::2]
    assert intervals(table).tolist() == [[interval(value) for value in row] for row in table.tolist()]


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, 10**309], ids=["inf", "-inf", "nan", "10**309"])
def test_what_is_not_a_finite_float64_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        interval(number)
    with pytest.raises(ValueError, match="finite"):
        cover(number, None)
    with pytest.raises(ValueError, match="finite"):
        cover(None, number)


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_an_array_with_what_is_not_finite_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        intervals(np.array([1.0, number]))


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=5), sizes)
def test_many_ranges_are_covered_as_one_by_one(pairs: list[tuple[float, float]], size: int) -> None:
    ends = [(min(pair), max(pair)) for pair in pairs]
    low, high = np.array(ends).T
    found = cover_many(low, high, size)
    one_by_one = [cover(low, high, size) for low, high in ends]
    assert found.labels.tolist() == [label for own in one_by_one for label in own]
    assert np.diff(found.offsets).tolist() == [len(own) for own in one_by_one]
    low, high = bounds_many(found.labels)
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == [bounds(label) for label in found.labels.tolist()]


def test_a_reversed_range_among_many_is_refused() -> None:
    with pytest.raises(ValueError, match="not above its high end"):
        cover_many(np.array([1.0, 3.0]), np.array([2.0, 2.0]))
