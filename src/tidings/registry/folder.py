"""Is this folder a registry, and who may write to it now?"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidings.model import DataError

LOG = "log"
REJECTED = "rejected"
LOCK = "lock"


def check_folder(path: Path) -> None:
    """Refuse a folder that is in use for something else. One that is empty or not there can become a registry."""
    if not path.exists():
        return
    if not path.is_dir():
        raise DataError(f"{str(path)!r} is a file, and a registry is a folder; name a new or an empty one")
    if (path / "_delta_log").exists():
        raise DataError(f"{str(path)!r} is a single Delta table; name the folder of the registry that it belongs to")
    names = {entry.name for entry in path.iterdir() if not entry.name.startswith(".")}
    foreign = [name for name in (LOG, REJECTED) if name in names and _is_foreign(path / name)]
    if foreign or (names and not names & {LOG, REJECTED, LOCK}):
        holds = (foreign or sorted(names))[0]
        raise DataError(f"{str(path)!r} is no registry, it holds {holds!r}; name a registry, or a new or empty folder")


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Wait until no other process or thread of this machine writes to a folder, and keep them waiting.

    For a registry this is for fairness, not for safety: commits are safe without it, but a large one that has to be
    repeated whenever a small one was faster might never come through. The kernel frees the lock of a process that dies.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        file = (path / LOCK).open("a")
    except OSError as error:
        raise DataError(f"cannot write to the folder {str(path)!r}: {error}; name another") from None
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _is_foreign(table: Path) -> bool:
    """Neither a Delta table nor one whose creation was cut short."""
    return not table.is_dir() or (not (table / "_delta_log").exists() and any(table.iterdir()))
