"""Are circles found as by definition, also by a hair, over the poles and across the date line?"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.index.mixed import NEVER, shapes_of
from tidings.analysis import ENGLISH
from tidings.index import BruteForce, GuardIndex
from tidings.index.filing import Filer
from tidings.index.predicates import Predicates
from tidings.language import parse, parse_normal
from tidings.model import Circle, Publication, Subscription
from tidings.model.region import EARTH_RADIUS_M, MAX_RADIUS_M, hull
from tidings.terms.dictionary import Dictionary
from tidings.terms.sample import Sample

_radii = st.sampled_from([1e-6, 0.5, 300.0, 20_000.0, 4e6, 1.2e7, MAX_RADIUS_M]) | st.floats(1e-3, MAX_RADIUS_M)
_circles = st.builds(
    Circle,
    st.sampled_from([-180.0, 180.0, 179.999, 0.0, 151.2]) | st.floats(-180, 180),
    st.sampled_from([-90.0, 90.0, 89.9, 0.0, -33.9]) | st.floats(-90, 90),
    _radii,
)


def _towards(circle: Circle, bearing: float, share: float) -> tuple[float, float]:
    """The place at a share of the radius from the centre."""
    reach, up = min(circle.radius_m * share, MAX_RADIUS_M) / EARTH_RADIUS_M, math.radians(circle.lat)
    lat = math.asin(
        max(-1, min(1, math.sin(up) * math.cos(reach) + math.cos(up) * math.sin(reach) * math.cos(bearing)))
    )
    turn = math.atan2(
        math.sin(bearing) * math.sin(reach) * math.cos(up), math.cos(reach) - math.sin(up) * math.sin(lat)
    )
    lon = (circle.lon + math.degrees(turn) + 180) % 360 - 180
    return lon, math.degrees(lat)


_shares = st.sampled_from([0.0, 0.5, 0.7, 0.999, 1 - 1e-12, 1.0, 1 + 1e-15, 1 + 1e-12, 1.001, 1.4])


@given(st.lists(_circles, min_size=1, max_size=6), st.lists(st.tuples(st.floats(0, 7), _shares), max_size=8))
def test_index_equals_brute_force_at_the_rims_of_circles(
    circles: list[Circle], around: list[tuple[float, float]]
) -> None:
    queries = [f"point_radius:[{circle.lon!r} {circle.lat!r} {circle.radius_m!r}m]" for circle in circles]
    queries += [f"has:lat -{query}" for query in queries]
    places = [_towards(circle, *each) for circle in circles for each in around] + [(0.0, 0.0), (180.0, 90.0)]
    lon, lat = np.array(places).T
    posts = pa.table({"id": [str(row) for row in range(len(places))], "lat": lat, "lon": lon})
    oracle = BruteForce(ENGLISH)
    oracle.add(Subscription(str(number), parse(query)) for number, query in enumerate(queries))
    expected = oracle.match(posts).pairs()
    asked = pa.table({"id": [str(number) for number in range(len(queries))], "query": queries})
    for few in (1, NEVER):
        with shapes_of(few):
            index = GuardIndex()
            index.add_table(asked)
            assert index.match(posts).pairs() == expected
    chained = GuardIndex()
    chained.add(Subscription(str(number), parse(query)) for number, query in enumerate(queries))
    assert chained.match(posts).pairs() == expected
    for row, (own_lon, own_lat) in enumerate(places):
        one = chained.match_one(Publication(str(row), lon=own_lon, lat=own_lat))
        assert {name for _, name in one.pairs()} == {name for at, name in expected if at == row}


@given(_circles, st.floats(0, 7), st.floats(0, 1))
def test_the_hull_of_a_circle_has_all_of_it(circle: Circle, bearing: float, share: float) -> None:
    lon, lat = _towards(circle, bearing, share)
    assert not circle.contains(lon, lat) or hull(circle).contains(lon, lat)


def test_cells_inside_of_a_circle_ask_for_its_box_alone() -> None:
    terms, predicates = Dictionary(), Predicates()
    filer = Filer(terms, predicates, Sample(ENGLISH))
    [conjunction] = parse_normal("point_radius:[3.2 -42.2 50km]")[1]
    entries = filer.file(conjunction)
    inside = [entry for entry in entries if not entry.stream]
    assert inside and len(inside) < len(entries)
    assert {entry.test for entry in entries} == {predicates.hull(conjunction.required[0], terms)}  # type: ignore[arg-type]
