"""Which policy is better in a real pipeline? Nothing moves, [PS2] local, and [PADRES], one after another on Spark.

The workload is that of :mod:`benchmarks.balancing.drift`. Each pipeline begins with the same mapping and gets the same
changes and posts: before each batch people subscribe and unsubscribe in the registry, then its posts come as a file,
and the next batch comes when this one has ended. All settings of ``balance`` are those that a user gets.

Loads are those that the journal tells of each batch; changes of subscriptions are not in them, for the driver compiles
them. Nor does the journal tell what moved. So the same changes, and the mappings that batches were pinned to, are given
to a cluster of this process as well, which has no posts to match: it tells how many subscriptions came to each matcher
and left it. They are paid as in :mod:`benchmarks.balancing.sides`, by the first batch with the new mapping.

All matchers share the cores of one machine, so times say nothing about what a cluster would do. A plan that took long
lets the balancer rest, by the clock: on a slower machine there are fewer moves. So kernels are compiled before: else
the first plan of all would be the only one for a long time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow.parquet as pq

from benchmarks.balancing.policies import POLICIES, counted, skewed
from benchmarks.balancing.sides import WARM, Taken, Taking
from benchmarks.balancing.world import LEARNED, Batch, Drift, World
from benchmarks.matching import Advance, silent
from benchmarks.spark import SESSION, session
from tidings.analysis import ENGLISH
from tidings.balancing import batch_loads
from tidings.cluster.cluster import Cluster
from tidings.cluster.following import Balance, work_of
from tidings.cluster.mappings import Figures, MappingPage
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.releases import Plan
from tidings.cluster.sinks import ParquetSink
from tidings.index.subscribers import with_all_columns
from tidings.partitioning import Mapping, diff
from tidings.partitioning.load import COUNTED
from tidings.registry import Registry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidings.spark import Running

_SCHEMA = "id string, text string, lat double, lon double"
_NOT_TOLD = Figures(0.0, 0.0, 0.0)


@dataclass(slots=True)
class LiveSide(Taking):
    """A pipeline in a folder of its own. ``twin`` has the same subscriptions at the same matchers, by the mapping
    ``pinned``. ``seconds_of_all``: the batches, and what is planned between them."""

    folder: Path
    twin: Cluster
    pinned: str
    seconds_of_all: float = 0.0
    seconds_of_batches: float = 0.0

    @classmethod
    def made(cls, world: World, mapping: Mapping, first: Batch, folder: Path) -> LiveSide:
        """A pipeline that has had no batch yet, with all that stands at first."""
        (folder / "posts").mkdir(parents=True)
        Registry.create(folder / "registry").add(first.added)
        page = MappingPage(mapping.matchers, mapping.matchers, "hybrid", LEARNED, _NOT_TOLD, _NOT_TOLD, "")
        mappings = PipelineFolder(folder / "state").mappings
        name = mappings.put(mapping, page).name
        twin = Cluster(mappings.mapping(name), ENGLISH, world.posts.slice(0, LEARNED))
        twin.change(with_all_columns(first.added))
        return cls(folder, twin, name)

    @property
    def home(self) -> PipelineFolder:
        return PipelineFolder(self.folder / "state")

    def play(
        self,
        spark: SparkSession,
        policy: Literal["local", "padres"] | None,
        world: World,
        batches: Iterable[Batch],
        advance: Advance,
    ) -> None:
        """Let all batches come."""
        from tidings.spark import Pipeline

        assert self.twin.mapping is not None
        pipeline = Pipeline(
            spark.readStream.schema(_SCHEMA).parquet(str(self.folder / "posts")),
            self.folder / "registry",
            ParquetSink(self.folder / "matches"),
            self.home.path,
            plan=Plan("partitioned", self.twin.mapping.matchers),
            sample=world.posts.slice(0, LEARNED),
            balance=policy,
        )
        with pipeline.start() as running:
            for number, batch in enumerate(batches):
                self._come(batch, number)
                self._end(running, batch, number)
                advance(1)

    def _come(self, batch: Batch, number: int) -> None:
        """The changes of a batch, and then its posts, all at once."""
        registry, posts = Registry(self.folder / "registry"), self.folder / "posts"
        registry.add(batch.added)
        registry.remove(batch.gone)
        pq.write_table(batch.posts, posts / ".coming")
        (posts / ".coming").rename(posts / f"{number:06}.parquet")

    def _end(self, running: Running, batch: Batch, number: int) -> None:
        """Wait until a batch has ended, and look what it took."""
        began = time.perf_counter()
        running.process_all()
        seconds = time.perf_counter() - began
        report, pin = running.journal.report(number), running.journal.pin(number)
        if report is None or pin is None or report.posts != batch.posts.num_rows or report.rejected:
            raise AssertionError(f"batch {number} had other posts than those of its file: {report}")
        work = work_of(report.loads, pin.matchers)
        ms = float(work.ms.max())
        taken = Taken(ms, ms, batch_loads(work, COUNTED), int(work.posts.sum()), work.ms, np.zeros(len(work)))
        if pin.mapping != self.pinned:
            self._move(pin.mapping, taken)
        self.twin.change(with_all_columns(batch.added), batch.gone)
        self.taken.append(taken)
        self.found += report.matches
        if number >= WARM:
            self.seconds_of_all += seconds
            self.seconds_of_batches += report.ms / 1e3

    def _move(self, name: str, taken: Taken) -> None:
        """What a batch took that was pinned to another mapping than the one before."""
        before, after = self.twin.mapping, self.home.mappings.mapping(name)
        assert before is not None
        assert after is not None
        carried = self.twin.move_to(after)
        taken.parcels, taken.carried = len(diff(before, after)), carried.subscriptions
        taken.moving = COUNTED.insertion * carried.come + COUNTED.deletion * carried.gone
        self.pinned = name


def measure(
    world: World, drift: Drift, folder: Path, matchers: int = 8, skew: float = 0.0, advance: Advance = silent
) -> dict[str, Any]:
    """The figures of each policy, in columns; they have to find the same."""
    first = next(drift.stream(world))
    mapping, sides = skewed(drift.learned(world, first, matchers), skew), dict[str, LiveSide]()
    _load_kernels(world, mapping, first)
    with session(SESSION) as spark:
        for policy in POLICIES:
            sides[policy] = LiveSide.made(world, mapping, first, folder / policy)
            later = islice(drift.stream(world), 1, None)
            sides[policy].play(spark, None if policy == "none" else policy, world, later, advance)
    found = {policy: side.found for policy, side in sides.items()}
    if len(set(found.values())) > 1:
        raise AssertionError(f"pipelines differ in what they find: {found}")
    return {**asdict(drift), "matchers": matchers, "skew": skew, **_figures(drift, sides)}


def _load_kernels(world: World, mapping: Mapping, first: Batch) -> None:
    """Let each policy make a plan that nobody uses."""
    cluster = Cluster(mapping, ENGLISH, world.posts.slice(0, LEARNED))
    cluster.change(with_all_columns(first.added))
    cluster.deliver(world.posts.slice(0, LEARNED))
    for policy in POLICIES:
        rule = Balance.of(None if policy == "none" else policy)
        if rule is not None:
            rule.policy.plan(cluster.loads(), mapping)


def _figures(drift: Drift, sides: dict[str, LiveSide]) -> dict[str, Any]:
    every, own = slice(WARM, drift.batches), list(sides.values())
    return {
        "matches": own[0].found,
        "policy": list(sides),
        **counted(own, every),
        "seconds_of_batches": [round(side.seconds_of_batches, 1) for side in own],
        "seconds_of_all": [round(side.seconds_of_all, 1) for side in own],
    }
