"""Which columns do the tables of a registry have?

Text is ``large_string`` in memory, so that no column is too long for its offsets, and plain ``string`` on disk; all
types are ones that every Delta reader knows.
"""

from __future__ import annotations

import pyarrow as pa

TEXT = pa.large_string()
INSTANT = pa.timestamp("us", tz="UTC")

SUBSCRIPTION = pa.schema(
    [("id", TEXT), ("query", TEXT), ("subscriber", TEXT), ("tag", TEXT), ("since", INSTANT), ("until", INSTANT)]
)
"""What somebody asks: the columns of a bulk. ``since`` and ``until`` may be null."""

LOG = pa.schema([("version", pa.int64()), ("position", pa.int64()), ("op", TEXT), *SUBSCRIPTION, ("at", INSTANT)])
"""One change a row. ``op`` is "add" or "remove"; a removal has only an id. (version, position) is the total order.

The upper 32 bits of ``position`` are the seal of the commit (:mod:`tidings.registry.history`), the lower ones count."""

SNAPSHOT = pa.schema([*SUBSCRIPTION, ("query_version", pa.int64())])
"""One live subscription a row."""

REJECTED = pa.schema([("id", TEXT), ("reason", TEXT), ("query", TEXT), ("at", INSTANT)])
"""One row that could not be used a row."""
