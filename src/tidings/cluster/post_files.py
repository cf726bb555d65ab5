"""How do the posts of a batch become Parquet files, and which of them does a past need?

A row has the columns of a publication, and when it came; when it ends, if its source says so. Rows are sorted by the
instant at which they happened, some ten thousand at a time, so that a reader can leave out row groups by their
statistics. The name of a file is that of its task: a task that is run again replaces it with the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow.fs import LocalFileSystem

from tidings.arrays import IntArray
from tidings.model import DataError
from tidings.model.values import read_instant
from tidings.tables.canonical import INSTANT, is_text
from tidings.tables.columns import ABSENT, column_keys, instant_key, is_instant

GROUP_ROWS = 1 << 16
"""A row group has so many posts at most."""

CAME, ENDS = "\x00came", "\x00ends"
"""Columns of microseconds since 1970: when the batch of a post was pinned, and when the post ends; null for never."""

_BATCH_ROWS = 1 << 14


@dataclass(frozen=True, slots=True)
class PostFiling:
    """Where the posts of a batch are filed, when they came, and the column that says when they end, if there is one."""

    folder: Path
    came: int
    expires: str = ""


@dataclass(frozen=True, slots=True)
class FiledPosts:
    """A file of posts: its name, its rows and row groups, and when the first and the last of them happened."""

    name: str
    posts: int
    groups: int
    first: int
    last: int


class PostPiece(NamedTuple):
    """Some row groups of a file of posts."""

    path: str
    groups: tuple[int, ...]


class PostWriter:
    """Writes posts, which have CAME, to files in a folder; one file for as long as their columns stay the same."""

    def __init__(self, folder: Path, stem: str) -> None:
        self._folder, self._stem = folder, stem
        self._held: list[pa.Table] = []
        self._file: pq.ParquetWriter | None = None
        self._aside = folder / f"_{uuid4().hex}"
        self._counts = (0, 0)
        self._happened = (0, 0)
        self._filed: list[FiledPosts] = []

    def add(self, posts: pa.Table) -> None:
        if not posts.num_rows:
            return
        if self._held and self._held[0].schema != posts.schema:
            self._end()
        self._held.append(posts)
        if sum(map(len, self._held)) >= GROUP_ROWS:
            self._flush()

    def close(self) -> tuple[FiledPosts, ...]:
        """The files, when all is in them."""
        self._end()
        return tuple(self._filed)

    def _flush(self) -> None:
        table = pa.concat_tables(self._held)
        happened = happened_keys(table)
        if np.any(happened[1:] < happened[:-1]):
            order = np.argsort(happened, kind="stable")
            table, happened = table.take(pa.array(order)), happened[order]
        if self._file is None:
            self._file = pq.ParquetWriter(self._aside, table.schema, compression="zstd", write_statistics=_timed(table))
            self._happened = int(happened[0]), int(happened[-1])
        self._file.write_table(table, row_group_size=GROUP_ROWS)
        first, last = self._happened
        self._happened = min(first, int(happened[0])), max(last, int(happened[-1]))
        posts, groups = self._counts
        self._counts = posts + len(table), groups - (-len(table) // GROUP_ROWS)
        self._held = [table.slice(0, 0)]

    def _end(self) -> None:
        if any(map(len, self._held)):
            self._flush()
        self._held = []
        if self._file is not None:
            self._file.close()
            name = f"{self._stem}-{len(self._filed)}.parquet"
            self._aside.rename(self._folder / name)
            self._filed.append(FiledPosts(name, *self._counts, *self._happened))
            self._file, self._counts = None, (0, 0)


class TaskPosts:
    """Files the posts of one task; nothing without a filing."""

    def __init__(self, filing: PostFiling | None, task: int) -> None:
        self._filing = filing
        self._writer = None if filing is None else PostWriter(filing.folder, f"{task:06}")

    def add(self, posts: pa.Table) -> None:
        if self._filing is not None and self._writer is not None:
            self._writer.add(timed(posts, self._filing))

    def close(self) -> tuple[FiledPosts, ...]:
        return () if self._writer is None else self._writer.close()


def timed(posts: pa.Table, filing: PostFiling) -> pa.Table:
    """Posts with when they came, and when they end."""
    found = posts.append_column(CAME, pa.repeat(pa.scalar(filing.came, pa.int64()), len(posts)))
    if filing.expires in posts.column_names:
        found = found.append_column(ENDS, _ends(posts[filing.expires]))
    return found


def happened_keys(posts: pa.Table) -> IntArray:
    """When each of the posts happened: at its ``ts``, or when it came."""
    came: IntArray = posts[CAME].to_numpy()
    if "ts" not in posts.column_names or posts["ts"].type != INSTANT:
        return came
    keys = column_keys(posts["ts"])
    return np.where(keys == ABSENT, came, keys)


def pieces_of(folder: Path, files: Sequence[FiledPosts]) -> list[PostPiece]:
    """Each row group of some files."""
    return [PostPiece(str(folder / file.name), (group,)) for file in files for group in range(file.groups)]


@dataclass(frozen=True, slots=True)
class PastSpan:
    """Which posts are past: those that came at ``oldest`` or later and have not ended at ``now``; in microseconds.

    What happened before ``since``, when the first subscription begins, is not read.
    """

    oldest: int
    now: int
    since: int

    def read(self, piece: PostPiece, asks: Callable[[str], bool]) -> Iterator[tuple[int, pa.Table]]:
        """The posts of a piece with those of these columns that they have, and when those without ``ts`` happened."""
        try:
            fragment = ds.ParquetFileFormat().make_fragment(piece.path, LocalFileSystem(), row_groups=piece.groups)
            schema = fragment.physical_schema
            names = [name for name in schema.names if asks(name) or name in (CAME, ENDS)]
            if "ts" in schema.names and schema.field("ts").type == INSTANT:
                ts, since = ds.field("ts"), pa.scalar(self.since, pa.int64()).cast(INSTANT)
                fragment = fragment.subset(filter=ts.is_null() | (ts >= since))
            columns = {name: ds.field(name) for name in names}
            for batch in fragment.to_batches(
                schema, columns=columns, batch_size=_BATCH_ROWS, batch_readahead=1, use_threads=False
            ):
                yield from _by_instant(self._left(pa.Table.from_batches([batch])))
        except (OSError, pa.ArrowException) as error:
            raise DataError(
                f"kept posts cannot be read: {piece.path!r} is damaged or gone ({error}); put it back, or remove its "
                "folder: the past of new subscriptions is then not complete"
            ) from None

    def _left(self, posts: pa.Table) -> pa.Table:
        is_past = posts[CAME].to_numpy() >= self.oldest
        if ENDS in posts.column_names:
            is_past = is_past & pc.fill_null(pc.greater(posts[ENDS], self.now), True).to_numpy()
            posts = posts.drop_columns([ENDS])
        return posts if is_past.all() else posts.filter(pa.array(is_past))


def _by_instant(posts: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """The same posts, in one table if each has its own instant, else in one for each instant at which some came."""
    came, plain = posts[CAME].to_numpy(), posts.drop_columns([CAME])
    if not len(came):
        return
    if "ts" in plain.column_names and not plain["ts"].null_count:
        yield int(came[0]), plain
        return
    instants = np.unique(came)
    for instant in instants.tolist():
        yield instant, plain if len(instants) == 1 else plain.filter(pa.array(came == instant))


def _ends(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Instants as keys; what is none is null."""
    if is_instant(column.type):
        return column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    if is_text(column.type):
        instants = (None if text is None else read_instant(text) for text in column.to_pylist())
        return pa.chunked_array(
            [[None if instant is None else instant_key(instant) for instant in instants]], pa.int64()
        )
    return pa.chunked_array([pa.nulls(len(column), pa.int64())])


def _timed(table: pa.Table) -> list[str]:
    """The columns of which statistics are kept."""
    return [name for name in table.column_names if name in ("ts", CAME)]
