"""Do the matchers together deliver what brute force does, each match once?"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.index.strategies import NOW, subscriptions, tables
from tidings.index import BruteForce, GuardIndex
from tidings.index.sample import Sample
from tidings.index.subscribers import Record, table_of
from tidings.language import parse, to_text
from tidings.model import Subscription
from tidings.partitioning import HashMapping, Homes, Router, once, partition
from tidings.terms import ENGLISH
from tidings.workloads import Posts, Stocks, q1, stock_subscriptions, tweet_based

NOBODY = table_of([])


@dataclass
class Matchers:
    """All matchers in one process. A change reaches them as it would on a cluster: what is new, and the ids."""

    mapping: HashMapping
    sample: Sample | None
    router: Router = field(init=False)
    indexes: dict[int, GuardIndex] = field(default_factory=dict)
    homes: dict[int, Homes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.router = partition(NOBODY, self.mapping).router

    def change(self, table: pa.Table, gone: list[str]) -> None:
        parts = partition(table, self.mapping, self.sample)
        self.router.extend(parts.router)
        changed = [*gone, *table["id"].to_pylist()]
        for matcher in {*self.indexes, *parts.homes.pairs()[1].tolist()}:
            share = parts.share(matcher)
            if matcher in self.indexes:
                self.homes[matcher] = self.homes[matcher].changed(share.homes, changed)
            else:
                self.indexes[matcher], self.homes[matcher] = GuardIndex(clock=lambda: NOW), share.homes
            self.indexes[matcher].change(share.table, changed)

    def deliver(self, table: pa.Table) -> list[tuple[int, str]]:
        routes = self.router.route(table)
        delivered: list[tuple[int, str]] = []
        for matcher, index in self.indexes.items():
            rows = routes.with_matcher(matcher)
            found = index.match(table.take(pa.array(rows)))
            kept = once(rows[found.rows], pa.array(found.ids, pa.large_string()), matcher, routes, self.homes[matcher])
            pairs = zip(rows[found.rows].tolist(), found.ids, strict=True)
            delivered += [pair for pair, is_kept in zip(pairs, kept, strict=True) if is_kept]
        return sorted(delivered)

    def reopened(self, folder: Path) -> Matchers:
        """The same with its router and homes from files."""
        self.router.save(folder / "router")
        again = Matchers(self.mapping, self.sample)
        again.router, again.indexes = Router.open(folder / "router"), self.indexes
        for matcher, homes in self.homes.items():
            homes.save(folder / f"homes-{matcher}")
            again.homes[matcher] = Homes.open(folder / f"homes-{matcher}")
        return again


def as_table(asked: list[Subscription]) -> pa.Table:
    return table_of([Record.of(subscription, to_text(subscription.query)) for subscription in asked])


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_matchers_together_equal_brute_force_while_subscriptions_come_and_go(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    publications = data.draw(st.none() | tables(8))
    sample = None if publications is None else Sample(ENGLISH, publications)
    matchers = Matchers(HashMapping(data.draw(st.sampled_from([1, 2, 7, 16, 70]))), sample)
    oracle = BruteForce(clock=lambda: NOW)
    for _ in range(data.draw(st.integers(1, 3))):
        names = data.draw(st.lists(st.sampled_from("abcdefgh"), max_size=6))
        added, gone = [data.draw(subscriptions(name)) for name in names], data.draw(st.lists(st.sampled_from("abcz")))
        oracle.remove(gone)
        oracle.add(added)
        matchers.change(as_table(added), gone)
        table = data.draw(tables())
        assert matchers.deliver(table) == sorted(oracle.match(table).pairs())
    if data.draw(st.integers(0, 4)) == 0:  # files are slow
        again = matchers.reopened(tmp_path_factory.mktemp("matchers"))
        assert again.deliver(table) == sorted(oracle.match(table).pairs())


POSTS = Posts(seed=4, vocabulary=2200).table(150)
QUOTES = Stocks(seed=2).table(300)


@pytest.mark.parametrize(
    ("asked", "posts"),
    [
        (tweet_based(POSTS["text"], 400, 1, ENGLISH, words=(1, 3)), POSTS),
        (q1(POSTS, 400, 1, ENGLISH), POSTS),
        (stock_subscriptions(QUOTES, 400, 1), QUOTES),
    ],
    ids=["tweet", "q1", "stock"],
)
def test_matchers_together_equal_brute_force_on_generators(asked: pa.Table, posts: pa.Table) -> None:
    matchers, oracle = Matchers(HashMapping(7), Sample(ENGLISH, posts)), BruteForce()
    matchers.change(asked.select(["id", "query"]), [])
    oracle.add(Subscription(row["id"], parse(row["query"])) for row in asked.to_pylist())
    delivered = matchers.deliver(posts)
    assert delivered == sorted(oracle.match(posts).pairs()) and len(delivered) > 20
    assert matchers.router.route(posts).sizes().mean() < 7


def test_a_subscription_lives_whole_wherever_one_of_its_guards_is_owned() -> None:
    asked = pa.table({"id": ["s", "t"], "query": ["fire OR smoke OR (rain flood)", "fire"]})
    parts = partition(asked, HashMapping(256))
    assert parts.homes.sizes().tolist() == [3, 1]
    shares = [share for m in range(256) if (share := parts.share(m)).table.num_rows]
    assert sorted(share.table["id"].to_pylist() for share in shares) == [["s"], ["s"], ["s", "t"]]
    assert all(share.homes.ids.texts().to_pylist() == ["s"] for share in shares)
    assert {share.table["query"][0].as_py() for share in shares} == {"fire OR smoke OR (rain flood)"}


def test_the_later_of_two_equal_ids_counts() -> None:
    asked = pa.table({"id": ["s", "s"], "query": ["fire", "smoke"]})
    parts = partition(asked, HashMapping(256))
    assert parts.table["query"].to_pylist() == ["smoke"] and len(parts.homes) == len(parts.router) == 1


def test_what_nothing_can_match_lives_nowhere() -> None:
    query = "price:{2 TO 2.0000000000000004}"  # no number of 64 bits lies between
    parts = partition(pa.table({"id": ["s"], "query": [query]}), HashMapping(3))
    assert parts.homes.sizes().tolist() == [0] and len(parts.router) == 0


def test_without_homes_elsewhere_every_match_is_delivered_and_with_them_only_by_the_first() -> None:
    asked = pa.table({"id": ["s", "t"], "query": ["fire OR smoke", "fire"]})
    posts = pa.table({"id": ["p", "q"], "text": ["fire and smoke", "smoke"]})
    parts = partition(asked, HashMapping(256))
    routes = parts.router.route(posts)
    (fire,) = parts.homes.taken(pa.array([1]).to_numpy()).pairs()[1]
    (smoke,) = set(parts.homes.pairs()[1].tolist()) - {fire}
    rows, ids = pa.array([0, 1]).to_numpy(), pa.array(["s", "s"])
    both = [once(rows, ids, m, routes, parts.share(m).homes).tolist() for m in sorted((fire, smoke))]
    assert both[0][0] and not both[1][0]  # both find the first post, the lower delivers it
    assert once(rows[1:], ids[1:], smoke, routes, parts.share(smoke).homes).all()
