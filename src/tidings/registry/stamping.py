"""How do checked rows become rows of a log? They get a version, a place in it, and the instant of their commit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.model import Rejected
from tidings.model.values import utc
from tidings.registry import schemas
from tidings.registry.log import Row

Op = Literal["add", "remove"]


def stamped(op: Op, rows: pa.Table, version: int, positions: npt.NDArray[np.int64], at: datetime) -> pa.Table:
    """Rows of a log; columns of ``SUBSCRIPTION`` that ``rows`` does not have are null."""
    count = rows.num_rows
    columns = {each.name: pa.nulls(count, each.type) for each in schemas.SUBSCRIPTION}
    columns |= zip(rows.column_names, rows.columns, strict=True)
    columns |= {
        "version": pa.array(np.full(count, version)),
        "position": pa.array(positions),
        "op": _repeated(op, schemas.TEXT, count),
        "at": _repeated(utc(at), schemas.INSTANT, count),
    }
    return pa.table(columns).select(schemas.LOG.names)


def stamped_rows(
    rows: Sequence[Row], gone: Sequence[str], version: int, positions: npt.NDArray[np.int64], at: datetime
) -> pa.Table:
    """The same for a few rows as Python values, after removals of the ids in ``gone``."""
    removals = pa.table({"id": pa.array(gone, schemas.TEXT)})
    columns = zip(*rows, strict=True) if rows else [()] * len(schemas.SUBSCRIPTION)
    kinds = schemas.SUBSCRIPTION.types
    added = pa.table(list(map(pa.array, map(list, columns), kinds)), schema=schemas.SUBSCRIPTION)
    first, rest = positions[: len(gone)], positions[len(gone) :]
    return pa.concat_tables([stamped("remove", removals, version, first, at), stamped("add", added, version, rest, at)])


def rejections(rejected: Sequence[Rejected], at: datetime) -> pa.Table:
    """Rows of the table of what was rejected."""
    columns = ([row.id for row in rejected], [row.reason for row in rejected], [row.source for row in rejected])
    instants = _repeated(utc(at), schemas.INSTANT, len(rejected))
    return pa.table([*(pa.array(column, schemas.TEXT) for column in columns), instants], schema=schemas.REJECTED)


def _repeated(value: object, kind: pa.DataType, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), count)
