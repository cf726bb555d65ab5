"""How do the matches of a table of posts become a table of matches? Workers write it, without a way through the JVM."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame

from tidings.cluster.notes import Notes
from tidings.cluster.releases import Plan
from tidings.cluster.sinks import Batch, FileSink, check_path
from tidings.model import DataError, Rejected
from tidings.spark.columns import MATCH_COLUMNS, Columns
from tidings.spark.matching import Subscriptions, collected, prepared
from tidings.spark.parquet import ParquetFiles
from tidings.spark.sinks import check_sink
from tidings.spark.tasks import NOTED, Filed, empty


@dataclass(frozen=True, slots=True)
class Written:
    """How many posts there were, how many matches were written, and the rows that were no posts."""

    posts: int
    matches: int
    rejected: tuple[Rejected, ...]


def write_matches(
    publications: DataFrame | ParquetFiles,
    subscriptions: Subscriptions,
    sink: FileSink | str | Path,
    *,
    plan: Plan | None = None,
    columns: Columns | None = None,
    folder: str | Path | None = None,
    sample: pa.Table | None = None,
) -> Written:
    """Write all matches of a table of posts; several times as fast as to write what :func:`match` gives.

    ``sink``: a new folder, for files of Parquet; or a :class:`DeltaSink`, whose table gets them in one commit; or a
    :class:`ParquetSink`. All machines share it. Readers see all matches or none, also if Spark runs a task twice.

    The rest is as in :func:`match`; a ``plan`` has its layout and matchers. ::

        from tidings.spark import DeltaSink, ParquetFiles, write_matches

        write_matches(ParquetFiles(spark, "posts"), "registry", "matches")  # spark.read.parquet("matches")
        write_matches(spark.table("posts"), "registry", DeltaSink("matches-delta"))
    """
    if getattr(publications, "isStreaming", False):
        raise DataError("write_matches takes a table of posts; for a stream there is Pipeline")
    columns = columns or Columns()
    target = _Folder.named(sink) if isinstance(sink, str | Path) else sink
    if not isinstance(target, FileSink):
        raise DataError(f"matches go to a folder, a DeltaSink or a ParquetSink, got a {type(sink).__name__}")
    if columns.output == MATCH_COLUMNS:
        check_sink(target)
    posts, work = prepared(publications, subscriptions, plan or Plan(), columns, folder, sample)
    batch = Batch(f"table-{uuid4().hex}", 0)
    notes = filed(
        lambda aside: posts.mapInArrow(Filed(work, aside, columns.output), NOTED), target, batch, columns.output
    )
    return Written(notes.posts, notes.matches, notes.rejected)


def filed(
    find: Callable[[Path], DataFrame], sink: FileSink, batch: Batch, output: tuple[str, ...] = MATCH_COLUMNS
) -> Notes:
    """Let the workers write the matches to files in a folder, and the sink take those of tasks that succeeded."""
    folder = sink.aside(batch)
    try:
        notes = collected(find(folder))
        files = [folder / name for name in notes.files] or [empty(folder, output)]
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # the disk may be full
        raise
    sink.take(files, batch)
    return notes


@dataclass(frozen=True, slots=True)
class _Folder:
    """A new folder of Parquet files, which is there when all is done."""

    path: Path

    @classmethod
    def named(cls, path: str | Path) -> _Folder:
        """A folder that is there is refused."""
        check_path("the folder of matches", path)
        if Path(path).exists():
            raise DataError(f"{str(path)!r} is there already; name a new folder for the matches")
        return cls(Path(path).absolute())

    def has(self, batch: Batch) -> bool:  # noqa: ARG002
        return self.path.exists()

    def aside(self, batch: Batch) -> Path:
        folder = self.path.with_name(f"{self.path.name}.{batch.pipeline}")
        folder.mkdir(parents=True)
        return folder

    def take(self, files: Sequence[Path], batch: Batch) -> None:  # noqa: ARG002
        folder, taken = files[0].parent, {file.name for file in files}
        for left in folder.iterdir():  # of tasks that failed
            if left.name not in taken:
                left.unlink()
        folder.rename(self.path)
