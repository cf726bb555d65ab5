"""Do all stores of the benchmark find the same, and are the figures there?"""

from __future__ import annotations

from benchmarks.storage import measure, places


def test_two_db_and_dual_db_find_the_same_and_so_do_both_granularities() -> None:
    figures = measure(places(None, 400, 1), rate=50, seed=1)
    for name in ("subscriptions_3_to_1", "subscriptions_1_to_3"):
        for kind in ("simple", "self_join"):
            found = figures[f"{kind}_{name}"]
            assert found["two_db_found"] == found["dual_db_found"] > 0
    for kind in ("levels", "circles"):
        assert figures[kind]["variable_found"] == figures[kind]["fixed_found"] > 0
