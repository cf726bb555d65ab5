"""Are Q1, Q2 and Q3 those of [PS2] VI?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from tidings.analysis import Analyser
from tidings.language import evaluate, parse
from tidings.model import And, DataError, Or, Publication, Query, Rectangle, Within, Word
from tidings.model.region import distance_m
from tidings.workloads import Posts, q1, q2, q3, q3_regions
from tidings.workloads.squares import MIN_SIDE_KM

ANALYSER = Analyser()
POSTS = Posts(seed=9).table(3000)
COUNT = 600

Generator = Callable[[pa.Table, int, int, Analyser], pa.Table]


def _read(text: str) -> tuple[list[str], str, Rectangle]:
    """Keywords, operator and square of a query, through the parser."""
    query = parse(text)
    assert isinstance(query, And)
    *keywords, place = query.children
    assert isinstance(place, Within) and isinstance(place.region, Rectangle)
    operator = "AND"
    if isinstance(keywords[0], Or):
        operator, keywords = "OR", list(keywords[0].children)
    return [_word(keyword) for keyword in keywords], operator, place.region


def _word(query: Query) -> str:
    assert isinstance(query, Word)
    return query.text


def _sides_km(square: Rectangle) -> tuple[float, float]:
    lat = (square.south + square.north) / 2
    return (
        distance_m(square.west, lat, square.east, lat) / 1000,
        distance_m(square.west, square.south, square.west, square.north) / 1000,
    )


def _away_from_the_edge(square: Rectangle) -> bool:
    return abs(square.west) < 179.99 and abs(square.east) < 179.99 and max(-square.south, square.north) < 80


@cache
def _queries(generator: Generator) -> list[tuple[list[str], str, Rectangle]]:
    return [_read(text) for text in generator(POSTS, COUNT, 1, ANALYSER)["query"].to_pylist()]


@cache
def _ranks() -> dict[str, int]:
    """Words by falling frequency in the posts that have a place."""
    counts: Counter[str] = Counter()
    for row in POSTS.to_pylist():
        if row["lat"] is not None:
            counts.update(token.word for token in ANALYSER.tokens(row["text"]) if token.word is not None)
    return {word: rank for rank, (word, _) in enumerate(counts.most_common())}


@pytest.mark.parametrize("generator", [q1, q2, q3])
def test_a_seed_gives_the_same_queries_and_another_seed_others(generator: Generator) -> None:
    posts = POSTS.slice(0, 300)
    ours = generator(posts, 100, 1, ANALYSER)
    assert ours.equals(generator(posts, 100, 1, ANALYSER))
    assert ours["query"].to_pylist() != generator(posts, 100, 2, ANALYSER)["query"].to_pylist()


@pytest.mark.parametrize(("generator", "most_km"), [(q1, 50), (q2, 100)])
def test_squares_are_square_and_of_the_sizes_asked_for(generator: Generator, most_km: int) -> None:
    sides = [_sides_km(square) for _, _, square in _queries(generator) if _away_from_the_edge(square)]
    assert len(sides) > 0.9 * COUNT
    assert all(math.isclose(across, along, rel_tol=0.01) for across, along in sides)
    along = np.array([side for _, side in sides])
    assert along.min() >= MIN_SIDE_KM * 0.99 and along.max() <= most_km * 1.01
    quarters = np.array([0.25, 0.5, 0.75])
    assert np.allclose(np.quantile(along, quarters), 1 + (most_km - 1) * quarters, rtol=0.15)


def test_squares_lie_around_the_places_of_posts() -> None:
    places = {(row["lon"], row["lat"]) for row in POSTS.to_pylist() if row["lat"] is not None}
    for _, _, square in _queries(q1):
        if _away_from_the_edge(square):
            lon, lat = (square.west + square.east) / 2, (square.south + square.north) / 2
            assert any(abs(lon - x) < 2e-6 and abs(lat - y) < 2e-6 for x, y in places)


@pytest.mark.parametrize("generator", [q1, q2, q3])
def test_queries_have_one_to_three_distinct_keywords_under_one_operator(generator: Generator) -> None:
    queries = _queries(generator)
    lengths = Counter(len(keywords) for keywords, _, _ in queries)
    assert set(lengths) == {1, 2, 3} and min(lengths.values()) > 0.25 * COUNT
    assert all(len(set(map(ANALYSER.word, keywords))) == len(keywords) for keywords, _, _ in queries)
    any_of = np.mean([operator == "OR" for keywords, operator, _ in queries if len(keywords) > 1])
    assert 0.4 < any_of < 0.6


def test_q1_keywords_are_as_frequent_in_queries_as_in_posts() -> None:
    ranks = _ranks()
    asked = np.array([ranks[word] for keywords, _, _ in _queries(q1) if (word := ANALYSER.word(keywords[0]))])
    posts = [row for row in POSTS.to_pylist() if row["lat"] is not None]
    said = np.array([ranks[token.word] for row in posts for token in ANALYSER.tokens(row["text"]) if token.word])
    for top in (10, 100, 1000):
        assert abs((asked < top).mean() - (said < top).mean()) < 0.07


def test_q2_queries_have_a_keyword_outside_the_top_one_percent_and_q1_queries_need_not() -> None:
    ranks = _ranks()
    top = len(ranks) // 100
    assert top > 30

    def rare(keywords: list[str]) -> bool:
        return any(ranks[word] >= top for keyword in keywords if (word := ANALYSER.word(keyword)))

    assert all(rare(keywords) for keywords, _, _ in _queries(q2))
    assert not all(rare(keywords) for keywords, _, _ in _queries(q1))


def test_q3_queries_are_of_the_kind_of_their_region() -> None:
    regions = q3_regions(POSTS, 1)
    assert len(regions.is_q2) == 100 and 30 < regions.is_q2.sum() < 70
    ranks = _ranks()
    top = len(ranks) // 100
    widest, frequent_only = {True: 0.0, False: 0.0}, {True: 0, False: 0}
    for keywords, _, square in _queries(q3):
        if not _away_from_the_edge(square):
            continue
        lon, lat = np.array([(square.west + square.east) / 2]), np.array([(square.south + square.north) / 2])
        is_q2 = bool(regions.is_q2[regions.of(lon, lat)[0]])
        widest[is_q2] = max(widest[is_q2], _sides_km(square)[1])
        frequent_only[is_q2] += all(ranks[ANALYSER.word(keyword) or ""] < top for keyword in keywords)
    assert widest[False] <= 50.5 and 60 < widest[True] <= 101
    assert frequent_only[False] > 0 and frequent_only[True] == 0


def test_regions_number_a_box_from_its_south_west_corner() -> None:
    posts = pa.table({"text": ["a", "b"], "lon": [0.0, 10.0], "lat": [-5.0, 5.0]})
    regions = q3_regions(posts, 1)
    lon, lat = np.array([0.0, 1.5, 10.0, 0.5]), np.array([-5.0, -4.5, 5.0, -3.5])
    assert regions.of(lon, lat).tolist() == [0, 1, 99, 10]


def test_a_post_at_the_centre_with_the_keywords_matches() -> None:
    for text in q1(POSTS, 100, 1, ANALYSER)["query"].to_pylist():
        keywords, operator, square = _read(text)
        lon, lat = (square.west + square.east) / 2, (square.south + square.north) / 2
        assert evaluate(parse(text), Publication("p", " ".join(keywords), lat=lat, lon=lon))
        one_keyword = Publication("p", keywords[-1], lat=lat, lon=lon)
        assert evaluate(parse(text), one_keyword) == (operator == "OR" or len(keywords) == 1)


@pytest.mark.parametrize(("lon", "lat"), [(180, 0), (-180, 90), (0, -90), (179.9999999, 89.9999), (0, 0)])
def test_squares_at_the_edge_of_the_map_are_cut_off_and_valid(lon: float, lat: float) -> None:
    posts = pa.table({"text": ["fire"], "lon": [lon], "lat": [lat]})
    for text in q2(posts, 20, 1, ANALYSER)["query"].to_pylist():
        assert _read(text)[2].contains(lon, lat)


def test_posts_without_a_place_are_left_out() -> None:
    posts = pa.table({"text": ["fire", "smoke", "storm"], "lon": [1.0, None, math.nan], "lat": [2.0, None, 3.0]})
    assert {keywords[0] for keywords, _, _ in map(_read, q1(posts, 20, 1, ANALYSER)["query"].to_pylist())} == {"fire"}


def test_posts_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(DataError, match="lacks lat, lon"):
        q1(pa.table({"text": ["fire"]}), 1, 1, ANALYSER)
    with pytest.raises(DataError, match="place"):
        q1(pa.table({"text": ["fire"], "lat": pa.nulls(1), "lon": pa.nulls(1)}), 1, 1, ANALYSER)
    with pytest.raises(DataError, match="word"):
        q1(pa.table({"text": ["the"], "lat": [1.0], "lon": [1.0]}), 1, 1, ANALYSER)
