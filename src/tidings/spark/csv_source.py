"""How are the rows of CSV files streamed by the names in their headers? Python workers read the files themselves.

Spark's own reader takes the columns of every file in the order of the first one. Here Spark only says which files are
new; a file is read by one task.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    IntegralType,
    LongType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from tidings.model import DataError
from tidings.tables.canonical import INSTANT
from tidings.tables.csv_files import CsvFile, Kinds, cell_texts, inferred, typed

_FILES = "path string, modificationTime timestamp, length bigint, content binary"
_SCHEME = re.compile(r"^file:(//[^/]*)?(?=/)")
_OPTIONS = {
    "sep": "separator", "delimiter": "separator", "quote": "quote", "escape": "escape", "encoding": "encoding",
    "charset": "encoding",
}  # fmt: skip
_ITS_OWN = frozenset({"header", "inferschema", "multiline", "mode", "enforceschema"})
_SPARK: list[tuple[pa.DataType, DataType, tuple[type[DataType], ...]]] = [
    (pa.string(), StringType(), (StringType,)),
    (pa.bool_(), BooleanType(), (BooleanType,)),
    (pa.int64(), LongType(), (IntegralType,)),
    (pa.float64(), DoubleType(), (NumericType,)),
    (INSTANT, TimestampType(), (TimestampType, TimestampNTZType, DateType)),
]
"""What cells may hold, in Arrow's words and in Spark's, and which types of a schema ask for it."""

_log = logging.getLogger(__name__)


def csv_stream(
    spark: SparkSession, home: Path, schema: StructType | str | None, options: Mapping[str, str], url: str
) -> DataFrame:
    """The rows of all CSV files in a folder, and of those that come.

    Without a schema, columns and types are those of all files that are there (:mod:`tidings.tables.csv_files`); with
    one, whole numbers are read as bigint, others as double, dates as timestamps. A row that cannot be read so has no id
    and all of it as its text.
    """
    dialect, rest = _told(options)
    if schema is None:
        files = sorted(path for path in home.iterdir() if path.is_file() and path.name[0] not in "._")
        written = (CsvFile(path, **dialect, odd=[]) for path in files if path.stat().st_size)
        kinds = inferred(table for file in written for table in file.cells())
    else:
        kinds = {field.name: _kind(field) for field in spark.createDataFrame([], schema).schema.fields}
    in_spark = {kind: own for kind, own, _ in _SPARK}
    made = StructType([StructField(name, in_spark[kind]) for name, kind in kinds.items()])
    found = spark.readStream.format("binaryFile").schema(_FILES).options(**rest).load(url).select("path")
    return found.mapInArrow(ReadCsv(kinds, dialect), made)


@dataclass(frozen=True, slots=True)
class ReadCsv:
    """Reads the files whose paths come in, by the names in their headers."""

    kinds: Kinds
    dialect: dict[str, str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path in batch.column("path").to_pylist():
                yield from self._rows(CsvFile(Path(_SCHEME.sub("", path)), **self.dialect, odd=[]))

    def _rows(self, file: CsvFile) -> Iterator[pa.RecordBatch]:
        if not file.path.stat().st_size:
            return
        try:
            for number, cells in enumerate(file.cells()):
                if number == 0 and (unknown := [name for name in cells.column_names if name not in self.kinds]):
                    _log.warning("%s: not in the schema, and so not read: %s", file.path, ", ".join(unknown))
                table, is_odd = typed(cells, self.kinds)
                if is_odd.any():
                    lost = [cell_texts(column) for column in cells.filter(pa.array(is_odd)).columns]
                    table = table.filter(pa.array(~is_odd))
                    yield from self._unread([",".join(cell or "" for cell in row) for row in zip(*lost, strict=True)])
                yield from table.to_batches()
        except pa.ArrowInvalid as error:
            yield from self._unread([f"{file.path}: {error}"])
        yield from self._unread(file.odd or [])

    def _unread(self, rows: list[str]) -> Iterator[pa.RecordBatch]:
        """Rows without an id, and with all that they are as their text."""
        if rows:
            texts = {"text": pa.array(rows, pa.string())}
            columns = [texts.get(name, pa.nulls(len(rows), kind)) for name, kind in self.kinds.items()]
            yield pa.RecordBatch.from_arrays(columns, list(self.kinds))


def _told(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """How the files are written, and what is left for Spark to know of the folder."""
    dialect = {_OPTIONS[name.lower()]: value for name, value in options.items() if name.lower() in _OPTIONS}
    known = _OPTIONS.keys() | _ITS_OWN
    return dialect, {name: value for name, value in options.items() if name.lower() not in known}


def _kind(field: StructField) -> pa.DataType:
    for kind, _, types in _SPARK:
        if isinstance(field.dataType, types):
            return kind
    raise DataError(
        f"a column of CSV holds text, a number, a truth value or an instant, and {field.name!r} is to be a "
        f"{field.dataType.simpleString()}; give it one of these types"
    )
