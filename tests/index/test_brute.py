"""The oracle itself: it takes short cuts, and must still say what the reference says of every pair."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.index.strategies import NOW, subscriptions, tables
from tidings.index import BruteForce
from tidings.language import evaluate, parse
from tidings.model import Publication, Query, Subscription
from tidings.tables import publications
from tidings.terms import ENGLISH
from tidings.workloads import Posts, Stocks, q1, stock_subscriptions, tweet_based

POSTS = Posts(seed=4, vocabulary=2200).table(120)
QUOTES = Stocks(seed=2).table(120)


def by_pairs(asked: list[Subscription], table: pa.Table) -> set[tuple[int, str]]:
    return {
        (row, subscription.id)
        for row, publication in enumerate(publications(table))
        for subscription in asked
        if isinstance(publication, Publication)
        and subscription.valid_at(publication.ts or NOW)
        and evaluate(subscription.query, publication)
    }


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_brute_force_equals_the_reference_on_every_pair(data: st.DataObject) -> None:
    asked = [data.draw(subscriptions(name)) for name in "abcd"]
    table = data.draw(tables())
    oracle = BruteForce(clock=lambda: NOW)
    oracle.add(asked)
    found = oracle.match(table)
    assert found.pairs() == by_pairs(asked, table) and len(found.ids) == len(found.pairs())
    assert found.rows.tolist() == sorted(found.rows.tolist())


@pytest.mark.parametrize(
    ("asked", "table"),
    [
        (tweet_based(POSTS["text"], 40, 1, ENGLISH, words=(1, 2)), POSTS),
        (q1(POSTS, 40, 1, ENGLISH), POSTS),
        (stock_subscriptions(QUOTES, 40, 1), QUOTES),
    ],
    ids=["words", "squares", "stock"],
)
def test_each_part_of_generated_queries_is_found_wherever_the_reference_finds_it(
    asked: pa.Table, table: pa.Table
) -> None:
    parts = {part for query in asked["query"].to_pylist() for part in parts_of(parse(query))}
    single = [Subscription(str(number), part) for number, part in enumerate(parts)]
    oracle = BruteForce(clock=lambda: NOW)
    oracle.add(single)
    found = oracle.match(table).pairs()
    assert found == by_pairs(single, table) and len(found) > len(single)


def parts_of(query: Query) -> list[Query]:
    """The query, and all queries inside of it."""
    children = getattr(query, "children", ())
    return [query, *(part for child in children for part in parts_of(child))]
