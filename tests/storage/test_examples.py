"""Do the worked examples of [LSM] come out to the letter?"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.storage.plain import ManualClock, ids_of
from tidings.model import Circle
from tidings.storage import CELLS, FLAT, TOPICS, DualDB, KeySpace, LabelStore, MemorySpace, TwoDB
from tidings.storage.keys import LATEST, PUBLICATIONS, SUBSCRIPTIONS, is_publication, key_of
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


def keys_in(space: KeySpace) -> list[tuple[bytes, str]]:
    """The label and the kind of each key, in the order of the keys."""
    rows = [key for bucket in space.buckets() for key, _ in space.scan(bucket, b"", b"\xff" * 30)]
    return [(key[:-18], "P" if is_publication(key) else "S") for key in rows]


def test_figure_8_two_databases_or_both_lists_of_a_label_side_by_side_in_one() -> None:
    posts, subscriptions, both = MemorySpace(), MemorySpace(), MemorySpace()
    stores: list[LabelStore] = [TwoDB(posts, subscriptions, ManualClock()), DualDB(both, ManualClock())]
    for store in stores:
        for label in (b"C1", b"C2", b"C1", b"C2"):
            store.publish(label, "P")
            store.subscribe(label, "S", 0)
    assert keys_in(posts) == [(b"C1", "P")] * 2 + [(b"C2", "P")] * 2
    assert keys_in(subscriptions) == [(b"C1", "S")] * 2 + [(b"C2", "S")] * 2
    assert keys_in(both) == [(b"C1", "S")] * 2 + [(b"C1", "P")] * 2 + [(b"C2", "S")] * 2 + [(b"C2", "P")] * 2


class Reads(MemorySpace):
    """Tells which keys are read."""

    def __init__(self, read: list[bytes]) -> None:
        super().__init__()
        self._read = read

    def scan(self, bucket: int, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        for row in super().scan(bucket, start, end):
            self._read.append(row[0])
            yield row


def two_db(clock: ManualClock, read: list[bytes]) -> LabelStore:
    return TwoDB(Reads(read), Reads(read), clock, width=10**9, memory_bytes=0)


def dual_db(clock: ManualClock, read: list[bytes]) -> LabelStore:
    return DualDB(Reads(read), clock, width=10**9, memory_bytes=0)


@pytest.mark.parametrize("make", [two_db, dual_db])
def test_algorithm_1_ends_at_the_first_publication_that_is_older_than_t_min(
    make: Callable[[ManualClock, list[bytes]], LabelStore],
) -> None:
    clock, read = ManualClock(0), list[bytes]()
    store = make(clock, read)
    for second in range(100):
        clock.now = second
        store.publish(b"C1", f"P{second}", 99 if second == 97 else 1_000)
    clock.now = 99
    read.clear()
    assert ids_of(store.subscribe(b"C1", "S", 95))[0] == ["P99", "P98", "P96", "P95"]
    assert len(read) == 6  # those since T_min with the one that has ended, and the first that is older


@pytest.mark.parametrize("make", [two_db, dual_db])
def test_algorithms_2_to_4_find_subscriptions_that_have_begun_and_not_ended(
    make: Callable[[ManualClock, list[bytes]], LabelStore],
) -> None:
    clock = ManualClock(0)
    store = make(clock, [])
    for name, t_min, t_max in (("ended", 0, 10), ("valid", 0, 11), ("begins now", 10, 20), ("later", 11, 20)):
        store.subscribe(b"C1", name, t_min, t_max)
    store.publish(b"C1", "P1", 11)
    clock.now = 10
    assert ids_of(store.publish(b"C1", "P2"))[1] == ["begins now", "valid"]
    assert ids_of(store.subscribe(b"C1", "S", 0, self_join=True)) == (["P2", "P1"], ["begins now", "valid"])
    assert ids_of(store.publish(b"C1", "P3", self_join=True)) == (["P2", "P1"], ["S", "begins now", "valid"])


@pytest.mark.parametrize("make", [two_db, dual_db])
def test_a_join_reads_both_lists_of_a_label_and_nothing_else(
    make: Callable[[ManualClock, list[bytes]], LabelStore],
) -> None:
    """Alg. 3 and 4."""
    clock, read = ManualClock(), list[bytes]()
    store = make(clock, read)
    for label in (b"C0", b"C1", b"C2"):
        store.subscribe(label, "S", 0)
        store.publish(label, "P")
    read.clear()
    assert ids_of(store.subscribe(b"C1", "T", 0, self_join=True)) == (["P"], ["S"])
    assert len(read) == 3  # and the join itself, which is written before it looks


def test_algorithm_5_reads_from_a_label_to_its_next_sibling() -> None:
    clock, read = ManualClock(), list[bytes]()
    store = DualDB(Reads(read), clock, granularity=TOPICS, memory_bytes=0)
    for label in ("1.3", "1.3.1", "1.4", "1.4.1", "1.4.1.1", "1.4.2", "1.5", "2"):
        store.publish(dewey(label), label)
    read.clear()
    assert ids_of(store.subscribe(dewey("1.4"), "S", 0))[0] == ["1.4.2", "1.4.1.1", "1.4.1", "1.4"]
    assert len(read) <= 4 + 2  # and the join itself, and what ends the range


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
