"""What runs in Spark's Python workers? Arrow batches of publications in, Arrow batches of matches and notes out.

Replicated layout: :class:`MatchAll` alone. Partitioned: :class:`Route`, then a shuffle by matcher, then
:class:`MatchShare`. Each is a function for ``mapInArrow``, a small value that is pickled by reference to this module.
"""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.types import StringType, StructField, StructType

from tidings.arrays import IntArray
from tidings.arrays.gathering import gathered
from tidings.arrays.strings import text_bytes
from tidings.cluster import Router, found_along, once
from tidings.cluster.cut import Cut, Cutting, Undone, cut_posts, cut_routes, looked_at
from tidings.cluster.notes import Notes, Tally, note
from tidings.cluster.releases import Release
from tidings.cluster.seen import Sampler
from tidings.index import Counters
from tidings.index.scanning import Deliveries
from tidings.partitioning import MatcherSets
from tidings.shedding.threshold import GRADES
from tidings.spark.opened import Opened, OpenShare
from tidings.tables.canonical import INSTANT
from tidings.tables.sifting import TOLD, Sifter

ROUTED = "matcher int, posts binary, note string"
MATCHES = (
    "publication_id string, subscription_id string, subscriber string, tag string, query_version bigint, ts timestamp"
)
"""The columns of a match, as Spark has them."""

MATCHED = f"{MATCHES}, note string"
"""The columns that come out: those of a match, and a note in rows that are none."""

NOTED = StructType([StructField("note", StringType())])
"""What comes out where the matches go elsewhere."""

_TEXT = pa.string()
_NAMES = ("publication_id", "subscription_id", "subscriber", "tag", "query_version", "ts")
MATCH = pa.schema(list(zip(_NAMES, (_TEXT, _TEXT, _TEXT, _TEXT, pa.int64(), INSTANT), strict=True)))
"""The columns of a match, as Arrow has them."""

NOTE = pa.schema([("note", _TEXT)])
_MATCHED = pa.schema([*MATCH, *NOTE])
_ROUTED = pa.schema([("matcher", pa.int32()), ("posts", pa.binary()), ("note", _TEXT)])
_ROUTE, _KEPT, _GRADE = "\0route", "\0kept", "\0grade"
"""Columns of the matchers of a post, of those that it would be sent to if it were not spared, and of its grade."""

_MOST_ROWS = 1 << 14
"""Matches that go to Spark at once: few enough to be still in the processor's cache when they are written."""

_opened = Opened()
_log = logging.getLogger(__name__)


class _Work:
    """Counts what a task does, and the time in which it does it."""

    def __init__(self, stage: Literal["route", "match"]) -> None:
        context = TaskContext.get()
        self._stage = stage
        self.matcher = 0 if context is None else context.partitionId()
        self._seconds = 0.0
        self.posts = self.rejected = self.matches = self.sampled = 0
        self.counters = Counters()
        self._copies, self._matches = (np.zeros(GRADES, dtype=np.int64) for _ in range(2))

    def count(self, posts: pa.Table) -> None:
        """Copies, of which the grades are told where they compete."""
        if _GRADE in posts.column_names:
            self._copies += np.bincount(posts[_GRADE].to_numpy(), minlength=GRADES)

    def count_matches(self, posts: pa.Table, rows: IntArray) -> None:
        """Matches of these rows of copies."""
        if _GRADE in posts.column_names:
            self._matches += np.bincount(posts[_GRADE].to_numpy()[rows], minlength=GRADES)

    @contextmanager
    def timed(self) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self._seconds += time.perf_counter() - start

    def note(self) -> str:
        counts = self.posts, self.rejected, self.counters.candidates, self.matches
        some = np.flatnonzero(self._copies).tolist()
        graded = tuple((grade, int(self._copies[grade]), int(self._matches[grade])) for grade in some)
        return note(Tally(self._stage, self.matcher, *counts, round(1000 * self._seconds, 3), self.sampled, graded))


@dataclass(frozen=True, slots=True)
class MatchAll:
    """Matches publications with a whole index. ``now``: the instant of those that have none; None is the clock's.

    Those that a ``cut`` leaves out are not matched.
    """

    release: Release
    now: int | None = None
    cut: Cut | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        work, sifter, undone = _Work("match"), Sifter(), Undone()
        share = _opened.share(self.release, 0)
        for batch in batches:
            with work.timed():
                good, rejected = sifter.sift(pa.Table.from_batches([batch]))
                if self.cut is not None:
                    seen = looked_at(good, self.cut)
                    cutting = cut_posts(seen, share.index, self.cut)
                    undone.add(cutting, len(good) - len(seen))
                    good = _marked(seen, cutting).take(pa.array(cutting.routes.with_matcher(0)))
                    if cutting.grades is not None:
                        good = good.append_column(_GRADE, pa.array(cutting.grades[cutting.routes.with_matcher(0), 0]))
                    work.count(good)
            work.posts += batch.num_rows
            work.rejected += len(rejected)
            yield from _noted([note(row) for row in rejected])
            yield from _matches(good, share, self.now, work)
        share.check()
        yield from _noted([work.note(), *([note(undone.shed(work.matcher))] if self.cut else [])])
        _settle()


@dataclass(frozen=True, slots=True)
class Route:
    """Sends publications to the matchers that may have a match for them: one row for each batch and matcher.

    Up to ``kept`` of them are told in a note, to learn from. With a ``cut`` they are sent to fewer matchers.

    Run again, it gives the same rows, and so no time that it took: where a task is run again after its executor died,
    Spark compares what it sends, and fails the job if that has changed.
    """

    release: Release
    kept: int = 0
    cut: Cut | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        work, sifter, sampler, undone = _Work("route"), Sifter(), Sampler(self.kept), Undone()
        opened = _opened.router(self.release) if self.release.routers else None
        router = None if opened is None else opened.router
        for batch in batches:
            good, rejected = sifter.sift(pa.Table.from_batches([batch]))
            packed = [] if router is None else _packed(good, router, self.cut, undone)
            sampler.add(good)
            work.posts += batch.num_rows
            work.rejected += len(rejected)
            yield from (_sent(0, told=note(row)) for row in rejected)
            yield from (_sent(matcher, posts) for matcher, posts in packed)
        seen = sampler.table()
        if seen is not None:
            yield _sent(0, told=note(seen))
        if self.cut is not None:
            yield _sent(0, told=note(undone.shed()))
        if opened is not None:
            opened.check()
        yield _sent(0, told=work.note())
        _settle()


@dataclass(frozen=True, slots=True)
class MatchShare:
    """Matches what :class:`Route` sent with the share of its matcher."""

    release: Release
    now: int | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        work, shares = _Work("match"), dict[int, OpenShare]()
        for batch in batches:
            for matcher, posts, told in zip(*batch.columns, strict=True):
                if not posts.is_valid:
                    yield from _noted([told.as_py()])
                    continue
                with work.timed():
                    table = pa.ipc.open_stream(posts.as_buffer()).read_all()
                    share = shares[matcher.as_py()] = _opened.share(self.release, matcher.as_py())
                work.posts += table.num_rows
                work.count(table)
                yield from _matches(table, share, self.now, work, matcher.as_py())
        for share in shares.values():
            share.check()
        yield from _noted([work.note()])
        _settle()


@dataclass(frozen=True, slots=True)
class OnlyMatches:
    """Does the work of a matcher and tells no notes: a column less, and nothing that Spark would have to filter.

    What was rejected is counted in the log of the worker, once for each task.
    """

    work: MatchAll | MatchShare

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rejected, reasons = 0, list[str]()
        for batch in self.work(batches):
            if batch.column("note").null_count:
                yield batch.select(MATCH.names)
                continue
            bad = Notes.read(batch.column("note").to_pylist()).rejected
            rejected += len(bad)
            reasons += [row.reason for row in bad[: TOLD - len(reasons)]]
        if rejected:
            more = f"; and {rejected - TOLD:,} more" if rejected > TOLD else ""
            _log.warning("rejected %s publications, which have no matches: %s%s", rejected, "; ".join(reasons), more)


@cache
def _settle() -> None:
    """Let the collector forget all that is loaded now, once in the life of a process.

    Spark collects garbage after each task, and to look at all objects of the libraries takes 45 ms and more.
    """
    gc.collect()
    gc.freeze()


def _marked(posts: pa.Table, cutting: Cutting) -> pa.Table:
    """Posts with the matchers that they would be sent to if none were spared."""
    return posts.append_column(_KEPT, cutting.kept.column())


def _packed(posts: pa.Table, router: Router, cut: Cut | None, undone: Undone) -> list[tuple[int, pa.Buffer]]:
    """The rows for each matcher, with all their destinations, as one value."""
    grades = None
    if cut is None:
        routes = router.route(posts)
    else:
        seen = looked_at(posts, cut)
        cutting = cut_routes(seen, router, cut)
        undone.add(cutting, len(posts) - len(seen))
        routes, grades, posts = cutting.routes, cutting.grades, _marked(seen, cutting)
    posts = posts.append_column(_ROUTE, routes.column())
    packed = []
    for matcher in range(router.matchers):
        rows = routes.with_matcher(matcher)
        if len(rows):
            table = posts if len(rows) == posts.num_rows else posts.take(pa.array(rows))
            if grades is not None:
                table = table.append_column(_GRADE, pa.array(grades[rows, matcher]))
            packed.append((matcher, _stream(table.combine_chunks())))
    return packed


def _stream(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def _matches(
    posts: pa.Table, share: OpenShare, now: int | None, work: _Work, matcher: int = 0
) -> Iterator[pa.RecordBatch]:
    """The matches of a canonical table without bad rows."""
    size = share.index.batch_rows
    for start in range(0, posts.num_rows, size):
        with work.timed():
            rows = posts.slice(start, size).combine_chunks()
            found, counters = share.index.deliver(rows, now)
        work.counters += counters
        for part in found:
            for first in range(0, len(part.rows), _MOST_ROWS):
                with work.timed():
                    own = slice(first, first + _MOST_ROWS)
                    piece = Deliveries(part.part, part.rows[own], part.numbers[own])
                    batches = _delivered(rows, piece, share, matcher, work)
                work.matches += sum(batch.num_rows for batch in batches)
                yield from (batch for batch in batches if batch.num_rows)


def _delivered(posts: pa.Table, found: Deliveries, share: OpenShare, matcher: int, work: _Work) -> list[pa.RecordBatch]:
    """The matches: one batch, unless their texts are too long for it."""
    at = found.rows
    try:
        data, offsets = text_bytes(_column(posts["id"]))
        ids = gathered(offsets, data, at, _TEXT)
        texts = found.part.delivered(found.numbers, _TEXT)
    except pa.ArrowInvalid:
        if len(at) == 1:
            raise
        halves = slice(None, len(at) // 2), slice(len(at) // 2, None)
        parts = [Deliveries(found.part, at[half], found.numbers[half]) for half in halves]
        return [batch for part in parts for batch in _delivered(posts, part, share, matcher, work)]
    if share.homes is not None:
        routes = MatcherSets.from_column(posts[_ROUTE], share.release.matchers)
        kept = np.flatnonzero(once(at, texts[0], matcher, routes, share.homes))
        at, ids, *texts = at[kept], *(text.take(pa.array(kept)) for text in (ids, *texts))
    if _KEPT in posts.column_names:
        routes = MatcherSets.from_column(posts[_KEPT], share.release.matchers)
        work.sampled += int(np.count_nonzero(~found_along(at, texts[0], matcher, routes, share.homes)))
    work.count_matches(posts, at)
    has_instants = "ts" in posts.column_names and posts["ts"].type == INSTANT
    instants = _column(posts["ts"]).take(pa.array(at)) if has_instants else pa.nulls(len(at), INSTANT)
    columns = [ids, *texts, instants, pa.nulls(len(at), _TEXT)]
    return [pa.RecordBatch.from_arrays(columns, schema=_MATCHED)]


def _column(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _noted(notes: list[str]) -> Iterator[pa.RecordBatch]:
    """Rows that are notes and no matches."""
    if notes:
        nothing = [pa.nulls(len(notes), kind) for kind in MATCH.types]
        yield pa.RecordBatch.from_arrays([*nothing, pa.array(notes, _TEXT)], schema=_MATCHED)


def _sent(matcher: int, posts: pa.Buffer | None = None, told: str | None = None) -> pa.RecordBatch:
    if posts is None:
        packed = pa.nulls(1, pa.binary())
    else:
        bounds = pa.py_buffer(np.array([0, posts.size], dtype=np.int32))
        packed = pa.Array.from_buffers(pa.binary(), 1, [None, bounds, posts])
    return pa.RecordBatch.from_arrays(
        [pa.array([matcher], pa.int32()), packed, pa.array([told], _TEXT)], schema=_ROUTED
    )
