"""Posts on a map and queries that drift: Q3 of [PS2], in which the kind of some regions changes every interval.

Where the kind of a region says little about its load, such a drift changes little. So there is a second one, which the
paper does not have: crowds that move on. In some regions posts and queries are more frequent, and every interval others
take their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

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


_Draws: TypeAlias = Callable[[int], npt.NDArray[np.int64]]


class Batch(NamedTuple):
    """What comes: new subscriptions, the ids of those that go, and posts."""

    added: pa.Table
    gone: list[str]
    posts: pa.Table


@dataclass(frozen=True, eq=False)
class World:
    """``asked[k]`` (id and query): of the kind k, 0 for Q1 and 1 for Q2, with the same place in each row; that place is
    in region ``region[row]`` of 100, and a post in ``region_of_posts[row]``. ``is_q2`` (bool[100]): the kind of each
    region at first."""

    posts: pa.Table
    asked: tuple[pa.Table, pa.Table]
    region: npt.NDArray[np.int64]
    region_of_posts: npt.NDArray[np.int64]
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
        of_posts = regions.of(*(table[name].to_numpy() for name in ("lon", "lat")))
        return cls(table, (asked[0], asked[1]), regions.of(lon, lat), of_posts, regions.is_q2, seed)

    def queries(self, rows: npt.NDArray[np.int64], is_q2: npt.NDArray[np.bool_], prefix: str) -> pa.Table:
        """Those rows as the kinds of their regions have them."""
        kind = is_q2[self.region[rows]]
        texts = [own["query"].take(pa.array(rows)) for own in self.asked]
        ids = pa.array([f"{prefix}{n}" for n in range(len(rows))], pa.string())
        return pa.table({"id": ids, "query": pc.if_else(pa.array(kind), texts[1], texts[0])})

    def mapping(self, queries: pa.Table, matchers: int, standing: int, posts: pa.Table | None = None) -> Mapping:
        """The hybrid mapping of some queries, of all that stand, and some posts; in parts."""
        posts = self.posts.slice(0, LEARNED) if posts is None else posts
        costs = sample_costs(COSTS, posts.num_rows, queries.num_rows, standing)
        return finer(Hybrid(costs=costs).partition(Workload.of(posts, queries), matchers), PARTS)


@dataclass(frozen=True, slots=True)
class Drift:
    """``standing`` queries; a batch has ``rows`` posts and for five of them one insertion or deletion. ``share`` of the
    regions change their kind every ``interval`` insertions; that is how long a query lives as well, on average. In a
    tenth of the regions posts and queries are ``crowd`` times as frequent, and every interval in another tenth."""

    standing: int = 100_000
    batches: int = 200
    rows: int = 20_000
    interval: int = 100_000
    share: float = 0.1
    crowd: float = 1.0

    @classmethod
    def of(cls, standing: int, batches: int, share: float, crowd: float = 1.0) -> Drift:
        """As in [PS2] VI: an interval is as long as a query lives, and here 50 batches."""
        return cls(standing, batches, standing // 5, standing, share, crowd)

    @property
    def changes(self) -> int:
        """Insertions of a batch, and deletions."""
        return self.rows // 10

    def learned(self, world: World, first: Batch, matchers: int) -> Mapping:
        """The mapping that all begin with, of some queries of the first batch and posts like those to come."""
        _, sent = self._drawing(world, np.random.default_rng(world.seed))
        posts = None if self.crowd == 1 else world.posts.take(pa.array(sent(LEARNED)))
        return world.mapping(first.added.slice(0, LEARNED), matchers, self.standing, posts)

    def stream(self, world: World) -> Iterator[Batch]:
        """The first batch has all that stands at the beginning, and no posts."""
        rng, kinds = np.random.default_rng(world.seed), world.is_q2.copy()
        asked, sent = self._drawing(world, rng)
        first = world.queries(asked(self.standing), kinds, "s")
        ends = rng.uniform(0, self.interval, self.standing)
        live = dict(zip(first["id"].to_pylist(), ends.tolist(), strict=True))
        yield Batch(first, [], world.posts.slice(0, 0))
        clock = 0
        for number in range(self.batches):
            if clock // self.interval != (clock + self.changes) // self.interval:
                switched = rng.choice(len(kinds), round(self.share * len(kinds)), replace=False)
                kinds[switched] = ~kinds[switched]
                asked, sent = self._drawing(world, rng)
            clock += self.changes
            added = world.queries(asked(self.changes), kinds, f"b{number}-")
            gone = [name for name, end in live.items() if end <= clock]
            live = {name: end for name, end in live.items() if end > clock}
            lives = clock + rng.normal(self.interval, _LIVE_SPREAD * self.interval, self.changes)
            live |= dict(zip(added["id"].to_pylist(), lives.tolist(), strict=True))
            ids = pa.array([f"p{number}-{n}" for n in range(self.rows)])
            yield Batch(added, gone, world.posts.take(pa.array(sent(self.rows))).set_column(0, "id", ids))

    def _drawing(self, world: World, rng: np.random.Generator) -> tuple[_Draws, _Draws]:
        """How rows of queries and of posts are drawn until the crowds move on: each row as likely, without crowds."""
        if self.crowd == 1:
            known, posts = len(world.region), world.posts.num_rows
            return lambda count: rng.integers(known, size=count), lambda count: rng.integers(posts, size=count)
        weights = np.ones(len(world.is_q2))
        weights[rng.choice(len(weights), len(weights) // 10, replace=False)] = self.crowd
        ends = [np.cumsum(weights[regions]) for regions in (world.region, world.region_of_posts)]
        asked, sent = (partial(_drawn, rng, own) for own in ends)
        return asked, sent


def _drawn(rng: np.random.Generator, ends: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.int64]:
    """Rows by chance, where ``ends`` are the sums of the weights up to each."""
    return np.searchsorted(ends, rng.uniform(0, ends[-1], count), side="right")
