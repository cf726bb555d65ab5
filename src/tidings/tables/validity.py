"""Which rows of a table are no publications? Found column by column; only what looks wrong is looked at row by row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidings.model import Rejected
from tidings.model.publication import MAX_TEXT_CHARS
from tidings.tables.columns import is_instant, is_number
from tidings.tables.rows import publications

_BAD_TOPIC = r"(^|/)(/|$)|\x00"


def rejected_rows(table: pa.Table) -> dict[int, Rejected]:
    """The rows that are no publication, each with the reason.

    >>> rejected_rows(pa.table({"id": ["p1", "p2"], "lat": [95.0, 1.0], "lon": [0.0, 1.0]}))[0].reason
    "publication 'p1': its lat is between -90 and 90 degrees, got 95"
    """
    doubtful = np.flatnonzero(_doubtful(table))
    rows = publications(table.take(pa.array(doubtful))) if len(doubtful) else iter(())
    found = {int(at): row for at, row in zip(doubtful, rows, strict=True) if isinstance(row, Rejected)}
    return {at: Rejected(row.kind, row.id, row.reason, f"row {at}") for at, row in found.items()}


def _doubtful(table: pa.Table) -> npt.NDArray[np.bool_]:
    """Rows that may be no publication: all that are not, and perhaps others."""
    doubt = np.zeros(table.num_rows, dtype=np.bool_)
    if "id" not in table.column_names or ("lat" in table.column_names) != ("lon" in table.column_names):
        return ~doubt
    for name in table.column_names:
        column = table[name]
        if name == "id":
            doubt |= _flags(pc.is_null(column)) | _flags(pc.equal(column.cast(pa.string()), ""))
        elif name in ("lat", "lon"):
            limit = 90 if name == "lat" else 180
            doubt |= _doubtful_degrees(column, limit)
        elif name == "text" and _is_text(column.type):
            doubt |= _flags(pc.greater(pc.binary_length(column), MAX_TEXT_CHARS))
        elif name == "topic" and _is_text(column.type):
            doubt |= _flags(pc.match_substring_regex(column, _BAD_TOPIC))
        else:
            doubt |= _doubtful_values(name, column)
    if "lat" in table.column_names:
        doubt |= _flags(pc.xor(pc.is_null(table["lat"]), pc.is_null(table["lon"])))
    return doubt


def _doubtful_degrees(column: pa.ChunkedArray, limit: int) -> npt.NDArray[np.bool_]:
    if not is_number(column.type):
        return _flags(pc.is_valid(column))
    degrees = column.cast(pa.float64())
    return ~_flags(pc.and_(pc.less_equal(degrees, limit), pc.greater_equal(degrees, -limit)), of_null=True)


def _doubtful_values(name: str, column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    kind = column.type
    if pa.types.is_floating(kind):
        return ~_flags(pc.is_finite(column), of_null=True)
    harmless = _is_text(kind) or is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_date32(kind)
    if (harmless and name != "ts") or (is_instant(kind) and _within_python_years(column)):
        return np.zeros(len(column), dtype=np.bool_)
    return _flags(pc.is_valid(column))


def _within_python_years(column: pa.ChunkedArray) -> bool:
    """Whether all instants lie between the years 2 and 9998: away from where Python's own end, in any zone."""
    days = column.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
    bounds = pc.min_max(days).as_py()
    return bounds["min"] is None or (bounds["min"] > -62_100_000_000 and bounds["max"] < 253_300_000_000)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _flags(column: pa.ChunkedArray, of_null: bool = False) -> npt.NDArray[np.bool_]:
    filled = pc.fill_null(column, of_null)
    return np.asarray(filled.to_numpy(zero_copy_only=False) if isinstance(filled, pa.Array) else filled.to_numpy())
