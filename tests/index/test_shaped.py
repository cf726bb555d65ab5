"""Queries that are filed by their shape are asked for what they ask one by one."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples, thorough_but
from tests.index.mixed import NEVER, mixed_posts, mixed_queries, shapes_of, valid
from tests.index.strategies import NOW, tables
from tests.language.strategies import small_queries
from tidings.analysis import ENGLISH
from tidings.index.entries import NO_TEST, Loose, loose
from tidings.index.filing import Filer
from tidings.index.guard import GuardIndex
from tidings.index.predicates import Predicates
from tidings.index.shaped import file_shaped
from tidings.language import area_of, parse_normal, to_text
from tidings.language.shapes.reading import read_shapes
from tidings.terms.dictionary import Dictionary
from tidings.terms.sample import Sample
from tidings.workloads import Posts, Stocks, q1, stock_subscriptions


@pytest.mark.parametrize("with_sample", [False, True])
@pytest.mark.parametrize("seed", thorough_but(range(3), 0))
def test_an_index_by_shapes_matches_what_one_by_one_matches(seed: int, with_sample: bool) -> None:
    rng = random.Random(seed)
    queries, posts = valid(mixed_queries(rng, 400)), mixed_posts(rng, 60)
    table = pa.table({"id": [f"s{n}" for n in range(len(queries))], "query": queries})
    found = []
    for few in (1, 8, NEVER):
        with shapes_of(few):
            index = GuardIndex(sample=mixed_posts(random.Random(9), 50) if with_sample else None, clock=lambda: NOW)
            index.add_table(table)
            found.append(index.match(posts).pairs())
            index.compact()
            assert index.match(posts).pairs() == found[-1]
    assert found[0] == found[1] == found[2] and len(found[0]) > 1_000


@examples(40)
@given(st.data())
def test_an_index_by_shapes_matches_what_one_by_one_matches_for_any_query(data: st.DataObject) -> None:
    queries = data.draw(st.lists(small_queries.map(to_text), min_size=1, max_size=25))
    sample, posts = data.draw(st.none() | tables(8)), data.draw(tables())
    table = pa.table({"id": [f"s{n}" for n in range(len(queries))], "query": queries})
    found = []
    for few in (1, NEVER):
        with shapes_of(few):
            index = GuardIndex(sample=sample, clock=lambda: NOW)
            index.add_table(table)
            found.append(index.match(posts).pairs())
    assert found[0] == found[1]


def _asked(entries: Loose, filer: Filer) -> dict[int, list[tuple[Any, ...]]]:
    """What the entries of each query ask for: guard, and all else in any order; predicates by what they compare."""
    arrays = filer.predicates.filled()

    def content(predicate: int) -> tuple[Any, ...]:
        return tuple(tuple(np.ravel(arrays[name][predicate]).tolist()) for name in ("kinds", "slots", "keys"))

    found: dict[int, list[tuple[Any, ...]]] = {}
    ends = np.cumsum(entries.lengths)
    for n, end in enumerate(ends.tolist()):
        parts: set[Any] = {int(entries.firsts[n])} - {0}
        if entries.tests[n] != NO_TEST:
            parts.add(("test", content(entries.tests[n])))
        for code in entries.stream[end - entries.lengths[n] : end].tolist():
            negative = -code - 1
            parts.add((negative & 3, content(negative >> 2)) if code < 0 and negative & 1 else code)
        found.setdefault(int(entries.queries[n]), []).append((int(entries.guards[n]), frozenset(parts)))
    return found


@pytest.mark.parametrize("by_place", [True, False])
@pytest.mark.parametrize(
    ("asked_for", "posts"),
    [
        (q1(Posts(seed=1).table(300), 400, seed=1, analyser=ENGLISH), Posts(seed=2).table(400)),
        (stock_subscriptions(Stocks(seed=1).table(1000), 400, seed=1), Stocks(seed=2).table(400)),
        (pa.table({"query": valid(mixed_queries(random.Random(3), 400))}), mixed_posts(random.Random(4), 50)),
    ],
)
def test_guards_and_what_is_left_to_verify_are_those_of_the_filer(
    asked_for: pa.Table, posts: pa.Table, by_place: bool
) -> None:
    """But for words that are as rare: which of them guards may differ."""
    sample = Sample(ENGLISH, posts)
    filer = Filer(Dictionary(), Predicates(), sample)
    texts = asked_for["query"].to_pylist()
    compared = 0
    with shapes_of(1):
        shaped = read_shapes(asked_for["query"], ENGLISH)
    for group in file_shaped(shaped, filer, by_place=by_place):
        row_of = dict(zip(group.queries.tolist(), group.rows.tolist(), strict=True))
        for number, filed in enumerate(group.conjunctions):
            entries = _asked(filed.entries, filer)
            assert set(entries) == set(range(group.count))
            for query, own in entries.items():
                conjunction = parse_normal(texts[row_of[query]], analyser=ENGLISH)[1][number]
                alone = filer.file(conjunction, by_place=by_place)
                if not by_place:
                    begin, end = filed.places.offsets[query : query + 2].tolist()
                    assert [tuple(box) for box in filed.places.boxes[begin:end].tolist()] == area_of(conjunction)
                expected = _asked(loose(alone, [0] * len(alone)), filer)[0]
                if len(own) > 1 or own[0][0] == expected[0][0]:
                    assert sorted(own, key=str) == sorted(expected, key=str)
                else:
                    [(guard_term, rest)], [(other, others)] = own, expected
                    assert rest | {guard_term} == others | {other}
                compared += 1
    assert compared > 300
