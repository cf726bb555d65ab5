from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.partitioning.learning.samples import sample, samples
from tidings.cluster import Router
from tidings.partitioning.kernels import part_of
from tidings.partitioning.learning import Incidence, Salb, measure
from tidings.partitioning.mapping import Mapping, Owners
from tidings.terms.dictionary import Dictionary


@examples(100)
@given(samples(), st.sampled_from([1, 2, 7, 70, 256]), st.randoms(use_true_random=False))
def test_metrics_equal_their_definitions(incidence: Incidence, matchers: int, random: Random) -> None:
    own = [random.sample(range(matchers), random.randint(1, min(matchers, 4))) for _ in incidence.names]
    flat = np.array([matcher for one in own for matcher in one], dtype=np.int32)
    mapping = Mapping.learned(incidence.names, Owners.of_counts([len(one) for one in own], flat), matchers)
    routes = []
    for row in range(len(incidence.sets)):
        key = incidence.keys[row]
        terms = incidence.sets.row(row).tolist()
        routes.append({own[t][part_of(key, len(own[t]))] for t in terms})
    loads = [sum(m in route for route in routes) for m in range(matchers)]
    found = measure(mapping, incidence)
    assert found.loads.tolist() == loads and found.posts == len(routes)
    if any(routes):
        assert found.spread == pytest.approx(sum(map(len, routes)) / len(routes))
        assert found.imbalance == pytest.approx(max(loads) / (sum(loads) / matchers))
        assert found.throughput == pytest.approx(len(routes) / max(loads))
        assert found.estimate == pytest.approx(found.throughput / matchers)


def test_a_post_with_two_words_on_a_matcher_counts_once() -> None:
    incidence = sample([{0, 1}, {0}, {2}])
    mapping = Mapping.learned(incidence.names, Owners.single(np.array([0, 0, 1], dtype=np.int32)), 2)
    found = measure(mapping, incidence)
    assert found.loads.tolist() == [2, 1] and (found.spread, found.throughput) == (1.0, 1.5)


def test_loads_are_those_of_the_router() -> None:
    terms = Dictionary()
    for word in ("fire", "smoke", "rain", "flood"):
        terms.word(word)
    texts = ["fire and smoke", "rain", "fire", "flood, rain, fire", "nothing"] * 200
    posts = pa.table({"id": [f"p{i}" for i in range(1000)], "text": texts})
    incidence = Incidence.of(posts, terms)
    mapping = Salb(share=1.0).partition(incidence, 5)
    owners = mapping.owners(terms)
    assert owners.counts().tolist() == [0, 4, 1, 2, 1]
    routes = Router(terms, mapping.parcels_of(terms), mapping.owner, 5).route(posts)
    assert measure(mapping, incidence).loads.tolist() == np.bincount(routes.pairs()[1], minlength=5).tolist()


def test_nothing_published_is_no_load() -> None:
    found = measure(Mapping.hashed(4), sample([], terms=2))
    assert (found.spread, found.imbalance, found.throughput, found.estimate) == (0.0, 1.0, 4.0, 1.0)


def test_versions_are_taken_evenly_and_nest() -> None:
    keys = np.random.default_rng(1).integers(0, 1 << 64, 20_000, dtype=np.uint64)
    for k in (1, 2, 3, 256):
        counts = np.bincount([part_of(key, k) for key in keys], minlength=k)
        assert len(counts) == k and counts.max() < 1.7 * len(keys) / k
    assert all(part_of(key, 8) // 2 == part_of(key, 4) for key in keys[:100])
    ends = [part_of(np.uint64(key), 7) for key in (0, (1 << 64) - 1)]
    assert ends == [0, 6]
