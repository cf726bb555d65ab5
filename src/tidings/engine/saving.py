"""Where is the index of an engine between two runs? In files beside the registry, so that the folder opens at once."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa

from tidings.analysis import Analyser
from tidings.arrays.locks import owned
from tidings.engine.replica import Replica
from tidings.index import GuardIndex
from tidings.index.matcher import Clock
from tidings.index.store import Store, Unsaved, described
from tidings.model import DataError
from tidings.registry import Log

INDEX = "index"
SAVE_AFTER = 50_000
"""So many changes wait for the index to be saved; until then a folder that is opened reads them from the registry."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pending:
    """What is to be written: the index as it was after so many changes, at a version with its mark."""

    index: GuardIndex
    what: Unsaved
    version: int
    mark: str
    changes: int


class Saver:
    """Saves an index in the folder of an engine; nowhere if that is None, or if another process owns the folder."""

    def __init__(self, folder: Path | None, analyser: Analyser) -> None:
        self._analyser = analyser
        self._store = None if folder is None else Store(folder / INDEX, described(analyser))
        self._lock = None if folder is None else _owned(folder / INDEX)
        self._saved_changes = 0

    @property
    def is_owner(self) -> bool:
        """Whether it is this process that saves."""
        return self._lock is not None

    def resume(self, replica: Replica, log: Log, sample: pa.Table | None, clock: Clock) -> int | None:
        """Let a replica go on from what was saved, and return the newest version of the log; None if it cannot."""
        if self._store is None:
            return None
        try:
            opened = GuardIndex.opened(self._store, self._analyser, sample, clock)
            if opened is None:
                return None
            index, version, mark = opened
            newest = log.since(version, mark)
            if newest is None and 0 < version < log.horizon:  # it was closed for long; nothing is wrong
                _log.info("the registry has forgotten version %d; the index is built again from the registry", version)
                return None
            if newest is None:
                raise DataError(f"the index in {str(self._store.path)!r} was not made of what the registry has now")
        except DataError as error:
            _log.warning("%s; the index is built again from the registry", error)
            return None
        replica.resume(index, version, str(mark))
        return newest

    def unsaved(self, replica: Replica) -> int:
        """How many changes are not saved."""
        return replica.changes - self._saved_changes

    def is_due(self, replica: Replica) -> bool:
        """Whether enough has changed to save it."""
        return self.is_owner and self.unsaved(replica) > SAVE_AFTER

    def pending(self, replica: Replica) -> Pending | None:
        """What :meth:`write` has to write, all changes up to now; nothing may change the replica meanwhile."""
        if not self.is_owner:
            return None
        index = replica.index
        return Pending(index, index.unsaved(), replica.version, replica.mark, replica.changes)

    def write(self, pending: Pending | None) -> None:
        """Write it. What is not written stays unsaved, so it is tried again."""
        if pending is not None and self._store is not None:
            pending.index.save(self._store, pending.what, pending.version, pending.mark)
            self._saved_changes = pending.changes

    def close(self) -> None:
        """Let another process be the owner."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _owned(folder: Path) -> IO[str] | None:
    """The lock of a folder; None if another process has it, or if nothing can be written there, as where one only
    wants to match."""
    try:
        return owned(folder)
    except OSError as error:
        _log.info("the index in %s is not saved: %s", folder, error)
        return None
