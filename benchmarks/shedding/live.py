"""What does a pipeline on Spark do in a spike, if it may shed and if it may not?

Posts come from Kafka, at half of what can be handled, then at ``peak`` times that, then at a quarter of it. Two
pipelines read the same posts at the same time, each on a core of its own: a machine that is slower for minutes is
slower for both. One sheds as it does by default, the other drops posts at random to the same capacity, with all else
alike; then again, each on the core of the other. In a last round both shed nothing. What can be handled is measured
first, by two pipelines that have more to do than they can. Afterwards what the sinks have is compared with what the
index of all subscriptions says: nothing may be wrong or there twice, and without shedding nothing may be missing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from benchmarks.feed import Broker, Feed, bodies
from benchmarks.matching import Advance, Workload, silent
from benchmarks.s3tm.trials import Row, columns
from benchmarks.shedding.estimates import ratio
from benchmarks.shedding.setting import Found
from benchmarks.shedding.side import MATCHERS, SAMPLE, Process, Side
from tidings.arrays import IntArray
from tidings.index.guard import GuardIndex
from tidings.model import DataError
from tidings.registry import Registry
from tidings.shedding.simulation import turns

if TYPE_CHECKING:
    from tidings.cluster.journal import Journal, Report

MODES = ("shed", "random", "block")
ROUNDS = (("shed", "random"), ("random", "shed"), ("block", "block"))
"""The modes of both pipelines in each round, the first on the first core."""

_FIRST_BATCH_S = 300.0
_TRIAL_BATCHES = 6
_PATIENCE = 8
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class Settings:
    """``peak``: the rate of the spike, where what can be handled is 1; ``delay_s``: that is tolerated.

    ``batch_posts``: in a batch at most, in the trial as well; about what one core handles in ``delay_s``, as ``tidings
    run`` starts Kafka with. A batch costs some time however small it is, so smaller ones would handle less than was
    measured.
    """

    peak: float = 2.0
    spike_s: float = 120.0
    before_s: float = 30.0
    after_s: float = 45.0
    delay_s: float = 10.0
    batch_posts: int = 60_000
    trial_rate: float = 10_000.0
    trial_s: float = 60.0
    sample_s: float = 1.0

    def phases(self) -> tuple[tuple[float, float], ...]:
        """Seconds, and the rate where capacity is 1."""
        return (self.before_s, 0.5), (self.spike_s, self.peak), (self.after_s, 0.25)

    def seconds(self) -> float:
        """How long it takes, but for what has to be caught up with."""
        return self.trial_s + len(ROUNDS) * sum(seconds for seconds, _ in self.phases())


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

    def read(self, journal: Journal) -> None:
        """The reports that are new."""
        for batch in journal.batches:
            report = None if batch in self.reports else journal.report(batch)
            if report is not None:
                self.reports[batch] = report


@dataclass(frozen=True, slots=True)
class Pair:
    """Two pipelines that read the same posts, in processes of their own."""

    feed: Feed
    runs: tuple[Run, ...]
    sides: tuple[Side, ...]
    processes: tuple[Process, ...]

    def read(self) -> None:
        """What their journals have; what made one fail is raised."""
        for run, side, process in zip(self.runs, self.sides, self.processes, strict=True):
            process.check()
            run.read(side.home.journal)

    def behind(self) -> int:
        """The posts that the slower one has not done."""
        return self.feed.sent - min(run.posts() for run in self.runs)


@dataclass(frozen=True, slots=True)
class Live:
    """Who asks for what, and where it runs."""

    workload: Workload
    settings: Settings
    broker: Broker
    folder: Path
    advance: Advance

    def capacity(self) -> float:
        """Posts a second while there is always more to do, between ends of batches in the second half of the trial.

        It is that of the slower of two pipelines at the same time.
        """
        rate, done = self.settings.trial_rate, [list[tuple[float, int]]() for _ in range(2)]
        with ExitStack() as ends:
            feed = ends.enter_context(self._feed(rate))
            pair = self._started(("block", "block"), "trial", feed, ends)
            for second in self._seconds(_PATIENCE * self.settings.trial_s, pair):
                for run, ended in zip(pair.runs, done, strict=True):
                    if not ended or ended[-1][1] < run.posts():
                        ended.append((second, run.posts()))
                enough = min(len(ended) for ended in done) >= _TRIAL_BATCHES
                if second > self.settings.trial_s and enough:
                    break
            if pair.behind() < rate or not enough:
                raise DataError(
                    f"{rate:,.0f} posts a second were no overload, or too much of one: after {second:.0f} s"
                    f" {pair.behind():,} of {feed.sent:,} posts waited; choose another trial_rate, or another machine"
                )
            return min(map(_rate, done))

    def round(self, number: int, capacity: float) -> tuple[Run, ...]:
        """All phases of a round, and then what is left to do."""
        phases = self.settings.phases()
        with ExitStack() as ends:
            with self._feed(phases[0][1] * capacity) as feed:
                pair = self._started(ROUNDS[number], f"{number + 1}", feed, ends)
                while pair.behind() > self.settings.batch_posts:  # what came while the index was compiled
                    time.sleep(self.settings.sample_s)
                    pair.read()
                began_s, sent, starts = time.monotonic(), feed.sent, list[int]()
                for seconds, rate in phases:
                    feed.change(rate * capacity)
                    starts.append(feed.sent)
                    for _ in self._seconds(seconds, pair):
                        came, sent = feed.sent - sent, feed.sent
                        for run in pair.runs:
                            run.rows.append(_row(run, feed, came, time.monotonic() - began_s))
            began_s = time.monotonic()
            for run, process in zip(pair.runs, pair.processes, strict=True):
                process.finish()
                run.catching_up_s, run.sent, run.spike = time.monotonic() - began_s, feed.sent, (starts[1], starts[2])
            for run, side in zip(pair.runs, pair.sides, strict=True):
                run.read(side.home.journal)
        return pair.runs

    def checked(self, run: Run, truth: Found) -> Row:
        """Whether the sink has only what is right, once each; what is missing, and what is said to be."""
        posts, ids = self.workload.posts.num_rows, self.workload.subscriptions["id"].combine_chunks()
        table = ds.dataset(self.folder / run.name / "matches").to_table(["publication_id", "subscription_id"])
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
        return Feed(self.broker.servers, bodies(self.workload.posts), rate)

    def _started(self, modes: tuple[str, ...], name: str, feed: Feed, ends: ExitStack) -> Pair:
        """Two pipelines, each of which has done a batch."""
        settings = self.settings
        sides = tuple(
            Side(str(self.folder), f"{mode} {name}{'ab'[k]}", mode, core, self.broker.servers, feed.topic,
                 settings.batch_posts, settings.delay_s)
            for k, (mode, core) in enumerate(zip(modes, _cores(), strict=True))
        )  # fmt: skip
        runs = tuple(Run(side.mode, side.name) for side in sides)
        pair = Pair(feed, runs, sides, tuple(ends.enter_context(side.running()) for side in sides))
        end = time.monotonic() + _FIRST_BATCH_S
        while not all(run.reports for run in runs):
            if time.monotonic() > end:
                raise DataError(f"a first batch took more than {_FIRST_BATCH_S:g} s; try a quieter machine")
            time.sleep(_LOOK_S)
            pair.read()
        return pair

    def _seconds(self, seconds: float, pair: Pair) -> Iterator[float]:
        """Every sample's second, until it is enough."""
        began, told = time.monotonic(), 0.0
        while (second := time.monotonic() - began) < seconds:
            time.sleep(self.settings.sample_s)
            pair.read()
            yield second
            self.advance(round(second) - round(told))
            told = second


def _rate(done: list[tuple[float, int]]) -> float:
    (began, before), (end, after) = done[len(done) // 2], done[-1]
    return (after - before) / (end - began)


def _cores() -> tuple[int, ...]:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < len(ROUNDS[0]):
        raise DataError("two pipelines at the same time need two cores; use another machine")
    return tuple(cores[: len(ROUNDS[0])])


def measure(
    workload: Workload, settings: Settings, broker: Broker, folder: Path, advance: Advance = silent
) -> dict[str, Any]:
    """The figures of all runs, with their samples as lists; ``advance`` is told of seconds."""
    Registry.create(folder / "registry").add(workload.subscriptions)
    pq.write_table(workload.sample, folder / SAMPLE)
    live = Live(workload, settings, broker, folder, advance)
    capacity = live.capacity()
    runs = [run for number in range(len(ROUNDS)) for run in live.round(number, capacity)]
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
    pairs = list(zip(runs, counts, strict=True))
    kept = [{run.mode: row["spike_matches"] for run, row in pairs[first : first + 2]} for first in (0, 2)]
    return {
        "workload": workload.name,
        "subscriptions": workload.subscriptions.num_rows,
        "matchers": MATCHERS,
        **asdict(settings),
        "posts_per_s": round(capacity),
        **verdicts,
        "shed_by_random": ratio(verdicts["shed_spike_matches"], verdicts["random_spike_matches"]),
        "shed_by_random_1": ratio(kept[0]["shed"], kept[0]["random"]),
        "shed_by_random_2": ratio(kept[1]["shed"], kept[1]["random"]),
        "block_catching_up_s": round(runs[-1].catching_up_s, 1),
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
