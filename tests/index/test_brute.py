"""The oracle itself: it takes short cuts, and must still say what the reference says of every pair."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.index.strategies import NOW, subscriptions, tables
from tidings.analysis import ENGLISH
from tidings.index import BruteForce
from tidings.language import evaluate, parse
from tidings.model import And, Not, Or, Publication, Query, QueryError, Subscription, Word
from tidings.tables import publications
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


@examples(100)
@given(st.data())
def test_brute_force_equals_the_reference_on_every_pair(data: st.DataObject) -> None:
    asked = [data.draw(subscriptions(name)) for name in "abcd"]
    table = data.draw(tables())
    oracle = BruteForce(clock=lambda: NOW)
    oracle.add(asked)
    found = oracle.match(table)
    assert found.pairs() == by_pairs(asked, table) and len(found) == len(found.pairs())
    assert found.rows().tolist() == sorted(found.rows().tolist())


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


def test_a_place_on_the_border_of_a_box_is_inside() -> None:
    places = [(1.0, 2.0), (3.0, 2.0), (2.0, 1.0), (2.0, 3.0), (0.9, 2.0), (3.1, 2.0), (2.0, 0.9), (2.0, 3.1), None]
    columns = {name: [None if p is None else p[at] for p in places] for at, name in enumerate(("lon", "lat"))}
    table = pa.table({"id": [str(number) for number in range(len(places))], **columns})
    oracle = BruteForce()
    oracle.add([Subscription("s", parse("bounding_box:[1 1 3 3]"))])
    assert oracle.match(table).rows().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "query",
    [
        Or((Word("fire"), Not(Word("the")))),
        And((Word("fire"), Or((Word("the"), Word("of"))))),
        And((Word("the"), Not(And((Word("of"), Word("smoke")))))),
    ],
)
def test_stop_words_are_left_out_of_the_tree_as_the_reference_does(query: Query) -> None:
    table = pa.table({"id": ["a", "b", "c"], "text": ["the fire", "smoke of fire", "the smoke"]})
    oracle = BruteForce()
    oracle.add([Subscription("s", query)])
    assert oracle.match(table).pairs() == by_pairs([Subscription("s", query)], table)


def test_a_query_of_nothing_but_stop_words_is_refused() -> None:
    oracle = BruteForce()
    oracle.add([Subscription("s", Not(Word("the")))])
    with pytest.raises(QueryError, match="nothing is left"):
        oracle.match(pa.table({"id": ["a"], "text": ["the fire"]}))


def parts_of(query: Query) -> list[Query]:
    """The query, and all queries inside of it."""
    children = getattr(query, "children", ())
    return [query, *(part for child in children for part in parts_of(child))]
