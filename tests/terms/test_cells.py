"""Does every place in a region meet the region's cover?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.language.strategies import polygons
from tidings.model import Circle, Polygon, Rectangle, Region
from tidings.model.region import EARTH_RADIUS_M, MAX_RADIUS_M, distance_m
from tidings.terms.cells import (
    MAX_LEVEL,
    ancestors,
    cell,
    cells,
    cover,
    cover_many,
    cover_parts,
    level_of,
    rectangle,
    smallest_cell,
)
from tidings.terms.grid import kernels
from tidings.terms.labels import ROOT, ancestor, bit_label, contains, descendants

WORLD = Rectangle(-180, -90, 180, 90)


def degrees(limit: int) -> st.SearchStrategy[float]:
    """Anywhere, on the borders of cells of any level, and a hair beside them."""
    borders = st.builds(
        lambda level, part: limit * (2.0 * math.floor(part * 2**level) / 2**level - 1),
        st.integers(0, MAX_LEVEL),
        st.floats(0, 1),
    )
    beside = st.builds(lambda border, side: math.nextafter(border, side * limit), borders, st.sampled_from([-1, 1]))
    return st.floats(-limit, limit) | borders | beside | st.sampled_from([-limit, 0.0, limit]).map(float)


lons, lats = degrees(180), degrees(90)
levels = st.integers(0, MAX_LEVEL)
sizes = st.integers(1, 20)
extents = st.floats(-12, 2.6).map(lambda power: 10**power) | st.just(0.0)


def far(start: float, end: float, part: float) -> float:
    """A number between both, ends included, whatever the rounding."""
    return min(max(start + (end - start) * part, start), end)


@st.composite
def rectangles(draw: st.DrawFn) -> Rectangle:
    """Small, large and slim ones, whose borders are often those of cells."""
    west, south = draw(lons), draw(lats)
    if draw(st.booleans()):
        east, north = min(west + draw(extents), 180.0), min(south + draw(extents), 90.0)
    else:
        (west, east), (south, north) = sorted((west, draw(lons))), sorted((south, draw(lats)))
    return Rectangle(west, south, east, north)


radii = st.floats(-3, math.log10(MAX_RADIUS_M) - 1e-9).map(lambda power: 10**power) | st.just(MAX_RADIUS_M)
circles = st.builds(Circle, lons, lats, radii)
parts = st.floats(0, 1) | st.sampled_from([0.0, 1.0])
regions: st.SearchStrategy[Region] = rectangles() | circles | polygons()


def meets(cover: list[int], lon: float, lat: float) -> bool:
    own = cell(lon, lat)
    return not {own, *ancestors(own)}.isdisjoint(cover)


def destination(circle: Circle, bearing: float, part: float) -> tuple[float, float]:
    """The place at ``part`` of the radius from the centre towards ``bearing`` (radians)."""
    angle = circle.radius_m / EARTH_RADIUS_M * part
    lat1, lon1 = math.radians(circle.lat), math.radians(circle.lon)
    sine = math.sin(lat1) * math.cos(angle) + math.cos(lat1) * math.sin(angle) * math.cos(bearing)
    lat2 = math.asin(max(-1.0, min(1.0, sine)))
    east = math.sin(bearing) * math.sin(angle) * math.cos(lat1)
    lon2 = math.degrees(lon1 + math.atan2(east, math.cos(angle) - math.sin(lat1) * math.sin(lat2)))
    return (lon2 + 180) % 360 - 180, max(-90.0, min(90.0, math.degrees(lat2)))


@given(rectangles(), parts, parts, sizes)
@example(WORLD, 1.0, 1.0, 1)
@example(Rectangle(180, 90, 180, 90), 0.0, 0.0, 8)
@example(Rectangle(-180, -90, -180, 90), 0.0, 1.0, 8)
@example(Rectangle(-1e-300, -1e-300, 1e-300, 1e-300), 0.0, 1.0, 8)
def test_a_place_in_a_rectangle_meets_its_cover(region: Rectangle, across: float, up: float, max_cells: int) -> None:
    lon, lat = far(region.west, region.east, across), far(region.south, region.north, up)
    assert region.contains(lon, lat)
    assert meets(cover(region, max_cells), lon, lat)
    assert contains(smallest_cell(region), cell(lon, lat))


@given(circles, st.floats(-math.pi, math.pi), parts, sizes)
@example(Circle(180, 0, 1000), math.pi / 2, 0.5, 8)
@example(Circle(-180, 0, 1000), -math.pi / 2, 0.5, 8)
@example(Circle(0, 90, 1000), 1.0, 0.5, 8)
@example(Circle(12, -89.999, 1000), math.pi, 0.9, 8)
@example(Circle(12, 34, MAX_RADIUS_M), 1.0, 0.9, 8)
def test_a_place_in_a_circle_meets_its_cover(circle: Circle, bearing: float, part: float, max_cells: int) -> None:
    lon, lat = destination(circle, bearing, part)
    assume(circle.contains(lon, lat))  # rounding may put the rim just outside
    assert meets(cover(circle, max_cells), lon, lat)
    assert contains(smallest_cell(circle), cell(lon, lat))


@given(circles, lons, lats, sizes)
def test_any_place_that_a_circle_contains_meets_its_cover(
    circle: Circle, lon: float, lat: float, max_cells: int
) -> None:
    assert meets(cover(circle, max_cells), lon, lat) >= circle.contains(lon, lat)


@given(polygons(), st.floats(0, 1), st.floats(0, 1), st.integers(0, 50), sizes)
def test_a_place_in_a_polygon_meets_its_cover_and_all_of_an_inner_cell_is_inside(
    polygon: Polygon, across: float, up: float, edge: int, max_cells: int
) -> None:
    """Also its corners, and places on its edges."""
    edges = [*polygon.edges()]
    x1, y1, x2, y2 = edges[edge % len(edges)]
    places = [(x1, y1), (x1 + across * (x2 - x1), y1 + across * (y2 - y1))]
    for box in polygon.bounds():
        places.append((box.west + across * (box.east - box.west), box.south + up * (box.north - box.south)))
    for lon, lat in places:
        assert meets(cover(polygon, max_cells), lon, lat) >= polygon.contains(lon, lat)
    for label, is_inside in cover_parts(polygon, max_cells):
        box = rectangle(label)
        within = box.west + across * (box.east - box.west), box.south + up * (box.north - box.south)
        corners = [(lon, lat) for lon in (box.west, box.east) for lat in (box.south, box.north)]
        assert not is_inside or all(polygon.contains(*place) for place in (within, *corners))


def test_a_polygon_has_inner_cells_where_many_are_allowed() -> None:
    polygon = Polygon(((((150, -34), (151, -34), (151, -33), (150, -33)),),))
    assert any(is_inside for _, is_inside in cover_parts(polygon, 64))


@given(regions, sizes, sizes)
def test_a_cover_keeps_its_bound_and_grows_no_looser(region: Region, fewer: int, more: int) -> None:
    loose, tight = cover(region, fewer), cover(region, fewer + more)
    assert len(loose) <= fewer
    assert all(any(contains(node, part) for node in loose) for part in tight)


@given(regions)
def test_a_cover_of_one_cell_is_the_smallest_cell(region: Region) -> None:
    assert cover(region, max_cells=1) == [smallest_cell(region)]


@given(regions)
def test_no_child_of_the_smallest_cell_contains_the_region(region: Region) -> None:
    smallest = smallest_cell(region)
    corners = [cell(*corner) for box in region.bounds() for corner in ((box.west, box.south), (box.east, box.north))]
    assert all(contains(smallest, corner) for corner in corners)
    if level_of(smallest) < MAX_LEVEL:
        below = {ancestor(corner, 2 * level_of(smallest) + 2) for corner in corners}
        assert len(below) > 1


@given(lons, lats, st.floats(0, 9), st.floats(0, 9))
def test_with_room_enough_a_cover_is_the_last_cells_that_the_region_touches(
    west: float, south: float, columns: float, rows: float
) -> None:
    leaf = rectangle(cell(west, south))
    width, height = leaf.east - leaf.west, leaf.north - leaf.south
    region = Rectangle(west, south, min(west + columns * width, 180.0), min(south + rows * height, 90.0))
    last = rectangle(cell(region.east, region.north))
    touched = (last.east - leaf.west) / width * (last.north - leaf.south) / height
    assert sum(4 ** (MAX_LEVEL - level_of(label)) for label in cover(region, max_cells=100)) == touched


def last_below(border: float, limit: int) -> float:
    """The greatest float64 of a cell that ends at a border."""
    return border if border == limit else math.nextafter(border, -limit)


def open_ended(box: Rectangle) -> Rectangle:
    """The rectangle without its eastern and northern borders, as a cell has it; they stay if nothing else is there."""
    east, north = last_below(box.east, 180), last_below(box.north, 90)
    return Rectangle(box.west, box.south, max(east, box.west), max(north, box.south))


def corners(label: int) -> list[tuple[float, float]]:
    """The outermost places that lie in a cell: if a rectangle has all of them, it has the whole cell."""
    box = open_ended(rectangle(label))
    found = [(lon, lat) for lon in (box.west, box.east) for lat in (box.south, box.north)]
    assert all(contains(label, leaf) for leaf in cells(*np.array(found).T).tolist())
    return found


@given(rectangles() | rectangles().map(open_ended) | rectangles().map(open_ended).map(open_ended), sizes, parts, parts)
@example(WORLD, 8, 1.0, 1.0)
@example(Rectangle(90, 45, 180, 90), 8, 1.0, 1.0)
@example(open_ended(Rectangle(-90, -45, 0, 0)), 8, 1.0, 1.0)
@example(open_ended(open_ended(Rectangle(0, 0, 90, 45))), 8, 1.0, 1.0)
@example(Rectangle(-1e-300, -1e-300, 90, 45), 20, 0.0, 0.0)
def test_a_cell_is_inside_a_rectangle_if_and_only_if_all_its_places_are(
    region: Rectangle, max_cells: int, across: float, up: float
) -> None:
    parts = cover_parts(region, max_cells)
    assert [label for label, _ in parts] == cover(region, max_cells)
    for label, is_inside in parts:
        assert is_inside == all(region.contains(*corner) for corner in corners(label))
        box = open_ended(rectangle(label))
        assert region.contains(far(box.west, box.east, across), far(box.south, box.north, up)) >= is_inside


@given(lons, lats, levels)
def test_a_cell_has_itself_inside(lon: float, lat: float, level: int) -> None:
    label = cell(lon, lat, level)
    assert cover_parts(open_ended(rectangle(label))) == [(label, True)]


@given(circles, sizes, parts, parts)
@example(Circle(180, 0, 100_000), 20, 0.5, 0.5)
@example(Circle(0, 90, 1_000_000), 20, 1.0, 0.0)
@example(Circle(10, 89, 400_000), 20, 1.0, 0.0)
@example(Circle(12, 34, MAX_RADIUS_M), 8, 0.9, 0.1)
def test_a_cell_inside_a_circle_has_no_place_outside_it(
    circle: Circle, max_cells: int, across: float, up: float
) -> None:
    for label, is_inside in cover_parts(circle, max_cells):
        if is_inside:
            box = rectangle(label)
            place = far(box.west, box.east, across), far(box.south, box.north, up)
            assert all(circle.contains(lon, lat) for lon, lat in [*corners(label), place])


@given(circles, lons, lats, levels)
@example(Circle(180, 10, 100_000), -180, 10, 12)
@example(Circle(151, -33, 100_000), 151, -33, 12)
@example(Circle(151, -33, 100_000), 151, -32.1007, 12)  # across its edge in the north, and in the other directions
@example(Circle(151, -33, 100_000), 151, -33.8993, 12)
@example(Circle(151, -33, 100_000), 152.0723, -33, 12)
@example(Circle(151, -33, 100_000), 149.9277, -33, 12)
@example(Circle(0, 89.9, 100_000), 0, 89.9, 12)
@example(Circle(45, 80, 5_900_000), -135, 70, 2)  # all four corners are in it, and the parallel between two is not
@example(Circle(180, 0, MAX_RADIUS_M / 2), 0, 0, 0)
def test_a_cell_with_its_corners_well_inside_a_circle_is_inside_unless_it_goes_round_the_other_side(
    circle: Circle, lon: float, lat: float, level: int
) -> None:
    label = cell(lon, lat, level)
    inside = np.zeros(1, np.bool_)
    kernels.cells_in_circle(np.array([label], np.uint64), circle.lon, circle.lat, circle.radius_m, inside)
    found = corners(label)
    well = all(distance_m(circle.lon, circle.lat, *corner) < circle.radius_m - 1 for corner in found)
    near = all(math.cos(math.radians(lon - circle.lon)) > 0.01 for lon, _ in found)
    assert inside[0] >= (well and near and level >= 2 and circle.radius_m < MAX_RADIUS_M / 2)
    (west, south), (east, north) = found[0], found[-1]
    middles = [((west + east) / 2, south), ((west + east) / 2, north), ((west + east) / 2, (south + north) / 2)]
    assert not inside[0] or all(circle.contains(*place) for place in found + middles)


@given(st.lists(rectangles(), max_size=5), sizes)
def test_covers_of_many_rectangles_are_those_of_each(regions: list[Rectangle], max_cells: int) -> None:
    sides = [(region.west, region.south, region.east, region.north) for region in regions]
    found = cover_many(np.array(sides, np.float64).reshape(-1, 4), max_cells)
    pairs = list(zip(found.labels.tolist(), found.inside.tolist(), strict=True))
    bounds = zip(found.offsets.tolist(), found.offsets.tolist()[1:], strict=False)
    assert [pairs[start:stop] for start, stop in bounds] == [cover_parts(region, max_cells) for region in regions]


@pytest.mark.parametrize("sides", [(1, 0, 0, 1), (0, 1, 1, 0), (-181, 0, 1, 1), (0, 0, 1, 90.5), (0, math.nan, 1, 1)])
def test_rectangles_off_the_map_or_reversed_are_refused(sides: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="a rectangle has"):
        cover_many(np.array([(0, 0, 1, 1), sides], np.float64))
    with pytest.raises(ValueError, match="four columns"):
        cover_many(np.array(sides, np.float64))


def test_a_cover_leaves_out_what_is_far_from_the_region() -> None:
    sydney = Rectangle(150.5, -34.2, 151.4, -33.4)
    found = cover(sydney)
    assert not meets(found, 149, -33.9)
    assert not meets(found, 153, -33.9)
    assert not meets(found, 151, -36)
    assert not meets(found, 151, -32)


def test_a_circle_across_the_date_line_is_covered_on_both_sides_and_not_between() -> None:
    found = cover(Circle(179.9, 10, 50_000))
    assert meets(found, 179.95, 10)
    assert meets(found, -179.95, 10)
    assert not meets(found, 0, 10)


def test_a_place_is_covered_by_its_leaf_and_the_world_by_the_root() -> None:
    assert cover(Rectangle(12.5, 34.25, 12.5, 34.25)) == [cell(12.5, 34.25)]
    assert cover(WORLD) == [ROOT] == [smallest_cell(WORLD)]
    assert cover(Circle(0, 0, MAX_RADIUS_M)) == [ROOT]


@given(lons, lats, levels)
@example(-1e-20, -1e-20, 1)
@example(math.nextafter(0, -1), math.nextafter(0, -1), MAX_LEVEL)
def test_a_place_lies_in_the_rectangle_of_its_cell_and_on_borders_that_the_cell_owns(
    lon: float, lat: float, level: int
) -> None:
    label = cell(lon, lat, level)
    box = rectangle(label)
    assert level_of(label) == level
    assert box.contains(lon, lat)
    assert lon < box.east or box.east == 180
    assert lat < box.north or box.north == 90


@given(lons, lats, levels)
def test_a_rectangle_of_a_cell_is_the_world_cut_exactly(lon: float, lat: float, level: int) -> None:
    box = rectangle(cell(lon, lat, level))
    assert (box.east - box.west) * 2**level == 360
    assert (box.north - box.south) * 2**level == 180
    assert cell(box.west, box.south) == descendants(cell(lon, lat, level))[0]


def test_the_quarters_of_the_world_go_from_south_west_by_south_east_and_north_west_to_north_east() -> None:
    quarters = [cell(-90, -45, 1), cell(90, -45, 1), cell(-90, 45, 1), cell(90, 45, 1)]
    assert quarters == [bit_label(number, 2) for number in range(4)]


def test_the_last_borders_belong_to_the_last_cell() -> None:
    assert cell(180, 90) == bit_label(2**62 - 1, 62)
    assert cell(-180, -90) == bit_label(0, 62)


@given(lons, lats, levels)
def test_ancestors_are_the_cells_of_the_same_place_at_lower_levels(lon: float, lat: float, level: int) -> None:
    assert list(ancestors(cell(lon, lat, level))) == [cell(lon, lat, above) for above in range(level - 1, -1, -1)]


@given(st.lists(st.tuples(lons, lats), max_size=20), levels)
def test_cells_of_arrays_are_those_of_their_places(places: list[tuple[float, float]], level: int) -> None:
    columns = np.array(places, np.float64).reshape(-1, 2)
    found = cells(columns[:, 0], columns[:, 1], level)
    assert found.dtype == np.uint64
    assert found.tolist() == [cell(lon, lat, level) for lon, lat in places]


@pytest.mark.parametrize(("lon", "lat"), [(180.1, 0), (-181, 0), (0, 90.1), (0, -91), (math.nan, 0), (0, math.nan)])
def test_a_place_off_the_map_is_refused(lon: float, lat: float) -> None:
    with pytest.raises(ValueError, match="a place has lon"):
        cell(lon, lat)
    with pytest.raises(ValueError, match="a place has lon"):
        cells(np.array([0.0, lon]), np.array([0.0, lat]))


@pytest.mark.parametrize("level", [-1, 32])
def test_a_level_that_does_not_exist_is_refused(level: int) -> None:
    with pytest.raises(ValueError, match="depth"):
        cell(0, 0, level)


def test_a_label_with_half_a_level_is_no_cell() -> None:
    with pytest.raises(ValueError, match="two for each level"):
        level_of(bit_label(1, 1))


def test_what_lies_behind_the_last_node_is_no_sibling() -> None:
    nodes = np.array([[0, 0, 1], [2, 0, 1], [0, 2, 1], [2, 2, 1]], dtype=np.int64)
    splits = np.array([[0, 0, 2]], dtype=np.int64)
    assert kernels._merge_siblings(nodes.copy(), 3, splits, 2) == 3
    assert kernels._merge_siblings(nodes.copy(), 4, splits, 2) == 1
