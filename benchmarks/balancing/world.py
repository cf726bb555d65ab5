"""Posts on a map and queries that drift: Q3 of [PS2], in which the kind of some regions changes every interval."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.ps2.corpus import read_notes
from tidings.analysis import ENGLISH
from tidings.partitioning import Mapping
from tidings.partitioning.finer import finer
from tidings.partitioning.hybrid import Hybrid, Workload, sample_costs
from tidings.partitioning.load import COSTS
from tidings.workloads import Posts
from tidings.workloads.squares import q1, q2, q3_regions

PARTS = 4
"""Each parcel of a grid is in so many parts, so that a cell can be split by text."""

LEARNED = 10_000
"""A mapping is learned from so many posts, and from as many queries."""

_LIVE_SPREAD = 0.2


class Batch(NamedTuple):
    """What comes: new subscriptions, the ids of those that go, and posts."""

    added: pa.Table
    gone: list[str]
    posts: pa.Table


@dataclass(frozen=True, eq=False)
class World:
    """``asked[k]`` (id and query): of the kind k, 0 for Q1 and 1 for Q2, with the same place in each row; that place is
    in region ``region[row]`` of 100. ``is_q2`` (bool[100]): the kind of each region at first."""

    posts: pa.Table
    asked: tuple[pa.Table, pa.Table]
    region: npt.NDArray[np.int64]
    is_q2: npt.NDArray[np.bool_]
    seed: int

    @classmethod
    def made(cls, data: Path | None, posts: int, queries: int, seed: int, map_name: str = "country") -> World:
        """From notes of the data folder, or from made-up posts; up to ``queries`` different queries."""
        table = Posts(seed=seed).table(posts) if data is None else read_notes(data, posts, seed, map_name)
        table = table.select(["id", "text", "lat", "lon"]).filter(pc.is_valid(table["lat"]))
        regions = q3_regions(table, seed)
        centre = np.random.default_rng(seed).integers(table.num_rows, size=queries)  # as q1 and q2 draw them
        lon, lat = (table[name].to_numpy()[centre] for name in ("lon", "lat"))
        asked = tuple(kind(table, queries, seed, ENGLISH).select(["id", "query"]) for kind in (q1, q2))
        return cls(table, (asked[0], asked[1]), regions.of(lon, lat), regions.is_q2, seed)

    def queries(self, rows: npt.NDArray[np.int64], is_q2: npt.NDArray[np.bool_], prefix: str) -> pa.Table:
        """Those rows as the kinds of their regions have them."""
        kind = is_q2[self.region[rows]]
        texts = [own["query"].take(pa.array(rows)) for own in self.asked]
        ids = pa.array([f"{prefix}{n}" for n in range(len(rows))], pa.string())
        return pa.table({"id": ids, "query": pc.if_else(pa.array(kind), texts[1], texts[0])})

    def mapping(self, queries: pa.Table, matchers: int, standing: int) -> Mapping:
        """The hybrid mapping of some queries, of all that stand, and some posts; in parts."""
        posts = self.posts.slice(0, LEARNED)
        costs = sample_costs(COSTS, posts.num_rows, queries.num_rows, standing)
        return finer(Hybrid(costs=costs).partition(Workload.of(posts, queries), matchers), PARTS)


@dataclass(frozen=True, slots=True)
class Drift:
    """``standing`` queries; a batch has ``rows`` posts and for five of them one insertion or deletion. ``share`` of the
    regions change their kind every ``interval`` insertions; that is how long a query lives as well, on average."""

    standing: int = 100_000
    batches: int = 200
    rows: int = 20_000
    interval: int = 100_000
    share: float = 0.1

    @classmethod
    def of(cls, standing: int, batches: int, share: float) -> Drift:
        """As in [PS2] VI: an interval is as long as a query lives, and here 50 batches."""
        return cls(standing, batches, standing // 5, standing, share)

    @property
    def changes(self) -> int:
        """Insertions of a batch, and deletions."""
        return self.rows // 10

    def stream(self, world: World) -> Iterator[Batch]:
        """The first batch has all that stands at the beginning, and no posts."""
        rng, kinds, known = np.random.default_rng(world.seed), world.is_q2.copy(), len(world.region)
        first = world.queries(rng.integers(known, size=self.standing), kinds, "s")
        ends = rng.uniform(0, self.interval, self.standing)
        live = dict(zip(first["id"].to_pylist(), ends.tolist(), strict=True))
        yield Batch(first, [], world.posts.slice(0, 0))
        clock = 0
        for number in range(self.batches):
            if clock // self.interval != (clock + self.changes) // self.interval:
                switched = rng.choice(len(kinds), round(self.share * len(kinds)), replace=False)
                kinds[switched] = ~kinds[switched]
            clock += self.changes
            added = world.queries(rng.integers(known, size=self.changes), kinds, f"b{number}-")
            gone = [name for name, end in live.items() if end <= clock]
            live = {name: end for name, end in live.items() if end > clock}
            lives = clock + rng.normal(self.interval, _LIVE_SPREAD * self.interval, self.changes)
            live |= dict(zip(added["id"].to_pylist(), lives.tolist(), strict=True))
            rows = rng.integers(world.posts.num_rows, size=self.rows)
            ids = pa.array([f"p{number}-{n}" for n in range(self.rows)])
            yield Batch(added, gone, world.posts.take(pa.array(rows)).set_column(0, "id", ids))
