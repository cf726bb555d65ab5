"""Is nothing lost, doubled or half done when the process of an engine is killed, whatever it is about to do?"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import cycle
from multiprocessing.connection import Connection
from pathlib import Path

import pyarrow as pa
import pytest

from tests.engine.changers import IDS, LONG_AGO, NOW, STEPS, WORDS, Job, Live, Operation, Row, fork_many, opened
from tidings.engine import Engine
from tidings.index import BruteForce
from tidings.index.segment import living
from tidings.language import parse
from tidings.model import Query, Subscription
from tidings.registry import Registry

pytestmark = pytest.mark.thorough

AIMS = [f"{when} {step}" for step in STEPS for when in ("before", "after")]
FIRST_AIMS = [
    *("before write manifest", "before replace manifest", "after replace manifest"),
    *("after replace segment", "before unlink", "after commit", "after merge", "before forget"),
]
WINDOW_S = 0.6


@pytest.fixture(scope="module")
def forks() -> Iterator[Connection]:
    """Takes jobs, see ``fork_many``: real processes that start in milliseconds."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=fork_many, args=(there,), daemon=True)
    process.start()
    there.close()
    yield here
    here.send(None)
    process.join()


def table_of_posts() -> pa.Table:
    rng = random.Random(5)
    rows = [
        {
            "id": f"p{number}",
            "text": " ".join(rng.choices(WORDS, k=8)),
            "volume": rng.randint(0, 9),
            "symbol": f"S{rng.randint(0, 9)}",
            "topic": f"news/t{rng.randint(0, 9)}",
            "lat": rng.uniform(0, 9),
            "lon": rng.uniform(0, 9),
        }
        for number in range(40)
    ]
    return pa.Table.from_pylist(rows)


POSTS = table_of_posts()


@cache
def parsed(text: str) -> Query:
    return parse(text)


@dataclass(slots=True)
class Trace:
    """What a process told before it died: the operations that were done, and what was under way."""

    done: list[Operation] = field(default_factory=list)
    unfinished: Operation | None = None
    operation: str = "start"
    step: str = "-"
    opened: int = 0

    @classmethod
    def read(cls, file: Path, aim: str) -> Trace:
        trace = cls()
        begun: list[str] = []
        for line in file.read_text().splitlines() if file.exists() else ():
            word, _, what = line.partition(" ")
            match word:
                case "begin":
                    trace.operation = what if what == "open" else Operation.of(int(what)).kind
                    trace.unfinished = None if what == "open" else Operation.of(int(what))
                case "end":
                    trace.done += [trace.unfinished] if trace.unfinished else []
                    trace.opened += trace.operation in ("open", "reopen")
                    trace.unfinished, trace.operation = None, "between two"
                case "before":
                    begun.append(what)
                case "after":
                    begun.remove(what)
                case _:
                    pytest.fail(file.read_text()[-3000:])
        trace.step = aim or (f"during {begun[-1]}" if begun else "-")
        return trace


def killed(job: Job, forks: Connection, after_s: float) -> Trace:
    """Let a process work until it kills itself where it should, or else until we do."""
    forks.send(job)
    process = forks.recv()
    if not job.aim:
        time.sleep(after_s)  # nothing is waited for: the moment of the kill is what varies
        os.kill(process, signal.SIGKILL)
    assert forks.recv() == signal.SIGKILL, job.trace.read_text()[-3000:]
    return Trace.read(job.trace, job.aim)


def agrees(found: Live, expected: Live) -> bool:
    """What ended long ago may be gone."""
    missing = expected.keys() - found.keys()
    return found.items() <= expected.items() and all(expected[name].until for name in missing)


def found_in(engine: Engine, path: Path) -> Live:
    """The living, as index and registry have them; what is matched is what these ask for, once."""
    index = engine._index
    parts = [*(living(segment).table for segment in index._segments), index._recent.source().table]
    columns = ["id", "query", "subscriber", "tag", "query_version"]
    snapshot = Registry(path).snapshot()
    records = pa.concat_tables(part.select(columns) for part in parts).sort_by("id")
    assert records.to_pylist() == snapshot.select(columns).sort_by("id").to_pylist()
    rows = snapshot.to_pylist()
    live = {row["id"]: Row(row["query"], row["subscriber"], row["tag"], row["until"]) for row in rows}
    versions = {row["id"]: row["query_version"] for row in rows}
    assert len(engine) == len(live) == len(rows)
    assert [name for name in IDS if name in engine] == [name for name in IDS if name in live]
    oracle = BruteForce(clock=lambda: NOW)
    oracle.add(Subscription(name, parsed(row.query), until=row.until) for name, row in live.items())
    expected = [
        (f"p{post}", name, live[name].subscriber, live[name].tag, versions[name])
        for post, name in oracle.match(POSTS).pairs()
    ]
    assert sorted(engine.match(POSTS)) == sorted(expected)
    return live


def ended(engine: Engine, path: Path, live: Live, how: str) -> Live:
    """Close the engine in one of three ways; after the first two, all files are named."""
    if how == "die":
        engine._saver.close()
        return live
    if how == "change":
        live = live | {IDS[0]: Row(WORDS[0], "ada", "", None)}
        engine.subscribe(WORDS[0], id=IDS[0], subscriber="ada")
    else:
        live = {name: row for name, row in live.items() if row.until != LONG_AGO}
        engine.compact()
    engine.close()
    named = json.loads((path / "index" / "manifest.json").read_text())["segments"]
    assert {file.name for file in (path / "index").iterdir()} == {"lock", "manifest.json", *named}
    return live


@dataclass(slots=True)
class Tally:
    operations: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    opened: int = 0
    done: int = 0

    def count(self, trace: Trace, live: Live, found: Live) -> None:
        unfinished = trace.unfinished
        applied = unfinished.applied(live) if unfinished else live
        replaces = unfinished is not None and trace.operation == "subscribe" and unfinished.rows[0][0] in live
        self.operations["replace" if replaces else trace.operation] += 1
        self.steps[trace.step] += 1
        if applied != live:
            self.outcomes["applied" if agrees(found, applied) else "not applied"] += 1
        self.opened += trace.opened + 1
        self.done += len(trace.done)


def kill_many(kills: int, aims: list[str], folder: Path, forks: Connection, seed: int) -> Tally:
    """Every other one at a random time, the others at each of the aims in turn, on folders that are used again."""
    rng, tally, targets = random.Random(seed), Tally(), cycle(aims)
    live: Live = {}
    for number in range(kills):
        path = folder / f"folder {number // 10}"
        live = live if number % 10 else {}
        aim = next(targets) if number % 2 else ""
        job = Job(path, folder / f"trace {number}", rng.getrandbits(32), aim, rng.randint(1, 3))
        trace = killed(job, forks, rng.uniform(0, WINDOW_S))
        for operation in trace.done:
            live = operation.applied(live)
        engine = opened(path)
        found = found_in(engine, path)
        assert agrees(found, live) or (trace.unfinished and agrees(found, trace.unfinished.applied(live))), (job, trace)
        tally.count(trace, live, found)
        live = ended(engine, path, found, rng.choice(["compact", "change", "die"]))
    return tally


def test_a_killed_engine_has_lost_and_doubled_nothing(
    tmp_path: Path, forks: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    tally = kill_many(2 * len(FIRST_AIMS), FIRST_AIMS, tmp_path, forks, seed=1)
    assert tally.done > 0 and tally.steps.keys() >= set(FIRST_AIMS)
    assert not caplog.text  # the index was never damaged, which would be told, and mended


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [2])
def test_two_hundred_killed_engines_have_lost_and_doubled_nothing(
    seed: int, tmp_path: Path, forks: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    tally = kill_many(200, random.Random(seed).sample(AIMS, len(AIMS)), tmp_path, forks, seed)
    print(tally)
    assert not caplog.text
    assert tally.steps.keys() >= set(AIMS)
    assert tally.outcomes["applied"] and tally.outcomes["not applied"]
