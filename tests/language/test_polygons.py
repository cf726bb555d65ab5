"""Which shapes are polygons, and how does a query ask for them?"""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
import shapely

import tidings
from tidings.language import parse_normal
from tidings.model import QueryError

WKT = "POLYGON ((0 0, 9 0, 9 9, 0 9, 0 0), (1 1, 2 1, 2 2, 1 1))"
TEXT = "polygon:((0 0, 9 0, 9 9, 0 9, 0 0), (1 1, 2 1, 2 2, 1 1))"
GEOMETRY = {
    "type": "Polygon",
    "coordinates": [[[0, 0], [9, 0], [9, 9], [0, 9], [0, 0]], [[1, 1, 7], [2, 1, 7], [2, 2, 7], [1, 1, 7]]],
}


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
