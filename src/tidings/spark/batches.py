"""What is done with one batch of a stream? Pin it, match it, hand its matches to the sink, write down how it went.

Whatever happens in between, the batch can be run again: its pin is there before anything else, the sink knows whether
it has the batch, and so do the files of bad rows; the report is replaced as a whole.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, Observation

from tidings.model.values import utc_now
from tidings.registry import Registry
from tidings.spark.columns import Columns
from tidings.spark.journal import Journal, Load, Pin, Report
from tidings.spark.matching import matched, matches, observed
from tidings.spark.notes import Notes
from tidings.spark.releases import Plan, Releases
from tidings.spark.sinks import Batch, ParquetSink, Sink

KEPT_BATCHES = 100
"""The journal remembers as many batches as Spark's own checkpoint does."""


@dataclass(frozen=True, slots=True)
class Home:
    """What a pipeline keeps in its folder: Spark's checkpoint, the journal, compiled releases and bad rows."""

    path: Path

    @property
    def checkpoint(self) -> Path:
        return self.path / "spark"

    @property
    def journal(self) -> Journal:
        return Journal(self.path / "journal")

    @property
    def releases(self) -> Path:
        return self.path / "releases"

    @property
    def rejected(self) -> Path:
        return self.path / "rejected"


@dataclass(slots=True)
class Handler:
    """The function for ``foreachBatch``. All it remembers is in files: over Spark Connect a copy of it works elsewhere.

    ``spread``: equal ids are brought together first, so that each counts once in a batch.
    """

    home: Home
    pipeline: str
    registry: Registry
    sink: Sink
    columns: Columns
    plan: Plan
    sample: pa.Table | None
    spread: bool
    _releases: Releases | None = field(default=None, init=False)

    def __call__(self, publications: DataFrame, number: int) -> None:
        began = time.perf_counter()
        releases = self._opened()
        pin = self.home.journal.pinned(number, lambda: self._proposed(number))
        release = releases.release(self.registry, pin.version)
        if self.spread:
            publications = publications.repartition(publications[f"`{self.columns.id.replace('`', '``')}`"])
        batch = Batch(self.pipeline, number)
        found = matched(publications, release, self.columns, pin.at)
        notes = self._write(found, batch)
        self._keep(notes, batch)
        self.home.journal.close(_report(pin, notes, (time.perf_counter() - began) * 1e3))
        releases.forget_before(pin.version)  # Spark runs no earlier batch again
        self.home.journal.forget_before(number - KEPT_BATCHES)

    def _opened(self) -> Releases:
        if self._releases is None:
            self._releases = Releases(self.home.releases, self.registry.analyser, self.sample, self.plan)
        return self._releases

    def _proposed(self, number: int) -> Pin:
        release = self._opened().release(self.registry, self.registry.version)
        return Pin(number, release.version, release.layout, release.matchers, utc_now())

    def _write(self, found: DataFrame, batch: Batch) -> Notes:
        """Give the matches to the sink, and return what came with them: in one pass over the publications."""
        observation = Observation()
        has, kept = self.sink.has(batch), None
        if not has and not self.sink.once:
            found = kept = found.persist()
        try:
            seen = observed(found, observation)
            if has or kept is not None:
                seen.write.format("noop").mode("overwrite").save()
            if not has:
                self.sink.write(matches(found if kept is not None else seen), batch)
        finally:
            if kept is not None:
                kept.unpersist()
        return Notes.read(observation.get["notes"])

    def _keep(self, notes: Notes, batch: Batch) -> None:
        """The bad rows of a batch as a file."""
        if notes.rejected:
            columns = zip(*((row.id, row.reason, row.source) for row in notes.rejected), strict=True)
            ParquetSink(self.home.rejected).put(pa.table(list(columns), ["id", "reason", "source"]), batch)


def _report(pin: Pin, notes: Notes, ms: float) -> Report:
    loads: dict[int, Load] = {}
    for tally in notes.tallies:
        if tally.stage == "match":
            other = loads.get(tally.matcher, Load(tally.matcher, 0, 0, 0, 0.0))
            loads[tally.matcher] = Load(
                tally.matcher,
                other.posts + tally.posts,
                other.candidates + tally.candidates,
                other.matches + tally.matches,
                round(other.ms + tally.ms, 3),
            )
    by_matcher = tuple(loads[matcher] for matcher in sorted(loads))
    return Report(pin.batch, pin.version, notes.posts, len(notes.rejected), notes.matches, round(ms, 1), by_matcher)
