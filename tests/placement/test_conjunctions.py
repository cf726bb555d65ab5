"""What a placer can choose from does not depend on how queries are read."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from tests.index.mixed import NEVER, mixed_posts, mixed_queries, shapes_of, valid
from tidings.analysis import ENGLISH
from tidings.partitioning.gridt import Gridt, WordShare
from tidings.placement.conjunctions import conjunctions_of
from tidings.terms.even_grid import Grid
from tidings.terms.local_terms import local_parts
from tidings.terms.sample import Sample


@pytest.mark.parametrize("seed", range(3))
def test_conjunctions_for_a_placer_are_those_of_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    queries = pa.chunked_array([valid(mixed_queries(rng, 200))])
    sample = Sample(ENGLISH, mixed_posts(rng, 100))
    found = []
    for few in (1, NEVER):
        with shapes_of(few):
            asking = conjunctions_of(queries, ENGLISH, sample)
        names = asking.terms.term_names().to_pylist()
        found.append(sorted(
            (int(query), sorted(names[t] for t in asking.words.row(c)), len(asking.guards.row(c)))
            for c, query in enumerate(asking.queries)
        ))  # fmt: skip
        assert np.all(np.diff(asking.queries) >= 0)
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(3))
def test_where_places_are_divided_conjunctions_are_those_of_one_by_one(seed: int) -> None:
    """But for terms that are as rare: which of them guards may differ."""
    rng = random.Random(seed)
    queries = pa.chunked_array([valid(mixed_queries(rng, 300))])
    sample = Sample(ENGLISH, mixed_posts(rng, 100))
    none = np.zeros(0, dtype=np.uint64)
    blocks = [(x, y, x, y) for x in range(4) for y in range(4)]
    gridt, _ = Gridt.flattened(
        Grid(0, 0, 5, 5, level=2), [WordShare(None, none), *(WordShare(block, none) for block in blocks)], widest=9
    )
    found = []
    for few in (1, NEVER):
        with shapes_of(few):
            asking = conjunctions_of(queries, ENGLISH, sample, gridt)
        names = asking.terms.term_names()
        guards = [local_parts(names.take(asking.guards.row(c)))[1:] for c in range(len(asking))]
        found.append(sorted(
            (int(query), sorted(regions.tolist()), len(set(own.to_pylist())), "" in own.to_pylist())
            for query, (regions, own) in zip(asking.queries, guards, strict=True)
        ))  # fmt: skip
        assert np.all(np.diff(asking.queries) >= 0) and not len(asking.words.ids)
    assert found[0] == found[1]
    assert len({tuple(regions) for _, regions, _, _ in found[0]}) > 10
