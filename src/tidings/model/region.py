"""Where on Earth? Rectangles, circles and polygons in degrees of longitude and latitude (WGS 84)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tidings.model.errors import QueryError

EARTH_RADIUS_M = 6_371_008.8
"""The mean radius: distances are great circles on this sphere (off by at most 0.6 % from the ellipsoid)."""

MAX_RADIUS_M = EARTH_RADIUS_M * math.pi

MAX_CORNERS = 4_000
_FEWEST_CORNERS, _HALF_ROUND = 3, 180.0


@dataclass(frozen=True, slots=True)
class Rectangle:
    """``west <= lon <= east and south <= lat <= north``, borders included.

    >>> Rectangle(150.5, -34.2, 151.4, -33.4).contains(lon=151.2, lat=-33.9)
    True
    """

    west: float
    south: float
    east: float
    north: float

    def __post_init__(self) -> None:
        for side, limit in (("west", 180), ("south", 90), ("east", 180), ("north", 90)):
            object.__setattr__(self, side, checked_degrees(side, getattr(self, side), limit))
        if self.west > self.east:
            raise QueryError(
                f"west ({self.west:g}) is greater than east ({self.east:g}); the order is west south east north, "
                "and a box across the date line is two boxes joined by OR"
            )
        if self.south > self.north:
            raise QueryError(
                f"south ({self.south:g}) is greater than north ({self.north:g}); the order is west south east north"
            )

    def contains(self, lon: float, lat: float) -> bool:
        return self.west <= lon <= self.east and self.south <= lat <= self.north

    def bounds(self) -> tuple[Rectangle, ...]:
        """Rectangles that together contain the region: here, itself."""
        return (self,)


@dataclass(frozen=True, slots=True)
class Circle:
    """All points at most ``radius_m`` metres from the centre along the sphere.

    >>> Circle(151.21, -33.87, 1000).contains(lon=151.21, lat=-33.875)
    True
    """

    lon: float
    lat: float
    radius_m: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "lon", checked_degrees("longitude", self.lon, 180))
        object.__setattr__(self, "lat", checked_degrees("latitude", self.lat, 90))
        object.__setattr__(self, "radius_m", float(self.radius_m))
        if not 0 < self.radius_m <= MAX_RADIUS_M:
            raise QueryError(
                f"a radius is more than 0 and at most {MAX_RADIUS_M / 1000:.0f} km, got {self.radius_m / 1000:g} km"
            )

    def contains(self, lon: float, lat: float) -> bool:
        return distance_m(self.lon, self.lat, lon, lat) <= self.radius_m

    def bounds(self) -> tuple[Rectangle, ...]:
        """One or two rectangles that together contain the circle, a hair wider than need be.

        Two when it crosses the date line; all longitudes when it holds a pole.
        """
        slack = 1e-9
        reach = math.degrees(self.radius_m / EARTH_RADIUS_M) + slack
        south, north = self.lat - reach, self.lat + reach
        if south <= -90 or north >= 90:
            return (Rectangle(-180, max(south, -90), 180, min(north, 90)),)
        # The widest point of a circle on the sphere is not on the centre's parallel: sin(dlon) = sin(r) / cos(lat).
        widest = math.sin(math.radians(reach)) / math.cos(math.radians(self.lat))
        half = math.degrees(math.asin(min(1.0, widest))) + slack
        west, east = self.lon - half, self.lon + half
        if west < -180:
            return (Rectangle(-180, south, east, north), Rectangle(west + 360, south, 180, north))
        if east > 180:
            return (Rectangle(west, south, 180, north), Rectangle(-180, south, east - 360, north))
        return (Rectangle(west, south, east, north),)


Ring = tuple[tuple[float, float], ...]
"""Corners, longitude first; the last one is joined to the first, which is not repeated."""


@dataclass(frozen=True, slots=True)
class Polygon:
    """What lies in one of the ``parts``: each is a ring of corners, and the rings of its holes. Borders are included.

    Edges are straight on the map, as in GeoJSON. Whether rings cross is asked by :mod:`tidings.language.polygons`.

    >>> Polygon(((((0, 0), (9, 0), (0, 9)),),)).contains(lon=2, lat=3)
    True
    """

    parts: tuple[tuple[Ring, ...], ...]

    def __post_init__(self) -> None:
        check_corners(sum(len(ring) - _is_closed(ring) for part in self.parts for ring in part))
        parts = tuple(tuple(_checked_ring(ring) for ring in part) for part in self.parts)
        if not parts or not all(parts):
            raise QueryError("a polygon has at least one ring, as in polygon:((0 0, 9 0, 0 9, 0 0))")
        object.__setattr__(self, "parts", parts)

    def edges(self) -> Iterator[tuple[float, float, float, float]]:
        """The edges of all rings: longitude and latitude of their ends."""
        for part in self.parts:
            for ring in part:
                for (x1, y1), (x2, y2) in zip(ring, (*ring[1:], ring[0]), strict=True):
                    yield x1, y1, x2, y2

    def contains(self, lon: float, lat: float) -> bool:
        """Whether a line from the place to the east crosses an odd number of edges, or the place is on one."""
        inside = False
        for x1, y1, x2, y2 in self.edges():
            if (lon == x1 and lat == y1) or (lat == y1 == y2 and min(x1, x2) <= lon <= max(x1, x2)):
                return True
            if (y1 > lat) != (y2 > lat):
                side = (x2 - x1) * (lat - y1) - (lon - x1) * (y2 - y1)
                if side == 0:
                    return True
                inside ^= (side > 0) == (y2 > y1)
        return inside

    def bounds(self) -> tuple[Rectangle, ...]:
        """A rectangle for each part."""
        rings = [part[0] for part in self.parts]
        longitudes, latitudes = ([[corner[axis] for corner in ring] for ring in rings] for axis in (0, 1))
        return tuple(
            Rectangle(min(lon), min(lat), max(lon), max(lat)) for lon, lat in zip(longitudes, latitudes, strict=True)
        )


Region = Rectangle | Circle | Polygon


def hull(region: Region) -> Rectangle:
    """One rectangle around a region; it has all longitudes where the region crosses the date line.

    >>> hull(Circle(180, 0, 1000)).west
    -180.0
    """
    bounds = region.bounds()
    west, east = min(box.west for box in bounds), max(box.east for box in bounds)
    return Rectangle(west, min(box.south for box in bounds), east, max(box.north for box in bounds))


def distance_m(lon1: float, lat1: float, lon2: float, lat2: float) -> float:
    """Great-circle distance in metres, by Vincenty's formula for a sphere: exact near and far, also at the antipode."""
    phi1, phi2, turn = math.radians(lat1), math.radians(lat2), math.radians(lon2 - lon1)
    across = math.cos(phi2) * math.sin(turn)
    along = math.cos(phi1) * math.sin(phi2) - math.sin(phi1) * math.cos(phi2) * math.cos(turn)
    inner = math.sin(phi1) * math.sin(phi2) + math.cos(phi1) * math.cos(phi2) * math.cos(turn)
    return EARTH_RADIUS_M * math.atan2(math.sqrt(across * across + along * along), inner)


def check_corners(count: int) -> None:
    """Refuse a polygon that takes long to read and to ask."""
    if count > MAX_CORNERS:
        raise QueryError(f"a polygon has at most {MAX_CORNERS:,} corners, got {count:,}: simplify it, or make several")


def _is_closed(ring: Ring) -> bool:
    """Whether the last corner is the first one again."""
    return len(ring) > 1 and ring[0] == ring[-1]


def _checked_ring(ring: Ring) -> Ring:
    """A ring with its corners as floats, the last one not being the first again."""
    corners = tuple(
        [(checked_degrees("longitude", lon, 180), checked_degrees("latitude", lat, 90)) for lon, lat in ring]
    )
    if _is_closed(corners):
        corners = corners[:-1]
    if len(set(corners)) < _FEWEST_CORNERS:
        raise QueryError(f"a ring has at least {_FEWEST_CORNERS} different corners, got {len(set(corners))}")
    longitudes = [lon for lon, _ in corners]
    if max(longitudes) - min(longitudes) <= _HALF_ROUND:
        return corners
    for lon, last in zip(longitudes, (longitudes[-1], *longitudes), strict=False):
        if abs(lon - last) > _HALF_ROUND:
            raise QueryError(
                f"an edge goes from longitude {last:g} to {lon:g}, more than half around the globe; "
                "a polygon across the date line is two polygons, one on each side"
            )
    return corners


def checked_degrees(name: str, degrees: float, limit: int) -> float:
    """Degrees as a plain float, between -limit and limit."""
    if type(degrees) is float and -limit <= degrees <= limit:
        return degrees
    if not isinstance(degrees, int | float) or not -limit <= degrees <= limit:
        shown = f"{degrees:g}" if isinstance(degrees, int | float) else repr(degrees)
        raise QueryError(f"{name} is between -{limit} and {limit} degrees, got {shown}")
    return float(degrees)
