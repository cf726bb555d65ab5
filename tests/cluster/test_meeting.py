"""Do a publication and what it answers meet, at exactly one matcher that delivers, in every kind of mapping?

The law of meeting, for each way to make parcels, while subscriptions come and go and parcels move.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.test_placing import as_table, crowd, simple
from tests.examples import examples, thorough_but
from tests.index.strategies import NOW
from tests.partitioning.hybrid.test_ps2_partitioners import PARTITIONERS
from tidings.cluster import Cluster, place
from tidings.index import BruteForce
from tidings.model import DataError
from tidings.partitioning import Mapping, Move, TermParcels
from tidings.partitioning.hybrid import Workload
from tidings.partitioning.learning import Incidence, Network, Partitioner, Refined, Salb

PLACES = 16


@dataclass(frozen=True, slots=True)
class PlaceParcels:
    """A parcel is one of 16 cells of a quadtree; a term is in all of them that it touches.

    So a smaller cell is in one parcel, a larger one in several, and what is no cell in all.
    """

    count: int = PLACES
    gridt: None = None

    def of(self, names: pa.Array) -> TermParcels:
        own = [self._touched(name) for name in names.to_pylist()]
        offsets = np.concatenate([[0], np.cumsum([len(parcels) for parcels in own])])
        return TermParcels(offsets, np.array([p for parcels in own for p in parcels], dtype=np.int32))

    @staticmethod
    def _touched(name: str) -> range:
        if not name.startswith("cell:"):
            return range(PLACES)
        label = int(name.removeprefix("cell:"), 16)
        below = label & -label  # what is below a cell is a range of labels around it
        return range((label - below) * PLACES >> 64, ((label + below - 1) * PLACES >> 64) + 1)

    def save(self, path: Path) -> None:
        raise NotImplementedError


def learned(partitioner: Partitioner) -> Callable[[pa.Table, pa.Table], Mapping]:
    def mapping(asked: pa.Table, posts: pa.Table) -> Mapping:
        terms = place(asked, Mapping.hashed(5)).router.terms
        return partitioner.partition(Incidence.of(posts, terms), 5)

    return mapping


def divided(name: str) -> Callable[[pa.Table, pa.Table], Mapping]:
    """One of the partitioners of [PS2]."""

    def mapping(asked: pa.Table, posts: pa.Table) -> Mapping:
        if name == "hypergraph":
            pytest.importorskip("pymetis")
        return PARTITIONERS[name](Workload.of(posts, asked), 5).mapping()

    return mapping


def metis(asked: pa.Table, posts: pa.Table) -> Mapping:
    pytest.importorskip("pymetis")
    return learned(Network())(asked, posts)


MAPPINGS: dict[str, Callable[[pa.Table, pa.Table], Mapping]] = {
    "hash": lambda *_: Mapping.hashed(5),
    "salb": learned(Salb(share=0.3)),
    "refined": learned(Refined()),
    "metis": metis,
    "places": lambda *_: Mapping(PlaceParcels(), np.arange(PLACES, dtype=np.int32) % 5, 5),
    **{name: divided(name) for name in PARTITIONERS},
}


@pytest.mark.parametrize("kind", thorough_but(MAPPINGS, "hash", "salb", "hybrid"))
@examples(5)
@given(seed=st.integers(0, 10**6))
def test_each_match_is_delivered_once_in_every_mapping_before_and_after_moves(kind: str, seed: int) -> None:
    rng = random.Random(seed)
    first = [simple(f"s{n}", rng) for n in range(20)]
    mapping = MAPPINGS[kind](as_table(first), crowd(rng, 100))
    cluster, oracle = Cluster(mapping, sample=crowd(rng), clock=lambda: NOW), BruteForce(clock=lambda: NOW)
    for number in range(3):
        added = [simple(f"s{rng.randrange(30)}", rng) for _ in range(8)] if number else first
        gone = [f"s{rng.randrange(30)}" for _ in range(number)]
        oracle.remove(gone)
        oracle.add(added)
        cluster.change(as_table(added), gone)
        parcels = np.flatnonzero(cluster.loads().filed)
        for _ in range(2):
            posts = crowd(rng)
            delivered = cluster.deliver(posts)
            assert delivered.pairs() == sorted(oracle.match(posts).pairs()) != []
            loads = cluster.loads()
            assert loads.matchers.found.sum() >= len(delivered.rows)
            assert loads.parcels.posts[loads.filed == 0].sum() == 0 < loads.parcels.posts.sum()
            some = rng.sample(parcels.tolist(), 1 + len(parcels) // 3)
            cluster.move([Move(parcel, rng.randrange(5)) for parcel in some])


def test_a_cluster_takes_no_moves_to_other_parcels_and_one_matcher_none_at_all() -> None:
    with pytest.raises(DataError, match="different parcels"):
        Cluster(Mapping.hashed(4)).move_to(Mapping.hashed(5))
    whole = Cluster(None)
    whole.change(pa.table({"id": ["s"], "query": ["fire"]}))
    assert whole.deliver(pa.table({"id": ["p"], "text": ["a fire"]})).pairs() == [(0, "s")]
    with pytest.raises(DataError, match="has no parcels"):
        whole.move([Move(0, 0)])


def test_a_parcel_that_moves_takes_its_load_along() -> None:
    cluster = Cluster(Mapping.hashed(4))
    cluster.change(pa.table({"id": ["s", "t"], "query": ["fire", "rain"]}))
    posts = pa.table({"id": [f"p{n}" for n in range(6)], "text": ["fire", "rain", "fire rain"] * 2})
    cluster.deliver(posts)
    loads = cluster.loads()
    parcels = np.flatnonzero(loads.parcels.posts)
    assert loads.parcels.posts[parcels].tolist() == [4, 4] and loads.filed[parcels].tolist() == [1, 1]
    assert sorted(loads.matchers.posts.tolist()) == [0, 0, 4, 4]
    cluster.move(Move(parcel, to=2) for parcel in parcels.tolist())
    assert cluster.loads().parcels.posts.sum() == 0
    assert len(cluster.deliver(posts).rows) == 8
    work = cluster.loads().matchers
    assert work.posts.tolist() == [0, 0, 6, 0] and work.found.tolist() == [0, 0, 8, 0]
    assert [len(member.index) for member in cluster.members] == [0, 0, 2, 0]
