"""The index against brute force on the real data: 20,000 publications times 10,000 subscriptions of each generator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from benchmarks.matching import Workload
from benchmarks.names import Name
from benchmarks.workloads import workload
from tidings.analysis import ENGLISH
from tidings.arrays import IntArray
from tidings.index import GI2, BruteForce, GuardIndex, Matcher
from tidings.language import Content, evaluate_content, parse
from tidings.model import Publication, Subscription
from tidings.tables import publications
from tidings.tables.matches import Matches

PUBLICATIONS, SUBSCRIPTIONS = 20_000, 10_000
BLOCK_ROWS = 5_000
"""So many publications are compared at once: squares have six million matches in them."""


@pytest.fixture(scope="module", params=list(Name))
def made(data: Path, request: pytest.FixtureRequest) -> Workload:
    return workload(request.param, data, SUBSCRIPTIONS, PUBLICATIONS, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_index_equals_brute_force_on_real_data(made: Workload) -> None:
    asked = parsed(made.subscriptions)
    numbers = {subscription.id: number for number, subscription in enumerate(asked)}
    assert len(numbers) == SUBSCRIPTIONS and made.posts.num_rows == PUBLICATIONS
    oracle = BruteForce()
    oracle.add(asked)
    indexes = filled(made, asked)
    matches = 0
    for start in range(0, PUBLICATIONS, BLOCK_ROWS):
        block = made.posts.slice(start, BLOCK_ROWS)
        expected = sorted_pairs(oracle.match(block), numbers)
        for way, index in indexes.items():
            assert np.array_equal(sorted_pairs(index.match(block), numbers), expected), way
        matches += len(expected)
    print(f"{made.name}: {matches:,} matches")  # shown by pytest -rP
    assert matches > 100


@pytest.mark.slow
def test_brute_force_equals_the_reference_on_real_data(made: Workload) -> None:
    posts = made.posts.slice(0, 200)
    index = GuardIndex(sample=made.sample)
    index.add_table(made.subscriptions.select(["id", "query"]))
    some = sorted({name for _, name in index.match(posts).pairs()})[:100]  # few of them ask for what is in few posts
    chosen = made.subscriptions.filter(pc.is_in(made.subscriptions["id"], pa.array(some)))
    asked = parsed(pa.concat_tables([chosen, made.subscriptions.slice(0, 100)]))
    oracle = BruteForce()
    oracle.add(asked)
    every = [Content.of(post, ENGLISH) for post in publications(posts) if isinstance(post, Publication)]
    expected = {
        (row, subscription.id)
        for row, content in enumerate(every)
        for subscription in asked
        if evaluate_content(subscription.query, content, ENGLISH)
    }
    assert oracle.match(posts).pairs() == expected
    assert expected and len(every) == 200


def parsed(subscriptions: pa.Table) -> list[Subscription]:
    return [Subscription(row["id"], parse(row["query"])) for row in subscriptions.to_pylist()]


def filled(made: Workload, asked: list[Subscription]) -> dict[str, Matcher]:
    """The same subscriptions by each way in: as values, as a table, and both, in the place of others, compacted; and
    by another matcher."""
    table, half = made.subscriptions.select(["id", "query"]), len(asked) // 2
    others = table.set_column(1, "query", table["query"].take(pa.array(np.roll(np.arange(len(asked)), 1))))
    indexes = {way: GuardIndex(sample=made.sample) for way in ("values", "table", "compacted")}
    indexes["values"].add(asked)
    indexes["table"].add_table(table)
    indexes["compacted"].add_table(others)
    indexes["compacted"].add(asked[:half])
    indexes["compacted"].add_table(table.slice(half))
    indexes["compacted"].compact()
    gi2 = GI2(sample=made.sample)
    gi2.add_table(others)
    gi2.add_table(table)
    return {**indexes, "gi2": gi2}


def sorted_pairs(found: Matches, numbers: dict[str, int]) -> IntArray:
    """Each match as one number, of its row and its subscription; one that was found twice is there twice."""
    subscriptions = np.fromiter((numbers[name] for name in found.ids().to_pylist()), dtype=np.int64, count=len(found))
    return np.sort(found.rows() * len(numbers) + subscriptions)
