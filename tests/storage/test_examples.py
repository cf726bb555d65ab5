"""Do the worked examples of [LSM] come out to the letter?"""

from __future__ import annotations

from tests.storage.plain import ManualClock, ids_of
from tidings.model import Circle
from tidings.storage import CELLS, FLAT, TOPICS, DualDB, MemorySpace
from tidings.storage.keys import LATEST, PUBLICATIONS, SUBSCRIPTIONS, key_of
from tidings.terms import cells, labels
from tidings.terms.labels import path_label


def dewey(label: str) -> bytes:
    return path_label(*label.split("."))


def test_example_1_lists_grow_without_a_read_and_come_newest_first() -> None:
    """Fig. 4."""
    clock = ManualClock()
    store = DualDB(MemorySpace(), clock)
    puts = [("C1", "P1"), ("C1", "P2"), ("C2", "P3"), ("C2", "P4"), ("C1", "P5"), ("C1", "P6"), ("C2", "P7")]
    for cell, post in puts:
        clock.now += 1
        store.publish(cell.encode(), post)
    assert ids_of(store.subscribe(b"C1", "S1", 0))[0] == ["P6", "P5", "P2", "P1"]
    assert ids_of(store.subscribe(b"C2", "S2", 0))[0] == ["P7", "P4", "P3"]


def test_figure_9_both_lists_of_a_label_lie_side_by_side_in_dewey_order() -> None:
    order = "1.3 1.4 1.4.1 1.4.1.1 1.4.1.2 1.4.1.3 1.4.1.4 1.4.2 1.4.3 1.4.4 2".split()
    keys = [key_of(dewey(label), kind, 7, 7) for label in order for kind in (SUBSCRIPTIONS, PUBLICATIONS)]
    assert keys == sorted(keys)


def test_figure_9_a_wide_operation_meets_all_below_it_and_the_reverse() -> None:
    for asked, found in (
        ("1.4", ["1.4.4", "1.4.1.4", "1.4.1", "1.4", "1"]),
        ("1.4.1.4", ["1.4.1.4", "1.4.1", "1.4", "1"]),
    ):
        store = DualDB(MemorySpace(), ManualClock(), granularity=TOPICS)
        for label in ("1", "1.3", "1.4", "1.4.1", "1.4.1.4", "1.4.4", "1.5", "2"):
            store.publish(dewey(label), label)
        assert ids_of(store.subscribe(dewey(asked), "s", 0))[0] == found


def test_a_user_who_comes_back_to_a_cell_is_not_told_again() -> None:
    """6.1: c1, c2 and c1 again within ten seconds."""
    clock, second = ManualClock(100), 1
    store = DualDB(MemorySpace(), clock, granularity=FLAT)
    store.publish(b"c1", "before")
    store.subscribe(b"c1", "first", 100 - 10 * second, 100 + 10 * second, subscriber="ada")
    clock.now += 4
    store.publish(b"c1", "between")
    assert ids_of(store.subscribe(b"c2", "second", 94, 114, subscriber="ada")) == ([], [])
    clock.now += 4
    again = store.subscribe(b"c1", "third", 98, 118, subscriber="ada", self_join=True)
    assert ids_of(again) == (["between", "before"], ["first"])
    assert again.new_to("ada") == []
    assert [post.id for post in again.new_to("bob")] == ["between", "before"]


def test_a_sudden_drop_is_seen_by_joining_with_earlier_publications() -> None:
    """6.1: the price of a stock."""
    store = DualDB(MemorySpace(), ManualClock())
    store.publish(b"YHOO", "q1", body=b"100")
    store.subscribe(b"YHOO", "s1", 0, LATEST, subscriber="ada")
    found = store.publish(b"YHOO", "q2", body=b"80", self_join=True)
    assert [int(post.body) for post in found.publications] == [100]
    assert [one.subscriber for one in found.subscriptions] == ["ada"]


def test_circles_meet_through_the_smallest_cells_around_them() -> None:
    """7.2.3."""
    store = DualDB(MemorySpace(), ManualClock(), granularity=CELLS)

    def around(lon: float, lat: float, radius_m: float) -> bytes:
        return labels.to_bytes(cells.smallest_cell(Circle(lon, lat, radius_m)))

    store.subscribe(around(151.2, -33.9, 50), "harbour", 0)
    store.subscribe(around(151.3, -33.8, 50), "beach", 0)
    assert ids_of(store.publish(around(151.2, -33.9, 200_000), "storm"))[1] == ["beach", "harbour"]
    assert ids_of(store.publish(around(151.2, -33.9, 1), "whale"))[1] == ["harbour"]
