"""Where do the publications of a pipeline come from? Whatever Spark reads as a stream; here, folders of files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it
from pyspark.sql.types import StringType, StructType

from tidings.cluster.sinks import check_path
from tidings.model import DataError
from tidings.spark.csv_source import csv_stream
from tidings.spark.sinks import spark_path

FORMATS = {".parquet": "parquet", ".jsonl": "json", ".ndjson": "json", ".json": "json", ".csv": "csv", ".orc": "orc"}

UNREAD = "_unread"
"""The column for the text of what could not be read."""


def posts_from_files(
    spark: SparkSession,
    folder: str | Path,
    *,
    files_per_batch: int | None = None,
    schema: StructType | str | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """A stream of the rows of all files in a folder, and of those that come; each file has to appear at once.

    The kind of file is told by the end of its name. ``schema`` is that of the files that are there already, unless it
    is given: a stream has to know its columns before it starts. ``files_per_batch`` bounds a batch, so that the first
    one does not take all that has piled up. ``options`` are those of Spark for the format.

    A line of JSON or CSV that cannot be read so has no id and all of it as its text, so that a pipeline rejects it and
    its owner sees it. A file of Parquet or ORC whose columns are of other types stops the stream.

    Files of CSV have a header, whose names count, not their order; a column that is not in a file is null. A column
    holds numbers, instants or truth values if every cell in the files that are there writes one, else text: codes such
    as 01234 are text (:mod:`tidings.tables.csv_files`).
    """
    check_batch_size("files_per_batch", files_per_batch)
    check_path("the folder of a source", folder)
    home = Path(folder).absolute()
    kind = _kind(home)
    known = dict(options or {})
    if kind == "csv":
        bound = {} if files_per_batch is None else {"maxFilesPerTrigger": str(files_per_batch)}
        return csv_stream(spark, home, schema, known | bound, spark_path(home))
    if schema is None:
        schema = spark.read.options(**known).format(kind).load(spark_path(home)).schema
    if kind == "json":
        known["columnNameOfCorruptRecord"] = UNREAD
        schema = with_unread(schema)
    reader = spark.readStream.format(kind).options(**known).schema(schema)
    if files_per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", files_per_batch)
    rows = reader.load(spark_path(home))
    return without_unread(rows) if kind == "json" else rows


def check_batch_size(name: str, size: object) -> None:
    """Refuse what bounds no batch; None is without a bound."""
    if size is not None and (type(size) is not int or size < 1):
        raise DataError(f"{name} is a whole number of 1 or more, or None for no bound, got {size!r}")


def with_unread(schema: StructType | str) -> StructType | str:
    """A schema that has a place for what could not be read with it."""
    if isinstance(schema, str):
        if re.search(rf"(^|,)\s*`?{UNREAD}\b", schema, re.IGNORECASE):
            raise _no_unread()
        return f"{schema}, {UNREAD} string"
    if UNREAD in (name.lower() for name in schema.names):
        raise _no_unread()
    return StructType(schema.fields).add(UNREAD, StringType())


def _no_unread() -> DataError:
    return DataError(f"a column cannot be named {UNREAD!r}, which is where lines go that cannot be read; rename it")


def without_unread(rows: DataFrame, *beside: str) -> DataFrame:
    """Rows that could not be read have no id, and all of it as their text; the columns ``beside`` stay."""
    names = [name for name in rows.columns if name not in (UNREAD, *beside)]
    instead = {"text": F.col(UNREAD)}
    return rows.select(
        *(
            F.when(F.col(UNREAD).isNull(), F.col(f"`{name.replace('`', '``')}`"))
            .otherwise(instead.get(name))
            .alias(name)
            for name in names
        ),
        *beside,
    )


def _kind(home: Path) -> str:
    found = {FORMATS[file.suffix] for file in home.glob("*") if file.suffix in FORMATS}
    if len(found) == 1:
        return found.pop()
    what = f"files of {', '.join(sorted(found))}" if found else "no file that can be read"
    raise DataError(f"the folder {str(home)!r} holds {what}; put one there that ends in {', '.join(FORMATS)}")
