"""Does a subscription that passes from one index to another ask for the same there?"""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from tests.examples import thorough_but
from tests.index.mixed import mixed_posts, mixed_queries, shapes_of, valid
from tests.index.strategies import NOW
from tidings.index import GuardIndex


def made(table: pa.Table, few: int) -> GuardIndex:
    """An index of a table: some rows in a segment, some recent."""
    index, half = GuardIndex(clock=lambda: NOW), table.num_rows // 2
    with shapes_of(few):
        index.add_table(table.slice(0, half))
    index.add_table(table.slice(half))
    return index


@pytest.mark.parametrize("seed", thorough_but(range(4), 0))
def test_what_is_carried_answers_as_if_it_had_been_there_from_the_start(seed: int) -> None:
    rng = random.Random(seed)
    queries, posts = valid(mixed_queries(rng, 300)), mixed_posts(rng, 60)
    table = pa.table({"id": [f"s{n}" for n in range(len(queries))], "query": queries})
    whole = made(table, 8)
    expected = whole.match(posts).pairs()
    third = table.num_rows // 3
    givers = [made(table.slice(0, third), 8), made(table.slice(third, third), 8)]
    taker = made(table.slice(2 * third), 8)
    names = [f"s{n}" for n in rng.sample(range(2 * third), third)]
    ids = pa.array([*names, "nobody"], pa.large_string())
    taker.take([giver.filed(ids) for giver in givers], [])
    for giver in givers:
        giver.take([], names)
    for _ in range(2):
        assert len(taker) + sum(map(len, givers)) == table.num_rows
        found = [index.match(posts).pairs() for index in (*givers, taker)]
        assert set().union(*found) == expected and sum(map(len, found)) == len(expected) > 1_000
        for index in (*givers, taker):
            index.compact()
    assert taker.subscriptions(ids).num_rows == third


def test_columns_of_numbers_have_other_numbers_elsewhere() -> None:
    one, other = GuardIndex(), GuardIndex()
    one.add_table(pa.table({"id": ["s"], "query": ["price:>3 -(fire OR volume:[1 TO 2])"]}))
    other.add_table(pa.table({"id": ["t", "u"], "query": ["volume:<1", "height:>5"]}))
    other.take([one.filed(pa.array(["s"], pa.large_string()))], ["u"])
    posts = pa.table({"id": ["a", "b", "c"], "price": [4.0, 4.0, 2.0], "volume": [0.5, 1.5, 5.0], "height": [9.0] * 3})
    assert other.match(posts).pairs() == {(0, "s"), (0, "t")}


def test_who_is_gone_is_not_carried() -> None:
    index = GuardIndex()
    index.add_table(pa.table({"id": ["s", "t"], "query": ["fire", "fire"]}))
    index.remove(["s"])
    filed = index.filed(pa.array(["s", "t"], pa.large_string()))
    assert filed.source.table["id"].to_pylist() == ["t"]
    assert index.filed(pa.array([], pa.large_string())).source.table.num_rows == 0
