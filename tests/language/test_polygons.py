"""Which shapes are polygons, and how does a query ask for them?"""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

import tidings
from tidings.language import parse_normal
from tidings.language.polygons import check_rings
from tidings.model import QueryError
from tidings.model.region import Polygon

WKT = "POLYGON ((0 0, 9 0, 9 9, 0 9, 0 0), (1 1, 2 1, 2 2, 1 1))"
TEXT = "polygon:((0 0, 9 0, 9 9, 0 9, 0 0), (1 1, 2 1, 2 2, 1 1))"
GEOMETRY = {
    "type": "Polygon",
    "coordinates": [[[0, 0], [9, 0], [9, 9], [0, 9], [0, 0]], [[1, 1, 7], [2, 1, 7], [2, 2, 7], [1, 1, 7]]],
}
_corners = st.tuples(st.integers(-3, 3), st.integers(-3, 3))


@pytest.mark.parametrize(
    "shape",
    [
        WKT,
        GEOMETRY,
        json.dumps(GEOMETRY),
        {"type": "Feature", "properties": {"name": "x"}, "geometry": GEOMETRY},
        shapely.from_wkt(WKT),
    ],
)
def test_a_polygon_is_said_in_many_ways(shape: Any) -> None:
    assert tidings.polygon(shape) == TEXT


def test_several_polygons_are_one() -> None:
    text = tidings.polygon("MULTIPOLYGON (((0 0, 9 0, 0 9, 0 0)), ((20 0, 29 0, 20 9, 20 0)))")
    assert text == "polygon:(((0 0, 9 0, 0 9, 0 0)), ((20 0, 29 0, 20 9, 20 0)))"
    query = tidings.parse(f"fire {text}")
    found = [tidings.evaluate(query, tidings.Publication("p", "fire", lon=lon, lat=1)) for lon in (1, 15, 21)]
    assert found == [True, False, True]


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ("POINT (0 0)", "got a Point"),
        ("POLYGON ((0 0", "is text of WKT or GeoJSON"),
        ("{", "is text of WKT or GeoJSON"),
        (7, "is text of WKT or GeoJSON"),
        ({"type": "Feature"}, "is text of WKT or GeoJSON"),
        ("POLYGON EMPTY", "at least 3 different corners"),
        ("POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))", "self-intersection at 1 1"),
        ("POLYGON ((170 0, -170 0, -170 9, 170 0))", "across the date line is two polygons"),
    ],
)
def test_what_is_no_polygon_is_refused_with_the_reason(shape: Any, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        tidings.polygon(shape)


def test_of_several_polygons_the_one_that_crosses_is_named() -> None:
    crossing = "polygon:((0 0, 2 2, 2 0, 0 2))"
    text = f"fire ({TEXT} OR {crossing}) OR point_radius:[1 1 5km] OR {crossing}"
    with pytest.raises(QueryError, match="self-intersection at 1 1") as caught:
        tidings.parse(text)
    assert caught.value.column == text.index(crossing) + 1
    assert len(parse_normal(text)[1]) == 3  # queries that were taken once are not asked again


@given(st.lists(st.lists(st.lists(_corners, min_size=3, max_size=6), min_size=1, max_size=3), min_size=1, max_size=3))
def test_rings_cross_where_shapely_says_so_of_its_own_polygons(parts: list[list[list[tuple[float, float]]]]) -> None:
    try:
        region = Polygon(tuple(tuple(map(tuple, part)) for part in parts))
    except QueryError:
        return
    shapes = [shapely.Polygon(ring, holes) for ring, *holes in region.parts]
    whole = shapes[0] if len(shapes) == 1 else shapely.MultiPolygon(shapes)
    assert (check_rings([region]) is None) == whole.is_valid


def test_a_new_polygon_needs_shapely_and_one_that_was_taken_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    query = tidings.parse(TEXT)
    monkeypatch.setitem(sys.modules, "shapely", None)
    with pytest.raises(QueryError, match=r"pip install 'tidings\[places\]'"):
        tidings.parse(TEXT)
    assert parse_normal(TEXT)[0] == query


def test_covering_of_polygons_is_sound() -> None:
    own, box = tidings.parse(TEXT), tidings.parse("bounding_box:[0 0 9 9]")
    assert tidings.covers(own, own) and tidings.covers(box, own)
    assert not tidings.covers(own, box) and not tidings.covers(own, tidings.parse("polygon:((0 0, 9 0, 9 9, 0 9))"))
    assert not tidings.covers(own, tidings.parse("point_radius:[5 5 1m]"))


def test_as_many_corners_as_there_may_be_can_be_written_and_read_again() -> None:
    corners = [(n % 2 + 1, n / 50) for n in range(3_999)] + [(0, 0)]
    query = parse_normal(f"polygon:(({', '.join(f'{x} {y}' for x, y in corners)}))")[0]
    assert len(query.region.parts[0][0]) == 4_000 and parse_normal(tidings.to_text(query))[0] == query  # type: ignore[union-attr]
