"""How do columns as people have them become the text and the instants of the log? What is bad is told, row by row."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from tidings.model import DataError
from tidings.model.values import read_instant
from tidings.registry.schemas import INSTANT, TEXT

Problems = dict[int, str]
"""Row number → what is wrong with it."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
# What Python can hold, so that whoever reads the log can.
_FIRST_S = int(datetime(1, 1, 1, tzinfo=UTC).timestamp())
_LAST_S = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp())


@dataclass(frozen=True, slots=True)
class Column:
    """``values`` in the type of the log, null where there is none, and the problems."""

    values: pa.Array
    problems: Problems = field(default_factory=dict)


def text_column(name: str, column: pa.Array | pa.ChunkedArray) -> Column:
    """Text from any layout of text, or from whole numbers; bytes that are no UTF-8 are a problem of their row.

    >>> text_column("id", pa.array([7, None])).values.to_pylist()
    ['7', None]
    """
    column = _one_array(column)
    kind = column.type
    if not (_is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise DataError(f"column {name!r} is expected to be text, got {kind}; cast it to text first")
    texts = column.cast(TEXT)
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return _mended(name, texts)
    return Column(texts)


def instant_column(name: str, column: pa.Array | pa.ChunkedArray) -> Column:
    """Instants in UTC from timestamps of any unit, dates (their midnight) or ISO 8601 text; no zone means UTC.

    >>> instant_column("until", pa.array(["2020-01-02", "soon"])).problems
    {1: "its until is no instant: 'soon'; write it as 2020-01-31 or 2020-01-31T12:00:00Z"}
    """
    column = _one_array(column)
    kind = column.type
    if pa.types.is_null(kind):
        return Column(column.cast(INSTANT))
    if _is_text(kind):
        return _instants_from_text(name, text_column(name, column))
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("s" if pa.types.is_date32(kind) else "ms"))
    elif not pa.types.is_timestamp(kind):
        raise DataError(f"column {name!r} is expected to be instants, dates or ISO 8601 text, got {kind}")
    return _instants_from_ticks(name, column)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One array, decoded if it is a dictionary, with offsets that no amount of text outgrows."""
    kind = column.type
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    column = column.cast(TEXT if _is_text(plain) else plain)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _mended(name: str, texts: pa.Array) -> Column:
    """The broken texts with U+FFFD for what cannot be read, so that they can be shown to their owner."""
    problems: Problems = {}
    mended: list[str | None] = []
    for row, raw in enumerate(texts.cast(pa.large_binary()).to_pylist()):
        mended.append(None if raw is None else raw.decode("utf-8", "replace"))
        if raw is not None and mended[-1] is not None and mended[-1].encode() != raw:
            problems[row] = f"its {name} is not valid UTF-8"
    return Column(pa.array(mended, TEXT), problems)


def _instants_from_text(name: str, texts: Column) -> Column:
    instants: list[datetime | None] = []
    problems = dict(texts.problems)
    for row, text in enumerate(texts.values.to_pylist()):
        instants.append(None if text is None else read_instant(text))
        if text is not None and instants[-1] is None:
            problem = f"its {name} is no instant: {text!r}; write it as 2020-01-31 or 2020-01-31T12:00:00Z"
            problems.setdefault(row, problem)
    return Column(pa.array(instants, INSTANT), problems)


def _instants_from_ticks(name: str, column: pa.Array) -> Column:
    per_second = _PER_SECOND[column.type.unit]
    missing = column.is_null().to_numpy(zero_copy_only=False)
    ticks = column.cast(pa.int64()).fill_null(0).to_numpy()
    seconds = ticks // per_second
    outside = ((seconds < _FIRST_S) | (seconds > _LAST_S)) & ~missing
    micros = np.where(outside, 0, seconds) * 10**6 + ticks % per_second * 10**6 // per_second
    values = pa.array(micros, mask=missing).cast(INSTANT)
    return Column(values, dict.fromkeys(np.flatnonzero(outside).tolist(), f"its {name} is not in the years 1 to 9999"))
