"""Do publications and subscriptions meet where places are divided, whatever they ask for and wherever they are?"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.test_placing import as_table, crowd, reopened
from tests.examples import examples, thorough_but
from tests.index.strategies import NOW, subscriptions, tables
from tests.language.strategies import WORDS
from tests.partitioning.hybrid.test_ps2_partitioners import PARTITIONERS
from tidings.analysis import ENGLISH
from tidings.cluster import Cluster, Router, place
from tidings.index import BruteForce
from tidings.language import parse
from tidings.model import DataError, Subscription
from tidings.partitioning import Mapping, Move
from tidings.partitioning.gridt import Gridt
from tidings.partitioning.hybrid import Hybrid, PaperHybrid, Workload
from tidings.placement import Anycast, Lasp

FORMS = (
    "{} bounding_box:[{} {} {} {}]", "({} OR rain) bounding_box:[{} {} {} {}]", "bounding_box:[{1} {2} {3} {4}]",
    "{} OR (smoke bounding_box:[{} {} {} {}])",
    "{} -bounding_box:[{} {} {} {}]", "{} -topic:news bounding_box:[{} {} {} {}]",
    "{} bounding_box:[-180 -90 180 90]", "{} bounding_box:[-180 80 180 90]", "bounding_box:[-180 -90 180 90]",
    "{} point_radius:[179 10 400km]", "{0} bounding_box:[0 0 9 9] bounding_box:[{1} {2} {3} {4}]",
    "price:>2 bounding_box:[{1} {2} {3} {4}]", "topic:news bounding_box:[{1} {2} {3} {4}]", "{}", "{} price:>1",
)  # fmt: skip


def local(name: str, rng: random.Random) -> Subscription:
    (west, east), (south, north) = (sorted(rng.sample(range(-10, 20), 2)) for _ in range(2))
    return Subscription(name, parse(rng.choice(FORMS).format(rng.choice(WORDS), west, south, east, north)))


def spread(rng: random.Random, rows: int = 40) -> pa.Table:
    """Publications here and there, at the poles and the date line, and without a place."""
    posts = crowd(rng, rows)
    far = [(180.0, 10.0), (-180.0, 10.0), (0.0, 90.0), (-180.0, -90.0), (None, None)]
    places = [rng.choice([(rng.uniform(-10, 20), rng.uniform(-10, 20)), rng.choice(far)]) for _ in range(rows)]
    for n, name in enumerate(("lon", "lat")):
        posts = posts.set_column(posts.column_names.index(name), name, pa.array([p[n] for p in places], pa.float64()))
    return posts


def counts(router: Router) -> dict[str, tuple[int, list[int]]]:
    """What is filed under each term, and its parcels, by name."""
    names, filed, parcels = router.terms.term_names().to_pylist(), router.filed.tolist(), router.parcels
    own = [parcels.parcels[parcels.offsets[t] : parcels.offsets[t + 1]].tolist() for t in range(len(names))]
    return {name: (filed[t], own[t]) for t, name in enumerate(names) if filed[t]}


@pytest.mark.parametrize("name", thorough_but(PARTITIONERS, "hybrid", "kd-tree"))
@examples(3)
@given(seed=st.integers(0, 10**6), matchers=st.sampled_from([1, 3, 9]))
def test_each_match_is_delivered_once_through_changes_and_moves(name: str, seed: int, matchers: int) -> None:
    if name == "hypergraph":
        pytest.importorskip("pymetis")
    rng = random.Random(seed)
    first = {f"s{n}": local(f"s{n}", rng) for n in range(30)}
    mapping = PARTITIONERS[name](Workload.of(spread(rng, 60), as_table([*first.values()])), matchers).mapping()
    cluster, oracle = Cluster(mapping, clock=lambda: NOW), BruteForce(clock=lambda: NOW)
    live: dict[str, Subscription] = {}
    for number in range(3):
        added = {f"s{n}": local(f"s{n}", rng) for n in rng.sample(range(40), 9)} if number else first
        gone = [f"s{rng.randrange(40)}" for _ in range(3 * number)]
        live = {key: own for key, own in live.items() if key not in gone} | added
        oracle.remove(gone)
        oracle.add([*added.values()])
        cluster.change(as_table([*added.values()]), gone)
        posts = spread(rng)
        assert cluster.deliver(posts).pairs() == sorted(oracle.match(posts).pairs())
        cluster.move([Move(rng.randrange(mapping.parcels.count), rng.randrange(matchers)) for _ in range(5)])
        posts = spread(rng)
        assert cluster.deliver(posts).pairs() == sorted(oracle.match(posts).pairs())
        if rng.random() < 0.5:
            cluster.tidy()
    anew = Cluster(cluster.mapping, clock=lambda: NOW)
    anew.change(as_table([*live.values()]))
    assert cluster.router is not None and anew.router is not None
    assert counts(cluster.router) == counts(anew.router)
    assert np.array_equal(cluster.router.route(posts).words, anew.router.route(posts).words)


@examples(10)
@given(seed=st.integers(0, 10**6), matchers=st.sampled_from([1, 5, 130]))
def test_a_route_is_the_owners_of_all_terms_under_which_something_is_filed(seed: int, matchers: int) -> None:
    rng = random.Random(seed)
    asked = as_table([local(f"s{n}", rng) for n in range(40)])
    mapping = Hybrid(level=2).partition(Workload.of(spread(rng, 60), asked), matchers)
    placement = place(asked, mapping)
    router, gone = placement.router, placement.filed.ids[: rng.randrange(len(placement.filed.ids))]
    for taken in (gone[:0], gone):
        router.withdraw(taken)
        posts = spread(rng)
        terms, owners, _ = router.occurrences(posts)
        rows = np.repeat(np.arange(len(terms)), np.diff(terms.offsets))[owners >= 0]
        found = [[int(number) for number in pair] for pair in zip(*router.route(posts).pairs(), strict=True)]
        assert found == [
            list(pair) for pair in sorted(set(zip(rows.tolist(), owners[owners >= 0].tolist(), strict=True)))
        ]


@examples(10)
@given(data=st.data())
def test_all_that_can_be_asked_is_delivered_where_places_are_divided(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    rng = random.Random(data.draw(st.integers(0, 10**6)))
    asked = [data.draw(subscriptions(name)) for name in "abcdef"]
    posts = data.draw(tables(8))
    mapping = Hybrid(level=2).partition(Workload.of(spread(rng), as_table(asked)), 4)
    cluster, oracle = Cluster(mapping, clock=lambda: NOW), BruteForce(clock=lambda: NOW)
    cluster.change(as_table(asked))
    oracle.add(asked)
    for table in (posts, spread(rng)):
        assert cluster.deliver(table).pairs() == sorted(oracle.match(table).pairs())
    if data.draw(st.integers(0, 4)) == 0:
        again = reopened(cluster, tmp_path_factory.mktemp("places"))
        assert again.deliver(posts).pairs() == sorted(oracle.match(posts).pairs())


def few(*queries: str) -> pa.Table:
    return pa.table({"id": [f"q{n}" for n in range(len(queries))], "query": pa.array(queries, pa.string())})


def two_halves() -> Mapping:
    """West of 5 degrees, and east of it."""
    posts = [(0.0, 0.0, "fire"), (10.0, 10.0, "fire")]
    table = pa.table(
        {"id": ["a", "b"], "lon": [p[0] for p in posts], "lat": [p[1] for p in posts], "text": ["fire"] * 2}
    )
    asked = few("fire bounding_box:[0 0 1 9]", "fire bounding_box:[9 0 10 10]")
    return PaperHybrid(level=1, dissimilar=0).partition(Workload.of(table, asked), 2)


def test_a_post_is_sent_only_for_what_is_asked_for_in_its_region() -> None:
    router = place(few("fire bounding_box:[0 0 1 9]", "rain bounding_box:[9 0 10 9]"), two_halves()).router
    posts = pa.table(
        {
            "id": list("abcdef"),
            "text": ["fire", "rain", "fire", "rain", "fire rain", "fire"],
            "lon": [1.0, 1.0, 9.0, 9.0, 9.0, None],
            "lat": [1.0, 1.0, 1.0, 1.0, 1.0, None],
        }
    )
    assert router.route(posts).sizes().tolist() == [1, 0, 0, 1, 1, 0]


def test_what_asks_for_no_place_is_filed_once_and_what_lies_across_twice() -> None:
    mapping = two_halves()
    asked = few("smoke", "smoke bounding_box:[0 0 10 1]", "bounding_box:[0 0 1 1]")
    placement = place(asked, mapping)
    assert np.diff(placement.filed.offsets).tolist() == [1, 2, 1]
    assert placement.homes.sizes().tolist() == [1, 2, 1]
    nowhere = pa.table({"id": ["a"], "text": ["smoke"]})
    assert placement.router.route(nowhere).sizes().tolist() == [1]


def test_a_router_of_places_comes_back_from_files_of_which_only_the_first_has_the_grid(tmp_path: Path) -> None:
    mapping, posts = two_halves(), spread(random.Random(1), 60)
    first, second = (
        place(few(*queries), mapping).router
        for queries in (
            ["fire bounding_box:[0 0 9 9]", "rain"],
            ["smoke bounding_box:[5 5 9 9]", "bounding_box:[0 0 1 1]"],
        )
    )
    first.save(tmp_path / "first")
    second.save(tmp_path / "second", extends=first.owner)
    again = Router.open(tmp_path / "first", tmp_path / "second")
    first.extend(second)
    assert np.array_equal(first.route(posts).words, again.route(posts).words) and counts(first) == counts(again)
    assert (tmp_path / "second").stat().st_size < (tmp_path / "first").stat().st_size


def test_routers_of_other_grids_are_not_joined() -> None:
    other = PaperHybrid(level=1, dissimilar=0).partition(Workload.of(spread(random.Random(1)), few("fire")), 2)
    parcels = two_halves().parcels
    assert isinstance(parcels, Gridt) and isinstance(other.parcels, Gridt)
    with pytest.raises(DataError, match=r"divides places otherwise|cannot be added"):
        place(few("fire"), two_halves()).router.extend(place(few("fire"), other).router)


def test_placers_and_routings_by_words_are_refused_where_places_are_divided() -> None:
    for placer in (Anycast(), Lasp(2)):
        with pytest.raises(DataError, match="use placement='rarest', or a mapping of terms"):
            place(few("fire"), two_halves(), placer=placer)
    with pytest.raises(DataError, match="use routing='guards'"):
        place(few("fire"), two_halves(), None, ENGLISH, routing="words")
