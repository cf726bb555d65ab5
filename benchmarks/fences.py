"""How many times as fast as a shapely STRtree are fences, half of them circles, with names on both sides?

Both get the same fences and places, in turn, round after round; each answers with the names of place and fence. The
tree holds a circle as a polygon of 32 corners on it, so it misses a sliver along the arcs: boxes must be equal, and of
circles it must find nothing else than the index does. The index is also measured with boxes alone and circles alone.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import shapely

from benchmarks.matching import FED_ROWS, Advance, silent
from tidings.index import GuardIndex
from tidings.model import DataError, Publication
from tidings.tables.columns import place_columns

FloatArray = npt.NDArray[np.float64]

RADII_KM = (0.05, 1.0)
"""Half the side of a box, or the radius of a circle, is between these; small ones are as many as large ones."""
CORNERS = 32
SINGLE_POSTS = CHECKED_POSTS = 2_000
_KM_PER_DEGREE = 111.195


@dataclass(frozen=True, slots=True)
class Fences:
    """Fences around places: ``half`` their widths in km; every other one is a circle."""

    lon: FloatArray
    lat: FloatArray
    half: FloatArray

    @classmethod
    def around(cls, places: pa.Table, count: int, seed: int) -> Fences:
        rng = np.random.default_rng(seed)
        lon, lat = place_columns(places)
        rows = rng.choice(len(lon), count)
        half = np.exp(rng.uniform(np.log(RADII_KM[0]), np.log(RADII_KM[1]), count))
        near = rng.normal(0, 0.05, (2, count))
        return cls(np.clip(lon[rows] + near[0], -179, 179), np.clip(lat[rows] + near[1], -80, 80), half)

    @property
    def are_circles(self) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = np.arange(len(self.lon)) % 2 == 1
        return found

    def sides(self) -> FloatArray:
        """West, south, east and north of each, float64[n, 4]."""
        up = self.half / _KM_PER_DEGREE
        across = up / np.cos(np.radians(self.lat))
        return np.column_stack([self.lon - across, self.lat - up, self.lon + across, self.lat + up])

    def subscriptions(self) -> pa.Table:
        boxes = [f"bounding_box:[{w!r} {s!r} {e!r} {n!r}]" for w, s, e, n in self.sides().tolist()]
        centres = zip(self.lon.tolist(), self.lat.tolist(), self.half.tolist(), strict=True)
        circles = [f"point_radius:[{lon!r} {lat!r} {half!r}km]" for lon, lat, half in centres]
        queries = [circles[i] if i % 2 else box for i, box in enumerate(boxes)]
        return pa.table({"id": [f"fence-{i}" for i in range(len(queries))], "query": queries})

    def geometries(self) -> npt.NDArray[Any]:
        """As shapely has them."""
        found: npt.NDArray[Any] = shapely.box(*self.sides().T)
        circles, angle = self.are_circles, np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)
        reach, up = (self.half / 6371.0088)[circles, None], np.radians(self.lat)[circles, None]
        lat = np.arcsin(np.sin(up) * np.cos(reach) + np.cos(up) * np.sin(reach) * np.cos(angle))
        turn = np.arctan2(np.sin(angle) * np.sin(reach) * np.cos(up), np.cos(reach) - np.sin(up) * np.sin(lat))
        lon = self.lon[circles, None] + np.degrees(turn)
        found[circles] = shapely.polygons(np.stack([lon, np.degrees(lat)], axis=2))
        return found


class Tree:
    """The STRtree, with the names of its geometries."""

    def __init__(self, geometries: npt.NDArray[Any], names: pa.ChunkedArray) -> None:
        shapely.prepare(geometries)
        self._tree, self._names = shapely.STRtree(geometries), names.combine_chunks()

    def match(self, posts: pa.Table) -> pa.Table:
        rows, found = self._tree.query(shapely.points(*place_columns(posts)), predicate="intersects")
        publications = posts["id"].combine_chunks().take(pa.array(rows))
        return pa.table({"publication_id": publications, "subscription_id": self._names.take(pa.array(found))})


def placed(table: pa.Table, seed: int) -> pa.Table:
    """Names and places of the rows that have one, in random order."""
    there = np.flatnonzero(~np.isnan(place_columns(table)[0]))
    rows = np.random.default_rng(seed).permutation(there)
    names = pa.array([f"post-{row}" for row in rows.tolist()])
    lon, lat = (degrees[rows] for degrees in place_columns(table))
    return pa.table({"id": names, "lat": lat, "lon": lon})


def measure(fences: Fences, posts: pa.Table, rounds: int = 5, advance: Advance = silent) -> dict[str, Any]:
    """Places matched a second, in batches and one at a time."""
    asked = fences.subscriptions()
    began = time.perf_counter()
    index = _filled(asked, posts)
    registered_s = time.perf_counter() - began
    is_circle = pa.array(fences.are_circles)
    boxes, circles = _filled(asked.filter(pc.invert(is_circle)), posts), _filled(asked.filter(is_circle), posts)
    tree = Tree(fences.geometries(), asked["id"])
    some = posts.slice(0, CHECKED_POSTS)
    differing = _checked(index.match(some).text(), tree.match(some))
    measured: dict[str, Callable[[pa.Table], pa.Table]] = {
        "fences": lambda table: index.match(table).text(),
        "strtree": tree.match,
        "boxes": lambda table: boxes.match(table).text(),
        "circles": lambda table: circles.match(table).text(),
    }
    rates: dict[str, list[float]] = {name: [] for name in (*measured, "single_boxes", "single_circles")}
    for _ in range(rounds):
        for name, match in measured.items():
            rates[name].append(_rate(match, posts))
        rates["single_boxes"].append(_single_rate(boxes, posts))
        rates["single_circles"].append(_single_rate(circles, posts))
        advance(posts.num_rows)
    return {
        "fences": asked.num_rows,
        "posts": posts.num_rows,
        "rounds": rounds,
        "matches_per_post": round(index.match(posts).text().num_rows / posts.num_rows, 2),
        "beyond_the_polygons": differing,
        "registered_s": round(registered_s, 2),
        **{f"{name}_per_s": round(max(own)) for name, own in rates.items()},
        "ratio_to_strtree": _ratio(rates["fences"], rates["strtree"]),
        "circles_to_boxes": _ratio(rates["circles"], rates["boxes"]),
        "single_circles_to_boxes": _ratio(rates["single_circles"], rates["single_boxes"]),
    }


def _filled(asked: pa.Table, sample: pa.Table) -> GuardIndex:
    index = GuardIndex(sample=sample.slice(0, 10_000))
    index.add_table(asked)
    return index


def _checked(ours: pa.Table, theirs: pa.Table) -> float:
    """The share of our matches that the tree has not, which may be 2 %; it must have no others."""
    own, other = (set(zip(*(table[name].to_pylist() for name in table.column_names[:2]), strict=True))
                  for table in (ours.select(["publication_id", "subscription_id"]), theirs))  # fmt: skip
    missed = own - other
    if other - own or any(int(name.rpartition("-")[2]) % 2 == 0 for _, name in missed):
        raise DataError(f"the index and the tree differ: {len(own):,} matches against {len(other):,}; please report it")
    if len(missed) > 0.02 * len(own):
        raise DataError(f"the tree misses {len(missed):,} of {len(own):,} matches: more than arcs explain")
    return round(len(missed) / max(1, len(own)), 4)


def _rate(match: Callable[[pa.Table], pa.Table], posts: pa.Table) -> float:
    began = time.perf_counter()
    for start in range(0, posts.num_rows, FED_ROWS):
        match(posts.slice(start, FED_ROWS))
    return float(posts.num_rows / (time.perf_counter() - began))


def _single_rate(index: GuardIndex, posts: pa.Table) -> float:
    """Places a second, one at a time."""
    rows = posts.slice(0, SINGLE_POSTS).to_pylist()
    one_by_one = [Publication(row["id"], lat=row["lat"], lon=row["lon"]) for row in rows]
    snapshot = index.snapshot
    began = time.perf_counter()
    for publication in one_by_one:
        snapshot.match_one(publication)
    return float(len(one_by_one) / (time.perf_counter() - began))


def _ratio(ours: list[float], theirs: list[float]) -> float:
    """The median of the rounds."""
    return round(statistics.median(one / other for one, other in zip(ours, theirs, strict=True)), 2)
