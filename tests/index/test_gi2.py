"""GI2: lists by cell and keyword, and deletion that is done when a list is next walked."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from tests.index.mixed import mixed_posts, mixed_queries, shapes_of, valid
from tidings.index import GI2, BruteForce
from tidings.index.gi2 import gi2
from tidings.language import parse
from tidings.model import Subscription

EARTH = "bounding_box:[-180 -90 180 90]"


def table(**queries: str) -> pa.Table:
    return pa.table({"id": list(queries), "query": list(queries.values())})


def post(text: str, lon: float, lat: float) -> pa.Table:
    return pa.table({"id": ["p"], "text": [text], "lon": [lon], "lat": [lat]})


@pytest.mark.parametrize("few", [1, 10**9])
@pytest.mark.parametrize("seed", range(3))
def test_it_equals_brute_force_while_subscriptions_come_and_go(seed: int, few: int) -> None:
    rng = random.Random(seed)
    index, oracle = GI2(sample=mixed_posts(rng, 50), level=2), BruteForce()
    living: dict[str, str] = {}
    for _ in range(3):
        added = {f"s{rng.randrange(300)}": query for query in valid(mixed_queries(rng, 80))}
        gone = rng.sample(sorted(living), len(living) // 3)
        living = {name: query for name, query in living.items() if name not in gone} | added
        with shapes_of(few):
            assert index.remove([*gone, "unknown"]) == len(gone)
            index.add_table(table(**added))
        oracle.remove(gone)
        oracle.add([Subscription(name, parse(query)) for name, query in added.items()])
        posts = mixed_posts(rng, 30)
        found, expected = index.match(posts), oracle.match(posts)
        assert found.pairs() == expected.pairs() and len(found) == len(expected)
        assert len(index) == len(living) and index.count(posts).matches == found.counters.matches


def test_a_post_looks_into_the_lists_of_its_words_in_its_cell_only() -> None:
    index = GI2()
    index.add_table(table(
        near="fire bounding_box:[10 10 11 11]", other_word="rain bounding_box:[10 10 11 11]",
        far="fire bounding_box:[-60 10 -59 11]", anywhere="fire", earth=f"fire {EARTH}",
    ))  # fmt: skip
    found = index.match(post("fire", 10.5, 10.5))
    assert found.pairs() == {(0, "near"), (0, "anywhere"), (0, "earth")}
    assert found.counters.candidates == 3


def test_what_is_deleted_leaves_a_list_when_it_is_walked() -> None:
    index = GI2()
    index.add_table(table(here="fire bounding_box:[10 10 11 11]", both="fire bounding_box:[-60 10 11 11]", kept="fire"))
    assert index.remove(["here", "both"]) == 2 and index.pending == 2
    assert index.match(post("rain", 10.5, 10.5)).counters.candidates == 0 and index.pending == 2
    assert index.match(post("fire", 10.5, 10.5)).pairs() == {(0, "kept")}
    assert index.pending == 1  # of the other one there are entries in the cells further west
    for west in range(-60, 11):
        assert index.match(post("fire", west, 10.5)).pairs() == {(0, "kept")}
    assert index.pending == 0


def test_a_query_that_nothing_can_match_is_in_no_list() -> None:
    index = GI2()
    index.add_table(table(s="price:{1 TO 1.0000000000000002}"))
    assert index.remove(["s"]) == 1 and index.pending == 0


@pytest.mark.parametrize(("lon", "lat"), [(-180, -90), (180, 90), (0, 90), (180, 0), (-180, 89.999)])
def test_borders_and_poles_are_in_the_boxes_that_touch_them(lon: float, lat: float) -> None:
    sample = pa.table({"id": ["a", "b"], "lon": [0.0, 1.0], "lat": [0.0, 1.0]})  # the grid is far smaller
    asked = table(
        earth=EARTH, point=f"bounding_box:[{lon} {lat} {lon} {lat}]", around=f"point_radius:[{lon} {lat} 200km]",
        word=f"fire {EARTH}", elsewhere="bounding_box:[40 40 50 50]",
    )  # fmt: skip
    index = GI2(sample=sample)
    index.add_table(asked)
    posts = pa.concat_tables(
        [post("fire", lon, lat), pa.table({"id": ["no place"], "text": ["fire"]})], promote_options="default"
    )
    assert index.match(posts).pairs() == {(0, "earth"), (0, "point"), (0, "around"), (0, "word")}


def test_those_that_are_left_are_filed_anew_where_most_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gi2, "MANY_GONE", 10)
    index = GI2()
    index.add_table(table(kept="fire"))
    sizes = []
    for turn in range(40):
        index.add_table(table(**{f"s{turn}": f"smoke price:>{turn}", "replaced": "fire OR smoke"}))
        index.remove([f"s{turn}"])
        sizes.append(index.size_bytes)
    assert index.match(post("fire", 0, 0)).pairs() == {(0, "kept"), (0, "replaced")}
    assert max(sizes[20:]) <= max(sizes[:20])


def test_matches_that_do_not_fit_are_found_in_another_go() -> None:
    index = GI2()
    index.add_table(table(**{f"s{n}": "fire OR smoke" for n in range(50)}))
    index._readers.scratch(index._terms).widen(1)
    posts = pa.table({"id": list("abc"), "text": ["fire", "smoke fire", "smoke"]})
    assert len(index.match(posts)) == 150
