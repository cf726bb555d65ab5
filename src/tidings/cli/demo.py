"""``tidings demo``: what does it look like at work? A stream on Spark, thousands of queries, matches as they happen."""

from __future__ import annotations

import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from tidings.analysis import ENGLISH
from tidings.cli.board import Totals, board
from tidings.cli.output import tell_compiling
from tidings.cli.plot import Panel, save
from tidings.cli.screen import Screen, check
from tidings.cli.terminal import cell
from tidings.cli.tour import QUERIES
from tidings.cluster.releases import Plan
from tidings.cluster.sinks import ParquetSink
from tidings.model import DataError
from tidings.registry import Registry
from tidings.spark.config import started
from tidings.spark.generator import NAME, register
from tidings.spark.pipeline import Pipeline, Running
from tidings.spark.progress import Progress
from tidings.workloads import Posts, q1, q2, tweet_based
from tidings.workloads.subscriptions import subscription_table
from tidings.workloads.themes import THEMES

COMES, HER_QUERY = "zoe", "topic:science/space (rocket OR moon OR comet)"
LEAVES = "ann"
CHECKED = 400
"""So many posts, about, are matched by brute force at the end."""

_MATCHERS = 4
_SAMPLE = 4096
_EVERY_S = 1.0
_LOOK_EVERY_S = 0.1
_FAST_BATCHES, _FAST_ROWS = 4, 100_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the options of the command say."""

    seconds: float
    rate: int
    subscriptions: int
    seed: int
    plot: Path | None = None


@dataclass(slots=True)
class _Show:
    """What happens while the stream runs; ``told`` is how each batch went."""

    console: Console
    registry: Registry
    screen: Screen
    totals: Totals = field(default_factory=lambda: Totals(recent=deque(maxlen=4)))
    told: list[Progress] = field(default_factory=list)
    changed: int | None = None
    seen_in: int | None = None
    full_speed: float = 0.0

    def hear(self, progress: Progress) -> None:
        self.told.append(progress)
        report = progress.report
        if self.seen_in is None and self.changed is not None and report.version >= self.changed:
            self.seen_in = report.batch
            counts = self.screen.counts[report.batch]
            self._say(
                f"batch {report.batch} has version {report.version}: {counts[COMES]} matches for {COMES}, "
                f"{counts[LEAVES]} for {LEAVES}"
            )

    def change(self) -> None:
        """Somebody subscribes and somebody leaves, while posts flow."""
        self.screen.queries[COMES] = HER_QUERY
        added = pa.table({"id": [COMES], "query": [HER_QUERY], "subscriber": [COMES]})
        self.registry.add(added)
        self.changed = self.registry.remove([LEAVES]).version
        self._say(f"{COMES} subscribes to {HER_QUERY}, {LEAVES} leaves: the registry has version {self.changed} now")

    def _say(self, text: str) -> None:
        self.console.print(cell(f"*  {text}", "bold yellow"))


def play(console: Console, wanted: Wanted) -> bool:
    """Run it; False if what it found is not what brute force finds."""
    with tempfile.TemporaryDirectory(prefix="tidings-demo-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        tell_compiling()
        posts = Posts(seed=wanted.seed, rate_per_s=wanted.rate, readable=True)
        sample = posts.table(_SAMPLE)
        registry = Registry(home / "registry")
        asked = subscriptions(sample, wanted.subscriptions, wanted.seed)
        registry.add(asked)
        console.print(f"{asked.num_rows:,} subscriptions are registered; Spark starts (some ten seconds)")
        queries = dict(zip(asked["id"].to_pylist(), asked["query"].to_pylist(), strict=True))
        every = max(1, round(wanted.rate * wanted.seconds / CHECKED))
        show = _Show(console, registry, Screen(console, posts, queries, {*QUERIES, COMES}, every))
        with _session(home) as spark, board(show.totals, console) as draw:

            def hear(progress: Progress) -> None:
                show.hear(progress)
                draw(progress)

            pipeline = _pipeline(spark, wanted, show, home / "state", sample)
            with pipeline.start(every_s=_EVERY_S, progress=hear) as running:
                is_whole = _wait(running, show, wanted.seconds)
            if is_whole:
                show.full_speed = _full_speed(spark, show.registry, wanted.seed, home / "fast", console)
        return _sum_up(show, wanted)


def subscriptions(sample: pa.Table, count: int, seed: int) -> pa.Table:
    """``count`` of all kinds, a quarter each for words, places, topics and attributes; and those of the tour.

    >>> asked = subscriptions(Posts(seed=1).table(500), 8, seed=1)
    >>> asked.num_rows - len(QUERIES), asked["query"].to_pylist()[6:8]
    (8, ['author:user127 lang:de', 'author:user184 lang:de'])
    """
    rng = np.random.default_rng([seed, 4])
    quarter = -(-count // 4)
    labels = rng.choice(list(THEMES), quarter)
    likes = rng.integers(20, 500, quarter)
    authors = rng.integers(200, size=quarter)
    languages = rng.choice(["es", "fr", "de", "pt"], quarter)
    queries = [
        *tweet_based(sample["text"], quarter, seed, ENGLISH, words=(2, 3))["query"].to_pylist(),
        *q1(sample, -(-quarter // 2), seed, ENGLISH)["query"].to_pylist(),
        *q2(sample, quarter // 2, seed, ENGLISH)["query"].to_pylist(),
        *(f"topic:{label} likes:>{least}" for label, least in zip(labels, likes, strict=True)),
        *(f"author:user{author} lang:{language}" for author, language in zip(authors, languages, strict=True)),
    ]
    made = subscription_table(pa.array(queries[:count]), rng)
    people = pa.table([list(QUERIES), list(QUERIES.values()), list(QUERIES)], made.column_names)
    return pa.concat_tables([made, people])


def _pipeline(spark: SparkSession, wanted: Wanted, show: _Show, checkpoint: Path, sample: pa.Table) -> Pipeline:
    register(spark)
    options = {"seed": wanted.seed, "rate": wanted.rate, "rows_per_batch": 2 * wanted.rate, "readable": "true"}
    stream = spark.readStream.format(NAME).options(**options).load()
    plan = Plan("partitioned", _MATCHERS)
    return Pipeline(stream, show.registry, show.screen, checkpoint, plan=plan, sample=sample, distinct_ids=False)


def _full_speed(spark: SparkSession, registry: Registry, seed: int, home: Path, console: Console) -> float:
    """How many posts a second there are if nobody holds them back: the best batch of some, in the replicated layout."""
    console.print(cell("*  now as fast as it can", "bold yellow"))
    rows = _FAST_BATCHES * _FAST_ROWS
    options = {"seed": seed + 1, "rows": rows, "rows_per_batch": _FAST_ROWS, "readable": "true"}
    stream = spark.readStream.format(NAME).options(**options).load()
    told: list[Progress] = []
    pipeline = Pipeline(stream, registry, ParquetSink(home / "matches"), home / "state", plan=Plan("replicated"))
    with pipeline.start(available_now=True, progress=told.append) as running:
        running.wait()
    return max((1e3 * progress.report.posts / progress.report.ms for progress in told), default=0.0)


@contextmanager
def _session(home: Path) -> Iterator[SparkSession]:
    """Spark of this Python on this machine, whatever the environment says."""
    os.environ.pop("SPARK_HOME", None)
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    settings = {
        "spark.master": "local[2,4]",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": str(_MATCHERS),
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.local.dir": str(home / "spark"),
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    with _stderr_in(home / "spark.log"):
        spark = started("tidings demo", settings)
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def _stderr_in(log: Path) -> Iterator[None]:
    """Let what is started here, and its children, write their complaints to a file; if it fails, they are told."""
    before = os.dup(2)
    with log.open("w") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    except Exception:
        os.write(before, log.read_bytes())
        raise
    finally:
        os.dup2(before, 2)
        os.close(before)


def _wait(running: Running, show: _Show, seconds: float) -> bool:
    """So many seconds from the first batch on, with the change in the middle; or until Ctrl-C, which is False."""
    enough = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: enough.set())
    began = None
    while not enough.is_set() and not running.wait(_LOOK_EVERY_S):
        if began is None:
            began = time.monotonic() if show.told else None
            continue
        passed_s = time.monotonic() - began
        if show.changed is None and passed_s >= seconds / 2:
            show.change()
        elif show.seen_in is not None and passed_s >= seconds:
            return True
    return False


def _sum_up(show: _Show, wanted: Wanted) -> bool:
    console, reports = show.console, [progress.report for progress in show.told]
    if not reports:
        console.print("It was stopped before the first batch was done: there is nothing to sum up.")
        return True
    console.rule("[bold]summary")
    console.print(str(show.totals))
    console.print(
        f"{wanted.rate:,} posts came a second; the median batch took "
        f"{statistics.median(report.ms for report in reports):,.0f} ms, one in {_EVERY_S:g} s"
    )
    if show.full_speed:
        console.print(f"at full speed: [bold]{show.full_speed:,.0f}[/] posts a second on two cores, into Parquet files")
    console.print(_loads(show.told))
    if show.seen_in is not None:
        for name in (COMES, LEAVES):
            before, after = (
                sum(counts[name] for batch, counts in show.screen.counts.items() if (batch >= show.seen_in) is late)
                for late in (False, True)
            )
            console.print(f"{name}: {before:,} matches before batch {show.seen_in}, {after:,} since")
    checked = check(reports, show.screen, show.registry)
    verdict = "[green]equal[/]" if not checked.wrong else f"[red]{checked.wrong:,} matches differ[/]"
    console.print(
        f"checked: {verdict} ({checked.posts:,} posts by brute force over {wanted.subscriptions + len(QUERIES):,} "
        f"subscriptions, {checked.matches:,} matches)"
    )
    _draw(show, wanted)
    return not checked.wrong


def _loads(told: list[Progress]) -> Table:
    """What each matcher did, all batches together."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    for name in ("matcher", "posts", "candidates", "matches", "ms"):
        table.add_column(name, justify="right")
    for matcher in sorted({load.matcher for progress in told for load in progress.report.loads}):
        loads = [load for progress in told for load in progress.report.loads if load.matcher == matcher]
        sums = [sum(getattr(load, name) for load in loads) for name in ("posts", "candidates", "matches", "ms")]
        table.add_row(str(matcher), *(f"{total:,.0f}" for total in sums))
    return table


def _draw(show: _Show, wanted: Wanted) -> None:
    reports = [progress.report for progress in show.told]
    across, counts = [report.batch for report in reports], [show.screen.counts[report.batch] for report in reports]
    panels = [
        Panel("Posts per batch", across, [report.posts for report in reports]),
        Panel("Milliseconds per batch", across, [report.ms for report in reports]),
        Panel(f"Matches for {LEAVES}, who leaves", across, [count[LEAVES] for count in counts]),
        Panel(f"Matches for {COMES}, who comes", across, [count[COMES] for count in counts]),
    ]
    path = wanted.plot or Path(tempfile.mkdtemp(prefix="tidings-plot-"), "demo.png")
    try:
        save(path, "batch", panels, log=False)
    except DataError as error:
        show.console.print(cell(str(error)), soft_wrap=True)
    else:
        show.console.print(cell(f"plot: {path}"), soft_wrap=True)
