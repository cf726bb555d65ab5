"""What does a pipeline on Spark do in a spike, if it may shed and if it may not?

Posts come from Kafka, at half of what can be handled, then at ``peak`` times that, then at a quarter of it. What can be
handled is measured first, by the same pipeline while it has more to do than it can. Pipelines follow, one after
another: some shed as they do by default, some drop posts at random to the same capacity, with all else alike, and one
sheds nothing. The first two take turns, since a machine may be slower for minutes. Afterwards what the sink has is
compared with what the index of all subscriptions says: nothing may be wrong or there twice, and without shedding
nothing may be missing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from benchmarks.feed import Feed, Stage, bodies
from benchmarks.kafka_latency import SCHEMA, pause, until
from benchmarks.matching import Advance, Workload, silent
from benchmarks.s3tm.trials import Row, columns
from benchmarks.shedding.estimates import ratio
from benchmarks.shedding.setting import Found
from tidings.arrays import IntArray
from tidings.index.guard import GuardIndex
from tidings.model import DataError
from tidings.registry import Registry
from tidings.shedding.simulation import turns

if TYPE_CHECKING:
    from tidings.cluster.journal import Report
    from tidings.spark import Overload
    from tidings.spark.pipeline import Running

MATCHERS = 16
MODES = ("shed", "random", "block")
ORDER = ("shed", "random", "random", "shed", "block")
"""The runs: what drifts is alike for the first two modes."""

_FIRST_BATCH_S = 300.0
_TRIAL_BATCHES = 6
_PATIENCE = 8


@dataclass(frozen=True, slots=True)
class Settings:
    """``peak``: the rate of the spike, where what can be handled is 1; ``delay_s``: that is tolerated.

    ``batch_posts``: in a batch at most, in the trial as well; about what two cores handle in ``delay_s``, as ``tidings
    run`` starts Kafka with. A batch costs some time however small it is, so smaller ones would handle less than was
    measured.
    """

    peak: float = 2.0
    spike_s: float = 120.0
    before_s: float = 30.0
    after_s: float = 45.0
    delay_s: float = 10.0
    batch_posts: int = 80_000
    trial_rate: float = 16_000.0
    trial_s: float = 60.0
    sample_s: float = 1.0

    def phases(self) -> tuple[tuple[float, float], ...]:
        """Seconds, and the rate where capacity is 1."""
        return (self.before_s, 0.5), (self.spike_s, self.peak), (self.after_s, 0.25)

    def seconds(self) -> float:
        """How long it takes, but for what has to be caught up with."""
        return self.trial_s + len(ORDER) * sum(seconds for seconds, _ in self.phases())


@dataclass(slots=True)
class Run:
    """What was seen of a pipeline: a row every second, the reports of its batches, and which posts the spike was.

    ``name`` is that of its folder, too.
    """

    mode: str
    name: str
    rows: list[Row] = field(default_factory=list)
    reports: dict[int, Report] = field(default_factory=dict)
    sent: int = 0
    spike: tuple[int, int] = (0, 0)
    catching_up_s: float = 0.0

    def posts(self) -> int:
        """How many are done."""
        return sum(report.posts for report in self.reports.values())

    def read(self, running: Running) -> None:
        """The reports that are new."""
        for batch in running.journal.batches:
            report = None if batch in self.reports else running.journal.report(batch)
            if report is not None:
                self.reports[batch] = report


@dataclass(frozen=True, slots=True)
class Live:
    """Who asks for what, and where it runs."""

    workload: Workload
    settings: Settings
    stage: Stage
    registry: Registry
    advance: Advance

    def capacity(self) -> float:
        """Posts a second while there is always more to do, between ends of batches in the second half of the trial."""
        rate, run, done = self.settings.trial_rate, Run("trial", "trial"), list[tuple[float, int]]()
        with self._feed(rate) as feed, self._started(run, feed) as running:
            for second in self._seconds(_PATIENCE * self.settings.trial_s, running):
                run.read(running)
                if not done or done[-1][1] < run.posts():
                    done.append((second, run.posts()))
                if second > self.settings.trial_s and len(done) >= _TRIAL_BATCHES:
                    break
            if feed.sent - done[-1][1] < rate or len(done) < _TRIAL_BATCHES:
                raise DataError(
                    f"{rate:,.0f} posts a second were no overload, or too much of one: after {second:.0f} s"
                    f" {done[-1][1]:,} of {feed.sent:,} posts were; choose another trial_rate, or another machine"
                )
        (began, before), (end, after) = done[len(done) // 2], done[-1]
        return (after - before) / (end - began)

    def run(self, number: int, capacity: float) -> Run:
        """All phases of a run of the order, and then what is left to do."""
        run, phases = Run(ORDER[number], f"{ORDER[number]} {number + 1}"), self.settings.phases()
        with ExitStack() as ends:
            with self._feed(phases[0][1] * capacity) as feed:
                running = ends.enter_context(self._started(run, feed))
                while feed.sent - run.posts() > self.settings.batch_posts:  # what came while the index was compiled
                    pause(running, self.settings.sample_s)
                    run.read(running)
                began_s, sent = time.monotonic(), feed.sent
                starts = []
                for seconds, rate in phases:
                    feed.change(rate * capacity)
                    starts.append(feed.sent)
                    for _ in self._seconds(seconds, running):
                        run.read(running)
                        came, sent = feed.sent - sent, feed.sent
                        run.rows.append(_row(run, feed, came, time.monotonic() - began_s))
            began_s, run.spike = time.monotonic(), (starts[1], starts[2])
            running.process_all()
            run.catching_up_s = time.monotonic() - began_s
            run.read(running)
            run.sent = feed.sent
        return run

    def checked(self, run: Run, truth: Found) -> Row:
        """Whether the sink has only what is right, once each; what is missing, and what is said to be."""
        posts, ids = self.workload.posts.num_rows, self.workload.subscriptions["id"].combine_chunks()
        table = ds.dataset(self.stage.folder / run.name / "matches").to_table(["publication_id", "subscription_id"])
        numbers = pc.utf8_slice_codeunits(table["publication_id"], 1).cast(pa.int64()).to_numpy()
        asked = pc.index_in(table["subscription_id"].cast(ids.type), value_set=ids).to_numpy().astype(np.int64)
        right = np.isin(numbers % posts * len(ids) + asked, truth.rows * len(ids) + truth.numbers)
        twice = table.num_rows - len(np.unique(numbers * len(ids) + asked))
        times = run.sent // posts + (np.arange(posts) < run.sent % posts)
        each = np.bincount(truth.rows, minlength=posts)
        wanted = int((each * times).sum())
        lost, told = wanted - table.num_rows, sum(report.lost for report in run.reports.values())
        if not right.all() or twice or (lost and run.mode == "block"):
            raise DataError(
                f"{run.name}: {(~right).sum():,} matches are wrong, {twice:,} there twice, {lost:,} of {wanted:,} are"
                " missing; this is a bug, please report it"
            )
        counts = {"posts": run.sent, "matches": table.num_rows, "lost": lost, "lost_told": round(told)}
        return counts | _of_spike(run, numbers, each)

    def _feed(self, rate: float) -> Feed:
        return Feed(self.stage.broker.servers, bodies(self.workload.posts), rate)

    @contextmanager
    def _started(self, run: Run, feed: Feed) -> Iterator[Running]:
        """A pipeline that has done a batch."""
        from tidings.spark import ParquetSink, Pipeline, Plan  # Spark only where it is used
        from tidings.spark.kafka import posts_from_kafka

        stage, folder, most = self.stage, self.stage.folder / run.name, self.settings.batch_posts
        pipeline = Pipeline(
            posts_from_kafka(stage.spark, stage.broker.servers, feed.topic, SCHEMA, records_per_batch=most),
            self.registry,
            ParquetSink(folder / "matches"),
            folder / "state",
            plan=Plan("partitioned", MATCHERS),
            sample=self.workload.sample,
            distinct_ids=False,
            overload=self._overload(run.mode),
        )
        with pipeline.start() as running:
            for _ in until(lambda: bool(run.reports), _FIRST_BATCH_S, running):
                run.read(running)
            yield running

    def _overload(self, mode: str) -> Overload | Literal["block"]:
        from tidings.spark import Overload

        if mode in ("shed", "random"):
            return Overload("threshold" if mode == "shed" else "random", delay_s=self.settings.delay_s)
        return "block"

    def _seconds(self, seconds: float, running: Running) -> Iterator[float]:
        """Every sample's second, until it is enough."""
        began, told = time.monotonic(), 0.0
        while (second := time.monotonic() - began) < seconds:
            pause(running, self.settings.sample_s)
            yield second
            self.advance(round(second) - round(told))
            told = second


def measure(workload: Workload, settings: Settings, stage: Stage, advance: Advance = silent) -> dict[str, Any]:
    """The figures of all runs, with their samples as lists; ``advance`` is told of seconds."""
    registry = Registry.create(stage.folder / "registry")
    registry.add(workload.subscriptions)
    live = Live(workload, settings, stage, registry, advance)
    capacity = live.capacity()
    runs = [live.run(number, capacity) for number in range(len(ORDER))]
    index = GuardIndex(sample=workload.sample)
    index.add_table(workload.subscriptions)
    truth = Found.of(index, workload.posts, workload.subscriptions["id"].combine_chunks())
    counts = [live.checked(run, truth) for run in runs]
    verdicts = {
        f"{mode}_{name}": value
        for mode in MODES
        for name, value in (
            added([row for run, row in zip(runs, counts, strict=True) if run.mode == mode])
            | worst([verdicts_of(run.rows, settings) for run in runs if run.mode == mode])
        ).items()
    }
    return {
        "workload": workload.name,
        "subscriptions": workload.subscriptions.num_rows,
        "matchers": MATCHERS,
        **asdict(settings),
        "posts_per_s": round(capacity),
        **verdicts,
        "shed_by_random": ratio(verdicts["shed_spike_matches"], verdicts["random_spike_matches"]),
        "block_catching_up_s": round(runs[-1].catching_up_s, 1),
        "spike_accuracies": [ratio(row["spike_matches"], row["spike_wanted"]) for row in counts],
        **columns([{"overload": run.name} | row for run in runs for row in run.rows]),
    }


def added(counts: list[Row]) -> Row:
    """The counts of all runs of a mode together, and the ratios of these."""
    sums = {name: sum(row[name] for row in counts) for name in counts[0]}
    return sums | {
        "told_by_true": ratio(sums["lost_told"], sums["lost"]),
        "accuracy": ratio(sums["matches"], sums["matches"] + sums["lost"]),
        "spike_accuracy": ratio(sums["spike_matches"], sums["spike_wanted"]),
    }


def worst(verdicts: list[Row]) -> Row:
    """The highest of each verdict, and the lowest level."""
    return {
        name: (min if name == "rest_low" else max)(
            (row[name] for row in verdicts if row[name] is not None), default=None
        )
        for name in verdicts[0]
    }


def verdicts_of(rows: list[Row], settings: Settings) -> Row:
    """The longest lag, also from a quarter of the spike on; the levels in its second half; when it was 0 again."""
    start, end = settings.before_s, settings.before_s + settings.spike_s
    rest = [row["level"] for row in rows if (start + end) / 2 <= row["second"] < end]
    settled = [row["lag_s"] for row in rows if start + settings.spike_s / 4 <= row["second"] < end]
    later = [row for row in rows if row["second"] >= end]
    back = next((row["second"] - end for row in later if not row["level"]), None)
    return {
        "most_lag_s": max(row["lag_s"] for row in rows),
        "settled_lag_s": max(settled, default=0.0),
        "rest_low": min(rest, default=0),
        "rest_high": max(rest, default=0),
        "turns_at_rest": max(len(turns(rest)) - 1, 0),
        "back_to_0_s": None if back is None else round(back, 1),
        "last_level": rows[-1]["level"],
    }


def _of_spike(run: Run, numbers: IntArray, each: IntArray) -> Row:
    """The matches of the posts of the spike, and which part these are; post n has ``each[n % len(each)]``."""
    first, last = run.spike
    kept = int(np.count_nonzero((numbers >= first) & (numbers < last)))
    wanted = int(each[np.arange(first, last) % len(each)].sum())
    return {"spike_matches": kept, "spike_wanted": wanted}


def _row(run: Run, feed: Feed, came: int, second: float) -> Row:
    last, done = run.reports[max(run.reports)], run.posts()
    waits_s = time.time() - feed.due(done) if done < feed.sent else 0.0
    return {
        "second": round(second, 1),
        "came": came,
        "lag_posts": max(0, feed.sent - done),
        "lag_s": round(max(0.0, waits_s), 2),
        "level": last.level,
        "batch_s": round(last.ms / 1e3, 2),
        "posts_cut": sum(report.posts_cut for report in run.reports.values()),
        "copies_shed": sum(report.copies_shed for report in run.reports.values()),
        "lost": round(sum(report.lost for report in run.reports.values())),
    }
