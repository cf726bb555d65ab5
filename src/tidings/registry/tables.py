"""How is a table of the registry kept on disk? As a Delta table. This is the one module that knows delta-rs.

A commit is a file that is put in place at once, under the name of its version, or not at all (``commits.py``): a
process that dies before leaves nothing but files that nobody reads, until :meth:`StoredTable.tidy` deletes them.
``append`` is *strict*: it commits as the version that follows the one it read, and if somebody else has taken that, it
reads and writes again. So what is written may depend on what was read, and may hold its own version in a column.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError

from tidings.model import DataError
from tidings.registry.commits import (
    PAGES,
    DataFile,
    Grace,
    added,
    commit,
    forget,
    newest_version,
    noted,
    removed,
    touch,
)
from tidings.registry.log import Stamp

MAX_ATTEMPTS = 100
MAX_OPENINGS = 5
UPKEEP_EVERY = 32
"""After so many versions the small files of a table are merged, and a checkpoint is made: what opening it costs."""

SMALL_ROWS = 1024
GRACE = Grace()
_HORIZON = "tidings.horizon"
# What was removed is not listed in checkpoints: they would grow with every file that ever was.
_PROPERTIES = {"delta.appendOnly": "true", "delta.deletedFileRetentionDuration": "interval 0 seconds"}

_log = logging.getLogger(__name__)
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Tidied:
    """``merged`` files have been replaced by larger ones, ``dropped`` rows and ``deleted`` files that nobody needs."""

    merged: int = 0
    dropped: int = 0
    deleted: int = 0

    def __add__(self, other: Tidied) -> Tidied:
        return Tidied(self.merged + other.merged, self.dropped + other.dropped, self.deleted + other.deleted)


@dataclass(frozen=True, slots=True)
class Appended:
    """How many rows came with a commit, and as which version; without any, the newest version."""

    version: int
    rows: int


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What is left of the rows of some files, and the first version that the table can still tell."""

    rows: pa.Table
    horizon: int


Rewrite = Callable[["View", pa.Table, Sequence[DataFile]], Rewritten]
"""Makes of the rows of some files those that are needed, given the files that stay as they are."""


@dataclass(slots=True)
class View:
    """A table at the version it had when it was opened; -1 and empty if it is not there yet."""

    stored: StoredTable
    version: int
    _delta: DeltaTable | None = None

    @property
    def delta(self) -> DeltaTable:
        """The Delta table, opened when somebody wants to read. Cost: some 5 ms."""
        if self._delta is None:
            self._delta = self.stored.load(self.version)
        return self._delta

    @property
    def horizon(self) -> int:
        """The first version whose rows are all there; of earlier ones, those that a later one replaced may be gone."""
        if self.version < 0:
            return 0
        return self.delta.transaction_version(_HORIZON) or 0

    @property
    def id(self) -> str:
        """The id that the table got when it was made; a copy of it has the same."""
        return "" if self.version < 0 else str(self.delta.metadata().id)

    def read(self, columns: Sequence[str], where: str = "true") -> pa.Table:
        """These columns of the rows for which the SQL condition ``where`` holds, in any order that it does not give.

        Files that cannot have such rows are not read. Cost: 2 ms, 0.1 ms a file, 0.2 s for a million rows.
        """
        schema = pa.schema([self.stored.schema.field(name) for name in columns])
        if self.version < 0:
            return schema.empty_table()
        names = ", ".join(f'"{name}"' for name in columns)
        with _told(self.stored.path):
            session = QueryBuilder().register("stored", self.delta)
            return pa.table(session.execute(f"SELECT {names} FROM stored WHERE {where}").read_all()).cast(schema)

    def files(self) -> list[DataFile]:
        """The files of this version."""
        with _told(self.stored.path):
            found = pa.table(self.delta.get_add_actions(flatten=True))
        absent = pa.nulls(found.num_rows, pa.int64())
        columns = (found[name] if name in found.column_names else absent for name in ("num_records", "min.version"))
        rows, first = (column.fill_null(0).to_pylist() for column in columns)
        return list(map(DataFile, found["path"].to_pylist(), rows, first))

    def rows_of(self, files: Sequence[DataFile]) -> pa.Table:
        """All rows of some files."""
        with _told(self.stored.path):
            parts = [pq.ParquetFile(self.stored.path / file.name).read(use_threads=False) for file in files]
            schema = self.stored.schema
            return pa.concat_tables(
                [part.select(schema.names).cast(schema) for part in parts] or [schema.empty_table()]
            )


@dataclass(slots=True)
class StoredTable:
    """The Delta table in the folder ``path``, with the columns of ``schema``. Made by its first ``append``."""

    path: Path
    schema: pa.Schema
    _checked: int = field(default=0, compare=False)
    """The inode of the folder of pages whose columns are known to be ours."""
    id: str = field(default="", compare=False)
    """The id of the table when it was last loaded: what a commit needs, without loading it."""

    def open(self) -> View:
        """The newest version. Cost: some 50 µs; what is read of it comes on top."""
        with _told(self.path):
            version = newest_version(self.path)
            if version >= 0 and (inode := (self.path / PAGES).stat().st_ino) != self._checked:
                self.load(version)
                self._checked = inode
        return View(self, version)

    def load(self, version: int) -> DeltaTable:
        """The Delta table at a version."""
        with _told(self.path):
            delta = DeltaTable(self.path, version=version)
            found = pa.schema(delta.schema().to_arrow(as_large_types=True))
        if found != self.schema:
            raise DataError(
                f"the table {str(self.path)!r} has the columns {', '.join(found.names)}, and not those of a registry: "
                f"{', '.join(self.schema.names)}; name another folder"
            )
        self.id = str(delta.metadata().id)
        return delta

    def read(self, what: Callable[[View], Read]) -> Read:
        """What somebody reads of the newest version; of the next one, if files are deleted meanwhile."""
        for _ in range(MAX_OPENINGS):
            view = self.open()
            try:
                return what(view)
            except DataError:
                if newest_version(self.path) == view.version:
                    raise
        return what(self.open())

    def create(self) -> View:
        """The table, made if need be; whoever else makes it at the same time makes the same."""
        try:
            DeltaTable.create(self.path, self.schema, mode="ignore", configuration=_PROPERTIES)
        except (DeltaError, OSError) as error:
            if (view := self.open()).version >= 0:
                return view
            raise DataError(f"cannot make the table {str(self.path)!r}: {_first_line(error)}") from None
        return self.open()

    def append(self, rows: Callable[[View], pa.Table]) -> Appended:
        """Commit what ``rows`` makes of the newest version as the one after it; without any rows, commit nothing.

        ``rows`` is called again whenever another writer was faster.
        """
        for _ in range(MAX_ATTEMPTS):
            view = self.open()
            if view.version < 0:
                view = self.create()
            table = rows(view)
            if not table.num_rows:
                return Appended(view.version, 0)
            with _told(self.path):
                if commit(self.path, view.version + 1, "WRITE", [added(self.path, table)]):
                    return Appended(view.version + 1, table.num_rows)
        raise DataError(f"gave up writing to {str(self.path)!r} after {MAX_ATTEMPTS} attempts: others were faster")

    def stamp(self, version: int) -> Stamp | None:
        """What the file system says of the file of a commit; None if it is not there, for old ones are cleaned up.

        Cost: some 2 µs.
        """
        try:
            found = (self.path / PAGES / f"{version:020}.json").stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size

    def is_due(self, version: int) -> bool:
        """Whether the writer of a version should keep the table up."""
        return version > 0 and version % UPKEEP_EVERY == 0

    def keep_up(self, rewrite: Rewrite) -> None:
        """Merge small files now and then; what goes wrong is told, since the commit before stands without it."""
        try:
            self.tidy(rewrite, GRACE, whole=False)
        except (DataError, DeltaError, OSError) as error:
            _log.warning("the table %s was not tidied: %s; it is tried again later", self.path, _first_line(error))

    def tidy(self, rewrite: Rewrite, grace: Grace, *, whole: bool) -> Tidied:
        """Merge files, all of the table or those that are small beside the others; delete what is out of use."""
        view = self.open()
        if view.version < 0:
            return Tidied()
        with _told(self.path):
            if _PROPERTIES.items() - view.delta.metadata().configuration.items():  # made by an earlier tidings
                view.delta.alter.set_table_properties(_PROPERTIES)
                view = self.open()
            files = view.files()
            chosen = files if whole else small_files(files)
            merged, dropped = self._merge(view, chosen, files, rewrite)
            view.delta.update_incremental()
            view.delta.create_checkpoint()
            deleted = forget(self.path, frozenset(file.name for file in view.files()), grace)
        return Tidied(merged, dropped, deleted)

    def _merge(
        self, view: View, chosen: Sequence[DataFile], files: Sequence[DataFile], rewrite: Rewrite
    ) -> tuple[int, int]:
        """How many files were replaced by one, and how many rows were dropped; none if another writer was faster."""
        rows = view.rows_of(chosen)
        replaced = frozenset(file.name for file in chosen)
        new = rewrite(view, rows, [file for file in files if file.name not in replaced])
        dropped = rows.num_rows - new.rows.num_rows
        if len(chosen) < 2 and not dropped:  # one file is as good as it can be
            return 0, 0
        actions = [removed(file) for file in chosen]
        if new.rows.num_rows:
            actions.append(added(self.path, new.rows, is_change=False))
        if new.horizon > view.horizon:
            actions.append(noted(_HORIZON, new.horizon))
        if not commit(self.path, view.version + 1, "OPTIMIZE", actions):
            return 0, 0
        touch(self.path, chosen)
        return len(chosen), dropped


def small_files(files: Sequence[DataFile]) -> list[DataFile]:
    """The files to be merged: small ones, and each larger one that is at most twice as large as those before it.

    So each row is written again a few times only, however many there are, and the files are few.

    >>> [file.rows for file in small_files([DataFile(str(rows), rows) for rows in (9000, 1, 2000, 1000)])]
    [1, 1000, 2000]
    """
    by_size = sorted(files, key=lambda file: file.rows)
    total = 0
    for number, file in enumerate(by_size):
        if file.rows > max(SMALL_ROWS, 2 * total):
            return by_size[:number]
        total += file.rows
    return by_size


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
