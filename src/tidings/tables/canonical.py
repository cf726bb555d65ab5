"""What is the same publication in another dress? Columns of any Arrow type, in the few types that we work with.

Text stays text; numbers are whole numbers or float64; instants are microseconds in UTC, dates their midnight. An id is
text, ``ts`` an instant (also from ISO 8601 text), ``lat`` and ``lon`` are float64 (also from text). Nested columns are
taken apart (:mod:`tidings.tables.nesting`); one whose type no attribute can have is dropped. A *value* that fits none
of these is left as it is: its row is no publication.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from tidings.model import DataError
from tidings.model.publication import FIELDS
from tidings.model.values import read_instant, read_number
from tidings.tables.nesting import arrow_shape, is_plain, leaves, lists_of, one_array, several, values_at

INSTANT = pa.timestamp("us", tz="UTC")
# The years 2 to 9998 in seconds since 1970: away from where Python's own end, in any zone.
_FIRST_S, _LAST_S = -62_100_000_000, 253_300_000_000


def canonical(table: pa.Table) -> pa.Table:
    """The same rows with canonical columns.

    >>> canonical(pa.table({"id": [7], "ts": ["2020-01-02"], "lat": [1], "lon": [2]})).to_pylist()[0]["id"]
    '7'
    """
    if len(set(table.column_names)) < len(table.column_names):
        twice = next(name for name in table.column_names if table.column_names.count(name) > 1)
        raise DataError(f"the table has two columns named {twice!r}; rename one")
    if all(name in FIELDS or is_plain(table.schema.field(name).type) for name in table.column_names):
        return pa.table({name: _column(name, _plain(table[name])) for name in table.column_names})
    found = leaves(zip(table.column_names, table.schema.types, strict=True), arrow_shape).found
    fields = {name: table[name] for name in table.column_names if name in FIELDS}
    columns = fields | {name: values_at(table[leaf.path[0]], leaf) for name, leaf in found.items()}
    return pa.table({name: _canonical(name, column) for name, column in columns.items()})


def left_out(schema: pa.Schema) -> dict[str, str]:
    """The columns, and the fields of nested ones, that are no attributes, each with the reason."""
    return leaves(zip(schema.names, schema.types, strict=True), arrow_shape).left_out


def _canonical(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if name in FIELDS or not several(column):
        return _column(name, _plain(column))
    lists = one_array(column)
    values = one_array(_column(name, _plain(pa.chunked_array([lists.flatten()]))))
    return lists_of(pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False), values)


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Without encodings: dictionaries, runs, views, extensions."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type))
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _plain(pa.chunked_array([pc.cast(chunk, kind.value_type) for chunk in column.chunks], kind.value_type))
    return column.cast(pa.large_string()) if pa.types.is_string_view(kind) else column


def _column(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if name in ("text", "topic") and column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), pa.string())])
    if name == "id" and not is_text(kind):
        return pa.chunked_array([[None if value is None else str(value) for value in column.to_pylist()]], pa.string())
    if name == "ts" and is_text(kind):
        return _read(column, read_instant, INSTANT)
    if name in ("lat", "lon") and is_text(kind):
        return _read(column, read_degrees, pa.float64())
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _instants(column)
    if pa.types.is_decimal(kind):  # by way of text: Arrow's own cast does not round correctly
        return column.cast(pa.string()).cast(pa.float64())
    if pa.types.is_floating(kind) or (name in ("lat", "lon") and pa.types.is_integer(kind)):
        return column.cast(pa.float64(), safe=False)
    return column


def read_degrees(text: str) -> float | None:
    """The number that a text writes, or None."""
    number = read_number(text.strip())
    return None if number is None else float(number)


def _read(column: pa.ChunkedArray, read: Callable[[str], object], kind: pa.DataType) -> pa.ChunkedArray:
    """Text as what it writes; left as text if some of it writes no such thing."""
    known = {text: None if text is None else read(text) for text in column.unique().to_pylist()}
    if any(text is not None and value is None for text, value in known.items()):
        return column
    return pa.chunked_array([[known[text] for text in column.to_pylist()]], kind)


def _instants(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """In microseconds of UTC; left as they are if some lie outside Python's years."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.date32(), safe=False)
        seconds = pc.multiply(column.cast(pa.int32()).cast(pa.int64()), 86_400)
    else:
        seconds = pc.divide(column.cast(pa.int64()), {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit])
    bounds = pc.min_max(seconds).as_py()
    if bounds["min"] is not None and not (bounds["min"] > _FIRST_S and bounds["max"] < _LAST_S):
        return column
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp(column.type.unit))  # the same instant, its zone forgotten
    return column.cast(pa.timestamp("us"), safe=False).cast(INSTANT)
