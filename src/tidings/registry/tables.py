"""How is a table of the registry kept on disk? As a Delta table. This is the one module that knows delta-rs.

A commit is a file that is put in place at once, under the name of its version, or not at all: a process that dies
before leaves nothing but files that nobody reads, until :meth:`StoredTable.tidy` deletes them. ``append`` is *strict*:
it commits as the version that follows the one it read, and if somebody else has taken that, it reads and writes again.
So what is written may depend on what was read, and may hold its own version in a column.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, QueryBuilder, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from tidings.model import DataError

Stamp: TypeAlias = tuple[int, ...]
"""What the file system says of a file; nobody has written to it for as long as that stays the same."""

MAX_ATTEMPTS = 100
CHECKPOINT_INTERVAL = 10
"""Opening a table replays the commits since its last checkpoint: a table of 600 commits opens in 8 ms, not in 24."""

_STRICT = CommitProperties(max_commit_retries=0)
# delta-rs would raise if a checkpoint fails, as if the commit had failed too; so we write checkpoints ourselves.
_NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tidied:
    """``merged`` small files have been replaced by larger ones, and ``deleted`` files that nobody needs."""

    merged: int
    deleted: int

    def __add__(self, other: Tidied) -> Tidied:
        return Tidied(self.merged + other.merged, self.deleted + other.deleted)


@dataclass(frozen=True, slots=True)
class Appended:
    """How many rows came with a commit, and as which version; without any, the newest version."""

    version: int
    rows: int


@dataclass(frozen=True, slots=True)
class View:
    """A table at the version it had when it was opened; -1 and empty if it is not there yet."""

    stored: StoredTable
    delta: DeltaTable | None

    @property
    def version(self) -> int:
        return -1 if self.delta is None else self.delta.version()

    @property
    def id(self) -> str:
        """The id that the table got when it was made; a copy of it has the same."""
        return "" if self.delta is None else str(self.delta.metadata().id)

    def read(self, columns: Sequence[str], where: str = "true") -> pa.Table:
        """These columns of the rows for which the SQL condition ``where`` holds, in any order that it does not give.

        Files that cannot have such rows are not read. Cost: 2 ms, 0.1 ms a file, 0.2 s for a million rows.
        """
        schema = pa.schema([self.stored.schema.field(name) for name in columns])
        if self.delta is None:
            return schema.empty_table()
        names = ", ".join(f'"{name}"' for name in columns)
        with _told(self.stored.path):
            session = QueryBuilder().register("stored", self.delta)
            return pa.table(session.execute(f"SELECT {names} FROM stored WHERE {where}").read_all()).cast(schema)


@dataclass(frozen=True, slots=True)
class StoredTable:
    """The Delta table in the folder ``path``, with the columns of ``schema``. Made by its first ``append``."""

    path: Path
    schema: pa.Schema

    def open(self) -> View:
        """The newest version. Cost: some 8 ms; it does not read rows."""
        with _told(self.path):
            try:
                delta = DeltaTable(self.path)
            except TableNotFoundError:
                return View(self, None)
            found = pa.schema(delta.schema().to_arrow(as_large_types=True))
        if found != self.schema:
            raise DataError(
                f"the table {str(self.path)!r} has the columns {', '.join(found.names)}, and not those of a registry: "
                f"{', '.join(self.schema.names)}; name another folder"
            )
        return View(self, delta)

    def create(self) -> View:
        """The table, made if need be; whoever else makes it at the same time makes the same."""
        try:
            DeltaTable.create(
                self.path,
                self.schema,
                mode="ignore",
                configuration={"delta.appendOnly": "true", "delta.checkpointInterval": str(CHECKPOINT_INTERVAL)},
            )
        except (DeltaError, OSError) as error:
            if (view := self.open()).delta is not None:
                return view
            raise DataError(f"cannot make the table {str(self.path)!r}: {_first_line(error)}") from None
        return self.open()

    def append(self, rows: Callable[[View], pa.Table]) -> Appended:
        """Commit what ``rows`` makes of the newest version as the one after it; without any rows, commit nothing.

        ``rows`` is called again whenever another writer was faster.
        """
        problem = ""
        for _ in range(MAX_ATTEMPTS):
            view = self.open()
            if view.delta is None:
                view = self.create()
            before, table = view.version, rows(view)
            if view.delta is None or not table.num_rows:
                return Appended(before, 0)
            with _told(self.path):
                try:
                    _commit(view.delta, table)
                except CommitFailedError as error:
                    problem = _first_line(error)
                else:
                    return Appended(before + 1, table.num_rows)
        raise DataError(f"gave up writing to {str(self.path)!r} after {MAX_ATTEMPTS} attempts: {problem}; try again")

    def stamp(self, version: int) -> Stamp | None:
        """The stamp of the file of a commit; None if it is not there, for old ones are cleaned up. Cost: some 2 µs."""
        try:
            found = (self.path / "_delta_log" / f"{version:020}.json").stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size

    def tidy(self, keep_hours: int) -> Tidied:
        """Merge small files into large ones; delete what has been out of use, or never in use, for ``keep_hours``."""
        delta = self.open().delta
        if delta is None:
            return Tidied(0, 0)
        with _told(self.path):
            merged = delta.optimize.compact()["numFilesRemoved"]
            # It lists files that are gone already too, and without any to delete would make two commits all the same.
            deleted = sum((self.path / name).exists() for name in _vacuum(delta, keep_hours, dry_run=True))
            if deleted:
                _vacuum(delta, keep_hours, dry_run=False)
            delta.create_checkpoint()
            delta.cleanup_metadata()
        return Tidied(merged, deleted)


def _commit(delta: DeltaTable, table: pa.Table) -> None:
    write_deltalake(delta, table, mode="append", commit_properties=_STRICT, post_commithook_properties=_NO_HOOKS)
    if delta.version() % CHECKPOINT_INTERVAL == 0:
        try:
            delta.create_checkpoint()
        except (DeltaError, OSError) as error:  # the commit stands without it
            _log.warning("no checkpoint of version %d: %s", delta.version(), _first_line(error))


def _vacuum(delta: DeltaTable, keep_hours: int, *, dry_run: bool) -> list[str]:
    return delta.vacuum(keep_hours, dry_run=dry_run, enforce_retention_duration=False, full=True)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Errors of the files below as errors of ours."""
    try:
        yield
    except Exception as error:
        # For a data file that is missing or broken, delta-rs raises an Exception and nothing more special.
        if not isinstance(error, DeltaError | pa.ArrowException | OSError) and type(error) is not Exception:
            raise
        raise DataError(
            f"the table {str(path)!r} cannot be used: {_first_line(error)}; "
            "if its files are damaged, restore them from a backup"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]
