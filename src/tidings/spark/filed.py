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

from tidings.cluster.notes import note
from tidings.spark.workers import NOTE, Found, MatchAll, MatchShare
from tidings.tables.match_files import MatchFile
from tidings.tables.matches import WITH_INSTANT


@dataclass(frozen=True, slots=True)
class Filed:
    """Does the work of a matcher. Its matches go to a file in ``folder``, its notes to Spark.

    ``columns``: those of a match that are written.
    """

    work: MatchAll | MatchShare
    folder: Path
    columns: tuple[str, ...] = tuple(WITH_INSTANT.names)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        name = f"{uuid4().hex}.parquet"
        file = None
        with ExitStack() as opened:
            for found in self.work(batches):
                if isinstance(found, Found):
                    file = file or opened.enter_context(MatchFile(self.folder / name, self.columns))
                    with found.work.timed():
                        file.write(found.matches)
                else:
                    yield _noted(found)
        if file is not None:
            yield _noted([note(name)])


def _noted(notes: list[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(notes, NOTE.field(0).type)], schema=NOTE)


def empty(folder: Path, columns: tuple[str, ...] = tuple(WITH_INSTANT.names)) -> Path:
    """A file without matches, for a batch that has none: its readers see the columns."""
    file = folder / "empty.parquet"
    with MatchFile(file, columns):
        return file
