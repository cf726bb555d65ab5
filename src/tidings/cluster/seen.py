"""What was published lately? A sample of publications, kept to learn from.

Workers take from each task those whose ids have the lowest hashes: a fair sample, bounded whatever the batch, and the
same whenever the batch is run again. They come back as notes, and the driver keeps them in small files of Parquet.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidings.partitioning.mapping import HashArray, hash_names

PER_BATCH = 2_000
"""About so many publications of a batch are kept."""

_MOST_BYTES = 4_096
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SMALL_ROWS, _MOST_SMALL = 1_000, 100


class Sampler:
    """Takes up to ``most`` of the publications of a task. A text of more than 4,096 bytes is left out.

    >>> sampler = Sampler(2)
    >>> sampler.add(pa.table({"id": ["a", "b", "c"], "text": ["x", "y", "z"]}))
    >>> unpacked(packed(sampler.table())).num_rows
    2
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: list[tuple[HashArray, pa.Table]] = []
        self._rows = 0

    def add(self, posts: pa.Table) -> None:
        """Choose from these too: a canonical table without bad rows."""
        if self._most <= 0:
            return
        if "text" in posts.column_names:
            posts = posts.filter(pc.fill_null(pc.less_equal(pc.binary_length(posts["text"]), _MOST_BYTES), True))
        self._choose(hash_names(posts["id"]) * _MIX, posts)  # mixed: the hash itself chooses versions of split terms
        if self._rows > 4 * self._most:
            keys, table = self._joined()
            self._taken, self._rows = [], 0
            self._choose(keys, table)

    def _choose(self, keys: HashArray, posts: pa.Table) -> None:
        rows = np.sort(np.argsort(keys, kind="stable")[: self._most])
        self._taken.append((keys[rows], posts.take(pa.array(rows))))
        self._rows += len(rows)

    def _joined(self) -> tuple[HashArray, pa.Table]:
        table = joined([posts for _, posts in self._taken])
        keys = np.concatenate([keys for keys, _ in self._taken])
        return keys[len(keys) - table.num_rows :], table

    def table(self) -> pa.Table | None:
        """What was taken; None if nothing was."""
        if not self._rows:
            return None
        keys, table = self._joined()
        return table.take(pa.array(np.sort(np.argsort(keys, kind="stable")[: self._most])))


@dataclass(frozen=True, slots=True)
class Seen:
    """The publications kept in the folder ``path``, at most about ``most``: the oldest files go first."""

    path: Path
    most: int = 200_000

    def put(self, tables: list[pa.Table], batch: int) -> None:
        """Keep those of a batch, unless they are there."""
        if not tables or any(number >= batch for number, _, _ in self._files()):
            return
        self._write(joined(tables), batch)
        small = [file for file in self._files() if file[1] < _SMALL_ROWS]
        if len(small) > _MOST_SMALL:
            self._write(joined([pq.read_table(path) for _, _, path in small]), batch)
            for _, _, path in small:
                path.unlink(missing_ok=True)
        files = self._files()
        while files and sum(rows for _, rows, _ in files) > self.most + _SMALL_ROWS:
            files.pop(0)[2].unlink(missing_ok=True)

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(rows for _, rows, _ in self._files())

    def table(self) -> pa.Table | None:
        """All of them, the oldest first; None if there are none. Somebody else may be putting some."""
        tables = []
        for _, _, path in self._files():
            try:
                tables.append(pq.read_table(path))
            except FileNotFoundError:
                continue
        return joined(tables) if tables else None

    def _write(self, table: pa.Table, batch: int) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        path = self.path / f"{batch:012}-{table.num_rows}.parquet"
        aside = path.with_name(f"_{path.name}")
        pq.write_table(table, aside, compression="zstd")
        aside.replace(path)

    def _files(self) -> list[tuple[int, int, Path]]:
        """The newest batch and the number of rows of each file, in order."""
        names = ((path.stem.split("-"), path) for path in self.path.glob("[0-9]*-*.parquet"))
        return sorted((int(batch), int(rows), path) for (batch, rows), path in names)


def joined(tables: list[pa.Table]) -> pa.Table:
    """Tables one after another. Of those whose columns do not go together, the last ones.

    >>> joined([pa.table({"id": ["a"], "x": ["1"]}), pa.table({"id": ["b"], "y": [1]})]).column_names
    ['id', 'x', 'y']
    >>> joined([pa.table({"id": ["a"], "x": ["1"]}), pa.table({"id": ["b"], "x": [1]})]).num_rows
    1
    """
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return joined(tables[len(tables) // 2 :]) if len(tables) > 1 else tables[0]


def packed(table: pa.Table) -> str:
    """A table as a text that fits into a note."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as stream:
        stream.write_table(table)
    return base64.b64encode(sink.getvalue()).decode()


def unpacked(text: str) -> pa.Table:
    return pa.ipc.open_stream(base64.b64decode(text)).read_all()
