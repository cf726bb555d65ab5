"""How is a pipeline doing? Spark's own progress and the counters of its matchers, batch by batch.

A ``StreamingQueryListener`` hears of each batch when it is over; the journal has what its matchers did. Both together
are a :class:`Progress`, for a terminal, a file or a monitoring system.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from threading import Event
from typing import Any

from pyspark.sql.streaming import StreamingQueryListener
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    SourceProgress,
    StreamingQueryProgress,
)

from tidings.cluster.backlog import amount
from tidings.cluster.journal import Journal, Report

_PATIENCE_S = 10
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Progress:
    """A batch that is over. ``lag``: what waits at the source, in its own unit; None if it does not say.

    ``at`` is when it began, and ``phases`` are the milliseconds of its phases by Spark's names for them.
    """

    report: Report
    rows_per_s: float
    lag: float | None
    at: str
    phases: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, report: Report, told: StreamingQueryProgress) -> Progress:
        """What Spark has told of the same batch."""
        return cls(report, told.processedRowsPerSecond, _lag(told.sources), told.timestamp, dict(told.durationMs))

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


class ProgressListener(StreamingQueryListener):  # type: ignore[misc]  # pyspark is not type-checked
    """Calls ``export`` with the :class:`Progress` of each batch of the streaming query ``name``, whose journal this is.

    What ``export`` raises is logged and does not stop the pipeline.
    """

    def __init__(self, name: str, journal: Journal, export: Callable[[Progress], None]) -> None:
        self._name = name
        self._journal = journal
        self._export = export
        self._run: str | None = None
        self._is_late = False
        self._ended = Event()

    def wait_for_the_end(self) -> None:
        """Wait until all batches of a query that has ended were heard of."""
        self._ended.wait(_PATIENCE_S)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802  # Spark's names
        if event.name == self._name:
            self._run = str(event.runId)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        if str(event.runId) == self._run:
            self._ended.set()

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        found = event.progress
        if found.name != self._name:
            return
        try:
            if found.numInputRows:  # else a trigger that had nothing to do
                self._hear(found)
        except Exception:  # whatever an exporter does
            _log.exception("the progress of batch %d was not exported", found.batchId)

    def _hear(self, found: StreamingQueryProgress) -> None:
        report = self._journal.report(found.batchId)
        if report is not None:
            self._is_late = False
            self._export(Progress.of(report, found))
        elif not self._is_late:
            self._is_late = True
            _log.warning(
                "Spark tells of batch %d so late that the journal has forgotten it: no progress is shown until it "
                "keeps up, while the pipeline goes on; give it more cores or longer triggers",
                found.batchId,
            )


def _lag(sources: list[SourceProgress]) -> float | None:
    told = [distance(source.endOffset, source.latestOffset) for source in sources]
    known = [gap for gap in told if gap is not None]
    return sum(known) if known else None


def distance(here: str | None, there: str | None) -> float | None:
    """How far one offset of a source is behind another, both as JSON: the numbers in them that differ, summed up.

    >>> distance('{"posts": {"0": 40, "1": 7}}', '{"posts": {"0": 45, "1": 8, "2": 3}}')
    9.0
    >>> distance('{"posts": {"0": 40}}', "null") is None
    True
    """
    ends = amount(here), amount(there)
    return None if ends[0] is None or ends[1] is None else max(0.0, ends[1] - ends[0])
