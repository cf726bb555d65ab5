"""Does every store find what a plain list of operations says, in any interleaving, over batches, ends and restarts?"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.storage.plain import ManualClock, Plain, compact, ids_of, opened, operations
from tidings.model import DataError
from tidings.storage import (
    CELLS,
    FLAT,
    LATEST,
    TOPICS,
    DualDB,
    Fixed,
    Found,
    Granularity,
    KeySpace,
    LabelStore,
    MemorySpace,
    Operation,
    Publishing,
    Subscribing,
    TwoDB,
    fixed_cells,
)
from tidings.storage.rocks import RocksSpace
from tidings.storage.store import MEMORY_BYTES
from tidings.terms import cells, labels
from tidings.terms.labels import path_contains, path_label

SPACES = {"two": ["p", "s"], "dual": ["both"]}
MEMORIES = [0, 2_000, 8_000, MEMORY_BYTES]
"""None, about four entries, about sixteen, all."""


def made(name: str, spaces: list[KeySpace], clock: ManualClock, granularity: Granularity, memory: int) -> LabelStore:
    if name == "two":
        publications, subscriptions = spaces
        return TwoDB(publications, subscriptions, clock, granularity=granularity, width=8, memory_bytes=memory)
    return DualDB(spaces[0], clock, granularity=granularity, width=8, memory_bytes=memory)


EXAMPLES = {"memory": 60, "rocks": 5}

PATHS = [path_label(*path.split("/")) for path in ("a", "a/b", "a/b/c", "a/\x01", "ab", "a/c", "d")]
LEAVES = {
    path: [leaf for leaf in PATHS if path_contains(path, leaf) and sum(path_contains(leaf, p) for p in PATHS) == 1]
    for path in PATHS
}
BOXES = [cells.cell(lon, lat, level) for lon in (10.0, 100.0) for lat in (-10.0, 60.0) for level in (0, 1, 3)]
CELL_LABELS = [labels.to_bytes(cell) for cell in dict.fromkeys(BOXES)]


def done(store: LabelStore, batch: list[Operation]) -> list[Found]:
    """Each finds something; one alone by the method for it."""
    match batch:
        case [Publishing(label, id, t_max, body, t_min, self_join)]:
            return [store.publish(label, id, t_max, body, t_min=t_min, self_join=self_join)]
        case [Subscribing(label, id, t_min, t_max, subscriber, self_join)]:
            return [store.subscribe(label, id, t_min, t_max, subscriber=subscriber, self_join=self_join)]
    return store.apply(batch)


def related(a: bytes, b: bytes) -> bool:
    return path_contains(a, b) or path_contains(b, a)


def overlapping(a: bytes, b: bytes) -> bool:
    cell, other = labels.from_bytes(a), labels.from_bytes(b)
    return labels.contains(cell, other) or labels.contains(other, cell)


def sharing_a_leaf(a: bytes, b: bytes) -> bool:
    return bool(set(LEAVES[a]) & set(LEAVES[b]))


HIERARCHIES: dict[str, tuple[Granularity, list[bytes], Callable[[bytes, bytes], bool]]] = {
    "flat": (FLAT, PATHS, bytes.__eq__),
    "topics": (TOPICS, PATHS, related),
    "cells": (CELLS, CELL_LABELS, overlapping),
    "fixed topics": (Fixed(LEAVES.__getitem__), PATHS, sharing_a_leaf),
    "fixed cells": (fixed_cells(3), CELL_LABELS, overlapping),
}


@pytest.mark.parametrize("kind", EXAMPLES)
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("hierarchy", HIERARCHIES)
def test_a_store_finds_what_a_list_of_all_operations_says(kind: str, name: str, hierarchy: str) -> None:
    granularity, choice, meets = HIERARCHIES[hierarchy]

    @examples(EXAMPLES[kind])
    @given(st.data())
    def check(data: st.DataObject) -> None:
        plain, clock, memory = Plain(meets), ManualClock(), dict[str, MemorySpace]()
        memory_bytes = data.draw(st.sampled_from(MEMORIES))
        with TemporaryDirectory() as folder:
            open_space = opened(kind, Path(folder), memory)

            def reopened() -> tuple[list[KeySpace], LabelStore]:
                spaces = [open_space(each) for each in SPACES[name]]
                return spaces, made(name, spaces, clock, granularity, memory_bytes)

            spaces, store = reopened()
            for _ in range(data.draw(st.integers(1, 12))):
                clock.now += data.draw(st.sampled_from([0, 0, 1, 5, 30, 500]))
                event = data.draw(st.integers(0, 11))
                if event == 0:
                    store.close()
                    spaces, store = reopened()
                elif event == 1:
                    compact(spaces)
                count, first = data.draw(st.sampled_from([1, 1, 2, 6])), len(plain.done)
                batch = [data.draw(operations(choice, clock.now, first + n)) for n in range(count)]
                assert [*map(ids_of, done(store, batch))] == [plain.apply(one, clock.now) for one in batch]
            store.close()

    check()


@examples(50)
@given(st.data())
def test_a_clock_that_goes_back_loses_nothing_that_never_ended(data: st.DataObject) -> None:
    plain, clock = Plain(), ManualClock(5_000)
    store = DualDB(MemorySpace(), clock, width=8, memory_bytes=data.draw(st.sampled_from(MEMORIES)))
    latest = clock.now
    for number in range(data.draw(st.integers(1, 20))):
        clock.now += data.draw(st.integers(-200, 200))
        latest = max(latest, clock.now)
        asked = data.draw(operations([b"x"], clock.now, number))
        ends = {one.id: one.t_max for one, _ in plain.done}
        found, all_of_them = ids_of(store.apply([asked])[0]), plain.apply(asked, clock.now)
        for got, literal in zip(found, all_of_them, strict=True):
            assert set(got) <= set(literal)
            assert set(got) >= {name for name in literal if ends[name] > latest}


@pytest.fixture(params=SPACES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["memory", "rocks"])
def spaces(request: pytest.FixtureRequest, name: str, tmp_path: Path) -> Iterator[list[KeySpace]]:
    spaces = [opened(request.param, tmp_path, {})(each) for each in SPACES[name]]
    yield spaces
    for space in spaces:
        space.close()


@pytest.fixture(params=[0, MEMORY_BYTES])
def store(request: pytest.FixtureRequest, name: str, spaces: list[KeySpace], clock: ManualClock) -> LabelStore:
    return made(name, spaces, clock, FLAT, request.param)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def test_what_has_ended_gives_its_space_back(tmp_path: Path, clock: ManualClock) -> None:
    with DualDB(RocksSpace(tmp_path / "s"), clock, width=8) as store:
        for number in range(400):
            clock.now += 1
            store.publish(b"x", f"p{number}", clock.now + 20, b"b" * 100)
            store.subscribe(b"x", f"s{number}", clock.now - 10, clock.now + 10)
    left = RocksSpace(tmp_path / "s")
    assert len(left.buckets()) <= 5
    left.close()


def test_a_publication_of_the_same_instant_is_past_or_future_never_both(store: LabelStore) -> None:
    assert ids_of(store.publish(b"x", "p1")) == ([], [])
    assert ids_of(store.subscribe(b"x", "s1", 1_000)) == (["p1"], [])
    assert ids_of(store.publish(b"x", "p2")) == ([], ["s1"])


def test_a_subscription_that_begins_later_has_no_past(store: LabelStore, clock: ManualClock) -> None:
    store.publish(b"x", "p1")
    assert ids_of(store.subscribe(b"x", "s1", 2_000, self_join=True)) == ([], [])
    assert ids_of(store.publish(b"x", "p2")) == ([], [])
    clock.now = 2_000
    assert ids_of(store.publish(b"x", "p3")) == ([], ["s1"])


def test_a_subscription_that_has_ended_has_a_past_only(store: LabelStore, clock: ManualClock) -> None:
    store.publish(b"x", "p1")
    clock.now = 1_010
    store.publish(b"x", "p2")
    assert ids_of(store.subscribe(b"x", "s1", 900, 1_010)) == (["p1"], [])
    assert ids_of(store.publish(b"x", "p3")) == ([], [])


def test_an_interval_that_ends_before_it_begins_is_refused(store: LabelStore) -> None:
    with pytest.raises(DataError, match="'s1' ends at 5, not after it begins at 5"):
        store.subscribe(b"x", "s1", 5, 5)


def test_threads_get_every_pair_once(store: LabelStore) -> None:
    found: list[tuple[str, str]] = []

    def work(worker: int) -> None:
        for number in range(30):
            name = f"{worker}-{number}"
            found.extend((post.id, name) for post in store.subscribe(b"x", name, 0).publications)
            found.extend((name, one.id) for one in store.publish(b"x", name).subscriptions)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(set(found)) == 120 * 120


def test_a_folder_that_is_open_is_refused_to_another(tmp_path: Path) -> None:
    first = RocksSpace(tmp_path / "s")
    with pytest.raises(DataError, match="cannot open the store in"):
        RocksSpace(tmp_path / "s")
    first.close()
    RocksSpace(tmp_path / "s").close()


def test_operations_carry_all_their_fields(store: LabelStore) -> None:
    store.apply([Publishing(b"x", "päst", 2_000, b"\0body"), Subscribing(b"x", "s", 1, LATEST, "ädä")])
    found = store.publish(b"x", "p2", self_join=True)
    assert found.publications[0] == ("päst", 1_000, 2_000, 0, b"\0body")
    assert found.subscriptions[0] == ("s", "ädä", 1_000, 1, LATEST, 1)
