"""Where on Earth? Rectangles and circles in degrees of longitude and latitude (WGS 84)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tidings.model.errors import QueryError

EARTH_RADIUS_M = 6_371_008.8
"""The mean radius: distances are great circles on this sphere (off by at most 0.6 % from the ellipsoid)."""

MAX_RADIUS_M = EARTH_RADIUS_M * math.pi


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


Region = Rectangle | Circle


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


def checked_degrees(name: str, degrees: float, limit: int) -> float:
    """Degrees as a plain float, between -limit and limit."""
    if not isinstance(degrees, int | float) or not -limit <= degrees <= limit:
        shown = f"{degrees:g}" if isinstance(degrees, int | float) else repr(degrees)
        raise QueryError(f"{name} is between -{limit} and {limit} degrees, got {shown}")
    return float(degrees)
