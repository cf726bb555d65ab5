"""Metrics, the model of the matching delay, and PRESS: the paper's examples and what has to hold in general."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.balancing.padres.delay_model import MAX_BUCKETS, DelayLine, DelayModel
from tidings.balancing.padres.metrics import Meter, Metric, Metrics, difference
from tidings.balancing.padres.parameters import Parameters
from tidings.balancing.padres.press import LoadProfile, Press
from tidings.language import evaluate, parse
from tidings.model import DataError, Publication

TABLE_III = [30, 60, 0.025, 0.025, 10, 0.9, 0.95, 0.1, 0.1, 0.15, 0.15, 0.1, 30, 0.05, 20, 40, 50, 70, 3, 5, 50, 30]


def test_the_parameters_are_those_of_table_iii() -> None:
    assert list(dataclasses.astuple(Parameters())) == [*TABLE_III, 0.005]


def test_parameters_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(DataError, match=r"lower_overload_threshold is at most higher_overload_threshold, got 0\.99"):
        Parameters(lower_overload_threshold=0.99)
    with pytest.raises(DataError, match="press_samples is greater than 0, got 0"):
        Parameters(press_samples=0)


def test_a_meter_tells_the_load_of_its_window() -> None:
    meter = Meter()
    for _ in range(10):
        meter.arrived()
        meter.matched(0.25)
        meter.queued(200)
        meter.sent(100, busy_s=0.5)
    assert meter.close(now=5) == Metrics(input_ratio=0.5, matching_delay_s=0.25, output_ratio=2.0)
    assert meter.close(now=10) == Metrics(input_ratio=0.0, matching_delay_s=0.25, output_ratio=0.0)


def test_delays_differ_by_the_normalization_factor_and_ratios_by_themselves() -> None:
    ours, theirs = Metrics(0.5, 0.02, 0.4), Metrics(0.25, 0.03, 0.9)
    found = [difference(metric, ours, theirs, 0.1) for metric in Metric]
    assert found == pytest.approx([0.25, -0.1, -0.5])


def test_a_line_goes_through_the_last_bucket_with_the_mean_slope() -> None:
    model = DelayModel()
    model.observe(10, 0.010)
    model.observe(20, 0.012)
    model.observe(30, 0.018)
    assert model.line().slope == pytest.approx(((0.018 - 0.010) / 20 + (0.018 - 0.012) / 10) / 2)
    assert model.line().at(30) == pytest.approx(0.018)


def test_a_falling_line_is_flat() -> None:
    model = DelayModel()
    model.observe(10, 0.014)
    model.observe(20, 0.010)
    assert model.line() == DelayLine(0.0, 0.010)


@given(st.floats(0, 1e-3), st.floats(0, 0.1), st.lists(st.integers(1, 3000), min_size=2, max_size=60))
def test_a_linear_matcher_is_estimated_exactly(slope: float, intercept: float, counts: list[int]) -> None:
    model, truth = DelayModel(), DelayLine(slope, intercept)
    for count in counts:
        rounded = (count + 5) // 10 * 10
        model.observe(rounded, truth.at(rounded))
    assert len(model.buckets) <= MAX_BUCKETS
    if len(model.buckets) > 1:
        assert model.line().at(777) == pytest.approx(truth.at(777), rel=1e-6, abs=1e-9)


def test_two_spikes_in_a_row_are_left_out_and_the_third_is_a_new_level() -> None:
    model = DelayModel()
    for _ in range(5):
        model.observe(10, 1.0)
    model.observe(10, 9.0)
    model.observe(10, 0.1)
    assert model.buckets == {10: 1.0}
    model.observe(10, 1.0)
    for _ in range(3):
        model.observe(20, 9.0)
    assert model.buckets == {10: 1.0, 20: 9.0}


def test_the_smallest_buckets_go_first_but_never_the_last_updated() -> None:
    model = DelayModel()
    for bucket in range(1, 13):
        model.observe(10 * bucket, 1.0)
    assert sorted(model.buckets) == [10 * bucket for bucket in range(3, 13)]
    model.observe(10, 1.0)
    assert sorted(model.buckets) == [10, *(10 * bucket for bucket in range(4, 13))]


def test_no_measurement_and_one() -> None:
    model = DelayModel()
    assert model.line() == DelayLine(0.0, 0.0)
    model.observe(2, 0.5)
    assert model.line() == DelayLine(0.0, 0.5)
    model = DelayModel()
    model.observe(20, 0.5)
    assert model.line().at(10) == pytest.approx(0.25)


OFFLOADING = [
    ("[class,=,'STOCK']", 0b110111),
    ("[class,=,'STOCK'],[volume,>,15]", 0b110100),
    ("[class,=,'STOCK'],[volume,>,150]", 0b100000),
    ("[class,=,'SPORTS']", 0b001000),
]
ACCEPTING = ["[class,=,'STOCK'],[volume,>,50]", "[class,=,'STOCK'],[volume,<,5]", "[class,=,'MOVIES']"]
PUBLICATIONS: list[dict[str, str | int]] = [
    {"class": "STOCK", "volume": 0},
    {"class": "STOCK", "volume": 10},
    {"class": "STOCK", "volume": 20},
    {"class": "SPORTS", "type": "racing"},
    {"class": "STOCK", "volume": 100},
    {"class": "STOCK", "volume": 500},
]


def test_table_i_and_equations_6_to_8() -> None:
    queries = {text: parse(text, syntax="padres") for text in [text for text, _ in OFFLOADING] + ACCEPTING}
    press = Press([text for text, _ in OFFLOADING], samples=6, timeout_s=30, now=0)
    for number, attributes in enumerate(PUBLICATIONS, start=1):
        publication = Publication(f"p{number}", "", attributes=attributes)
        matched = {text for text, query in queries.items() if evaluate(query, publication)}
        over = press.sample(matched, reaches_css=bool(matched & set(ACCEPTING)), now=number / 3)
        assert over == (number == 6)
    profile = press.profile(now=2)
    assert profile.vectors == dict(OFFLOADING)
    assert profile.css == 0b110001
    assert profile.rate == 3
    assert profile.rate_of(0b110111) == 2.5  # Eq. 6
    assert profile.added_rate(0b110111) == 1.0  # Eq. 7, 8: |110111 and not 110001| = |000110| = 2
    assert profile.css | dict(OFFLOADING)["[class,=,'STOCK']"] == 0b110111


def test_sampling_ends_with_its_time() -> None:
    press = Press(["a"], samples=50, timeout_s=30, now=0)
    assert not press.sample({"a"}, reaches_css=False, now=10)
    assert press.sample({"a"}, reaches_css=False, now=30)
    assert press.profile(now=20) == LoadProfile({"a": 1}, 0, 1, 0.05)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_press_counts_the_true_overlap(arrivals: list[tuple[bool, bool, bool]]) -> None:
    press = Press("ab", samples=len(arrivals), timeout_s=1e9, now=0)
    for at, (a, b, css) in enumerate(arrivals, start=1):
        press.sample([key for key, is_in in (("a", a), ("b", b)) if is_in], reaches_css=css, now=at)
    profile = press.profile(now=len(arrivals))
    assert profile.rate_of(profile.vectors["a"]) == pytest.approx(sum(a for a, _, _ in arrivals) / len(arrivals))
    only_here = sum(a and not css for a, _, css in arrivals)
    assert profile.added_rate(profile.vectors["a"]) == pytest.approx(only_here / len(arrivals))
    both = profile.vectors["a"] & profile.vectors["b"]
    assert both.bit_count() == sum(a and b for a, b, _ in arrivals)
