"""Where do posts come from while there is no stream of real ones? From ``format("tidings_posts")``, made up.

The posts are those of :class:`tidings.workloads.Posts`: each depends on the seed and its row number alone, so that a
batch that is run again, a second run and a table have the same rows.

=============  =======  ==========================================================================================
option         default
=============  =======  ==========================================================================================
seed           0        another seed, other posts
rate           1000     posts per second, by their instants and, in a stream, by the clock
rows           endless  how many there are; needed in a table, and by a stream that takes what there is and ends
places         true     ``false`` leaves out the columns lat and lon
rows_per_batch rate     at most so many in a micro-batch
admission      none     the checkpoint of a pipeline that sheds; it may say that a micro-batch has fewer
partitions     2        so many tasks make them
readable       false    ``true``: sentences that people can read
=============  =======  ==========================================================================================
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from tidings.cluster.overload import admitted
from tidings.model import DataError
from tidings.workloads import Posts
from tidings.workloads.posts import BLOCK_ROWS

NAME = "tidings_posts"
_PLACE = ("lat", "lon")
_COLUMNS = {
    "id": "string",
    "ts": "timestamp",
    "text": "string",
    "lat": "double",
    "lon": "double",
    "topic": "string",
    "author": "string",
    "lang": "string",
    "likes": "bigint",
}


def register(spark: SparkSession) -> None:
    """Let a session read ``format("tidings_posts")``.

    .. code-block:: python

        posts = spark.readStream.format("tidings_posts").option("rate", 5000).load()
    """
    spark.dataSource.register(MadeUpPosts)


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for, checked.

    >>> Options.read({"rows": "10", "places": "false"}).columns
    ['id', 'ts', 'text', 'topic', 'author', 'lang', 'likes']
    """

    seed: int = 0
    rate: float = 1000.0
    rows: int | None = None
    places: bool = True
    rows_per_batch: int | None = None
    partitions: int = 2
    admission: str = ""
    readable: bool = False

    def __post_init__(self) -> None:
        least = {"seed": 0, "rows": 0, "rows_per_batch": 1, "partitions": 1}
        for name, lowest in least.items():
            value = getattr(self, name)
            if value is not None and value < lowest:
                raise DataError(f"{NAME}: the option {name} is {lowest} or more, got {value}")
        if not 0 < self.rate < float("inf"):
            raise DataError(f"{NAME}: the option rate is a number of posts per second above 0, got {self.rate}")

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Options:
        """From what Spark hands over, which is text."""
        known: dict[str, Callable[[str], Any]] = {
            "seed": int,
            "rate": float,
            "rows": int,
            "places": _truth,
            "rows_per_batch": int,
            "partitions": int,
            "admission": str,
            "readable": _truth,
        }
        found = {}
        for name, text in given.items():
            if name.lower() not in known:
                raise DataError(f"{NAME} has no option {name!r}; it has {', '.join(known)}")
            try:
                found[name.lower()] = known[name.lower()](text)
            except (ValueError, KeyError):
                raise DataError(f"{NAME}: the option {name} cannot be {text!r}") from None
        return cls(**found)

    @property
    def columns(self) -> list[str]:
        return [name for name in _COLUMNS if self.places or name not in _PLACE]

    def pieces(self, start: int, end: int) -> list[InputPartition]:
        """Rows [start, end) in at most ``partitions`` pieces, cut where blocks of rows end, since those are made whole.

        >>> [piece.value for piece in Options().pieces(10, 3 * BLOCK_ROWS)]
        [(10, 8192), (8192, 12288)]
        """
        first, last = start // BLOCK_ROWS, -(-end // BLOCK_ROWS)
        blocks = max(1, -(-(last - first) // self.partitions))
        cuts = [start, *(block * BLOCK_ROWS for block in range(first + blocks, last, blocks)), end]
        return [InputPartition(cut) for cut in pairwise(cuts) if cut[0] < cut[1]]

    def batches(self, piece: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a piece, a block at a time."""
        start, end = piece.value
        posts = _posts(self.seed, self.rate, self.readable)
        while start < end:
            stop = min(end, (start // BLOCK_ROWS + 1) * BLOCK_ROWS)
            yield from posts.table(stop - start, start).select(self.columns).combine_chunks().to_batches()
            start = stop


class MadeUpPosts(DataSource):  # type: ignore[misc]  # pyspark is not type-checked
    """The data source, as Spark sees it."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return ", ".join(f"{name} {_COLUMNS[name]}" for name in Options.read(self.options).columns)

    def reader(self, schema: StructType) -> TableReader:  # noqa: ARG002
        return TableReader(Options.read(self.options))

    def streamReader(self, schema: StructType) -> StreamReader:  # noqa: ARG002, N802  # Spark's name
        return StreamReader(Options.read(self.options))


class TableReader(DataSourceReader):  # type: ignore[misc]  # pyspark is not type-checked
    """All rows at once."""

    def __init__(self, options: Options) -> None:
        if options.rows is None:
            raise DataError(f'{NAME}: a table ends; say where, as in .option("rows", 1000)')
        self._options, self._rows = options, options.rows

    def partitions(self) -> list[InputPartition]:
        return self._options.pieces(0, self._rows)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._options.batches(partition)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]  # pyspark is not type-checked
    """Rows as time goes by, counted from when this stream was started; an offset is the number of the next row.

    A stream that was stopped goes on with the next row, and does not catch up for the time in between.
    """

    def __init__(self, options: Options, clock: Callable[[], float] = time.monotonic) -> None:
        self._options, self._clock = options, clock
        self._begun: tuple[float, int] | None = None
        self._at_once = False

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"row": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self._options.rows_per_batch or max(1, round(self._options.rate)))

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        if self._options.rows is None:
            raise DataError(f'{NAME}: posts never end; say how many are there now, as in .option("rows", 1000)')
        self._at_once = True

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        row = start["row"]
        latest = self._latest(row)
        if isinstance(limit, ReadMaxRows):
            most = limit.max_rows
            if self._options.admission:
                most = min(most, admitted(self._options.admission, most))
            latest = min(latest, row + most)
        return {"row": max(row, latest)}

    def reportLatestOffset(self) -> dict[str, int] | None:  # noqa: N802
        return None if self._begun is None else {"row": self._latest(self._begun[1])}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return self._options.pieces(start["row"], end["row"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._options.batches(partition)

    def _latest(self, row: int) -> int:
        rows = self._options.rows
        if self._at_once and rows is not None:
            return rows
        begun, first = self._begun = self._begun or (self._clock(), row)
        arrived = first + int((self._clock() - begun) * self._options.rate)
        return arrived if rows is None else min(rows, arrived)


@lru_cache(maxsize=4)
def _posts(seed: int, rate: float, readable: bool) -> Posts:
    """Kept in a worker, because its lexicon takes a while to make."""
    return Posts(seed=seed, rate_per_s=rate, readable=readable)


def _truth(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]
