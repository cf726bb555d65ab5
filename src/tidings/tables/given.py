"""Is what somebody gave a table?"""

from __future__ import annotations

import pyarrow as pa

from tidings.model import DataError


def given_table(table: object, what: str) -> pa.Table:
    """A table, also of one record batch; whatever else it is, is refused with a remedy.

    >>> given_table([1], "subscriptions")
    Traceback (most recent call last):
    tidings.model.errors.DataError: subscriptions come as a pyarrow.Table, got a list; make one with pyarrow.table
    """
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if not isinstance(table, pa.Table):
        raise DataError(f"{what} come as a pyarrow.Table, got a {type(table).__name__}; make one with pyarrow.table")
    return table
