"""Where do the files of matches go that workers write, and what happens if a batch is run again?

A batch has a name that no other has. A sink knows whether it has a batch already, so it takes each batch once.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from tidings.model import DataError
from tidings.tables.matches import IN_FILES

NEW_PLACE = "name a new or an empty folder for the matches"
_ASIDE = "_aside"  # what begins with an underscore is seen by no reader of Parquet


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of a pipeline. No other has its name, whatever is run again."""

    pipeline: str
    number: int


@runtime_checkable
class FileSink(Protocol):
    """Takes the matches of a batch as files of Parquet."""

    def has(self, batch: Batch) -> bool:
        """Whether all of a batch is there for good, so that it is not to be written again."""

    def aside(self, batch: Batch) -> Path:
        """A new folder for the files of a batch, which no reader sees; what attempts that died have left is removed."""

    def take(self, files: Sequence[Path], batch: Batch) -> None:
        """Let readers see these files of ``aside``, one or more; others that are there are of tasks that failed."""


@dataclass(frozen=True, slots=True)
class ParquetSink:
    """Files of Parquet in ``path/pipeline=…/batch=…``, for any reader of partitioned Parquet.

    A batch is written aside by the executors and moved into place by the driver, so readers see all of it or nothing;
    ``path`` is a folder that both see.
    """

    path: str | Path

    def __post_init__(self) -> None:
        check_path("the folder of a sink", self.path)

    def check(self) -> None:
        """Refuse a folder that holds something else than batches of matches."""
        path = Path(self.path)
        if path.exists() and not path.is_dir():
            raise DataError(f"{str(path)!r} is a file, and matches go to a folder; name a new or an empty one")
        names = sorted(entry.name for entry in path.iterdir()) if path.exists() else []
        for name in names:
            if name == "_delta_log" or not name.startswith(("pipeline=", "_", ".")):
                raise DataError(f"{str(path)!r} holds {name!r}, which is no batch of matches; {NEW_PLACE}")
        file = next(path.glob("pipeline=*/batch=*/*.parquet"), None)
        if file is not None:
            check_columns(path, _schema(file))

    def has(self, batch: Batch) -> bool:
        return self._home(batch).exists()

    def aside(self, batch: Batch) -> Path:
        attempts = Path(self.path).absolute() / _ASIDE / batch.pipeline
        shutil.rmtree(attempts, ignore_errors=True)
        folder = attempts / uuid4().hex
        folder.mkdir(parents=True)
        return folder

    def take(self, files: Sequence[Path], batch: Batch) -> None:
        home, whole = self._home(batch), files[0].parent / "whole"
        whole.mkdir()
        for file in files:
            file.rename(whole / file.name)
        home.parent.mkdir(parents=True, exist_ok=True)
        whole.rename(home)

    def put(self, rows: pa.Table, batch: Batch) -> None:
        """Write a batch that the driver has; one that is there already stays."""
        if not self.has(batch):
            file = self.aside(batch) / "part-0.parquet"
            pq.write_table(rows, file)
            self.take([file], batch)

    def _home(self, batch: Batch) -> Path:
        return Path(self.path) / f"pipeline={batch.pipeline}" / f"batch={batch.number}"


def check_path(what: str, path: object) -> None:
    """Refuse what names no folder."""
    if not isinstance(path, str | Path) or not str(path):
        raise DataError(f"{what} is named by a text or a Path, got {path!r}")


def check_columns(path: Path, found: pa.Schema, expected: pa.Schema = IN_FILES) -> None:
    """Refuse a place whose columns are not those of matches, in whatever order."""
    has, wanted = ([f"{field.name} {field.type}" for field in schema] for schema in (found, expected))
    if sorted(has) != sorted(wanted):
        raise DataError(
            f"{str(path)!r} has the columns {', '.join(has)}, and matches have {', '.join(wanted)}; {NEW_PLACE}"
        )


def _schema(file: Path) -> pa.Schema:
    try:
        return pq.read_schema(file)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{str(file)!r} is no file of Parquet ({error}); remove it, or name another folder") from None
