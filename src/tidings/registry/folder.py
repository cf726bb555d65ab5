"""Is this folder a registry, and who may write to it now?"""

from __future__ import annotations

from pathlib import Path

from tidings.arrays.locks import LOCK
from tidings.model import DataError

LOG = "log"
REJECTED = "rejected"


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


def _is_foreign(table: Path) -> bool:
    """Neither a Delta table nor one whose creation was cut short."""
    return not table.is_dir() or (not (table / "_delta_log").exists() and any(table.iterdir()))
