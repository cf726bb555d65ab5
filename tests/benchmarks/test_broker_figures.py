import pytest

from benchmarks.broker_processes import Plan, measure


@pytest.mark.slow
def test_500_subscribers_move_and_a_broker_dies_and_nothing_promised_is_lost() -> None:
    figures, diary = measure(Plan(seconds=40, rate=15, mbps=1.0))
    assert figures["promised_and_lost"] == figures["wrong"] == figures["twice_to_the_application"] == 0
    assert figures["subscribers_that_moved"] > 0 and figures["duplicates_dropped"] > 0
    assert figures["promised"] > 1_000 and diary.killed_at > 0


def test_a_few_subscribers_and_a_broker_that_dies() -> None:
    figures, _ = measure(Plan(subscribers=20, seconds=8, rate=20, mbps=0.1))
    assert figures["promised_and_lost"] == figures["wrong"] == figures["twice_to_the_application"] == 0
    assert figures["promised"] > 50
