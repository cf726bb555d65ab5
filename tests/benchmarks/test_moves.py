from benchmarks import moves
from benchmarks.names import Name
from benchmarks.workloads import workload


def test_as_much_moves_as_is_asked_for() -> None:
    made = workload(Name.words, None, 2_000, 1_000, 2, made_up_rows=6_000)
    figures = moves.measure(made, matchers=4, share=0.1, rounds=2)
    assert (figures["subscriptions"], figures["matchers"]) == (2_000, 4) and len(figures["moved_s"]) == 2
    assert all(0.1 <= share < 0.2 for share in figures["load_moved"]) and min(figures["parcels_moved"]) >= 2
