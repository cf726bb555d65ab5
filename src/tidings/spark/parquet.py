"""How are posts in Parquet files matched without a way through the JVM? Python workers read the files themselves.

A row that Spark reads is decoded, made a row, encoded for Arrow, sent to a Python worker and decoded there, before
anything is matched; for a post of 250 bytes that is as much work as to find its matches. Here Spark only says who reads
which *pieces*: files, or row groups of large ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.fs import FileType
from pyspark.sql import DataFrame, SparkSession

from tidings.model import DataError

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

WHOLE_BYTES = 4 << 20
"""A file of no more than this is not taken apart."""

TASK_BYTES = 128 << 20
FEW_TASKS = 32
"""Up to this many times TASK_BYTES each core has one task, for a task costs as much as some thousand posts to start."""

_BATCH_ROWS = 1 << 14


@dataclass(frozen=True)
class ParquetFiles:
    """Posts in Parquet files: for :func:`tidings.spark.match` in place of a DataFrame, and faster than one.

    ``path``: a file, or a folder whose files have the same columns; a folder in it named like ``day=2024-01-01`` makes
    a column too. Every machine has to see it; it may be in a store that Arrow knows, as in ``s3://bucket/posts``. The
    files that are there when :func:`~tidings.spark.match` is called are those that are matched.
    """

    sparkSession: SparkSession  # noqa: N815  # what match asks of a DataFrame has its name there
    path: str | Path
    isStreaming: ClassVar[bool] = False  # noqa: N815

    @cached_property
    def columns(self) -> list[str]:
        return list(self._dataset.schema.names)

    def selected(self, columns: Mapping[str, str]) -> Pieces:
        """What is to be read, with these columns (name in a publication → name in the files)."""
        return Pieces(self.sparkSession, self._dataset, dict(columns))

    @cached_property
    def _dataset(self) -> ds.FileSystemDataset:
        try:
            found = ds.dataset(str(self.path), format="parquet", partitioning="hive")
        except (OSError, ValueError, pa.ArrowException) as error:
            raise DataError(f"cannot read Parquet files at {str(self.path)!r}: {error}") from None
        if not found.files:
            raise DataError(f"there are no Parquet files at {str(self.path)!r}")
        log = found.filesystem.get_file_info(f"{found.filesystem.normalize_path(str(self.path))}/_delta_log")
        if log.type == FileType.Directory:
            raise DataError(f"{str(self.path)!r} is a Delta table, whose log says which files count; let Spark read it")
        return found


@dataclass(frozen=True)
class Pieces:
    """The rows of Parquet files: as much of a DataFrame as work on all rows needs."""

    session: SparkSession
    dataset: ds.FileSystemDataset
    columns: dict[str, str]

    def mapInArrow(self, work: Work, schema: str) -> DataFrame:  # noqa: N802  # as a DataFrame calls it
        """The rows that work makes of those in the files."""
        sizes = [info.size for info in self.dataset.filesystem.get_file_info(self.dataset.files)]
        pieces = [
            piece
            for fragment, size in zip(self.dataset.get_fragments(), sizes, strict=True)
            for piece in (fragment.split_by_row_group() if size > WHOLE_BYTES else [fragment])
        ]
        tasks = sum(sizes) // TASK_BYTES
        numbers = self.session.range(0, len(pieces), 1, min(tasks, len(pieces)) if tasks > FEW_TASKS else None)
        return numbers.mapInArrow(ReadPieces(tuple(pieces), self.columns, self.dataset.schema, work), schema)


@dataclass(frozen=True, slots=True)
class ReadPieces:
    """Does some work with the rows of those pieces whose numbers come in."""

    pieces: tuple[ds.Fragment, ...]
    columns: dict[str, str]
    schema: pa.Schema
    work: Work

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.work(self._rows(number for batch in numbers for number in batch.column(0).to_pylist()))

    def _rows(self, numbers: Iterator[int]) -> Iterator[pa.RecordBatch]:
        names, columns = list(self.columns), list(self.columns.values())
        for number in numbers:
            read = self.pieces[number].to_batches(
                self.schema, columns=columns, batch_size=_BATCH_ROWS, batch_readahead=1, use_threads=False
            )
            yield from (batch.rename_columns(names) for batch in read if batch.num_rows)
