"""Do repeated queries find all that does not end between two of them, each publication once?"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.storage.plain import ManualClock, opened
from tidings.model import DataError
from tidings.storage import LATEST, DualDB, MemorySpace, RepQueries

STEPS = st.lists(
    st.tuples(st.sampled_from(["publish", "subscribe", "wait"]), st.sampled_from([b"x", b"y"]), st.integers(0, 15)),
    max_size=25,
)


@pytest.mark.parametrize(("kind", "count"), [("memory", 60), ("rocks", 5)])
@pytest.mark.parametrize("overlapping", [False, True])
def test_polls_find_what_a_store_of_subscriptions_finds_if_nothing_ends(
    kind: str, count: int, overlapping: bool
) -> None:
    @examples(count)
    @given(STEPS, st.sampled_from([0, 1_000_000]))
    def check(steps: list[tuple[str, bytes, int]], memory: int) -> None:
        clock = ManualClock()
        pairs, polled = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        with TemporaryDirectory() as folder:
            space = opened(kind, Path(folder), {})("p")
            rep = RepQueries(space, clock, 10, overlapping=overlapping, width=8, memory_bytes=memory)
            dual = DualDB(MemorySpace(), clock, width=8)
            for number, (step, label, amount) in enumerate(steps):
                if step == "wait":
                    clock.now += amount
                    polled.update((one.id, post.id) for one, posts in rep.poll() for post in posts)
                elif step == "publish":
                    rep.publish(label, f"p{number}")
                    pairs.update((one.id, f"p{number}") for one in dual.publish(label, f"p{number}").subscriptions)
                else:
                    name, since = f"s{number}", clock.now - amount
                    polled.update((name, post.id) for post in rep.subscribe(label, name, since, clock.now + 40))
                    found = dual.subscribe(label, name, since, clock.now + 40)
                    pairs.update((name, post.id) for post in found.publications)
            clock.now += 1_000
            polled.update((one.id, post.id) for one, posts in rep.poll() for post in posts)
            rep.close()
        assert polled == pairs

    check()


def test_a_publication_that_ends_between_two_polls_is_missed() -> None:
    clock = ManualClock(0)
    rep = RepQueries(MemorySpace(), clock, 10)
    assert rep.subscribe(b"x", "s1", 0) == []
    clock.now = 3
    rep.publish(b"x", "short", 8)
    rep.publish(b"x", "long", LATEST)
    clock.now = 9
    assert rep.poll() == []
    clock.now = 10
    assert [[post.id for post in posts] for _, posts in rep.poll()] == [["long"]]


def test_a_self_join_is_refused() -> None:
    with pytest.raises(DataError, match="use TwoDB or DualDB"):
        RepQueries(MemorySpace(), ManualClock()).subscribe(b"x", "s1", 0, self_join=True)
