"""What guards cost: the share of a sample that has them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tidings.index.sample import Sample
from tidings.model.region import Circle, Rectangle, Region
from tidings.terms import ENGLISH


@pytest.mark.parametrize("seed", range(5))
def test_a_region_costs_by_the_places_in_the_rectangles_around_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lon, lat = rng.integers(-9, 10, 500) * 20.0, rng.integers(-9, 10, 500) * 10.0
    absent = rng.random(500) < 0.1
    ids = [str(row) for row in range(500)]
    places = {"lon": pa.array(lon, mask=absent), "lat": pa.array(lat, mask=absent)}
    sample = Sample(ENGLISH, pa.table({"id": ids, **places}))
    regions: list[Region] = [Rectangle(-20, -30, 60, 30), Rectangle(20, 0, 20, 90), Circle(170, 0, 3_000_000)]
    for region in regions:
        inside = sum(
            int(np.sum((box.west <= lon) & (lon <= box.east) & (box.south <= lat) & (lat <= box.north) & ~absent))
            for box in region.bounds()
        )
        assert inside > 0
        assert sample.region(region) == pytest.approx(2 * (inside + 0.5) / 501)
