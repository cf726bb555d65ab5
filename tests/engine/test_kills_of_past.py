"""Is each publication past or future of a subscription, once, when the process of an engine that keeps them is
killed?"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tidings.engine import Engine
from tidings.engine.past import Past
from tidings.language import evaluate, parse
from tidings.model import Publication
from tidings.storage import kept
from tidings.storage.kept import KeptPublications

WORK = """
import sys
from pathlib import Path
from tests.engine.test_kills_of_past import work
work(Path(sys.argv[1]), int(sys.argv[2]))
"""
WORDS = "fire smoke drill flood storm".split()
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
LATEST_S = 0.004
"""A process is killed up to so long after it told something: then it is at work on what comes next."""


def operation(number: int) -> tuple[str, str]:
    """What is done at a number, and its text."""
    rng = random.Random(number)
    a, b, c = rng.sample(WORDS, 3)
    if rng.random() < 0.3:
        return "subscribe", rng.choice([a, f"{a} {b}", f"{a} -{b}", f"({a} OR {b}) -{c}"])
    return "publish", " ".join(rng.choices(WORDS, k=3))


def work(folder: Path, first: int) -> None:
    """Do one operation after the other, and tell what each found; first, how many publications are kept."""
    kept.PART_BYTES = 2_000
    engine = Engine(folder, keep=timedelta(days=1))
    assert isinstance(engine._past, Past) and isinstance(engine._past._kept, KeptPublications)
    print(engine._past._kept.next_number, flush=True)
    for number in range(first, first + 100_000):
        kind, text = operation(number)
        if kind == "publish":
            found = [match.subscription_id for match in engine.publish(id=str(number), text=text)]
        else:
            past = engine.subscribe(text, id=str(number), since=LONG_AGO).past
            found = [match.publication_id for match in past]
        print(json.dumps([number, [int(name) for name in found]]), flush=True)


def killed_after(folder: Path, first: int, count: int, later_s: float) -> tuple[int, dict[int, list[int]]]:
    """How many publications were kept when a process began, and what it told before it was killed."""
    process = subprocess.Popen([sys.executable, "-c", WORK, str(folder), str(first)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    before = int(process.stdout.readline())
    lines = [process.stdout.readline() for _ in range(count)]
    time.sleep(later_s)
    os.kill(process.pid, signal.SIGKILL)
    lines += process.stdout.readlines()
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL
    return before, dict(json.loads(line) for line in lines if line.endswith(b"\n"))


def left_behind(folder: Path) -> str:
    """What a kill has met, by what it left in a folder."""
    names = {path.name for path in (folder / "past").iterdir()}
    if any(name.endswith(".tmp") for name in names):
        return "a file half written"
    if any(name.replace("block-", "log-") in names for name in names if name.startswith("block-")):
        return "a log whose file was there"
    return "other work"


def check_kills(folder: Path, seed: int, kills: int, most: int) -> Counter[str]:
    """Kill a process so often, each time after some operations, and compare all that was told with what is true.

    Gives what the kills met.
    """
    rng, told, met = random.Random(seed), dict[int, list[int]](), Counter[str]()
    published = 0
    for _ in range(kills):
        first = max(told, default=0) + 10  # what was under way may have been done
        before, more = killed_after(folder, first, rng.randint(5, most), rng.uniform(0, LATEST_S))
        met["a post that was kept and not told"] += before > published
        published = before + sum(operation(number)[0] == "publish" for number in more)
        told |= more
        met[left_behind(folder)] += 1
    check_told(told)
    return met


def check_told(told: dict[int, list[int]]) -> None:
    """Each pair of a publication and a subscription that were told is there once if it is true, else not at all."""
    for number, found in told.items():
        assert len(set(found)) == len(found), number
        for other in found:  # also those that were done and not told
            (kind, asked), (what, said) = sorted([operation(number), operation(other)], reverse=True)
            assert (kind, what) == ("subscribe", "publish")
            assert evaluate(parse(asked), Publication("p", said)), (number, other)
    for subscription, past in told.items():
        kind, query = operation(subscription)
        for publication in told if kind == "subscribe" else ():
            what, text = operation(publication)
            if what == "publish":
                got = past.count(publication) + told[publication].count(subscription)
                assert got == evaluate(parse(query), Publication("p", text)), (subscription, publication)


@pytest.mark.thorough
def test_kills_make_neither_gap_nor_double(tmp_path: Path) -> None:
    check_kills(tmp_path, 11, 4, 120)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_kills_make_neither_gap_nor_double(tmp_path: Path, seed: int) -> None:
    met = check_kills(tmp_path, seed, 10, 60)
    print(f"10 kills of seed {seed} met: {dict(met)}")
