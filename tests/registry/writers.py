"""What do the processes of the tests do? Write to one registry, and tell what was acknowledged.

They are forked from a process that has imported this module: what is slow at first has happened by then.
"""

from __future__ import annotations

from contextlib import nullcontext
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path

import pyarrow as pa

from tidings.analysis import Analyser
from tidings.registry import Receipt, Registry, tables
from tidings.registry import registry as registry_module
from tidings.registry.validation import check_subscriptions

ROWS = 5
"""Rows of a batch."""


def add_batch(registry: Registry, name: str) -> Receipt:
    """Add the subscriptions ``name``/0, ``name``/1, …, and one that is rejected."""
    ids = [f"{name}/{row}" for row in range(ROWS)]
    return registry.add(pa.table({"id": [*ids, "bad"], "query": ["fire smoke"] * ROWS + ["("]}))


def write_some(path: Path, name: str, batches: int, told: Connection, locked: bool) -> None:
    """Write so many batches as fast as possible; ``locked`` takes turns with the others, as everybody does."""
    if not locked:
        vars(registry_module)["exclusive"] = lambda path: nullcontext()
    registry = Registry(path)
    for number in range(batches):
        told.send((f"{name}-{number}", add_batch(registry, f"{name}-{number}").version))


def write_until_killed(path: Path, name: str, told: Connection) -> None:
    """Write batch after batch, and tidy up all the time: as part of commits, and as a whole."""
    vars(tables)["UPKEEP_EVERY"] = 2
    registry = Registry(path)
    told.send("ready")
    for number in count():
        told.send((f"{name}-{number}", add_batch(registry, f"{name}-{number}").version))
        if number % 3 == 2:
            registry.tidy(grace_s=0)


# Compiles the kernels and the grammar, and starts no thread.
check_subscriptions(pa.table({"id": ["a", "b"], "query": ["fire", "("]}), Analyser())
