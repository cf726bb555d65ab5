"""What would people subscribe to who care for a place? Keywords within a square around it: Q1, Q2 and Q3 of [PS2].

All three read a table of posts with the columns text, lat and lon and use the posts that have a place. A query has 1 to
3 keywords, all joined by AND or all by OR, and a square around the place of a random post:

* Q1: sides of 1 to 50 km; keywords as frequent in queries as they are in posts.
* Q2: sides of 1 to 100 km; the first keyword is not among the top 1 % of terms.
* Q3: 10 x 10 regions over the box of the data; each is of the kind Q1 or Q2, as a coin decides.

Implements [PS2] VI-A and VI-C. Departs from the paper: squares are cut off at the poles and the date line. The paper
says nothing of the odds of AND against OR and of a region's kind: here they are even.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis import Analyser
from tidings.model import DataError
from tidings.model.region import EARTH_RADIUS_M
from tidings.workloads.bags import Bags
from tidings.workloads.draws import IntArray, weighted_draws
from tidings.workloads.subscriptions import check_count, joined, subscription_table

MAX_KEYWORDS = 3
REGIONS_PER_SIDE = 10
TOP_SHARE = 0.01
MIN_SIDE_KM = 1.0
Q1_MAX_SIDE_KM = 50.0
Q2_MAX_SIDE_KM = 100.0

_KM_PER_DEGREE = math.radians(EARTH_RADIUS_M) / 1000

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Regions:
    """10 x 10 equal parts of a box in degrees; ``is_q2`` (100 truth values, west to east, then south to north)."""

    west: float
    south: float
    east: float
    north: float
    is_q2: BoolArray

    def of(self, lon: FloatArray, lat: FloatArray) -> IntArray:
        """The number of the region of each place in the box."""
        column = _part(lon, self.west, self.east)
        return _part(lat, self.south, self.north) * REGIONS_PER_SIDE + column


def q1(posts: pa.Table, count: int, seed: int, analyser: Analyser) -> pa.Table:
    """Squares of 1 to 50 km with keywords distributed as in the posts.

    >>> from tidings.workloads import Posts
    >>> q1(Posts(seed=1).table(200), 1, seed=1, analyser=Analyser())["query"].to_pylist()
    ['dotima budget bounding_box:[150.852175 -34.002637 151.366955 -33.574805]']
    """
    return _squares(posts, count, seed, analyser, np.zeros(REGIONS_PER_SIDE**2, dtype=bool))


def q2(posts: pa.Table, count: int, seed: int, analyser: Analyser) -> pa.Table:
    """Squares of 1 to 100 km with at least one keyword outside the top 1 % of terms."""
    return _squares(posts, count, seed, analyser, np.ones(REGIONS_PER_SIDE**2, dtype=bool))


def q3(posts: pa.Table, count: int, seed: int, analyser: Analyser) -> pa.Table:
    """As Q1 in some regions and as Q2 in others: :func:`q3_regions` of the same posts and seed says which."""
    return _squares(posts, count, seed, analyser, q3_regions(posts, seed).is_q2)


def q3_regions(posts: pa.Table, seed: int) -> Regions:
    """The regions of the places of these posts, and the kind that the seed gives to each."""
    is_q2 = np.random.default_rng([seed, 3]).random(REGIONS_PER_SIDE**2) < 0.5
    return _regions(*_places(_placed(posts)), is_q2)


def _squares(posts: pa.Table, count: int, seed: int, analyser: Analyser, is_q2: BoolArray) -> pa.Table:
    check_count(count)
    placed = _placed(posts)
    lon, lat = _places(placed)
    rng = np.random.default_rng(seed)
    centre = rng.integers(len(lon), size=count)
    lon, lat, regions = lon[centre], lat[centre], _regions(lon, lat, is_q2)
    kind = is_q2[regions.of(lon, lat)]
    sides_km = rng.uniform(MIN_SIDE_KM, np.where(kind, Q2_MAX_SIDE_KM, Q1_MAX_SIDE_KM))
    keywords = _keywords(Bags.of(placed["text"], analyser), kind, rng)
    return subscription_table(pc.binary_join_element_wise(keywords, _boxes(lon, lat, sides_km), " "), rng)


def _placed(posts: pa.Table) -> pa.Table:
    if missing := {"text", "lat", "lon"} - set(posts.column_names):
        raise DataError(f"squares need posts with text, lat and lon; the table lacks {', '.join(sorted(missing))}")
    lat, lon = (posts[name].cast(pa.float64()) for name in ("lat", "lon"))
    placed = posts.filter(pc.and_(pc.is_finite(lat), pc.is_finite(lon)))
    if not placed.num_rows:
        raise DataError("squares are drawn around posts, and none of these has a place")
    return placed


def _places(placed: pa.Table) -> tuple[FloatArray, FloatArray]:
    return placed["lon"].to_numpy(), placed["lat"].to_numpy()


def _regions(lon: FloatArray, lat: FloatArray, is_q2: BoolArray) -> Regions:
    return Regions(float(lon.min()), float(lat.min()), float(lon.max()), float(lat.max()), is_q2)


def _part(degrees: FloatArray, low: float, high: float) -> IntArray:
    width = (high - low) / REGIONS_PER_SIDE or 1.0
    return np.clip(((degrees - low) / width).astype(np.int64), 0, REGIONS_PER_SIDE - 1)


def _keywords(bags: Bags, is_q2: BoolArray, rng: np.random.Generator) -> pa.Array:
    """The keywords of each query as text, those of one with OR in brackets."""
    if not len(bags.forms):
        raise DataError("no post with a place has a word to ask for")
    counts = np.bincount(bags.ids, minlength=len(bags.forms))
    falling = np.argsort(-counts, kind="stable")
    top = int(len(falling) * TOP_SHARE)
    lengths = rng.integers(1, min(MAX_KEYWORDS, len(falling)) + 1, size=len(is_q2))
    drawn = weighted_draws(counts[falling], lengths, rng, first=np.where(is_q2, top, 0))
    any_of = (rng.random(len(is_q2)) < 0.5) & (lengths > 1)
    texts = joined(bags.forms.take(pa.array(falling)), drawn, pa.array(np.where(any_of, " OR ", " ")))
    return pc.if_else(pa.array(any_of), pc.binary_join_element_wise("(", texts, ")", ""), texts)


def _boxes(lon: FloatArray, lat: FloatArray, sides_km: FloatArray) -> pa.Array:
    """The text of a square around each place, in degrees with six digits."""
    half_lat = sides_km / 2 / _KM_PER_DEGREE
    half_lon = half_lat / np.maximum(np.cos(np.radians(lat)), 1e-9)
    west, east = _degrees(lon - half_lon, 180), _degrees(lon + half_lon, 180)
    south, north = _degrees(lat - half_lat, 90), _degrees(lat + half_lat, 90)
    inside = pc.binary_join_element_wise(west, south, east, north, " ")
    return pc.binary_join_element_wise("bounding_box:[", inside, "]", "")


def _degrees(degrees: FloatArray, limit: int) -> pa.Array:
    """As text: exact decimals, so that no number is written with an exponent."""
    return pa.array(np.clip(degrees, -limit, limit).round(6)).cast(pa.decimal128(9, 6), safe=False).cast(pa.string())
