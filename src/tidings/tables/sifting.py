"""Which rows are publications? The others are kept aside, each with the reason and a piece of the row.

The same rules hold for a table that is matched in this process, for a file, and for a task of Spark.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidings.arrays.text_set import TextSet, surely_differ
from tidings.model import Rejected
from tidings.model.errors import quoted
from tidings.tables.canonical import canonical, is_text
from tidings.tables.checked import Publications
from tidings.tables.validity import rejected_canonical

REMEMBERED_IDS = 500_000
"""An id is known again among at least so many rows."""

TOLD = 5
"""So many reasons are told of rows that were rejected."""

_PIECE_CHARS = 200


class Sifter:
    """Sifts the rows of one table, file or task, batch by batch, and counts.

    Beyond what can be no publication (:func:`tidings.tables.validity.rejected_rows`), a row is refused that has a null
    for its text and nothing else, and one whose id came before. On Spark ids are compared within a task: where no id
    may come twice at all, put equal ones into one task: ``publications.repartition("id")``.

    >>> good, bad = Sifter().sift(pa.table({"id": ["a", "b", "a"], "text": ["fire", None, "smoke"]}))
    >>> good.table.to_pylist()
    [{'id': 'a', 'text': 'fire'}]
    >>> [row.reason for row in bad]
    ["publication 'b': its text is null, and it has nothing else", "publication 'a': its id came before"]
    """

    def __init__(self, *, ids_differ: bool = False) -> None:
        """``ids_differ``: no id comes twice, and so none is remembered."""
        self._ids_differ = ids_differ
        self._ids, self._older = TextSet(), TextSet()
        self.rows = self.rejected = 0
        self.reasons: list[str] = []
        """Of the first rows that were rejected."""

    @classmethod
    def of(cls, table: pa.Table) -> Sifter:
        """For one table and no other."""
        ids = table["id"]
        return cls(ids_differ=is_text(ids.type) and not ids.null_count and surely_differ(ids))

    def sift(self, table: pa.Table) -> tuple[Publications, list[Rejected]]:
        """The rows that are publications, and the others."""
        plain = canonical(table)
        reasons = {row: rejected.reason for row, rejected in rejected_canonical(plain).items()}
        kept, good = np.arange(table.num_rows), plain
        if reasons:
            kept = np.delete(kept, list(reasons))
            good = canonical(plain.take(pa.array(kept)))  # again: bad rows may have kept a column from it
        problems = _empty(good)
        if not self._ids_differ:
            problems |= {row: reason for row, reason in self._repeated(good).items() if row not in problems}
        if problems:
            reasons |= {int(kept[row]): reason for row, reason in problems.items()}
            left = np.delete(np.arange(good.num_rows), list(problems))
            kept, good = kept[left], good.take(pa.array(left))
        for row in sorted(reasons)[: TOLD - len(self.reasons)]:
            self.reasons.append(f"row {self.rows + row}: {reasons[row]}")
        self.rows += table.num_rows
        self.rejected += len(reasons)
        return Publications(good, kept), [_rejected(table, row, reasons[row]) for row in sorted(reasons)]

    def summary(self) -> str:
        """How many rows were rejected, and why the first of them were."""
        more = f"; and {self.rejected - TOLD:,} more" if self.rejected > TOLD else ""
        return f"rejected {self.rejected:,} of {self.rows:,} publications: {'; '.join(self.reasons)}{more}"

    def _repeated(self, table: pa.Table) -> dict[int, str]:
        """The rows whose id came before."""
        if len(self._ids) > REMEMBERED_IDS:
            self._older, self._ids = self._ids, TextSet()
        names = table["id"].combine_chunks()
        met = self._ids.add(names)
        if len(self._older):
            met |= self._older.has(names)
        return {
            int(row): f"publication {quoted(names[row].as_py())}: its id came before" for row in np.flatnonzero(met)
        }


def _empty(table: pa.Table) -> dict[int, str]:
    """The rows that have no text and nothing else, where there should be a text."""
    if "text" not in table.column_names or not table["text"].null_count:
        return {}
    empty = pc.is_null(table["text"])
    for name in table.column_names:
        if name not in ("id", "ts", "text"):
            empty = pc.and_(empty, pc.is_null(table[name]))
    rows = np.flatnonzero(empty.to_numpy())
    names = table["id"].take(pa.array(rows)).to_pylist()
    return {
        int(row): f"publication {quoted(name)}: its text is null, and it has nothing else"
        for row, name in zip(rows, names, strict=True)
    }


def _rejected(table: pa.Table, row: int, reason: str) -> Rejected:
    """With a piece of the row, by which its owner knows it again."""
    values = {name: _value(table[name][row]) for name in table.column_names}
    name = values.get("id")
    source = json.dumps(values, default=str, ensure_ascii=False)[:_PIECE_CHARS]
    return Rejected("publication", "" if name is None else str(name), reason, source)


def _value(scalar: pa.Scalar) -> Any:
    """As Python has it, long texts cut; what Python cannot have is told by its type."""
    try:
        value = scalar.as_py()
    except (ValueError, OverflowError):
        return f"<{scalar.type}>"
    return value[:_PIECE_CHARS] if isinstance(value, str | bytes) else value
