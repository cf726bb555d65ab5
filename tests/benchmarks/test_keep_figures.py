"""Are the figures of keep there?"""

from __future__ import annotations

from benchmarks.keep import pasts, rates
from benchmarks.names import Name
from benchmarks.workloads import workload


def test_rates_and_pasts_are_told() -> None:
    asked = workload(Name.words, None, 50, 5_000, 1, made_up_rows=14_000)
    figures = rates(asked.subscriptions, asked.posts) | pasts(asked.posts["text"], 1_500, 1)
    assert figures["one_by_one_ratio"] > 0 and figures["tables_ratio"] > 0
    assert figures["guard_posts"] == [10, 100] and min(figures["past"]) > 0
