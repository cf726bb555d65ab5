"""How are posts in Parquet files matched without a way through the JVM? Python workers read the files themselves.

A row that Spark reads is decoded, made a row, encoded for Arrow, sent to a Python worker and decoded there, before
anything is matched; for a post of 250 bytes that is as much work as to find its matches. Here Spark only says who reads
which *pieces*: files, or some row groups of a large one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.fs import FileSystem, FileType
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from tidings.model import DataError

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

PIECE_BYTES = 4 << 20
"""A larger file is taken apart into pieces of about so much."""

TASK_BYTES = 16 << 20
FEW_TASKS = 256
"""Up to this many times TASK_BYTES each core has one task, for a task costs as much as some thousand posts to start."""

_FORMAT = ds.ParquetFileFormat(coerce_int96_timestamp_unit="us")
_BATCH_ROWS = 1 << 14
_KINDS = (pa.int64(), pa.float64(), pa.date32(), pa.timestamp("us"))
"""What the names of folders may be, tried in this order, as Spark does."""


class ParquetFiles:
    """Posts in Parquet files: for :func:`tidings.spark.match` in place of a DataFrame, and faster than one.

    ``path``: a file, or a folder whose files have the same columns; a folder in it named like ``day=2024-01-01`` makes
    a column too. Every machine has to see it; it may be in a store that Arrow knows, as in ``s3://bucket/posts``. Files
    that come later are not read.
    """

    isStreaming: ClassVar[bool] = False  # noqa: N815  # what match asks of a DataFrame has its name there

    def __init__(self, spark: SparkSession, path: str | Path) -> None:
        self.sparkSession = spark
        self._dataset = _opened(str(path) if "://" in str(path) else str(Path(path).absolute()))

    @property
    def schema(self) -> pa.Schema:
        return self._dataset.schema

    def selected(self, columns: Mapping[str, tuple[str, ...]]) -> FilePieces:
        """What is to be read, with these columns (name in a publication → column in the files, and fields in it)."""
        return FilePieces(self.sparkSession, self._dataset, _reached(self.schema, columns))


@dataclass(frozen=True)
class FilePieces:
    """The rows of Parquet files: as much of a DataFrame as work on all rows needs."""

    session: SparkSession
    dataset: ds.FileSystemDataset
    columns: dict[str, tuple[str, ...]]

    def mapInArrow(self, work: Work, schema: str | StructType) -> DataFrame:  # noqa: N802  # as a DataFrame calls it
        """The rows that work makes of those in the files."""
        sizes = [info.size or 0 for info in self.dataset.filesystem.get_file_info(self.dataset.files)]
        files = zip(self.dataset.get_fragments(), sizes, strict=True)
        pieces = tuple(piece for fragment, size in files for piece in _taken_apart(fragment, size))
        tasks = sum(sizes) // TASK_BYTES
        numbers = self.session.range(0, len(pieces), 1, min(tasks, len(pieces)) if tasks > FEW_TASKS else None)
        return numbers.mapInArrow(ReadPieces(pieces, self.columns, self.dataset.schema, work), schema)


@dataclass(frozen=True, slots=True)
class ReadPieces:
    """Does some work with the rows of those pieces whose numbers come in."""

    pieces: tuple[ds.Fragment, ...]
    columns: dict[str, tuple[str, ...]]
    schema: pa.Schema
    work: Work

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.work(self._rows(number for batch in numbers for number in batch.column(0).to_pylist()))

    def _rows(self, numbers: Iterator[int]) -> Iterator[pa.RecordBatch]:
        columns = {name: ds.field(*path) for name, path in self.columns.items()}
        for number in numbers:
            read = self.pieces[number].to_batches(
                self.schema, columns=columns, batch_size=_BATCH_ROWS, batch_readahead=1, use_threads=False
            )
            yield from (batch for batch in read if batch.num_rows)


def _reached(schema: pa.Schema, wanted: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The same as far as Arrow goes into nested columns: into structs, not into lists. Workers take those apart."""
    found: dict[str, tuple[str, ...]] = {}
    for name, path in wanted.items():
        kind, steps = schema.field(path[0]).type, 1
        while steps < len(path) and pa.types.is_struct(kind):
            kind = kind.field(path[steps]).type
            steps += 1
        found[name if steps == len(path) else ".".join(path[:steps])] = path[:steps]
    return found


def _opened(place: str) -> ds.FileSystemDataset:
    try:
        system, path = FileSystem.from_uri(place)
        found = ds.dataset(path, filesystem=system, format=_FORMAT, partitioning="hive")
        is_delta = system.get_file_info(f"{path}/_delta_log").type == FileType.Directory
        if found.files and (named := _named_by_folders(found)):
            by_folder = ds.partitioning(pa.schema(named), flavor="hive")
            found = ds.dataset(path, _with(found.schema, named), _FORMAT, system, by_folder)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(f"cannot read Parquet files at {place!r}: {error}") from None
    if not found.files:
        raise DataError(f"there are no Parquet files at {place!r}")
    if is_delta:
        raise DataError(f"{place!r} is a Delta table, whose log says which files count; let Spark read it")
    return found


def _named_by_folders(found: ds.FileSystemDataset) -> list[pa.Field]:
    """The columns that the names of folders make, of the first kind that all names have."""
    values: dict[str, list[str | None]] = {}
    for fragment in found.get_fragments():
        for name, value in ds.get_partition_keys(fragment.partition_expression).items():
            values.setdefault(name, []).append(None if value is None else str(value))
    return [pa.field(name, _kind(pa.array(texts, pa.string()))) for name, texts in values.items()]


def _kind(texts: pa.StringArray) -> pa.DataType:
    for kind in _KINDS:
        try:
            texts.cast(kind)
        except pa.ArrowInvalid:
            continue
        return kind
    return pa.string()


def _with(schema: pa.Schema, named: list[pa.Field]) -> pa.Schema:
    for field in named:
        schema = schema.set(schema.get_field_index(field.name), field)
    return schema


def _taken_apart(fragment: ds.ParquetFileFragment, size_bytes: int) -> list[ds.Fragment]:
    """A file, or some of its row groups each."""
    if size_bytes <= PIECE_BYTES:
        return [fragment]
    groups = [group.id for group in fragment.row_groups]
    step = max(1, len(groups) * PIECE_BYTES // size_bytes)
    return [fragment.subset(row_group_ids=groups[start : start + step]) for start in range(0, len(groups), step)]
