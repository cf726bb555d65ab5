from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tidings.analysis import ENGLISH
from tidings.cluster import Homes, Placement, Router, once, place
from tidings.index.guard import GuardIndex
from tidings.partitioning import Mapping, MatcherSets
from tidings.partitioning.mapping import hash_names
from tidings.shedding import PER_POST, Levels, Routed, shedder
from tidings.tables.columns import place_columns
from tidings.workloads import Posts, tweet_based

POSTS = Posts(seed=3, vocabulary=2200).table(200)


def asked() -> pa.Table:
    """Subscriptions of one to three words, and as many that have an alternative, so that some have two homes."""
    table = tweet_based(POSTS["text"], 300, 1, ENGLISH, words=(1, 3))
    queries = table["query"].to_pylist()
    both = [f"({first}) OR ({second})" for first, second in zip(queries, queries[7:] + queries[:7], strict=True)]
    ids = [*table["id"].to_pylist(), *(f"either{i}" for i in range(len(both)))]
    return pa.table({"id": ids, "query": [*queries, *both]})


def routed_by(router: Router) -> Routed:
    terms = router._reader.terms(POSTS, *place_columns(POSTS))
    owners = np.full(len(router.owners), -1, dtype=np.int32)
    owners[router.owners.counts() == 1] = router.owners.matchers
    return Routed.of(terms, owners, hash_names(POSTS["id"]), router.matchers)


def index_of(table: pa.Table) -> GuardIndex:
    index = GuardIndex()
    index.add_table(table)
    return index


@pytest.fixture(scope="module")
def placement() -> Placement:
    return place(asked(), Mapping.hashed(8))


@pytest.fixture(scope="module")
def shares(placement: Placement) -> list[tuple[GuardIndex, Homes]]:
    parts = [placement.share(matcher) for matcher in range(8)]
    return [(index_of(share.table), share.homes) for share in parts]


def found(shares: list[tuple[GuardIndex, Homes]], kept: MatcherSets) -> list[tuple[int, str]]:
    """What the matchers deliver, each of the posts that still reach it."""
    pairs: list[tuple[int, str]] = []
    for matcher, (index, homes) in enumerate(shares):
        rows = kept.with_matcher(matcher)
        matches = index.match(POSTS.take(pa.array(rows)))
        own, ids = rows[matches.rows()], matches.ids()
        delivers = once(own, ids, matcher, kept, homes)
        pairs += [(int(row), name) for row, name, mine in zip(own, ids.to_pylist(), delivers, strict=True) if mine]
    return pairs


@pytest.mark.parametrize("policy", PER_POST)
def test_what_is_found_is_right_and_once_and_all_that_the_kept_matchers_have(
    policy: str, placement: Placement, shares: list[tuple[GuardIndex, Homes]]
) -> None:
    routed = routed_by(placement.router)
    assert np.array_equal(routed.route().words, placement.router.route(POSTS).words)
    right = index_of(placement.table).match(POSTS).pairs()
    homes = dict(zip(placement.table["id"].to_pylist(), placement.homes.words[:, 0].tolist(), strict=True))
    ones = np.ones(len(placement.router) + 1)
    for limit, least in ((Levels().limit(0), 1.0), (3.5, 0.3), (1.0, 0.05)):
        result = shedder(policy, ones).shed(routed, limit, ones)
        pairs = found(shares, result.kept)
        assert len(pairs) == len(set(pairs)) and set(pairs) <= right
        reached = {(row, name) for row, name in right if int(result.kept.words[row, 0]) & homes[name]}
        assert set(pairs) == reached and len(reached) >= least * len(right)
        assert (len(reached) < len(right)) == (limit < 8)
