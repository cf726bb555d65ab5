"""How much memory do this process and all that it started have? Read from ``/proc``, time and again.

Resident memory counts a page that several processes share in each of them; the sum is an upper bound.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tidings.model import DataError

EVERY_S = 0.1
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Usage:
    """The memory of some processes by kind: ``driver`` is this one, then those named java, then all others."""

    processes: int
    by_kind: dict[str, int]

    @property
    def resident_bytes(self) -> int:
        return sum(self.by_kind.values())


def usage(root: int, without: Collection[int] = ()) -> Usage:
    """What a process and its descendants have now, but for those ``without`` and their own descendants.

    >>> usage(os.getpid()).by_kind["driver"] > 1_000_000
    True
    """
    if not _PROC.is_dir():
        raise DataError("the memory of processes is read from /proc, which this system does not have; measure on Linux")
    found = {pid: status for pid in _numbers() if (status := _status(pid))}
    family, by_kind = {root}, {"driver": 0, "jvm": 0, "workers": 0}
    for pid in sorted(found, key=lambda pid: (_depth(pid, found), pid)):
        if pid not in without and (pid == root or int(found[pid]["PPid"]) in family):
            family.add(pid)
            kind = "driver" if pid == root else "jvm" if found[pid]["Name"] == "java" else "workers"
            by_kind[kind] += 1024 * int(found[pid].get("VmRSS", "0 kB").split()[0])
    return Usage(len(family), by_kind)


class Watch:
    """Looks again and again while something goes on, and keeps what was most."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.peak = usage(os.getpid())

    def _look(self) -> None:
        while not self._done.wait(EVERY_S):
            self.peak = max(self.peak, usage(os.getpid()), key=lambda usage: usage.resident_bytes)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()


def _numbers() -> list[int]:
    return [int(path.name) for path in _PROC.iterdir() if path.name.isdigit()]


def _status(pid: int) -> dict[str, str]:
    """What the system tells of a process; nothing of one that is gone."""
    try:
        lines = (_PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _depth(pid: int, found: dict[int, dict[str, str]]) -> int:
    depth = 0
    while pid in found and depth < len(found):
        pid, depth = int(found[pid]["PPid"]), depth + 1
    return depth
