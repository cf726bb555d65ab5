"""What a subscription gets is counted over whole windows, the latest four at most, as long as they are alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.balancing.padres import Traffic
from tidings.balancing.padres.traffic import WINDOWS


def counted(*windows: list[str], begun: dict[str, float] | None = None) -> Traffic:
    """Windows of 10 s; each publication is the letters of the subscriptions that it is for."""
    traffic = Traffic(keys=str, now=0.0)
    for key, at in (begun or dict.fromkeys("ab", 0.0)).items():
        traffic.begin(key, at)
    for number, window in enumerate(windows, start=1):
        for hits in window:
            traffic.matched(hits)
        traffic.close(10.0 * number)
    return traffic


def test_a_rate_is_the_mean_of_the_windows() -> None:
    assert counted(["ab"] * 10 + ["a"] * 10, ["ab"] * 12 + ["a"] * 10).rates() == {"a": 2.1, "b": 1.1}


def test_the_open_window_is_not_counted() -> None:
    traffic = counted(["a"] * 10)
    traffic.matched("a")
    assert traffic.rates() == {"a": 1.0, "b": 0.0}


def test_four_windows_are_remembered() -> None:
    windows = [["a"] * count for count in (100, 110, 100, 110, 100)]
    assert counted(*windows).rates()["a"] == (110 + 100 + 110 + 100) / 40


def test_who_came_within_a_window_has_a_rate_after_the_next_one() -> None:
    begun = {"a": 0.0, "b": 5.0}
    assert counted(["ab"] * 10, begun=begun).rates() == {"a": 1.0}
    assert counted(["ab"] * 10, ["ab"] * 10, begun=begun).rates() == {"a": 1.0, "b": 1.0}


def test_who_left_has_no_rate_and_begins_anew() -> None:
    traffic = counted(["ab"] * 10)
    traffic.end("b")
    assert traffic.rates() == {"a": 1.0}
    traffic.begin("b", 15.0)
    assert traffic.rates() == {"a": 1.0}


def test_windows_before_a_rise_do_not_count_any_more() -> None:
    assert counted(["a"] * 10, ["a"] * 10, ["a"] * 20).rates()["a"] == 2.0
    assert counted(["a"] * 20, ["a"] * 20, ["a"] * 10).rates()["a"] == 1.0
    assert counted(["a"] * 10, ["a"] * 10, []).rates()["a"] == 0.0


def test_a_subscription_that_comes_is_no_rise() -> None:
    """It has no part in the comparison of windows, because it was not there in all of them."""
    begun = {"a": 0.0, "b": 10.0}
    assert counted(["a"] * 10, ["a"] * 12 + ["b"] * 50, begun=begun).rates() == {"a": 1.1, "b": 5.0}


def test_what_is_passed_on_is_that_of_the_last_window() -> None:
    traffic = counted()
    assert traffic.passed_on_bytes_s == 0.0
    traffic.passed_on(250)
    traffic.close(10.0)
    assert traffic.passed_on_bytes_s == 25.0
    traffic.close(10.0)  # no time is over
    assert traffic.passed_on_bytes_s == 25.0


@given(st.lists(st.integers(50, 59), min_size=1, max_size=9))
@examples(100)
def test_windows_that_are_alike_are_all_counted(counts: list[int]) -> None:
    last = counts[-WINDOWS:]
    rates = counted(*([each] * count for count in counts for each in ["ab"])).rates()
    assert rates["a"] == rates["b"] == pytest.approx(sum(last) / (10 * len(last)))
