"""Do counters of matchers and of parcels tell of the same work?"""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.test_placing import as_table, crowd, simple
from tests.examples import examples
from tests.index.strategies import NOW
from tidings.cluster import Cluster, counting
from tidings.partitioning import Mapping, Move


@examples(10)
@given(seed=st.integers(0, 10**6))
def test_what_is_counted_for_parcels_is_what_their_matchers_did(seed: int) -> None:
    rng = random.Random(seed)
    mapping = Mapping.hashed(4)
    cluster = Cluster(mapping, clock=lambda: NOW)
    for number in range(3):
        cluster.change(
            as_table([simple(f"s{rng.randrange(30)}", rng) for _ in range(15)]),
            [f"s{rng.randrange(30)}" for _ in range(5 * number)],
        )
        cluster.deliver(crowd(rng))
    loads = cluster.loads()
    assert np.array_equal(loads.parcels.insertions - loads.parcels.deletions, loads.filed)
    assert np.array_equal(loads.touches.by_matcher(mapping.owner, 4), loads.matchers.posts)
    assert np.array_equal(loads.touches.by_parcel(mapping.parcels.count), loads.parcels.posts)
    assert np.all((loads.parcels.compared > 0) == (loads.parcels.posts > 0))
    there = loads.standing.by_matcher(mapping.owner, 4)
    assert there.tolist() == [len(member.index) for member in cluster.members]
    busy = loads.matchers.compared > 0
    own = np.bincount(mapping.owner, loads.parcels.ms, 4)
    assert np.allclose(own[busy], loads.matchers.ms[busy])
    assert np.all(np.bincount(mapping.owner, loads.parcels.found, 4) <= loads.matchers.found)


def test_each_matcher_counts_what_came_and_what_went() -> None:
    cluster = Cluster(None)
    cluster.change(pa.table({"id": ["a", "b"], "query": ["fire", "rain"]}))
    cluster.change(pa.table({"id": ["b"], "query": ["smoke"]}), ["a", "nobody"])
    work = cluster.loads().matchers
    assert (work.insertions.tolist(), work.deletions.tolist()) == ([3], [2])
    assert work.ms[0] > 0


def test_some_subscriptions_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(Mapping.hashed(2))
    cluster.change(pa.table({"id": [f"s{n}" for n in range(30)], "query": ["fire OR rain"] * 20 + ["rain"] * 10}))
    exact = cluster.loads().standing
    monkeypatch.setattr(counting, "SOME_STANDING", 10)
    some = cluster.loads().standing
    assert exact.weights.tolist() == [1.0] * 30 and some.weights.tolist() == [3.0] * 10
    owner = np.arange(len(cluster.loads().filed)) % 2
    assert np.allclose(some.by_matcher(owner, 2), exact.by_matcher(owner, 2), atol=3)


def test_churn_is_what_changed_between_the_latest_posts_and_no_bulk_before_them() -> None:
    cluster, post = Cluster(Mapping.hashed(2)), pa.table({"id": ["p"], "text": ["fire rain"]})
    cluster.change(pa.table({"id": ["a", "b", "c"], "query": ["fire", "rain", "smoke"]}))
    cluster.deliver(post)
    assert cluster.loads().churn.inserted.sum() == 0 < cluster.loads().parcels.insertions.sum()
    cluster.change(pa.table({"id": ["d", "e"], "query": ["fire", "storm"]}), ["a"])
    assert cluster.loads().churn.inserted.sum() == 0  # no post has come since
    cluster.deliver(post)
    loads = cluster.loads()
    assert (loads.churn.inserted.sum(), loads.churn.deleted.sum()) == (2, 1)
    assert np.array_equal(loads.churn.deleted, loads.parcels.deletions)


def test_after_a_move_counting_begins_anew_but_what_is_filed_stays() -> None:
    cluster = Cluster(Mapping.hashed(2))
    cluster.change(pa.table({"id": ["a", "b"], "query": ["fire", "rain"]}))
    cluster.deliver(pa.table({"id": ["p"], "text": ["fire rain"]}))
    filed = cluster.loads().filed
    cluster.move([Move(int(np.flatnonzero(filed)[0]), 1)])
    loads = cluster.loads()
    assert np.array_equal(loads.filed, filed) and filed.sum() == 2
    assert loads.matchers.posts.sum() == loads.parcels.insertions.sum() == len(loads.touches.rows) == 0


def test_a_matcher_counts_what_it_finds_also_where_another_delivers() -> None:
    cluster = Cluster(Mapping.hashed(2), clock=lambda: NOW)
    words = [f"w{n}" for n in range(20)]
    cluster.change(pa.table({"id": ["a"], "query": [" OR ".join(words)]}))
    delivered = cluster.deliver(pa.table({"id": ["p"], "text": [" ".join(words)]}))
    work = cluster.work()
    assert len(delivered.rows) == 1 and work.found.tolist() == [1, 1] and work.compared.tolist() == [20, 20]
