"""How is a table read from a file, all at once or a piece at a time? By the end of its name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.json
import pyarrow.parquet as pq

from tidings.model import DataError
from tidings.tables.csv_files import CsvFile, Kinds, inferred, typed

PIECE_ROWS = 16_384

_BLOCK_BYTES = 1 << 23
_DATED = ("ts", "since", "until")
"""Columns of JSON whose text is read as instants; any other text of JSON is text, whatever it looks like."""


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file of rows. Files of Parquet, Arrow and CSV have the same columns throughout, pieces of JSON their own.

    What the cells of CSV hold: :mod:`tidings.tables.csv_files`. A file of it is read once more to find that out.
    """

    path: Path
    _kinds: Kinds = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.path.is_dir():
            raise DataError(f"{str(self.path)!r} is a folder; {_REMEDY}")
        if not self.path.exists():
            raise DataError(f"there is no file {str(self.path)!r}")
        if self.path.suffix.lower() not in _READERS:
            raise DataError(f"cannot tell what {str(self.path)!r} holds; {_REMEDY}")

    def count_rows(self) -> int | None:
        """How many there are, where the file says so itself."""
        with self._told():
            is_parquet = _READERS[self.path.suffix.lower()] is _parquet
            return int(pq.read_metadata(self.path).num_rows) if is_parquet else None

    def pieces(self) -> Iterator[pa.Table]:
        """All rows in order, at most PIECE_ROWS at a time; what is behind a reader is not held."""
        with self._told():
            for piece in self._read():
                for start in range(0, piece.num_rows, PIECE_ROWS):
                    yield piece.slice(start, PIECE_ROWS)

    def read(self, rows: int | None = None) -> pa.Table:
        """All rows, or the first so many, as one table."""
        pieces, count = [], 0
        for piece in self.pieces():
            pieces.append(piece)
            count += piece.num_rows
            if rows is not None and count >= rows:
                break
        with self._told():
            table = pa.concat_tables(pieces, promote_options="permissive") if pieces else self._empty()
        return table if rows is None else table.slice(0, rows)

    def _empty(self) -> pa.Table:
        """The columns alone, where a file without rows has any."""
        return next(self._read(), pa.table({})).slice(0, 0)

    def _read(self) -> Iterator[pa.Table]:
        reader = _READERS[self.path.suffix.lower()]
        if reader is _csv and not self._kinds:
            self._kinds.update(inferred(CsvFile(self.path).cells()))
        return _csv(self.path, self._kinds) if reader is _csv else reader(self.path)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, ValueError) as error:
            problem = str(error).split("\n", 1)[0]
            raise DataError(f"the file {str(self.path)!r} cannot be read: {problem}") from error


def _parquet(path: Path) -> Iterator[pa.Table]:
    with pq.ParquetFile(path) as file:
        yield file.schema_arrow.empty_table()
        for batch in file.iter_batches(batch_size=PIECE_ROWS):
            yield pa.Table.from_batches([batch])


def _csv(path: Path, kinds: Kinds) -> Iterator[pa.Table]:
    return (typed(table, kinds)[0] for table in CsvFile(path).cells())


def _json(path: Path) -> Iterator[pa.Table]:
    """One object a line. Each block has its own columns, so that a name may turn up late."""
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES) + file.readline():
            if block.strip():
                yield _json_block(block)


def _json_block(block: bytes) -> pa.Table:
    whole = pyarrow.json.ReadOptions(block_size=len(block) + 1)
    table = pyarrow.json.read_json(pa.BufferReader(block), whole)
    undated = [pa.field(own.name, _undated(own.type)) for own in table.schema if own.name not in _DATED]
    changed = [own for own in undated if own.type != table.schema.field(own.name).type]
    if changed:  # text that looks like dates was taken for them
        options = pyarrow.json.ParseOptions(explicit_schema=pa.schema(changed))
        table = pyarrow.json.read_json(pa.BufferReader(block), whole, options)
    if "id" in table.column_names and pa.types.is_floating(table["id"].type):
        table = table.set_column(table.column_names.index("id"), "id", _exact_ids(block))
    return table


def _undated(kind: pa.DataType) -> pa.DataType:
    """The same type with text for instants, of which JSON has none."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(own.name, _undated(own.type)) for own in kind])
    if pa.types.is_list(kind):
        return pa.list_(_undated(kind.value_type))
    return pa.string() if pa.types.is_timestamp(kind) else kind


def _exact_ids(block: bytes) -> pa.Array:
    """The ids as they are written: numbers beyond 64 bits, or beside fractions, were read as float64."""
    rows = (json.loads(line, parse_int=str, parse_float=str) for line in block.splitlines() if line.strip())
    return pa.array([row.get("id") for row in rows], pa.string())


def _arrow(path: Path) -> Iterator[pa.Table]:
    with pa.memory_map(str(path)) as source:
        if source.read(6) == b"ARROW1":
            file = pa.ipc.open_file(source)
            yield file.schema.empty_table()
            for number in range(file.num_record_batches):
                yield pa.Table.from_batches([file.get_batch(number)])
        else:
            source.seek(0)
            stream = pa.ipc.open_stream(source)
            yield stream.schema.empty_table()
            for batch in stream:
                yield pa.Table.from_batches([batch])


_READERS: dict[str, Callable[..., Iterator[pa.Table]]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".jsonl": _json,
    ".ndjson": _json,
    ".arrow": _arrow,
    ".feather": _arrow,
}
_REMEDY = f"name a file that ends in {', '.join(_READERS)}"
