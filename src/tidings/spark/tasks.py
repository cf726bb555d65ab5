"""What do Spark's Python workers do with a step of a batch? They run it, and its matches become rows or files.

As rows, names become text at the last moment: Spark takes no dictionaries from Python. As files (:class:`Filed`) they
do not pass through Spark: each task writes its own file and tells its name in a note. That saves the rows' way back to
the JVM and, in small batches, Hadoop's way to commit files, which starts a program for each of them to set its
permissions. Only files that are named by tasks that succeeded are taken, so a task that is run again or twice does no
harm.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
from pyspark import SparkFiles, TaskContext

from tidings.cluster.notes import Notes, note
from tidings.cluster.steps import MatchAll, MatchPast, MatchShare, Route, StepMatches, Task
from tidings.tables.match_files import MatchFile
from tidings.tables.matches import IN_FILES, Deliveries
from tidings.tables.sifting import TOLD

COLUMNS = tuple(IN_FILES.names)
_KINDS = dict(zip(COLUMNS, ("string", "string", "string", "string", "bigint", "timestamp"), strict=True))


def matches_of(columns: Sequence[str]) -> str:
    """These columns of a match, as Spark has them.

    >>> matches_of(["publication_id", "ts"])
    'publication_id string, ts timestamp'
    """
    return ", ".join(f"{name} {_KINDS[name]}" for name in columns)


ROUTED = "matcher int, posts binary, note string"
NOTED = "note string"
MATCHED = f"{matches_of(COLUMNS)}, note string"
"""The columns that come out: those of a match, and a note in rows that are none."""

_TEXT = pa.string()
_NOTE = pa.schema([("note", _TEXT)])
_MATCHED = pa.schema([*IN_FILES, *_NOTE])

_MOST_ROWS = 1 << 14
"""Matches that go to Spark at once: few enough to be still in the processor's cache when they are written."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sending:
    """Sends publications to matchers."""

    work: Route

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.work(batches, _task())


@dataclass(frozen=True, slots=True)
class WithNotes:
    """Does the work of a matcher: rows are matches, or notes."""

    work: MatchAll | MatchShare | MatchPast

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for found in self.work(batches, _task()):
            if isinstance(found, StepMatches):
                for columns in _texts(found, COLUMNS):
                    nothing = pa.nulls(len(columns[0]), _TEXT)
                    yield pa.RecordBatch.from_arrays([*columns, nothing], schema=_MATCHED)
            else:
                nothing = [pa.nulls(len(found), kind) for kind in IN_FILES.types]
                yield pa.RecordBatch.from_arrays([*nothing, pa.array(found, _TEXT)], schema=_MATCHED)


@dataclass(frozen=True, slots=True)
class OnlyMatches:
    """Does the work of a matcher and tells no notes: a column less, and nothing that Spark would have to filter.

    What was rejected is counted in the log of the worker, once for each task. ``columns``: those of a match that are
    made.
    """

    work: MatchAll | MatchShare
    columns: tuple[str, ...] = COLUMNS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rejected, reasons = 0, list[str]()
        schema = pa.schema([IN_FILES.field(name) for name in self.columns])
        for found in self.work(batches, _task()):
            if isinstance(found, StepMatches):
                for columns in _texts(found, self.columns):
                    yield pa.RecordBatch.from_arrays(columns, schema=schema)
                continue
            bad = Notes.read(found).rejected
            rejected += len(bad)
            reasons += [row.reason for row in bad[: TOLD - len(reasons)]]
        if rejected:
            more = f"; and {rejected - TOLD:,} more" if rejected > TOLD else ""
            _log.warning("rejected %s publications, which have no matches: %s%s", rejected, "; ".join(reasons), more)


@dataclass(frozen=True, slots=True)
class Filed:
    """Does the work of a matcher. Its matches go to a file in ``folder``, its notes to Spark.

    ``columns``: those of a match that are written.
    """

    work: MatchAll | MatchShare | MatchPast
    folder: Path
    columns: tuple[str, ...] = COLUMNS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        name = f"{uuid4().hex}.parquet"
        file = None
        with ExitStack() as opened:
            for found in self.work(batches, _task()):
                if isinstance(found, StepMatches):
                    file = file or opened.enter_context(MatchFile(self.folder / name, self.columns))
                    with found.work.timed():
                        file.write(found.matches)
                else:
                    yield _noted(found)
        if file is not None:
            yield _noted([note(name)])


def empty(folder: Path, columns: tuple[str, ...] = COLUMNS) -> Path:
    """A file without matches, for a batch that has none: its readers see the columns."""
    file = folder / "empty.parquet"
    with MatchFile(file, columns):
        return file


def _noted(notes: list[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(notes, _TEXT)], schema=_NOTE)


def _task() -> Task:
    """The task that runs here; one that runs outside of Spark is alone."""
    context = TaskContext.get()
    return Task() if context is None else Task(context.partitionId(), Path(SparkFiles.getRootDirectory()))


def _texts(found: StepMatches, names: tuple[str, ...]) -> Iterator[list[pa.Array]]:
    """The columns of these names, some matches at a time."""
    for part in found.matches.parts:
        for first in range(0, len(part), _MOST_ROWS):
            with found.work.timed():
                written = _written(part.taken(slice(first, first + _MOST_ROWS)), names)
            yield from written


def _written(part: Deliveries, names: tuple[str, ...]) -> list[list[pa.Array]]:
    """Some matches as text: in one piece, unless their texts are too long for it."""
    try:
        return [[part.text(name, _TEXT) for name in names]]
    except pa.ArrowInvalid:
        if len(part) == 1:
            raise
        halves = slice(None, len(part) // 2), slice(len(part) // 2, None)
        return [columns for half in halves for columns in _written(part.taken(half), names)]
