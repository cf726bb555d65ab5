"""What do the columns of a table of publications hold, seen as numbers, texts, topics and places?

The columns id, text, ts, lat, lon and topic are fields; every other one is an attribute, with one or several values.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidings.model.values import Value, utc
from tidings.tables.nesting import elements, several

KeyArray = npt.NDArray[np.int64]

Slot = tuple[str, bool]
"""A column of numbers: its name, and whether it holds instants."""

LON, LAT = 0, 1
"""The slots of places; columns of numbers come after them."""

ABSENT = np.int64(-(2**63))
"""The key of a number that is not there; no number has it."""

LEAST = np.int64(ABSENT + 2**52)
"""The least key that a number or an instant can have. Those between ABSENT and this are for the index to use."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAGNITUDE = np.int64(2**63 - 1)


def number_key(number: float) -> int:
    """A number as int64 in the same order: what ranges compare.

    >>> number_key(-1.5) < number_key(-0.0) == number_key(0.0) < number_key(1e-300) < number_key(2)
    True
    """
    return int(number_keys(np.array([number], dtype=np.float64))[0])


def number_keys(numbers: npt.NDArray[np.float64]) -> KeyArray:
    """:func:`number_key` of many numbers at once."""
    bits = (numbers + 0.0).view(np.int64)  # -0.0 + 0.0 is 0.0
    return np.where(bits < 0, bits ^ _MAGNITUDE, bits)


def instant_key(instant: datetime) -> int:
    """An instant as int64: microseconds since 1970."""
    gap = utc(instant) - _EPOCH
    return (gap.days * 86_400 + gap.seconds) * 1_000_000 + gap.microseconds


def is_instant(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def number_columns(table: pa.Table) -> dict[Slot, KeyArray]:
    """The keys of every column of numbers or instants, of several a row too; ABSENT where there is none."""
    found: dict[Slot, KeyArray] = {}
    for name in table.column_names:
        column = elements(table[name])[1] if several(table[name]) else table[name]
        if is_number(column.type) or is_instant(column.type):
            found[name, is_instant(column.type)] = column_keys(column)
    return found


def column_keys(column: pa.ChunkedArray) -> KeyArray:
    """The keys of one column of numbers or instants."""
    present = column.is_valid().combine_chunks().to_numpy(zero_copy_only=False)
    if is_instant(column.type):
        micros = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).fill_null(0)
        return np.where(present, micros.to_numpy(), ABSENT)
    numbers = column.cast(pa.float64(), safe=False).fill_null(0).to_numpy()
    return np.where(present, number_keys(numbers), ABSENT)


def place_columns(table: pa.Table) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Longitudes and latitudes; NaN where there is no place."""
    if "lon" not in table.column_names or "lat" not in table.column_names:
        return np.full(table.num_rows, np.nan), np.full(table.num_rows, np.nan)
    lon, lat = (table[name].cast(pa.float64()).to_numpy().astype(np.float64) for name in ("lon", "lat"))
    nowhere = np.isnan(lon) | np.isnan(lat)
    return np.where(nowhere, np.nan, lon), np.where(nowhere, np.nan, lat)


def text_values(table: pa.Table) -> Iterator[tuple[str, list[Value | None]]]:
    """Name and values of every column of text or truth values."""
    for name in table.column_names:
        if name in ("text", "topic"):
            continue
        column = elements(table[name])[1] if several(table[name]) else table[name]
        if not is_number(column.type) and not is_instant(column.type):
            yield name, column.to_pylist()


def topic_values(table: pa.Table) -> list[list[str]]:
    """The topics of each row."""
    if "topic" not in table.column_names:
        return []
    return [[] if t is None else t if isinstance(t, list) else [t] for t in table["topic"].to_pylist()]


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def distinct(column: pa.ChunkedArray) -> tuple[KeyArray, list[Value | None]]:
    """The rows of a column as numbers (-1 for null) of its distinct values, as Python values."""
    rows, values = encoded(column)
    return rows, python_values(values)


def python_values(values: pa.Array) -> list[Value | None]:
    return [python_value(value) for value in values.to_pylist()]


def encoded(column: pa.ChunkedArray) -> tuple[KeyArray, pa.Array]:
    """The rows of a column as numbers (-1 for null) of its distinct values."""
    found = column.combine_chunks()
    if isinstance(found, pa.ChunkedArray):
        found = pa.concat_arrays(found.chunks)
    if not isinstance(found, pa.DictionaryArray):
        found = pc.dictionary_encode(found)
    rows = found.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return rows, found.dictionary


def python_value(value: Any) -> Any:
    """Dates as instants, decimals as numbers; the rest as it is."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time(), UTC)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value
