"""Is a shape a polygon, and how does a query ask for it? By shapely (extra ``places``), which only this module imports.

shapely reads WKT and GeoJSON, and knows whether rings cross. Queries that were taken once, and matching, do without.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from struct import pack
from typing import Any

from tidings.language.printer import polygon_text
from tidings.model.errors import QueryError, quoted
from tidings.model.region import Polygon, Ring

_EXPECTED = "a polygon is text of WKT or GeoJSON, a GeoJSON object or a shapely geometry"


def polygon(shape: Any) -> str:
    """The text of a query for what lies in a polygon or several: WKT, GeoJSON (text or a dictionary), or of shapely.

    >>> polygon("POLYGON ((150 -34, 151 -34, 151 -33, 150 -34))")
    'polygon:((150 -34, 151 -34, 151 -33, 150 -34))'
    """
    geometry = _geometry(shape)
    if geometry.geom_type not in ("Polygon", "MultiPolygon"):
        raise QueryError(f"{_EXPECTED} of the type Polygon or MultiPolygon, got a {geometry.geom_type}")
    parts = [geometry] if geometry.geom_type == "Polygon" else geometry.geoms
    rings = [[own.exterior, *own.interiors] for own in parts]
    region = Polygon(tuple(tuple(tuple(corner[:2] for corner in ring.coords) for ring in own) for own in rings))
    if (crossing := check_rings([region])) is not None:
        raise QueryError(crossing[1])
    return f"polygon:{polygon_text(region)}"


def check_rings(regions: Sequence[Polygon]) -> tuple[int, str] | None:
    """The first polygon of some whose rings cross or touch along an edge, or with a hole outside of its ring, and why.

    All are handed to shapely at once: it takes 20 times as long for one by one.
    """
    shapely = _shapely()
    shapes = shapely.from_wkb([_well_known(region) for region in regions])
    crossing = (~shapely.is_valid(shapes)).nonzero()[0]
    if not len(crossing):
        return None
    what, _, place = shapely.is_valid_reason(shapes[crossing[0]]).rstrip("]").partition("[")
    return int(crossing[0]), f"this is no polygon: {what.lower()}" + (f" at {place}" if place else "")


def _well_known(region: Polygon) -> bytes:
    """A region as well-known binary (WKB): little-endian, of the type 3 (polygon) or 6 (several)."""
    parts = [pack("<BII", 1, 3, len(part)) + b"".join(map(_ring, part)) for part in region.parts]
    return parts[0] if len(parts) == 1 else pack("<BII", 1, 6, len(parts)) + b"".join(parts)


def _ring(ring: Ring) -> bytes:
    corners = len(ring) + 1
    return pack(f"<I{2 * corners}d", corners, *chain.from_iterable(ring), *ring[0])


def _geometry(shape: Any) -> Any:
    shapely = _shapely()
    try:
        if isinstance(shape, str) and not shape.lstrip().startswith("{"):
            return shapely.from_wkt(shape)
        found = json.loads(shape) if isinstance(shape, str) else getattr(shape, "__geo_interface__", shape)
        if isinstance(found, dict) and found.get("type") == "Feature":
            found = found["geometry"]
        return shapely.from_geojson(json.dumps(found))
    except (shapely.errors.GEOSException, TypeError, ValueError, KeyError) as error:
        raise QueryError(f"{_EXPECTED}, got {quoted(shape)}") from error


def _shapely() -> Any:
    try:
        import shapely  # noqa: PLC0415  (an extra)
    except ImportError:
        raise QueryError("new polygons need shapely: pip install 'tidings[places]'") from None
    return shapely
