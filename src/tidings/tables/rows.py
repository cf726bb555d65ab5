"""How does a row of a table become a publication? Known columns are its fields, every other one is an attribute."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pyarrow as pa

from tidings.model import Publication, PublicationError, Rejected
from tidings.model.publication import FIELDS
from tidings.model.values import read_instant
from tidings.tables.canonical import canonical, read_degrees
from tidings.tables.columns import python_value

_BATCH_ROWS = 4096


def publications(table: pa.Table) -> Iterator[Publication | Rejected]:
    """The rows of a table in order, each a publication, or a rejection that says why not.

    The columns id, text, ts, lat, lon and topic are fields: an id may be a number, ts an instant, a date or ISO 8601
    text, lat and lon numbers or text that writes them, topic a path or a list of paths. Every other column is an
    attribute, or several where it is nested (:mod:`tidings.tables.nesting`). A null is absent; a date is its midnight
    in UTC. Some 50,000 rows/s.

    >>> table = pa.table({"id": ["p1", "p2"], "lat": [95.0, None], "lon": [0.0, None], "likes": [3, 4]})
    >>> for row in publications(table):
    ...     print(row.reason if isinstance(row, Rejected) else dict(row.attributes))
    publication 'p1': its lat is between -90 and 90 degrees, got 95
    {'likes': 4}
    """
    number = 0
    for batch in canonical(table).to_batches(max_chunksize=_BATCH_ROWS):
        for row in _python_rows(batch):
            yield _publication(row, number) if isinstance(row, dict) else _rejected("", row, number)
            number += 1


def _python_rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any] | str]:
    """The rows as dictionaries; where Python has no such value (broken UTF-8, the year 20000), what is wrong."""
    try:
        yield from batch.to_pylist()
    except (ValueError, OverflowError) as error:
        if batch.num_rows == 1:
            yield f"it holds a value that cannot be read: {error}"
            return
        for number in range(batch.num_rows):
            yield from _python_rows(batch.slice(number, 1))


def _publication(row: dict[str, Any], number: int) -> Publication | Rejected:
    name = "" if row.get("id") is None else str(row["id"])
    try:
        return Publication(
            id=name,
            text="" if row.get("text") is None else row["text"],
            ts=_instant(row.get("ts")),
            lat=_degrees("lat", row.get("lat")),
            lon=_degrees("lon", row.get("lon")),
            topics=_topics(row.get("topic")),
            attributes={key: _held(value) for key, value in row.items() if key not in FIELDS},
        )
    except PublicationError as error:
        return _rejected(name, str(error), number)


def _held(value: Any) -> Any:
    return [python_value(one) for one in value] if isinstance(value, list) else python_value(value)


def _rejected(name: str, reason: str, number: int) -> Rejected:
    return Rejected("publication", name, reason, source=f"row {number}")


def _instant(value: object) -> datetime | None:
    instant = read_instant(value) if isinstance(value, str) else python_value(value)
    if value is None or isinstance(instant, datetime):
        return instant
    raise PublicationError(f"its ts is an instant, a date or ISO 8601 text, got {value!r}")


def _degrees(name: str, value: object) -> float | None:
    degrees = read_degrees(value) if isinstance(value, str) else python_value(value)
    if value is not None and degrees is None:
        raise PublicationError(f"its {name} is a number of degrees, got {value!r}")
    if degrees is None or (isinstance(degrees, int | float) and not isinstance(degrees, bool)):
        return degrees
    raise PublicationError(f"its {name} is a number of degrees, got {value!r}")


def _topics(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list) else (value,)  # type: ignore[return-value]  # Publication checks them
