"""Who may write to this folder now? The kernel frees the lock of a process that dies."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tidings.model import DataError

LOCK = "lock"


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Wait until no other process or thread of this machine has the lock of a folder, and keep them waiting."""
    try:
        file = _opened(folder)
    except OSError as error:
        raise DataError(f"cannot write to the folder {str(folder)!r}: {error}; name another") from None
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def owned(folder: Path) -> IO[str] | None:
    """The lock of a folder, held until it is closed; None if another process has it. It may raise OSError."""
    file = _opened(folder)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def _opened(folder: Path) -> IO[str]:
    folder.mkdir(parents=True, exist_ok=True)
    return (folder / LOCK).open("a")
