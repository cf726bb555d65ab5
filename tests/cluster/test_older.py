"""Do publications meet what they answer while two mappings are in use side by side, and after the older one is gone?"""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.test_meeting import MAPPINGS
from tests.cluster.test_places import counts, local, spread
from tests.cluster.test_placing import as_table
from tests.examples import examples
from tests.index.strategies import NOW
from tidings.analysis import ENGLISH
from tidings.balancing import Global
from tidings.cluster import Cluster
from tidings.cluster.repartitioning import Repartitioner
from tidings.index import BruteForce
from tidings.model import DataError, Subscription
from tidings.partitioning import Mapping, Move
from tidings.partitioning.hybrid import Hybrid, Workload
from tidings.workloads import Posts, q1

KINDS = ("hash", "salb", "hybrid", "kd-tree")


@examples(5)
@given(seed=st.integers(0, 10**6), kinds=st.lists(st.sampled_from(KINDS), min_size=3, max_size=3))
def test_each_match_is_delivered_once_through_global_adjustments(seed: int, kinds: list[str]) -> None:
    rng = random.Random(seed)
    live = {f"s{n}": local(f"s{n}", rng) for n in range(30)}
    cluster = Cluster(_mapping(kinds[0], live, rng), clock=lambda: NOW)
    oracle = BruteForce(clock=lambda: NOW)
    oracle.add([*live.values()])
    cluster.change(as_table([*live.values()]))

    def check() -> None:
        posts = spread(rng)
        assert cluster.deliver(posts).pairs() == sorted(oracle.match(posts).pairs())

    for kind in kinds[1:]:
        cluster.adopt(_mapping(kind, live, rng))
        check()
        for _ in range(2):
            added = {f"s{n}": local(f"s{n}", rng) for n in rng.sample(range(50), 9)}
            gone = [f"s{rng.randrange(50)}" for _ in range(6)]
            live = {key: own for key, own in live.items() if key not in gone} | added
            oracle.remove(gone)
            oracle.add([*added.values()])
            cluster.change(as_table([*added.values()]), gone)
            check()
            assert cluster.mapping is not None
            cluster.move([Move(rng.randrange(cluster.mapping.parcels.count), rng.randrange(5)) for _ in range(5)])
            check()
        before = len(cluster.older or ())
        assert before + sum(len(own) > 0 for own in _filed(cluster)) == len(live)
        carried = cluster.retire()
        assert carried.subscriptions <= 5 * before and cluster.older is None
        check()
    anew = Cluster(cluster.mapping, clock=lambda: NOW)
    anew.change(as_table([*live.values()]))
    assert cluster.router is not None and anew.router is not None
    assert counts(cluster.router) == counts(anew.router)
    assert [len(member.index) for member in cluster.members] == [len(member.index) for member in anew.members]


def _mapping(kind: str, live: dict[str, Subscription], rng: random.Random) -> Mapping:
    return MAPPINGS[kind](as_table([*live.values()]), spread(rng, 60))


def _filed(cluster: Cluster) -> list[list[int]]:
    """The terms of each subscription that the mapping in use has placed."""
    cluster.tidy()
    parts = cluster.filings
    return [part.terms.row(n).tolist() for part in parts for n in range(len(part.ids))]


def test_two_mappings_are_side_by_side_and_no_more() -> None:
    cluster = Cluster(Mapping.hashed(3))
    cluster.change(pa.table({"id": ["s"], "query": ["fire"]}))
    cluster.adopt(Mapping.hashed(3))
    with pytest.raises(DataError, match="retire it"):
        cluster.adopt(Mapping.hashed(3))
    assert len(cluster.older or ()) == 1 and cluster.retire().subscriptions == 0
    with pytest.raises(DataError, match="there are 3 matchers"):
        cluster.adopt(Mapping.hashed(4))
    assert cluster.retire().subscriptions == 0


def test_a_subscription_that_is_replaced_goes_over_to_the_new_mapping() -> None:
    cluster = Cluster(Mapping.hashed(3))
    cluster.change(pa.table({"id": ["s", "t"], "query": ["fire", "rain"]}))
    cluster.adopt(Mapping.hashed(3))
    cluster.change(pa.table({"id": ["s"], "query": ["smoke"]}))
    assert cluster.older is not None and cluster.older.left()[0].to_pylist() == ["t"]
    cluster.change(pa.table({"id": ["u"], "query": ["wind"]}), ["t"])
    assert len(cluster.older) == 0 and len(cluster.older.router) == 0


def half_and_half(east: int) -> tuple[pa.Table, pa.Table]:
    """100 posts and as many queries, of which so many are in the east and the others in the west."""
    lon = [9.0 if n < east else 1.0 for n in range(100)]
    posts = pa.table({"id": [f"p{n}" for n in range(100)], "text": ["fire"] * 100, "lon": lon, "lat": [1.0] * 100})
    asked = [f"fire bounding_box:[{int(x) - 1} 0 {int(x) + 1} 2]" for x in lon]
    return posts, pa.table({"id": [f"s{east}-{n}" for n in range(100)], "query": asked})


def by_place(posts: pa.Table, asked: pa.Table, matchers: int) -> Mapping:
    return Hybrid(level=4).partition(Workload.of(posts, asked), matchers)


def test_a_clearly_better_mapping_is_adopted_and_the_older_one_retired_when_few_are_left() -> None:
    posts, asked = half_and_half(50)
    cluster = Cluster(Mapping.hashed(2))  # one word: one matcher has all the load
    cluster.change(asked)
    adjusted = Repartitioner(cluster, by_place, Global(better=1.3, few=0.2))
    assert adjusted.look(posts) is None and len(cluster.older or ()) == 100
    assert adjusted.look(posts) is None and cluster.older is not None  # all are old
    cluster.change(half_and_half(51)[1], asked["id"].to_pylist()[:85])
    assert cluster.count() == 115 and len(cluster.older) == 15
    carried = adjusted.look(posts)
    assert carried is not None and 0 < carried.subscriptions <= 15 and cluster.older is None
    assert cluster.loads().matchers.posts.sum() == 0
    cluster.deliver(posts)
    assert sorted(cluster.loads().matchers.posts.tolist()) == [50, 50]
    assert adjusted.look(posts) is None and cluster.older is None  # none is clearly better than this


@pytest.mark.thorough
def test_a_steady_workload_is_divided_anew_once() -> None:
    """Ten checks, each on other posts of the same kind."""
    source = Posts(seed=4, vocabulary=2_200)
    cluster, asked = Cluster(Mapping.hashed(4)), q1(source.table(1_000), 500, 1, ENGLISH)
    cluster.change(asked)
    adjusted, adopted = Repartitioner(cluster, by_place), list[int]()
    for check in range(10):
        before = cluster.mapping
        adjusted.look(source.table(2_000, start=2_000 * check))
        if cluster.mapping is not before:
            adopted.append(check)
            cluster.retire()
    assert adopted == [0]


def test_no_mapping_is_adopted_where_nobody_subscribes() -> None:
    adjusted = Repartitioner(Cluster(Mapping.hashed(2)), by_place)
    assert adjusted.look(half_and_half(50)[0]) is None and adjusted.cluster.older is None


@pytest.mark.parametrize("bad", [{"better": 0.9}, {"few": 2}])
def test_decisions_that_make_no_sense_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(DataError, match="choose others"):
        Global(**bad)
