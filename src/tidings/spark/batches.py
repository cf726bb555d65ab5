"""What is done with one batch of a stream? Pin it, match it, hand its matches to the sink, write down how it went.

Whatever happens in between, the batch can be run again: its pin is there before anything else, the sink knows whether
it has the batch, and so do the files of bad rows; the report is replaced as a whole. If it fails because files of the
index are damaged, they are compiled again and it is run again at once. A pin whose registry or posts are gone
cannot be kept: then the batch is begun anew if nothing of it was delivered, and else refused.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, Observation

from tidings.cluster.belonging import ANEW, offsets
from tidings.cluster.following import Balance, PipelineBalancer
from tidings.cluster.journal import MatcherReport, Pin, Report
from tidings.cluster.learner import BackgroundLearner
from tidings.cluster.learning import Learn, MappingLearner
from tidings.cluster.notes import Notes
from tidings.cluster.overload import Governor
from tidings.cluster.past import PipelinePast, past_report
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.preparing import Preparer
from tidings.cluster.releases import Key, Plan, Release, Releases
from tidings.cluster.seen import PER_BATCH, Seen
from tidings.cluster.sinks import Batch, FileSink, ParquetSink
from tidings.model import DataError
from tidings.model.values import utc_now
from tidings.placement import PlacementPolicy
from tidings.registry import Registry
from tidings.spark.columns import Columns
from tidings.spark.dropping import Remaining
from tidings.spark.kafka import KafkaPosts
from tidings.spark.matching import Conditions, collected, matched, matches, noted, observed
from tidings.spark.sinks import Sink
from tidings.spark.writing import filed

KEPT_BATCHES = 100
"""The journal remembers as many batches as Spark's own checkpoint does."""

ATTEMPTS = 3
"""So often a batch is run whose files are damaged each time."""

_log = logging.getLogger(__name__)

_COMPILES_S = 0.5
"""To bring a release forward takes less, to compile one takes more, unless it is small and so does no harm."""


@dataclass(slots=True)
class Handler:
    """The function for ``foreachBatch``. All it remembers is in files: over Spark Connect a copy of it works elsewhere.

    ``distinct_ids``: equal ids are brought together first, so that each counts once in a batch. Without a ``governor``
    nothing is shed, without ``balance`` nothing is moved, without ``keep`` no posts are kept.
    """

    home: PipelineFolder
    pipeline: str
    registry: Registry
    sink: Sink
    columns: Columns
    plan: Plan
    sample: pa.Table | None
    distinct_ids: bool
    learn: Learn
    placement: PlacementPolicy = field(default_factory=PlacementPolicy)
    governor: Governor | None = None
    source: KafkaPosts | None = None
    balance: Balance | None = None
    keep: timedelta | None = None
    _past: PipelinePast | None = field(default=None, init=False)
    _releases: Releases | None = field(default=None, init=False)
    _preparer: Preparer | None = field(default=None, init=False)
    _learner: BackgroundLearner | None = field(default=None, init=False)
    _balancer: PipelineBalancer | None = field(default=None, init=False)
    _tasks: int = field(default=0, init=False)

    def __call__(self, rows: DataFrame, number: int) -> None:
        began, is_first = time.perf_counter(), self._releases is None
        batch = Batch(self.pipeline, number)
        pin = self._pin(batch) or self.home.journal.put(self._proposed(number, is_first))
        release = self._released(pin)
        excused_s = _excused(began)
        notes, release = self._run(rows, pin, release, batch)
        self._keep(notes, batch)
        report = reported(pin, notes, (time.perf_counter() - began) * 1e3)
        self.home.journal.close(report)
        if self.governor is not None:
            is_usual = not is_first and report.past is None
            self.governor.learn(report, notes, is_usual=is_usual, excused_s=excused_s)
        self._tasks = sum(tally.stage == "route" for tally in notes.tallies)
        if self._preparer is None or not self._preparer.is_busy:
            self._opened().forget_before(*release.key)  # Spark runs no earlier batch again
        self.home.mappings.forget_before(release.mapping)
        self.home.journal.forget_before(number - KEPT_BATCHES)
        self._look(release, number)

    def _opened(self) -> Releases:
        if self._releases is None:
            self._releases = self._made()
        return self._releases

    @property
    def _pasts(self) -> PipelinePast:
        if self._past is None:
            self._past = PipelinePast(self.home.kept, self.home.pasts, self.registry, self.sample, self.keep)
        return self._past

    def _made(self) -> Releases:
        folder, mappings = self.home.releases, self.home.mappings
        return Releases(folder, self.registry.analyser, self.sample, self.plan, mappings, self.placement)

    def _sampled(self, rows: DataFrame) -> int:
        """How many posts of a task are kept to learn from, where there are as many tasks as in the batch before.

        Before the first batch it is not known how many partitions a source has: then as many as a shuffle.
        """
        tasks = self._tasks or int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions", "200"))
        return -(-PER_BATCH // tasks) if self.learn.keep_posts else 0

    def _look(self, release: Release, number: int) -> None:
        """Let what is divided between matchers be divided better, if the rule says so."""
        if release.layout == "partitioned":
            if self._learner is None:
                self._learner = BackgroundLearner(MappingLearner(self.home, self.learn, self.registry, self.sample))
            self._learner.look(number)
            if self.balance is not None:
                self._balancer = self._balancer or PipelineBalancer(self.home, self.balance, self.registry)
                self._balancer.look(number)

    def _pin(self, batch: Batch) -> Pin | None:
        """The pin of a batch that was begun before; None if it has none, or none that can be kept."""
        journal, number, is_filed = self.home.journal, batch.number, isinstance(self.sink, FileSink)
        pin = journal.pin(number)
        if pin is None:
            if number < max(journal.batches, default=-1) or self.sink.has(batch):
                raise DataError(
                    f"batch {number} was done before, and now it comes again: the checkpoint {str(self.home.path)!r} "
                    f"is an older one, or a part of it is gone; put it back as it was last, {ANEW}"
                )
            return None
        if pin.offsets not in ("", offsets(self.home, number)):
            problem, can_begin = "Spark's checkpoint has other posts for it now", is_filed and not self.sink.has(batch)
            remedy = f"put Spark's checkpoint back as it was last, {ANEW}"
        elif not self._has_history(pin):
            problem, can_begin = f"the registry no longer has the version {pin.version} that it saw", is_filed
            remedy = (
                "put that registry back, or delete its pin in the journal: then it is matched with the registry as it "
                "is now, and its receiver may get matches of both"
            )
        else:
            return pin
        if not can_begin:
            raise DataError(f"batch {number} was begun, and may have been delivered in part, but {problem}; {remedy}")
        _log.warning("batch %d is begun anew: %s", number, problem)
        return None

    def _has_history(self, pin: Pin) -> bool:
        """Whether a batch can be run again with the subscriptions that it saw."""
        if not pin.mark:  # from before there were marks
            return pin.version <= self.registry.version
        is_kept = self._opened().kept(Key(pin.version, pin.mapping, pin.placement), pin.mark) is not None
        return (is_kept and self._pasts.has(pin)) or self.registry.has(pin.version, pin.mark)

    def _proposed(self, number: int, is_first: bool) -> Pin:
        began = time.perf_counter()
        if self._preparer is None:
            self._preparer = Preparer(self.registry, self._made)
        self._releases, mapping = self._preparer.chosen(self._opened())
        release = self._releases.release(self.registry, self.registry.version, mapping)
        cut = None
        if self.governor is not None:
            cut = self.governor.cut(number, release, _excused(began), is_first=is_first)
        made = Pin(number, release.version, release.layout, release.matchers, utc_now(), release.mapping, cut)
        made = replace(made, placement=release.placement, mark=release.mark, offsets=offsets(self.home, number))
        return self._pasts.pinned(made, self.home.journal.before(number))

    def _released(self, pin: Pin) -> Release:
        """The release of a pin, undamaged."""
        releases = self._opened()
        kept = releases.kept(Key(pin.version, pin.mapping, pin.placement), pin.mark)
        release = kept or releases.release(self.registry, pin.version, pin.mapping, pin.placement)
        if pin.mark and release.mark != pin.mark:
            raise DataError(f"the registry was replaced while batch {pin.batch} was run; start the pipeline again")
        return release

    def _run(self, rows: DataFrame, pin: Pin, release: Release, batch: Batch) -> tuple[Notes, Release]:
        """Match a batch and hand it to the sink; again, if files of the index turn out to be damaged."""
        sampled, pasts = self._sampled(rows), self._pasts
        for left in reversed(range(ATTEMPTS)):
            past, filing = pasts.job(pin), pasts.filing(pin, self.columns.expires)
            conditions = Conditions(pin.at, sampled, pin.cut, filing)
            posts, remaining = self._posts(rows, conditions)
            find = partial(matched, posts, release, self.columns, conditions, past=past)
            try:
                notes = self._write(find, batch)
                if remaining is not None:
                    notes = replace(notes, dropped=remaining.dropped)
                pasts.take(pin, filing, notes)
                return notes, release
            except Exception:  # what a worker raises, and how it dies, comes in many forms
                if not left or (self._opened().is_sound(release) and pasts.is_sound(past)):
                    raise
                _log.warning("batch %d is run again: files of its index were damaged", batch.number)
                release = self._released(pin)
        raise AssertionError  # the last attempt returns or raises

    def _posts(self, rows: DataFrame, conditions: Conditions) -> tuple[DataFrame, Remaining | None]:
        """The publications of a batch. In an overload those that remain, if others can be dropped before they are read.

        What is kept for the past is kept of all, and so all are read.
        """
        remaining, cut = None, conditions.cut
        if self.source is None:
            posts = rows
        elif cut is not None and conditions.filing is None:
            remaining = Remaining.of(self.source, rows, cut)
            posts = remaining.posts
        else:
            posts = self.source.read(rows)
        return posts.repartition(self.columns.id_of(posts)) if self.distinct_ids else posts, remaining

    def _write(self, find: Callable[..., DataFrame], batch: Batch) -> Notes:
        """Give the matches to the sink, and return what came with them: in one pass over the publications."""
        if self.sink.has(batch):
            return collected(noted(find()))
        if isinstance(self.sink, FileSink):
            return filed(lambda folder: find(folder=folder), self.sink, batch)
        if self.sink.once:
            observation = Observation()
            self.sink.write(matches(observed(find(), observation)), batch)
            return Notes.read(observation.get["notes"])
        found = find().persist()
        try:
            notes = collected(noted(found))
            self.sink.write(matches(found), batch)
        finally:
            found.unpersist()
        return notes

    def _keep(self, notes: Notes, batch: Batch) -> None:
        """The bad rows of a batch as a file, and a sample of the good ones, to learn from, as another."""
        if notes.rejected:
            columns = zip(*((row.id, row.reason, row.source) for row in notes.rejected), strict=True)
            ParquetSink(self.home.rejected).put(pa.table(list(columns), ["id", "reason", "source"]), batch)
        Seen(self.home.seen, self.learn.keep_posts).put(list(notes.seen), batch.number)


def _excused(began: float) -> float:
    """The time since then, in seconds, if it is so long that an index was compiled; else 0."""
    seconds = time.perf_counter() - began
    return seconds if seconds > _COMPILES_S else 0.0


def reported(pin: Pin, notes: Notes, ms: float) -> Report:
    copies = Counter[int]()
    for shed in notes.shed:
        copies.update(dict(shed.copies))
    sampled = sum(shed.spared for shed in notes.shed)
    times = copies.total() / sampled if sampled else 0.0  # for each copy of a post that was spared, so many were shed
    loads: dict[int, MatcherReport] = {}
    for tally in notes.tallies:
        if tally.stage == "match":
            other = loads.get(tally.matcher, MatcherReport(tally.matcher, 0, 0, 0, 0.0))
            loads[tally.matcher] = MatcherReport(
                tally.matcher,
                other.posts + tally.posts,
                other.candidates + tally.candidates,
                other.matches + tally.matches,
                round(other.ms + tally.ms, 3),
                copies[tally.matcher],
                round(other.lost + times * tally.sampled, 3),
                other.compared + tally.compared,
                other.found + tally.found,
            )
    return Report(
        pin.batch,
        pin.version,
        notes.posts,
        len(notes.rejected),
        notes.matches,
        round(ms, 1),
        tuple(loads[matcher] for matcher in sorted(loads)),
        0 if pin.cut is None else pin.cut.level,
        sum(shed.posts_cut for shed in notes.shed),
        sum(shed.posts_dropped for shed in notes.shed),
        copies.total(),
        round(sum(load.lost for load in loads.values()), 3),
        past_report(pin, notes),
    )
