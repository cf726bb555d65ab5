"""How does a stream of publications meet subscriptions that come and go, for months, through crashes? A pipeline.

Each micro-batch is pinned to the newest version of the registry before it runs; a crash makes Spark run it again, with
the same publications, and its pin makes that the same subscriptions. The sinks know what they have already
(:mod:`tidings.spark.sinks`), so each match arrives once, or at least once where a sink can promise no more.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import IO, Literal

import pyarrow as pa
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from tidings.arrays.locks import owned
from tidings.cluster.belonging import claimed, tie
from tidings.cluster.following import Balance, Scope
from tidings.cluster.journal import Journal
from tidings.cluster.learning import Learn
from tidings.cluster.overload import Governor, Overload
from tidings.cluster.past import checked_keep
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.releases import Plan
from tidings.cluster.sinks import check_path
from tidings.model import DataError
from tidings.partitioning import Move
from tidings.placement import PlacementPolicy, PlacerName
from tidings.registry import Registry
from tidings.spark.batches import Handler
from tidings.spark.columns import MATCH_COLUMNS, Columns
from tidings.spark.interpreter import check_workers
from tidings.spark.kafka import KafkaPosts
from tidings.spark.progress import Progress, ProgressListener
from tidings.spark.sinks import CallableSink, Sink, check_sink, spark_path
from tidings.spark.watching import Watch

_FILES = "spark.sql.streaming.checkpointFileManagerClass"
_BY_RENAME = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_STATE = re.compile(r"( SQLSTATE: \w+)+")
_LOOK_EVERY_S = 0.01
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Publications of a streaming DataFrame, matched with the subscriptions of a registry; the matches go to ``sink``.

    A registry that is not there yet is made, with a warning: a pipeline may be started before anybody subscribes.
    ``sink`` is one of :mod:`tidings.spark.sinks`, or a callable that is given the matches of a batch, as a DataFrame,
    and the batch's number. ``checkpoint`` is a folder that driver and executors see: whoever starts a pipeline with it
    again goes on where the last one stopped. Rows that are no publications are kept there, in ``rejected``, with the
    reason.

    ``plan`` lays out the index, ``sample`` is a table of publications like those to come. A batch has each id once: of
    rows with the same one all but one are rejected. That takes a shuffle (``spark.sql.shuffle.partitions``); with
    ``distinct_ids=False`` only repetitions within a partition of the source are found. What has the id of a publication
    of an *earlier* batch is a publication of its own; Spark's ``dropDuplicatesWithinWatermark`` is for that.

    A subscription counts at the instant ``ts`` of a publication; where there is none, at the time its batch was pinned.

    Where the index is divided between matchers, that begins with a hash of the terms. ``learn`` says when a better
    mapping is learned from posts that were seen, or by ``tidings learn``. All subscriptions are placed anew beside the
    batches, and the first batch that begins after that takes it; where they are few, the next batch places them itself.
    Where ``plan`` has another number of matchers than before, the first batch places them.

    ``placement`` says where a subscription lives that several matchers could have: ``"rarest"``, ``"random"``,
    ``"lasp"``, or a :class:`tidings.placement.PlacementPolicy`. Another one than before places all of them anew.

    ``overload``: where more comes than can be matched, ``"block"`` lets posts wait and loses nothing; ``"shed"``, or an
    :class:`tidings.cluster.overload.Overload`, leaves some work undone, and reports it.

    ``balance``: with ``"local"``, ``"padres"``, or a :class:`tidings.cluster.following.Balance`, parcels move from busy
    matchers to others while the pipeline runs; with ``"global"`` all is divided anew as well where that is clearly
    better. None moves nothing.

    ``keep``: posts are kept for so long, in the checkpoint, and a new subscription whose ``since`` lies in the past
    gets its matches among them with the first batch that sees it. All attributes are then read and checked, since
    somebody may ask about them later. None keeps nothing.
    """

    publications: DataFrame | KafkaPosts
    registry: Registry | str | Path
    sink: Sink | Callable[[DataFrame, int], object]
    checkpoint: str | Path
    columns: Columns = field(default_factory=Columns)
    plan: Plan = field(default_factory=Plan)
    sample: pa.Table | None = None
    distinct_ids: bool = True
    learn: Learn = field(default_factory=Learn)
    overload: Overload | Literal["block", "shed"] = "block"
    placement: PlacementPolicy | PlacerName = "rarest"
    balance: Balance | Scope | None = None
    keep: timedelta | None = None

    def start(
        self,
        *,
        every_s: float = 0,
        available_now: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> Running:
        """Run in the background: a batch every so many seconds, 0 for as soon as there is something to do.

        ``available_now`` takes what there is, in as many batches as the source says, and ends; nothing is shed then.
        ``progress`` is called after each batch, in a thread of its own; that has its price, some 100 ms of a core a
        batch in PySpark itself.
        """
        posts = self.publications
        if not isinstance(posts, DataFrame | KafkaPosts):
            raise DataError(f"publications are a streaming DataFrame or KafkaPosts, got a {type(posts).__name__}")
        stream = posts if isinstance(posts, DataFrame) else posts.records
        check_path("a checkpoint", self.checkpoint)
        if not stream.isStreaming:
            raise DataError("a pipeline takes a streaming DataFrame; for a table there is tidings.spark.match")
        if every_s < 0:
            raise DataError(f"every_s is 0 or more, got {every_s:g}")
        check_workers(stream.sparkSession)
        overload = Overload.of(self.overload)
        overload = None if available_now else overload
        path = Path(self.checkpoint).absolute()
        with ExitStack() as undone:
            lock = undone.enter_context(_owned(path))
            home = PipelineFolder(path)
            name = claimed(home)
            handler = self._handler(home, name)
            check_sink(handler.sink)
            if overload is not None:
                handler.governor = Governor(home, overload, every_s)
                home.backlog.unlink(missing_ok=True)  # it is of another run
            spark = stream.sparkSession
            listener = None if progress is None else ProgressListener(name, home.journal, progress)
            if listener is not None:
                spark.streams.addListener(listener)
                undone.callback(spark.streams.removeListener, listener)
            trigger = (
                {"availableNow": True} if available_now else {"processingTime": f"{every_s * 1e3:.0f} milliseconds"}
            )
            writer = stream.writeStream.queryName(name).foreachBatch(handler).trigger(**trigger)
            problem = f"the pipeline cannot start with the checkpoint {str(path)!r}"
            with _files_by_rename(spark), told_in_a_line(problem, "mend that, or name a new folder"):
                query = writer.option("checkpointLocation", spark_path(home.checkpoint)).start()
            tie(home, str(query.id))
            watch = None if overload is None else Watch(query, home.backlog)
            if watch is not None:
                watch.start()
            undone.pop_all()
        return Running(query, home, spark, listener, lock, watch)

    def run(self, *, progress: Callable[[Progress], None] | None = None) -> None:
        """Match what there is, and return when it is done."""
        with self.start(available_now=True, progress=progress) as running:
            running.wait()

    def _handler(self, home: PipelineFolder, name: str) -> Handler:
        registry = self.registry if isinstance(self.registry, Registry) else Registry(self.registry)
        if registry.version < 0:
            _log.warning(
                "there is no registry at %r yet: an empty one is made, and nothing matches", str(registry.path)
            )
        Registry.create(registry.path, registry.analyser, registry.clock)
        source = None if isinstance(self.publications, DataFrame) else self.publications
        self.columns.check(self.publications if source is None else source.read(source.records))
        if self.columns.output != MATCH_COLUMNS:
            raise DataError("a pipeline delivers all columns of a match; leave output= out of its Columns")
        sink = CallableSink(self.sink) if callable(self.sink) else self.sink
        if self.keep is not None:
            checked_keep(self.keep)
        placement, balance = PlacementPolicy.of(self.placement), Balance.of(self.balance)
        if balance is not None and not self.learn.keep_posts:
            raise DataError("load is balanced by a sample of posts, and keep_posts=0 keeps none; keep some")
        if balance is not None and balance.scope == "global" and placement.placer != "rarest":
            raise DataError(
                f"a global balance divides places, and then subscriptions are placed by their rarest term, not by "
                f"{placement.placer}; use placement='rarest', or balance='local'"
            )
        handler = Handler(
            home, name, registry, sink, self.columns, self.plan, self.sample, self.distinct_ids, self.learn, placement
        )
        handler.source, handler.balance, handler.keep = source, balance, self.keep
        return handler


@dataclass(frozen=True, slots=True)
class Running:
    """A pipeline at work; leaving its ``with`` block stops it."""

    query: StreamingQuery
    home: PipelineFolder
    _spark: SparkSession
    _listener: ProgressListener | None
    _lock: IO[str]
    _watch: Watch | None = None

    @property
    def journal(self) -> Journal:
        """The pins and reports of its batches."""
        return self.home.journal

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it has ended, or so many seconds; True if it has. Raises what made it fail."""
        try:
            ended = self.query.awaitTermination(timeout_s)
        except StreamingQueryException as error:
            self._close()
            raise _told(error) from error
        if ended or timeout_s is None:
            self._close()
        return ended is not False

    def process_all(self) -> None:
        """Wait until all that the source has now is matched and with the sink."""
        try:
            self.query.processAllAvailable()
        except StreamingQueryException as error:
            raise _told(error) from error

    def move(self, moves: Iterable[Move]) -> str:
        """Give parcels to other matchers; the name of the mapping that a batch will soon have.

        What moves is compiled beside the batches, and the next one that is pinned after that takes it.
        """
        return self.home.move(moves)

    def stop(self, patience_s: float = 60) -> None:
        """Let the batch under way end, and stop.

        One that begins just then, or has not ended after ``patience_s``, is run again at the next start.
        """
        deadline = time.monotonic() + patience_s
        while self.query.isActive and self.journal.running and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY_S)
        self.query.stop()
        self._close()

    def _close(self) -> None:
        if not self._lock.closed:
            if self._watch is not None:
                self._watch.stop()
            if self._listener is not None:
                self._listener.wait_for_the_end()
                self._spark.streams.removeListener(self._listener)
            self._lock.close()

    def __enter__(self) -> Running:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _owned(path: Path) -> IO[str]:
    """The lock of the folder: two drivers would run the same batches."""
    try:
        lock = owned(path)
    except OSError as error:
        raise DataError(f"cannot write to the checkpoint {str(path)!r}: {error}") from None
    if lock is None:
        raise DataError(f"a pipeline is running with the checkpoint {str(path)!r}; stop it, or name another")
    return lock


@contextmanager
def _files_by_rename(spark: SparkSession) -> Iterator[None]:
    """Let the query that is started write its checkpoint in half the time of the default, as local disks allow."""
    before = spark.conf.get(_FILES, None)
    if before is None:
        spark.conf.set(_FILES, _BY_RENAME)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(_FILES)


@contextmanager
def told_in_a_line(what: str, remedy: str) -> Iterator[None]:
    """An error of Spark as one of ours: what it says, without the trace of two languages."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, PySparkException) and not type(error).__module__.startswith("py4j."):
            raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
        raised = [line for line in lines if "Exception: " in line or "Error: " in line]
        reason = _STATE.sub("", (raised or lines)[0]).removeprefix(": ").rstrip(".")
        raise DataError(f"{what}: {reason}; {remedy}") from error


def _told(error: StreamingQueryException) -> DataError:
    """What went wrong, without the trace of two languages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if "Error: " in line or "Exception: " in line]
    reason = _STATE.sub("", (raised or lines)[-1].rpartition("terminated with exception: ")[2])
    reason = reason.removeprefix("Caused by: ")
    return DataError(f"the pipeline failed: {reason}; when that is mended, start it again")
