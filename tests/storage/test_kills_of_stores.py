"""Is nothing lost that was acknowledged, when the process of a store is killed between or in operations?"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.storage.plain import ManualClock
from tidings.storage import DualDB, LabelStore, TwoDB
from tidings.storage.rocks import RocksSpace

WORK = """
import sys
from pathlib import Path
from tests.storage.test_kills_of_stores import opened_store
store = opened_store(sys.argv[1], Path(sys.argv[2]))
first = int(sys.argv[3])
for number in range(first, first + 100_000):
    if number % 7 == 3:
        from tidings.storage import Publishing
        store.apply([Publishing(b"x", f"p{number}"), Publishing(b"y", f"q{number}")])
    elif number % 2:
        store.publish(b"x", f"p{number}")
    else:
        store.subscribe(b"x", f"s{number}", 0)
    print(number, flush=True)
"""


def opened_store(kind: str, folder: Path) -> LabelStore:
    if kind == "two":
        return TwoDB(RocksSpace(folder / "p"), RocksSpace(folder / "s"), ManualClock())
    return DualDB(RocksSpace(folder / "both"), ManualClock())


def killed_after(kind: str, folder: Path, first: int, acknowledged: int) -> int:
    """Let a process work, kill it when it has acknowledged some operations; returns the last one."""
    process = subprocess.Popen([sys.executable, "-c", WORK, kind, str(folder), str(first)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(acknowledged)]
    os.kill(process.pid, signal.SIGKILL)
    lines += process.stdout.readlines()
    process.wait()
    process.stdout.close()
    return int([line for line in lines if line.endswith(b"\n")][-1])


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["two", "dual"])
def test_nothing_that_was_acknowledged_is_lost(kind: str, tmp_path: Path) -> None:
    rng, last = random.Random(3), 0
    done: set[int] = set()
    for _ in range(4):
        first = last + 10
        last = killed_after(kind, tmp_path, first, rng.randint(1, 60))
        done |= set(range(first, last + 1))
        with opened_store(kind, tmp_path) as store:
            found = store.publish(b"x", "look", self_join=True)
            twins = {post.id for post in store.publish(b"y", "look", self_join=True).publications}
        posts, subscriptions = {post.id for post in found.publications}, {one.id for one in found.subscriptions}
        for number in done:
            is_publish = number % 7 == 3 or number % 2 == 1
            assert (f"p{number}" if is_publish else f"s{number}") in (posts if is_publish else subscriptions)
        assert {name[1:] for name in twins} - {"ook"} == {p[1:] for p in posts if p != "look" and int(p[1:]) % 7 == 3}
