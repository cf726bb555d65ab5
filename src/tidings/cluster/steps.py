"""What does one task do for a batch? Arrow batches of publications in, matches without names and notes out.

Replicated layout: :class:`MatchAll` alone. Partitioned: :class:`Route`, then a shuffle by matcher, then
:class:`MatchShare`. For the past of new subscriptions, in any layout: :class:`MatchPast`. Spark's Python workers run
these steps (:mod:`tidings.spark.tasks`), and so can any other program. Each is a small value that is pickled by
reference to its module.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, cast

import numpy as np
import pyarrow as pa

from tidings.arrays import IdArray
from tidings.cluster.cut import CHOSEN, Chosen, CodeArray, Cut, Cutting, Undone, cut_posts, cut_routes
from tidings.cluster.homes import found_along, once
from tidings.cluster.notes import Tally, note
from tidings.cluster.older import SideBySide
from tidings.cluster.opened import Opened, OpenShare
from tidings.cluster.past import PastJob
from tidings.cluster.post_files import PostFiling, TaskPosts
from tidings.cluster.releases import Release
from tidings.cluster.router import Router
from tidings.cluster.seen import Sampler
from tidings.partitioning import MatcherSets
from tidings.shedding.threshold import GRADES
from tidings.tables.checked import Publications
from tidings.tables.matches import Counters, Deliveries, Matches
from tidings.tables.sifting import Sifter

_TEXT = pa.string()
ROUTED = pa.schema([("matcher", pa.int32()), ("posts", pa.binary()), ("note", _TEXT)])
"""What :class:`Route` sends to each matcher."""

_ROUTE, _KEPT, _GRADE = "\0route", "\0kept", "\0grade"
"""Columns of the matchers of a post, of those that it would be sent to if it were not spared, and of its grade."""

_opened = Opened()


class Task(NamedTuple):
    """Where a step runs: the number of its task, and the folder of the files that were shipped to its machine."""

    number: int = 0
    shipped: Path | None = None


_ALONE = Task()


class _Work:
    """Counts what a task does, and the time in which it does it."""

    def __init__(self, stage: Literal["route", "match", "past"], task: Task) -> None:
        self._stage = stage
        self.matcher = task.number
        self._seconds = 0.0
        self.posts = self.rejected = self.matches = self.sampled = 0
        self.counters, self.found = Counters(), 0
        self._copies, self._matches = (np.zeros(GRADES, dtype=np.int64) for _ in range(2))

    def count(self, posts: pa.Table) -> None:
        """Copies, of which the grades are told where they compete."""
        if _GRADE in posts.column_names:
            self._copies += np.bincount(posts[_GRADE].to_numpy(), minlength=GRADES)

    def count_matches(self, posts: pa.Table, rows: IdArray) -> None:
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
        ms, compared = round(1000 * self._seconds, 3), self.counters.compared
        return note(Tally(self._stage, self.matcher, *counts, ms, self.sampled, graded, compared, self.found))


class StepMatches(NamedTuple):
    """Matches without names, and whose work they are: to name them is a part of it, and timed as such."""

    matches: Matches
    work: _Work


@dataclass(frozen=True, slots=True)
class MatchAll:
    """Matches publications with a whole index. ``now``: the instant of those that have none; None is the clock's.

    Those that a ``cut`` leaves out are not matched. With a ``filing`` all of them are filed.
    """

    release: Release
    now: int | None = None
    cut: Cut | None = None
    filing: PostFiling | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task = _ALONE) -> Iterator[StepMatches | list[str]]:
        work, sifter, undone = _Work("match", task), Sifter(), Undone()
        share, files = _opened.share(self.release, 0, task.shipped), TaskPosts(self.filing, task.number)
        for batch in batches:
            with work.timed():
                table, codes = _told(batch)
                good, rejected = sifter.sift(table)
                if self.filing is not None:
                    files.add(good.table)
                    good = _asked(good, self.release)
                if self.cut is not None:
                    chosen = _chosen(good, self.cut, codes)
                    cutting = cut_posts(chosen, share.index, self.cut)
                    undone.add(cutting, chosen.others)
                    kept = _marked(chosen.posts, cutting).take(pa.array(cutting.routes.with_matcher(0)))
                    if cutting.grades is not None:
                        kept = kept.append_column(_GRADE, pa.array(cutting.grades[cutting.routes.with_matcher(0), 0]))
                    work.count(kept)
                    good = Publications.trusted(kept)
            work.posts += batch.num_rows
            work.rejected += len(rejected)
            if rejected:
                yield [note(row) for row in rejected]
            yield from _matches(good, share, self.now, work)
        share.check()
        yield [work.note(), *map(note, files.close()), *([note(undone.shed(work.matcher))] if self.cut else [])]
        _settle()


@dataclass(frozen=True, slots=True)
class Route:
    """Sends publications to the matchers that may have a match for them: one row for each batch and matcher.

    Up to ``kept`` of them are told in a note, to learn from. With a ``cut`` they are sent to fewer matchers. With a
    ``filing`` all of them are filed.

    Run again, it gives the same rows, and so no time that it took: where a task is run again after its executor died,
    Spark compares what it sends, and fails the job if that has changed.
    """

    release: Release
    kept: int = 0
    cut: Cut | None = None
    filing: PostFiling | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task = _ALONE) -> Iterator[pa.RecordBatch]:
        work, sifter, sampler, undone = _Work("route", task), Sifter(), Sampler(self.kept), Undone()
        files = TaskPosts(self.filing, task.number)
        opened = _opened.router(self.release, task.shipped) if self.release.sends else None
        router = None if opened is None else opened.router
        for batch in batches:
            table, codes = _told(batch)
            good, rejected = sifter.sift(table)
            if self.filing is not None:
                files.add(good.table)
                good = _asked(good, self.release)
            packed = [] if router is None else _packed(good, router, self.cut, codes, undone)
            sampler.add(good.table)
            work.posts += batch.num_rows
            work.rejected += len(rejected)
            yield from (_sent(0, told=note(row)) for row in rejected)
            yield from (_sent(matcher, posts) for matcher, posts in packed)
        yield from (_sent(0, told=note(file)) for file in files.close())
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

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task = _ALONE) -> Iterator[StepMatches | list[str]]:
        work, shares = _Work("match", task), dict[int, OpenShare]()
        for batch in batches:
            for matcher, posts, told in zip(*batch.columns, strict=True):
                if not posts.is_valid:
                    yield [told.as_py()]
                    continue
                with work.timed():
                    table = pa.ipc.open_stream(posts.as_buffer()).read_all()
                    share = shares[matcher.as_py()] = _opened.share(self.release, matcher.as_py(), task.shipped)
                work.posts += table.num_rows
                work.count(table)
                yield from _matches(Publications.trusted(table), share, self.now, work, matcher.as_py())
        for share in shares.values():
            share.check()
        yield [work.note()]
        _settle()


@dataclass(frozen=True, slots=True)
class MatchPast:
    """Matches the kept posts of those pieces whose numbers come in with the new subscriptions of a batch."""

    job: PastJob

    def __call__(self, numbers: Iterator[pa.RecordBatch], task: Task = _ALONE) -> Iterator[StepMatches | list[str]]:
        work, release = _Work("past", task), self.job.release
        share = _opened.share(release, 0, task.shipped)
        for number in (number for batch in numbers for number in batch.column(0).to_pylist()):
            for now, posts in self.job.span.read(self.job.pieces[number], release.asks):
                work.posts += posts.num_rows
                yield from _matches(Publications.trusted(posts), share, now, work)
        share.check()
        yield [work.note()]
        _settle()


@cache
def _settle() -> None:
    """Let the collector forget all that is loaded now, once in the life of a process.

    Spark collects garbage after each task, and to look at all objects of the libraries takes 45 ms and more.
    """
    gc.collect()
    gc.freeze()


def _asked(posts: Publications, release: Release) -> Publications:
    """Publications with the columns that somebody asks about."""
    names = [name for name in posts.table.column_names if release.asks(name)]
    return Publications(posts.table.select(names), posts.rows)


def _told(batch: pa.RecordBatch) -> tuple[pa.Table, CodeArray | None]:
    """The rows that are to be publications, and their coins, if these were thrown before."""
    table = pa.Table.from_batches([batch])
    if CHOSEN not in table.column_names:
        return table, None
    return table.drop_columns(CHOSEN), table[CHOSEN].to_numpy().astype(np.uint8)


def _chosen(good: Publications, cut: Cut, codes: CodeArray | None) -> Chosen:
    return Chosen.of(good.table, cut, None if codes is None else codes[good.rows])


def _marked(posts: pa.Table, cutting: Cutting) -> pa.Table:
    """Posts with the matchers that they would be sent to if none were spared."""
    return posts.append_column(_KEPT, cutting.kept.column())


def _packed(
    good: Publications, router: Router | SideBySide, cut: Cut | None, codes: CodeArray | None, undone: Undone
) -> list[tuple[int, pa.Buffer]]:
    """The rows for each matcher, with all their destinations, as one value."""
    posts, grades = good.table, None
    if cut is None:
        routes = router.route(good)
    else:
        chosen = _chosen(good, cut, codes)
        cutting = cut_routes(chosen, router, cut)
        undone.add(cutting, chosen.others)
        routes, grades, posts = cutting.routes, cutting.grades, _marked(chosen.posts, cutting)
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
    posts: Publications, share: OpenShare, now: int | None, work: _Work, matcher: int = 0
) -> Iterator[StepMatches]:
    """The matches of some posts that this matcher delivers."""
    snapshot = share.index.snapshot
    for batch in posts.batches(snapshot.state.batch_rows):
        with work.timed():
            found = snapshot.match(batch, now)
            matches = Matches(_delivered(part, share, matcher, work) for part in found.parts)
        work.counters += found.counters
        work.matches += len(matches)
        if len(matches):
            yield StepMatches(matches, work)


def _delivered(found: Deliveries, share: OpenShare, matcher: int, work: _Work) -> Deliveries:
    """Those that no other matcher delivers; what is counted of matches is counted here."""
    posts = cast("Publications", found.publications).table
    work.found += len(found.rows)
    if share.homes is not None:
        routes = MatcherSets.from_column(posts[_ROUTE], share.release.matchers)
        ids = found.compact("subscription_id")
        found = found.taken(np.flatnonzero(once(found.rows.astype(np.int64), ids, matcher, routes, share.homes)))
    if _KEPT in posts.column_names:
        routes = MatcherSets.from_column(posts[_KEPT], share.release.matchers)
        ids = found.compact("subscription_id")
        is_found = found_along(found.rows.astype(np.int64), ids, matcher, routes, share.homes)
        work.sampled += int(np.count_nonzero(~is_found))
    work.count_matches(posts, found.rows)
    return found


def _sent(matcher: int, posts: pa.Buffer | None = None, told: str | None = None) -> pa.RecordBatch:
    if posts is None:
        packed = pa.nulls(1, pa.binary())
    else:
        bounds = pa.py_buffer(np.array([0, posts.size], dtype=np.int32))
        packed = pa.Array.from_buffers(pa.binary(), 1, [None, bounds, posts])
    return pa.RecordBatch.from_arrays([pa.array([matcher], pa.int32()), packed, pa.array([told], _TEXT)], schema=ROUTED)
