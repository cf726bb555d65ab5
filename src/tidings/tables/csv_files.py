"""What do the cells of a CSV file hold? Text, and where all cells of a column write them: numbers, instants, truths.

Columns are known by the names in the header of their file. A column is of whole numbers (int64) or numbers (float64) if
every cell that is not empty writes one as JSON does, of instants if every one is ISO 8601, of truth values if every one
is ``true`` or ``false``. Codes stay text: ``01234`` is no number, and neither is a whole one that needs more than 64
bits. ``id``, ``text``, ``topic`` and the texts of subscriptions are always text. An empty cell is absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from tidings.model.values import read_instant, read_number
from tidings.tables.canonical import INSTANT

TEXTS = ("id", "text", "topic", "query", "subscriber", "tag")
"""Columns that stay text, even if all of their values look like numbers or dates."""

Kinds = dict[str, pa.DataType]

_BLOCK_BYTES = 1 << 23
_WHOLE, _NUMBER, _TRUTH, _TEXT = pa.int64(), pa.float64(), pa.bool_(), pa.string()
_LOOKS = {
    _WHOLE: r"^-?(0|[1-9][0-9]*)$",
    _NUMBER: r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$",
    INSTANT: r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+(Z|[+-][0-9]{2}:[0-9]{2})?)?$",
    _TRUTH: r"^(?i:true|false)$",
}
"""How a cell looks that writes a value of a kind, tried in this order."""


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A file with a header. Rows of another length than the header go to ``odd``, if that is there, as they are."""

    path: Path
    separator: str = ","
    quote: str = '"'
    escape: str = ""
    encoding: str = "utf8"
    odd: list[str] | None = field(default=None, compare=False)

    def cells(self) -> Iterator[pa.Table]:
        """The columns alone, then all rows, some at a time; all cells are text."""
        with self._opened({}) as reader:
            names = reader.schema.names
        if self.odd is not None:
            self.odd.clear()  # what was met on the way to the names comes again
        with self._opened(dict.fromkeys(names, _TEXT)) as reader:
            yield reader.schema.empty_table()
            for batch in reader:
                yield pa.Table.from_batches([batch])

    def _opened(self, kinds: Kinds) -> pyarrow.csv.CSVStreamingReader:
        return pyarrow.csv.open_csv(
            self.path,
            read_options=pyarrow.csv.ReadOptions(block_size=_BLOCK_BYTES, encoding=self.encoding, use_threads=False),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=self.separator,
                quote_char=self.quote or False,
                escape_char=self.escape or False,
                newlines_in_values=True,
                invalid_row_handler=None if self.odd is None else self._kept,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=kinds, null_values=[""], strings_can_be_null=True, check_utf8=self.odd is None
            ),
        )

    def _kept(self, row: pyarrow.csv.InvalidRow) -> str:
        if self.odd is not None:
            self.odd.append(row.text)
        return "skip"


def inferred(tables: Iterable[pa.Table]) -> Kinds:
    """The kind of each column in tables of text cells, by name: what all of its cells write.

    >>> table = pa.table({"id": ["1"], "zip": ["01234"], "n": ["7"], "price": ["1.5"], "day": ["2024-01-31"]})
    >>> [str(kind) for kind in inferred([table]).values()]
    ['string', 'string', 'int64', 'double', 'timestamp[us, tz=UTC]']
    """
    left: dict[str, list[pa.DataType]] = {}
    full: set[str] = set()
    for table in tables:
        for name, column in zip(table.column_names, table.columns, strict=True):
            kinds = left.setdefault(name, [] if name in TEXTS else list(_LOOKS))
            if column.null_count < len(column):
                full.add(name)
                left[name] = _possible(column.drop_null(), kinds)
    return {name: kinds[0] if kinds and name in full else _TEXT for name, kinds in left.items()}


def typed(table: pa.Table, kinds: Kinds) -> tuple[pa.Table, npt.NDArray[np.bool_]]:
    """The columns of these names and kinds, null where they are not in the table; and which rows have a cell that
    writes no value of its kind."""
    odd = np.zeros(table.num_rows, dtype=np.bool_)
    columns = {}
    for name, kind in kinds.items():
        if name not in table.column_names:
            columns[name] = pa.chunked_array([pa.nulls(table.num_rows, kind)])
            continue
        columns[name] = _converted(table[name], kind)
        if columns[name].null_count > table[name].null_count:
            odd |= (columns[name].is_null().to_numpy()) & (table[name].is_valid().to_numpy())
    return pa.table(columns), odd


def _possible(cells: pa.ChunkedArray, kinds: list[pa.DataType]) -> list[pa.DataType]:
    """Those of some kinds of which all of these cells write a value."""
    found = [kind for kind in kinds if pc.all(_look(cells, kind)).as_py() and _cast(cells, kind) is not None]
    if _NUMBER in found and _WHOLE not in found:
        whole = cells.filter(_look(cells, _WHOLE))
        if _cast(whole, _WHOLE) is None:
            found.remove(_NUMBER)
    return found


def _look(cells: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return pc.match_substring_regex(cells, _LOOKS[kind])


def _cast(cells: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    """The values that cells write, which all look so; None if some are none."""
    try:
        if kind == INSTANT:
            return _instants(cells)
        values = cells.cast(kind)
    except pa.ArrowInvalid:
        return None
    return values if kind != _NUMBER or pc.all(pc.is_finite(values), min_count=0).as_py() else None


def _instants(cells: pa.ChunkedArray) -> pa.ChunkedArray | None:
    for kind in (pa.timestamp("us"), INSTANT):  # all without a zone, all with one; Arrow takes no mixture
        try:
            return cells.cast(kind).cast(INSTANT)
        except pa.ArrowInvalid:
            continue
    values = [None if cell is None else read_instant(cell) for cell in cell_texts(cells)]
    return pa.chunked_array([values], INSTANT) if values.count(None) == cells.null_count else None


def _converted(cells: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The values that cells write; null where they write none of the kind."""
    if kind == _TEXT:
        return cells
    if pc.all(_look(cells, kind), min_count=0).as_py() and (values := _cast(cells, kind)) is not None:
        return values
    read = _READ[kind]
    return pa.chunked_array([[None if cell is None else read(cell) for cell in cell_texts(cells)]], kind)


def cell_texts(cells: pa.ChunkedArray) -> list[str | None]:
    """The texts of cells; what is no UTF-8 in them is replaced."""
    return [None if cell is None else cell.decode("utf8", "replace") for cell in cells.cast(pa.binary()).to_pylist()]


def _whole(cell: str) -> int | None:
    number = read_number(cell)
    return number if isinstance(number, int) and -(2**63) <= number < 2**63 else None


def _number(cell: str) -> float | None:
    number = read_number(cell)
    return None if number is None else float(number)


def _truth(cell: str) -> bool | None:
    return {"true": True, "false": False}.get(cell.lower())


_READ: dict[pa.DataType, Callable[[str], object]] = {
    _WHOLE: _whole,
    _NUMBER: _number,
    INSTANT: read_instant,
    _TRUTH: _truth,
}
