"""How are files of real posts, alerts, quotes and topics read? From a path that you give, into the usual columns.

The columns id, ts, text, lat, lon and topic are the fields of a publication, every other one is an attribute. None of
the files ships with tidings; an error says which columns a file is expected to have.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from tidings.model import DataError
from tidings.workloads.stocks import quotes

_ID = pa.field("id", pa.string())
_TS = pa.field("ts", pa.timestamp("us", tz="UTC"))
_TEXT = pa.field("text", pa.string())

TWEETS = pa.schema([_ID, _TS, ("user", pa.string()), _TEXT])
TRAFFIC = pa.schema(
    [
        _ID,
        _TS,
        ("lat", pa.float64()),
        ("lon", pa.float64()),
        _TEXT,
        ("kind", pa.string()),
        ("category", pa.string()),
        ("hazard_id", pa.int64()),
        ("is_new", pa.bool_()),
    ]
)
NOTES = pa.schema(
    [
        _ID,
        _TS,
        ("lat", pa.float64()),
        ("lon", pa.float64()),
        _TEXT,
        ("kind", pa.string()),
        ("country", pa.string()),
        ("app", pa.string()),
    ]
)
STOCKS = pa.schema(
    [
        ("symbol", pa.string()),
        ("date", pa.date32()),
        ("open", pa.float64()),
        ("high", pa.float64()),
        ("low", pa.float64()),
        ("close", pa.float64()),
        ("volume", pa.int64()),
    ]
)
TOPICS = pa.schema([("path", pa.string()), ("source", pa.string())])


def read_texts(path: str | Path, rows: int | None = None) -> pa.Table:
    """The column ``text`` of any Parquet file, and nothing else."""
    return _read(path, rows, pa.schema([_TEXT]), "texts")


def read_tweets(path: str | Path, rows: int | None = None) -> pa.Table:
    """Posts: id, ts, user, text. ``rows`` reads the first so many only."""
    return _read(path, rows, TWEETS, "tweets")


def read_traffic(path: str | Path, rows: int | None = None) -> pa.Table:
    """Road alerts: id, ts, lat, lon, text, kind, category, hazard_id, is_new."""
    return _read(path, rows, TRAFFIC, "traffic")


def read_notes(path: str | Path, rows: int | None = None) -> pa.Table:
    """Notes on a map, short and in many languages: id, ts, lat, lon, text, kind (opened, closed), country, app."""
    return _read(path, rows, NOTES, "notes")


def read_stocks(path: str | Path, rows: int | None = None) -> pa.Table:
    """Daily quotes, with the same columns as those of :class:`tidings.workloads.Stocks`; a figure may be null."""
    table = _read(path, rows, STOCKS, "stocks").combine_chunks()
    figures = [_whole(table[name]) for name in ("open", "high", "low", "close", "volume")]
    return quotes(_whole(table["symbol"]), _whole(table["date"]), figures)


def read_topics(path: str | Path, rows: int | None = None) -> pa.Table:
    """Topic paths as publications: id (the number of the row), topic (``a/b/c``), source."""
    table = _read(path, rows, TOPICS, "topics")
    ids = pa.array(np.arange(table.num_rows)).cast(pa.string())
    return pa.table({"id": ids, "topic": table["path"], "source": table["source"]})


def _read(path: str | Path, rows: int | None, schema: pa.Schema, what: str) -> pa.Table:
    """The columns of ``schema``, in its types; anything else is an error that says what was expected."""
    expected = f"expected a Parquet file with the columns {', '.join(schema.names)}"
    if not Path(path).is_file():
        raise DataError(f"{what}: there is no file {str(path)!r}; {expected}")
    try:
        dataset = ds.dataset(str(path), format="parquet")
        if missing := [name for name in schema.names if name not in dataset.schema.names]:
            raise DataError(f"{what}: the file {str(path)!r} lacks {', '.join(missing)}; {expected}")
        scanner = dataset.scanner(columns=schema.names)
        return (scanner.to_table() if rows is None else scanner.head(rows)).cast(schema)
    except pa.ArrowException as error:
        raise DataError(f"{what}: the file {str(path)!r} cannot be read: {error}; {expected}") from None


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()
