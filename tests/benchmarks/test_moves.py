from pathlib import Path

import pytest

from benchmarks import moves, moving
from benchmarks.names import Name
from benchmarks.workloads import workload


def test_as_much_moves_as_is_asked_for() -> None:
    made = workload(Name.words, None, 2_000, 1_000, 2, made_up_rows=6_000)
    figures = moves.measure(made, matchers=4, share=0.1, rounds=2)
    assert (figures["subscriptions"], figures["matchers"]) == (2_000, 4) and len(figures["moved_s"]) == 2
    assert all(0.1 <= share < 0.2 for share in figures["load_moved"]) and min(figures["parcels_moved"]) >= 2


@pytest.mark.slow
@pytest.mark.spark
def test_a_stream_goes_on_while_parcels_move(tmp_path: Path) -> None:
    made = workload(Name.words, None, 300, 600, 2, made_up_rows=3_000)
    figures = moving.measure(made, moving.Settings(3, 0.1, batches=6, rows=100), tmp_path)
    assert len(figures["batch_ms"]) == len(figures["mapping"]) == 6 and min(figures["parcels_moved"]) >= 1
    assert figures["longest_ms"] >= figures["usual_ms"] > 0
