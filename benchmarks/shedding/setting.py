"""Which posts are asked for, learned from and held out, and what do those that are held out match if nothing is shed?

Three parts of the posts, by chance, with none in common: a subscription is made of the words of a post, which it
matches for certain, so neither rates nor mappings may be learned from that post.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.matching import FED_ROWS, Advance, silent
from tidings.analysis import ENGLISH
from tidings.arrays import IntArray
from tidings.cluster import Cluster, Placement, place
from tidings.index.guard import GuardIndex
from tidings.model import DataError
from tidings.partitioning import Mapping, MatcherSets
from tidings.partitioning.mapping import hash_names
from tidings.placement.conjunctions import conjunctions_of
from tidings.shedding import Rates, Routed
from tidings.terms.sample import MAX_ROWS, Sample
from tidings.workloads import Posts, read_tweets, tweet_based

WORDS = (2, 4)
"""So many words of a post has a subscription, at least and at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Post ``rows[i]`` answers subscription ``numbers[i]``, both int64, once each; found by the index of all."""

    rows: IntArray
    numbers: IntArray

    @classmethod
    def of(cls, index: GuardIndex, posts: pa.Table, ids: pa.Array, advance: Advance = silent) -> Found:
        rows, numbers = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for start in range(0, posts.num_rows, FED_ROWS):
            matches = index.match(posts.slice(start, FED_ROWS))
            rows.append(matches.rows() + start)
            numbers.append(pc.index_in(matches.ids().cast(ids.type), value_set=ids).to_numpy().astype(np.int64))
            advance(min(FED_ROWS, posts.num_rows - start))
        return cls(np.concatenate(rows), np.concatenate(numbers))

    def __len__(self) -> int:
        return len(self.rows)

    def is_kept(self, kept: MatcherSets, homes: MatcherSets) -> npt.NDArray[np.bool_]:
        """Whether a matcher that still gets the post has the subscription, bool[matches]."""
        return np.asarray((kept.words[self.rows] & homes.words[self.numbers]).any(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """Who asks, and what the posts that are learned from and those that are held out match; ``guards``: the name of the
    term under which each subscription is filed."""

    subscriptions: pa.Table
    guards: pa.Array
    sample: Sample
    learned: pa.Table
    held: pa.Table
    seen: Found
    found: Found

    @classmethod
    def made(
        cls, data: Path | None, subscriptions: int, learn: int, posts: int, seed: int, advance: Advance = silent
    ) -> Setting:
        """From ``data/tweets.parquet``, or from made-up posts; ``advance`` is told of posts that were matched."""
        asked, learned, held = _parts(data, subscriptions, learn, posts, seed)
        table = tweet_based(asked["text"], subscriptions, seed, ENGLISH, words=WORDS)
        few = learned.slice(0, MAX_ROWS)
        index = GuardIndex(sample=few)
        index.add_table(table)
        ids, sample = table["id"].combine_chunks(), Sample(ENGLISH, few)
        conjunctions = conjunctions_of(table["query"], ENGLISH, sample)
        guards = conjunctions.terms.term_names().take(
            pa.array(conjunctions.guards.ids[np.argsort(conjunctions.queries)])
        )
        seen, found = (Found.of(index, part, ids, advance) for part in (learned, held))
        return cls(table, guards, sample, learned, held, seen, found)

    def described(self) -> dict[str, int]:
        """How much there is of everything."""
        return {
            "subscriptions": self.subscriptions.num_rows,
            "learned": self.learned.num_rows,
            "posts": self.held.num_rows,
            "matches": len(self.found),
        }

    def laid(self, mapping: Mapping) -> Laid:
        """The subscriptions placed by a mapping, and all that follows."""
        placement = place(self.subscriptions, mapping, self.sample)
        if not np.array_equal(hash_names(placement.table["id"]), hash_names(self.subscriptions["id"])):
            raise DataError("the placement has other subscriptions; this is a bug, please report it")
        router = placement.router
        terms = pc.index_in(self.guards, value_set=router.terms.term_names()).to_numpy()
        held, learned = (
            Routed(*router.occurrences(part), matchers=mapping.matchers) for part in (self.held, self.learned)
        )
        rates = Rates(router.filed)
        brought = np.bincount(terms[self.seen.numbers], minlength=len(router.filed))
        rates.learn(np.bincount(learned.terms.ids[learned.owners >= 0]), brought, now_s=0.0)
        return Laid(self, mapping, placement, held, learned, router.filed, rates.estimate())


@dataclass(frozen=True, slots=True, eq=False)
class Laid:
    """A setting among some matchers: where posts go that are held out and learned from, what is ``filed`` under each
    term, and the ``rates`` that were learned."""

    setting: Setting
    mapping: Mapping
    placement: Placement
    held: Routed
    learned: Routed
    filed: IntArray
    rates: npt.NDArray[np.float64]

    def check(self, ways: Sequence[MatcherSets], posts: int) -> None:
        """Whether the matchers, each with an index of its own, find in the first posts just what is said to be kept.

        ``ways``: the matchers of each post, by one way of shedding and by others.
        """
        table, setting = self.setting.held.slice(0, posts), self.setting
        cluster = Cluster(self.mapping, sample=setting.learned.slice(0, MAX_ROWS))
        cluster.change(setting.subscriptions)
        some = setting.found.rows < table.num_rows
        few = Found(setting.found.rows[some], setting.found.numbers[some])
        for kept in (way.taken(np.arange(table.num_rows)) for way in ways):
            is_kept = few.is_kept(kept, self.placement.homes)
            names = setting.subscriptions["id"].take(pa.array(few.numbers[is_kept])).to_pylist()
            if cluster.deliver(table, kept).pairs() != sorted(zip(few.rows[is_kept].tolist(), names, strict=True)):
                raise DataError("the matchers find something else than what is kept; this is a bug, please report it")


def _parts(data: Path | None, subscriptions: int, learn: int, posts: int, seed: int) -> list[pa.Table]:
    """Posts that are asked for, learned from and held out, by chance."""
    sizes = [subscriptions + subscriptions // 4, learn, posts]
    if data is None:
        table = Posts(seed=seed).table(sum(sizes)).select(["id", "text"])
    else:
        table = read_tweets(data / "tweets.parquet").select(["id", "text"])
    if table.num_rows < sum(sizes):
        raise DataError(f"there are {table.num_rows:,} posts, and {sum(sizes):,} are needed; ask for fewer")
    order = np.random.default_rng(seed).permutation(table.num_rows)[: sum(sizes)]
    return [table.take(pa.array(part)) for part in np.split(order, np.cumsum(sizes)[:-1])]
