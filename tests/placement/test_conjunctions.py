"""What a placer can choose from does not depend on how queries are read."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from tests.index.mixed import NEVER, mixed_posts, mixed_queries, shapes_of, valid
from tidings.analysis import ENGLISH
from tidings.placement.conjunctions import conjunctions_of
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
