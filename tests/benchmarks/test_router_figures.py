import pytest

from benchmarks.router import KINDS, Settings, routed
from tidings.workloads import Posts


@pytest.mark.parametrize("kind", KINDS)
def test_posts_that_a_router_sends_are_counted_and_both_ways_agree(kind: str) -> None:
    notes = Posts(seed=3).table(700).select(["id", "text", "lat", "lon"])
    figures = routed(notes, kind, Settings(subscriptions=200, posts=300, matchers=3, rounds=2))
    assert figures["terms_in_regions"] > 0 and 0 <= figures["dropped"] <= 1 and figures["post_copies"] <= 3
    assert figures["posts_per_s"] >= figures["posts_per_s_median"] > 0
