"""Is memory for the newest entries bounded, and is the disk left alone while all valid entries are in it?"""

from __future__ import annotations

from collections.abc import Iterator

from tests.storage.plain import ManualClock, ids_of
from tidings.storage import DualDB, MemorySpace, StoredPublication
from tidings.storage.entries import Sought
from tidings.storage.keys import EARLIEST, LATEST
from tidings.storage.recent import SEGMENTS, RecentEntries


class CountingSpace(MemorySpace):
    """Counts how often it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.scans = 0

    def scan(self, bucket: int, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        self.scans += 1
        return super().scan(bucket, start, end)


def post(number: int, t_max: int = LATEST) -> StoredPublication:
    return StoredPublication(f"p{number}", number, t_max, number, b"")


def numbers_of(recent: RecentEntries, label: bytes, now: int) -> list[int]:
    held = recent.get(label)
    asked = Sought(now, EARLIEST, LATEST, publications=True, subscriptions=False)
    return [] if held is None else [one.number for one in held.find(asked).publications]


def test_the_oldest_are_forgotten_when_there_are_too_many() -> None:
    recent = RecentEntries(0, EARLIEST, 80)
    for number in range(1_000):
        recent.add([b"%d" % (number % 3)], post(number))
        recent.count(number + 1, LATEST, 1)
        recent.forget(number)
        held = {found for label in (b"0", b"1", b"2") for found in numbers_of(recent, label, number)}
        assert held == set(range(recent.first, number + 1))
        assert len(held) <= 80 + 80 // SEGMENTS
    assert len(held) > 60 and recent.others_end == LATEST


def test_what_has_ended_is_forgotten_though_there_is_room() -> None:
    recent = RecentEntries(0, EARLIEST, 80)
    for number in range(1_000):
        recent.add([b"%d" % number], post(number, number + 20))
        recent.count(number + 1, number + 20, 1)
        recent.forget(number)
    assert len(recent.within(b"", b"~")) <= 20 + 2 * 80 // SEGMENTS
    assert recent.others_end <= 1_000


def test_the_disk_is_not_read_while_all_that_is_valid_is_in_memory() -> None:
    space, clock = CountingSpace(), ManualClock()
    store = DualDB(space, clock, width=8)
    for number in range(200):
        clock.now += 1
        store.publish(b"x", f"p{number}", clock.now + 20)
        assert len(store.subscribe(b"x", f"s{number}", clock.now - 10, clock.now + 10).publications) == min(
            number + 1, 11
        )
    assert space.scans == 0


def test_a_store_that_is_opened_again_reads_the_disk_until_the_earlier_entries_have_ended() -> None:
    space, clock = CountingSpace(), ManualClock(0)
    DualDB(space, clock, width=8).publish(b"x", "before", 20)
    store = DualDB(space, clock, width=8)
    store.publish(b"x", "after", 200)
    assert ids_of(store.subscribe(b"x", "s1", 0))[0] == ["after", "before"] and space.scans
    clock.now, space.scans = 100, 0
    assert ids_of(store.subscribe(b"x", "s2", 0))[0] == ["after"] and not space.scans
