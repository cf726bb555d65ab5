"""Rows with several numbers: does any of them count, once, whatever the others are?"""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from tidings.index import BruteForce, GuardIndex
from tidings.language import parse
from tidings.model import Publication, Subscription
from tidings.tables.columns import ABSENT, number_key
from tidings.tables.rows import publications
from tidings.terms.several import filled_up, marked, several_numbers

RNG = random.Random(16)


def _post(number: int) -> dict[str, object]:
    prices = [RNG.choice([RNG.uniform(0, 100), float(RNG.randint(0, 100))]) for _ in range(RNG.choice([0, 1, 1, 2, 9]))]
    items = [{"price": RNG.randint(0, 9), "code": RNG.choice("abc")} for _ in range(RNG.choice([0, 1, 3]))]
    lat, lon = (RNG.uniform(0, 5), RNG.uniform(0, 5)) if number % 3 else (None, None)
    text = RNG.choice(["fire", "smoke", "fire smoke"])
    return {"id": f"p{number}", "text": text, "lat": lat, "lon": lon, "price": prices, "items": items}


def _query() -> str:
    low = RNG.uniform(0, 95)
    parts = [
        f"price:[{low:.3f} TO {low + RNG.choice([0.5, 5, 60]):.3f}]",
        f"price:>{low:.2f}",
        f"price:<{RNG.randint(0, 20)} price:>{RNG.randint(50, 100)}",
        f"items.price:[{RNG.randint(0, 5)} TO {RNG.randint(5, 9)}]",
        f"items.code:{RNG.choice('abcd')} items.price:{RNG.randint(0, 9)}",
        f"fire -price:[{low:.2f} TO {low + 3:.2f}]",
        "bounding_box:[1 1 4 4]",
    ]
    return " ".join(RNG.sample(parts, RNG.choice([1, 1, 2])))


ROWS = [_post(number) for number in range(300)]
QUERIES = list(dict.fromkeys([*(_query() for _ in range(400)), "price:>5 OR price:<50 OR items.price:>3"]))


@pytest.mark.parametrize("is_old", [False, True], ids=["recent", "in a segment"])
def test_the_index_equals_brute_force_and_doubles_nothing(is_old: bool) -> None:
    table = pa.Table.from_pylist(ROWS)
    asked = [Subscription(query, parse(query)) for query in QUERIES]
    index, oracle = GuardIndex(), BruteForce()
    for matcher in (index, oracle):
        matcher.add(asked)
    if is_old:
        index.compact()
    found, expected = index.match(table), oracle.match(table).pairs()
    assert found.pairs() == expected and len(found) == len(expected) > 5_000
    equal_queries_once = {(row, frozenset(query.split())) for row, query in expected}
    assert index.count(table).matches == len(equal_queries_once)
    posts = [post for post in publications(table) if isinstance(post, Publication)]
    singly = [(row, match.subscription_id) for row, post in enumerate(posts) for match in index.match_one(post)]
    assert len(singly) == len(expected) and set(singly) == expected


def test_several_numbers_lie_behind_the_rows() -> None:
    column = pa.chunked_array([pa.array([[1.0, 2.0], [3.0], None, [4.0, 5.0, 6.0]], pa.large_list(pa.float64()))])
    keys, behind = several_numbers(column, end=8)
    one, two, three, four, five, six = (number_key(float(n)) for n in range(1, 7))
    assert keys.tolist() == [ABSENT + 8, three, ABSENT, ABSENT + 11]
    assert behind.tolist() == [one, two, ABSENT, four, five, six, ABSENT]
    numbers = filled_up(np.zeros((4, 2), dtype=np.int64), behind)
    assert numbers.shape == (8, 2) and numbers.reshape(-1)[8:].tolist() == [*behind, ABSENT]


def test_one_number_or_none_needs_no_mark() -> None:
    more: list[int] = []
    assert marked([], 2, more) == ABSENT and marked([7], 2, more) == 7 and not more
    assert marked([7, 8], 2, more) == ABSENT + 2 and marked([1, 2], 2, more) == ABSENT + 5
    assert more == [7, 8, ABSENT, 1, 2, ABSENT]
