"""How do matches become files without a way through Spark? Each task writes its own, and tells its name in a note.

That saves the rows' way back to the JVM and, in small batches, Hadoop's way to commit files, which starts a program for
each of them to set its permissions.
Only files that are named by tasks that succeeded are taken, so a task that is run again or twice does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from tidings.cluster.notes import note
from tidings.spark.workers import MATCH, NOTE, MatchAll, MatchShare


@dataclass(frozen=True, slots=True)
class Filed:
    """Does the work of a matcher. Its matches go to a file in ``folder``, its notes to Spark."""

    work: MatchAll | MatchShare
    folder: Path

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        name = f"{uuid4().hex}.parquet"
        file = None
        with ExitStack() as opened:
            for batch in self.work(batches):
                notes = batch.column("note")
                if notes.null_count < len(notes):
                    yield pa.RecordBatch.from_arrays([notes], schema=NOTE)
                else:
                    file = file or opened.enter_context(_writer(self.folder / name))
                    file.write_batch(batch.select(MATCH.names))
        if file is not None:
            yield pa.RecordBatch.from_arrays([pa.array([note(name)], NOTE.field(0).type)], schema=NOTE)


def empty(folder: Path) -> Path:
    """A file without matches, for a batch that has none: its readers see the columns."""
    file = folder / "empty.parquet"
    with _writer(file):
        return file


def _writer(file: Path) -> pq.ParquetWriter:
    return pq.ParquetWriter(file, MATCH, store_schema=False)
