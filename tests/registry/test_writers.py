"""Is nothing lost and nothing doubled when several processes write at once, and when they are killed?"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections import Counter, defaultdict
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.registry.writers import ROWS, add_batch, write_some, write_until_killed
from tidings.registry import Registry

pytestmark = pytest.mark.thorough

WRITERS = 3
BATCHES = 24
KILLS = 20


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    """Real processes that start in milliseconds, because their parent has loaded everything (and run nothing)."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", "tests.registry.writers"])
    return context


def heard(told: Connection) -> list[Any]:
    """All that was sent before the other end was closed."""
    messages = []
    try:
        while True:
            messages.append(told.recv())
    except EOFError:
        return messages


def versions_of_batches(registry: Registry) -> dict[str, int]:
    """The version of each batch in the log, each of which is there as a whole, once, in one version."""
    changes = registry.changes()
    batches = Counter((row["id"].split("/")[0], row["version"]) for row in changes.to_pylist())
    assert set(batches.values()) <= {ROWS}
    assert len({name for name, _ in batches}) == len(batches)
    assert len(set(changes["id"].to_pylist())) == changes.num_rows
    return dict(batches.keys())


@pytest.mark.parametrize("locked", [True, False], ids=["taking turns", "all at once"])
def test_several_processes_write_at_once_without_loss(
    tmp_path: Path, processes: ForkServerContext, locked: bool
) -> None:
    running = []
    for writer in range(WRITERS):
        here, there = processes.Pipe(duplex=False)
        process = processes.Process(target=write_some, args=(tmp_path, f"w{writer}", BATCHES, there, locked))
        process.start()
        there.close()
        running.append((process, here))
    acknowledged = [receipt for _, told in running for receipt in heard(told)]
    for process, _ in running:
        process.join()
        assert process.exitcode == 0
    registry = Registry(tmp_path)
    assert len(acknowledged) == WRITERS * BATCHES
    assert versions_of_batches(registry) == dict(acknowledged)
    assert registry.version >= WRITERS * BATCHES and registry.rejected().num_rows == WRITERS * BATCHES
    for version in (1, 17, 40):
        delta = DeltaTable(tmp_path / "log", version=version).to_pyarrow_table()
        assert sorted(delta["version"].to_pylist()) == registry.changes(until=version)["version"].to_pylist()


def test_a_killed_writer_leaves_all_of_a_batch_or_nothing(tmp_path: Path, processes: ForkServerContext) -> None:
    rng = random.Random(3)
    told: dict[Path, dict[str, int]] = defaultdict(dict)
    kills: Counter[Path] = Counter()
    for number in range(KILLS):
        path = tmp_path / (f"new {number}" if number % 4 == 0 else "old")  # a new one dies while it is made
        after_s = rng.uniform(0, 0.2 if path in told else 0.06)
        told[path] |= written_by_one_who_dies(path, f"k{number}", after_s, processes, once_told=number % 4 == 1)
        kills[path] += 1
        found = versions_of_batches(Registry(path))
        assert found | told[path] == found
        assert len(found) <= len(told[path]) + kills[path]
    assert told[tmp_path / "old"]
    for path, acknowledged in told.items():
        registry = Registry(path)
        registry.tidy(grace_s=0)
        assert add_batch(registry, "after all").accepted == ROWS
        found = versions_of_batches(registry)
        assert found | acknowledged == found and registry.snapshot().num_rows == ROWS * len(found)


def written_by_one_who_dies(
    path: Path, name: str, after_s: float, processes: ForkServerContext, once_told: bool
) -> dict[str, int]:
    """The batches, and their versions, that a writer tells before it is killed: one at least, if ``once_told``."""
    here, there = processes.Pipe(duplex=False)
    process = processes.Process(target=write_until_killed, args=(path, name, there))
    process.start()
    there.close()
    assert here.recv() == "ready"
    if once_told:
        here.poll(None)
    time.sleep(after_s)  # nothing else is waited for: the moment of the kill is what varies
    process.kill()
    acknowledged = dict(heard(here))
    process.join()
    return acknowledged
