"""Is each publication past or future of a subscription, once, when the process of an engine that keeps them is
killed?"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tidings.engine import Engine
from tidings.language import evaluate, parse
from tidings.model import Publication
from tidings.storage import kept

WORK = """
import sys
from pathlib import Path
from tests.engine.test_kills_of_past import work
work(Path(sys.argv[1]), int(sys.argv[2]))
"""
WORDS = "fire smoke drill flood storm".split()
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def operation(number: int) -> tuple[str, str]:
    """What is done at a number, and its text."""
    rng = random.Random(number)
    a, b, c = rng.sample(WORDS, 3)
    if rng.random() < 0.3:
        return "subscribe", rng.choice([a, f"{a} {b}", f"{a} -{b}", f"({a} OR {b}) -{c}"])
    return "publish", " ".join(rng.choices(WORDS, k=3))


def work(folder: Path, first: int) -> None:
    """Do one operation after the other, and tell what each found."""
    kept.PART_BYTES = 2_000
    engine = Engine(folder, keep=timedelta(days=1))
    for number in range(first, first + 100_000):
        kind, text = operation(number)
        if kind == "publish":
            found = [match.subscription_id for match in engine.publish(id=str(number), text=text)]
        else:
            past = engine.subscribe(text, id=str(number), since=LONG_AGO).past
            found = [match.publication_id for match in past]
        print(json.dumps([number, [int(name) for name in found]]), flush=True)


def killed_after(folder: Path, first: int, count: int) -> dict[int, list[int]]:
    """What a process told before it was killed."""
    process = subprocess.Popen([sys.executable, "-c", WORK, str(folder), str(first)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(count)]
    os.kill(process.pid, signal.SIGKILL)
    lines += process.stdout.readlines()
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL
    return dict(json.loads(line) for line in lines if line.endswith(b"\n"))


def check_kills(folder: Path, seed: int, kills: int, most: int) -> None:
    """Kill a process so often, each time after some operations, and compare all that was told with what is true."""
    rng, told = random.Random(seed), dict[int, list[int]]()
    for _ in range(kills):
        first = max(told, default=0) + 10  # what was under way may have been done
        told |= killed_after(folder, first, rng.randint(5, most))
    for subscription in told:
        kind, query = operation(subscription)
        for publication in told if kind == "subscribe" else ():
            what, text = operation(publication)
            if what == "publish":
                got = told[subscription].count(publication) + told[publication].count(subscription)
                assert got == evaluate(parse(query), Publication("p", text)), (subscription, publication)


@pytest.mark.thorough
def test_kills_make_neither_gap_nor_double(tmp_path: Path) -> None:
    check_kills(tmp_path, 11, 4, 120)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_kills_make_neither_gap_nor_double(tmp_path: Path, seed: int) -> None:
    check_kills(tmp_path, seed, 10, 60)
