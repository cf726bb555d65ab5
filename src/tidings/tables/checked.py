"""Which publications are matched together? A checked batch: what has this type is not checked again.

A batch is made once, at the edge: by :class:`tidings.tables.sifting.Sifter`, or by :meth:`Publications.of`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.arrays import IdArray, IntArray
from tidings.model import Publication
from tidings.tables.canonical import INSTANT, canonical
from tidings.tables.validity import rejected_canonical

TEXT = pa.large_string()


@dataclass(frozen=True, eq=False)
class Publications:
    """A canonical table (:mod:`tidings.tables.canonical`) whose rows are all publications.

    ``rows`` int64: which rows they were in the table that they come from.

    >>> checked = Publications.of(pa.table({"id": ["a", None, "c"], "text": ["fire", "rain", "smoke"]}))
    >>> checked.table["id"].to_pylist(), checked.rows.tolist()
    (['a', 'c'], [0, 2])
    """

    table: pa.Table
    rows: IntArray

    @classmethod
    def of(cls, table: pa.Table) -> Publications:
        """The rows of any table that are publications; the others are left out."""
        table = canonical(table)
        rejected, kept = rejected_canonical(table), np.arange(table.num_rows)
        if rejected:
            kept = np.delete(kept, list(rejected))
            table = canonical(table.take(pa.array(kept)))  # again: bad rows may have kept a column from it
        return cls(table, kept)

    @classmethod
    def trusted(cls, table: pa.Table) -> Publications:
        """A table of publications that were checked before, perhaps in another process."""
        return cls(table, np.arange(table.num_rows))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def taken(self, rows: npt.NDArray[np.integer[Any]]) -> Publications:
        """Some of them, in that order."""
        return Publications(self.table.take(pa.array(rows)), self.rows[rows])

    def batches(self, size: int) -> Iterator[Publications]:
        """All of them, so many at a time, each column in one piece."""
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            yield Publications(self.table.slice(start, size).combine_chunks(), self.rows[part])

    def column(self, name: str) -> pa.Array:
        """``id`` as text, or ``ts`` as instants, null where there is none."""
        if name == "id":
            return self._ids
        if "ts" in self.table.column_names and self.table["ts"].type == INSTANT:
            return _one_array(self.table["ts"])
        return pa.nulls(len(self), INSTANT)

    def ids(self, rows: IdArray) -> list[str]:
        """The ids of some rows."""
        names: list[str] = self._ids.take(pa.array(rows)).to_pylist()
        return names

    @cached_property
    def _ids(self) -> pa.LargeStringArray:
        return _one_array(self.table["id"].cast(TEXT))


@dataclass(frozen=True, slots=True)
class Listed:
    """Publications that are Python values: one, or a few. ``rows``: as those of :class:`Publications`."""

    publications: Sequence[Publication]
    rows: IntArray

    def column(self, name: str) -> pa.Array:
        """As that of :class:`Publications`."""
        return pa.array([getattr(each, name) for each in self.publications], TEXT if name == "id" else INSTANT)

    def ids(self, rows: IdArray) -> Iterable[str]:
        """The ids of some rows; without end where there is one publication."""
        if len(self.publications) == 1:
            return repeat(self.publications[0].id)
        return [self.publications[row].id for row in rows.tolist()]


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
