"""What do a commit and a registry cost after a hundred thousand commits? A few ids are replaced again and again.

One writer replaces the queries of ``live`` ids in turn, each in a commit of its own. Blocks of commits are timed by the
clock, and by the time of the processor, which others on the machine disturb less. After each block the files are
counted and the live subscriptions are read. At the end these must be what was last written, with its versions.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.matching import Advance, silent
from tidings.model import DataError
from tidings.registry import Registry

_TENTHS = 10

Written = dict[str, tuple[str, int]]
"""The query of each id and the version that brought it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """``commits`` in blocks of ``block``, by one writer, to ``live`` ids."""

    commits: int = 100_000
    live: int = 50
    block: int = 1_000

    def __post_init__(self) -> None:
        if self.commits < _TENTHS * self.block:
            raise DataError(f"ten blocks of {self.block:,} commits are the least, got {self.commits:,} commits")


@dataclass(frozen=True, slots=True)
class Block:
    """What a block of commits cost, and what the folder was like after it."""

    ms: float
    p99_ms: float
    cpu_ms: float
    size_bytes: int
    files: int
    snapshot_ms: float


def measure(folder: Path, settings: Settings, advance: Advance = silent) -> dict[str, Any]:
    """The figures of a new registry in ``folder``; ``advance`` is told of commits. Ctrl-C ends it early."""
    registry = Registry.create(folder)
    written: Written = {}
    blocks: list[Block] = []
    with suppress(KeyboardInterrupt):
        for begin in range(0, settings.commits, settings.block):
            blocks.append(_block(registry, range(begin, begin + settings.block), settings.live, written))
            advance(settings.block)
    if len(blocks) < _TENTHS:
        raise DataError(f"it ended after {len(blocks)} blocks of {settings.block:,} commits; {_TENTHS} are the least")
    if len(blocks) * settings.block == settings.commits:
        _check(registry, written)
    columns = {name: [getattr(block, name) for block in blocks] for name in Block.__slots__}
    return {
        "commits": len(blocks) * settings.block,
        "live": settings.live,
        "history_versions": registry.history.versions,
        "last_to_second_tenth": {name: _ratio(columns[name]) for name in ("ms", "cpu_ms", "size_bytes", "snapshot_ms")},
        "commits_so_far": [(number + 1) * settings.block for number in range(len(blocks))],
        **columns,
    }


def draw(figures: dict[str, Any], path: Path) -> None:
    """Milliseconds and bytes against the commits so far, as the picture ``path``."""
    from tidings.cli.plot import Curve, Panel, save  # matplotlib loads only where something is drawn

    across = figures["commits_so_far"]
    curves = [
        Curve("median", across, figures["ms"]),
        Curve("of the processor, mean", across, figures["cpu_ms"]),
    ]
    save(
        path,
        "commits",
        [
            Panel(f"ms for a commit, {figures['live']} live ids", curves=curves),
            Panel("MB on disk", across, [size / 1e6 for size in figures["size_bytes"]]),
        ],
        log=False,
    )


def _block(registry: Registry, numbers: range, live: int, written: Written) -> Block:
    took_ms = []
    cpu_s = time.process_time()
    for number in numbers:
        name, query = f"s{number % live}", f"fire smoke{number}"
        row = pa.table({"id": [name], "query": [query]})
        began = time.perf_counter()
        version = registry.add(row).version
        took_ms.append((time.perf_counter() - began) * 1e3)
        written[name] = query, version
    cpu_ms = (time.process_time() - cpu_s) * 1e3 / len(numbers)
    sizes = _sizes(Path(registry.path))
    began = time.perf_counter()
    registry.snapshot()
    snapshot_ms = (time.perf_counter() - began) * 1e3
    times = round(statistics.median(took_ms), 2), round(float(np.percentile(took_ms, 99)), 2), round(cpu_ms, 2)
    return Block(*times, sum(sizes), len(sizes), round(snapshot_ms, 2))


def _sizes(folder: Path) -> list[int]:
    return [(Path(where) / name).stat().st_size for where, _, names in os.walk(folder) for name in names]


def _ratio(column: Sequence[float]) -> float:
    """The median of the last tenth as a part of that of the second."""
    tenth = len(column) // _TENTHS
    return round(statistics.median(column[-tenth:]) / statistics.median(column[tenth : 2 * tenth]), 3)


def _check(registry: Registry, written: Written) -> None:
    found = {row["id"]: (row["query"], row["query_version"]) for row in registry.snapshot().to_pylist()}
    if found != written:
        raise DataError("the registry does not have what was written last")
