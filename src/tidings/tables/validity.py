"""Which rows of a table are no publications? Found column by column; only what looks wrong is looked at row by row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidings.model import Rejected
from tidings.model.publication import FIELDS, MAX_ATTRIBUTES, MAX_TEXT_CHARS, MAX_TOPIC_STEPS, MAX_VALUES
from tidings.tables.canonical import INSTANT, canonical, is_text
from tidings.tables.nesting import elements, several
from tidings.tables.rows import publications

_BAD_TOPIC = r"(^|/)(/|$)|\x00"


def rejected_rows(table: pa.Table) -> dict[int, Rejected]:
    """The rows that are no publication, each with the reason.

    >>> rejected_rows(pa.table({"id": ["p1", "p2"], "lat": [95.0, 1.0], "lon": [0.0, 1.0]}))[0].reason
    "publication 'p1': its lat is between -90 and 90 degrees, got 95"
    """
    return rejected_canonical(canonical(table))


def rejected_canonical(table: pa.Table) -> dict[int, Rejected]:
    """:func:`rejected_rows` of a canonical table."""
    doubtful = np.flatnonzero(_doubtful(table))
    rows = publications(table.take(pa.array(doubtful))) if len(doubtful) else iter(())
    found = {int(at): row for at, row in zip(doubtful, rows, strict=True) if isinstance(row, Rejected)}
    return {at: Rejected(row.kind, row.id, row.reason, f"row {at}") for at, row in found.items()}


def _doubtful(table: pa.Table) -> npt.NDArray[np.bool_]:
    """Rows of a canonical table that may be no publication: all that are not, and perhaps others."""
    doubt = np.zeros(table.num_rows, dtype=np.bool_)
    if "id" not in table.column_names or ("lat" in table.column_names) != ("lon" in table.column_names):
        return ~doubt
    if table.num_columns > MAX_ATTRIBUTES:
        return ~doubt
    for name in table.column_names:
        doubt |= _doubtful_column(name, table[name])
    if "lat" in table.column_names:
        doubt |= _flags(pc.xor(pc.is_null(table["lat"]), pc.is_null(table["lon"])))
    return doubt


def _doubtful_column(name: str, column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    kind = column.type
    if name not in FIELDS and several(column):
        return _doubtful_lists(name, column)
    if is_text(kind) and name not in ("ts", "lat", "lon"):
        return _doubtful_text(name, column)
    if name in ("lat", "lon") and pa.types.is_floating(kind):
        limit = 90 if name == "lat" else 180
        within = pc.and_(pc.less_equal(column, limit), pc.greater_equal(column, -limit))
        return ~_flags(within, of_null=True)
    if name not in FIELDS:
        if pa.types.is_floating(kind):
            return ~_flags(pc.is_finite(column), of_null=True)
        if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
            return np.zeros(len(column), dtype=np.bool_)
    return np.zeros(len(column), dtype=np.bool_) if kind == INSTANT else _flags(pc.is_valid(column))


def _doubtful_lists(name: str, column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Rows with too many values, or with a doubtful one among them."""
    rows, values = elements(column)
    doubt = np.bincount(rows, minlength=len(column)) > MAX_VALUES
    doubt[rows[_doubtful_column(name, values)]] = True
    return doubt


def _doubtful_text(name: str, column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:  # broken UTF-8 somewhere
        return _flags(pc.is_valid(column))
    if name == "id":
        return _flags(pc.is_null(column)) | _flags(pc.equal(column, ""))
    if name == "topic":
        too_deep = pc.greater_equal(pc.count_substring(column, "/"), MAX_TOPIC_STEPS)
        return _flags(pc.match_substring_regex(column, _BAD_TOPIC)) | _flags(too_deep)
    return _flags(pc.greater(pc.binary_length(column), MAX_TEXT_CHARS))


def _flags(column: pa.ChunkedArray, of_null: bool = False) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.fill_null(column, of_null).to_numpy(), dtype=np.bool_)
