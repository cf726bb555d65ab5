"""How do matches become rows of Spark? As text, at the last moment: Spark takes no dictionaries from Python."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from tidings.cluster.notes import Notes
from tidings.spark.workers import NOTE, Found, MatchAll, MatchShare
from tidings.tables.checked import TEXT
from tidings.tables.matches import WITH_INSTANT, Deliveries
from tidings.tables.sifting import TOLD

COLUMNS = tuple(WITH_INSTANT.names)
_KINDS = dict(zip(COLUMNS, ("string", "string", "string", "string", "bigint", "timestamp"), strict=True))


def matches_of(columns: Sequence[str]) -> str:
    """These columns of a match, as Spark has them.

    >>> matches_of(["publication_id", "ts"])
    'publication_id string, ts timestamp'
    """
    return ", ".join(f"{name} {_KINDS[name]}" for name in columns)


MATCHED = f"{matches_of(COLUMNS)}, note string"
"""The columns that come out: those of a match, and a note in rows that are none."""

_TEXT = pa.string()
MATCH = pa.schema([field.with_type(_TEXT) if field.type == TEXT else field for field in WITH_INSTANT])
"""The columns of a match, as Spark's workers have them."""

_MATCHED = pa.schema([*MATCH, *NOTE])

_MOST_ROWS = 1 << 14
"""Matches that go to Spark at once: few enough to be still in the processor's cache when they are written."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WithNotes:
    """Does the work of a matcher: rows are matches, or notes."""

    work: MatchAll | MatchShare

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for found in self.work(batches):
            if isinstance(found, Found):
                for columns in _texts(found, COLUMNS):
                    nothing = pa.nulls(len(columns[0]), _TEXT)
                    yield pa.RecordBatch.from_arrays([*columns, nothing], schema=_MATCHED)
            else:
                nothing = [pa.nulls(len(found), kind) for kind in MATCH.types]
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
        schema = pa.schema([MATCH.field(name) for name in self.columns])
        for found in self.work(batches):
            if isinstance(found, Found):
                for columns in _texts(found, self.columns):
                    yield pa.RecordBatch.from_arrays(columns, schema=schema)
                continue
            bad = Notes.read(found).rejected
            rejected += len(bad)
            reasons += [row.reason for row in bad[: TOLD - len(reasons)]]
        if rejected:
            more = f"; and {rejected - TOLD:,} more" if rejected > TOLD else ""
            _log.warning("rejected %s publications, which have no matches: %s%s", rejected, "; ".join(reasons), more)


def _texts(found: Found, names: tuple[str, ...]) -> Iterator[list[pa.Array]]:
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
