"""What guards cost: the share of a sample that has them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tidings.analysis import ENGLISH
from tidings.model import Equals, Present, Topic
from tidings.model import StartsWith as Prefixed
from tidings.model.region import Circle, Rectangle, Region
from tidings.tables.columns import number_key, number_keys
from tidings.terms.kinds import TermAtom
from tidings.terms.places import Places
from tidings.terms.sample import Sample


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


def test_a_term_costs_by_the_rows_that_have_it() -> None:
    """Of 9 rows, half a row is added to what is counted, so that what was never seen costs less than all others."""
    columns = {
        "id": [str(row) for row in range(9)],
        "text": ["fire fire"] * 4 + ["smoke"] + [None] * 4,
        "symbol": ["A"] * 5 + ["B", None, "", "B"],
        "truth": [True] * 3 + [False] * 6,
        "topic": ["news/sport"] * 3 + ["news", "ads"] + [None] * 4,
        "volume": [*range(8), None],
    }
    sample = Sample(ENGLISH, pa.table(columns))
    terms: dict[int, list[TermAtom]] = {
        5: [Equals("symbol", "A")],
        2: [Equals("symbol", "B")],
        3: [Equals("truth", "true"), Topic(("news", "sport"))],
        4: [Topic(("news",))],
        1: [Topic(("ads",))],
        0: [Equals("symbol", "C"), Equals("other", "A"), Topic(("x",))],
    }
    for rows, atoms in terms.items():
        assert {sample.term(atom) for atom in atoms} == {(rows + 0.5) / 10}, rows
    assert [sample.word(word) for word in ("fire", "smoke", "rain")] == [0.45, 0.15, 0.05]
    assert sample.number_range(("volume", False), number_key(2), number_key(5)) == 0.45
    assert sample.number_range(("price", False), 0, 9) == 0.0
    assert sample.term(Topic(("*", "sport"))) == Sample(ENGLISH).term(Topic(("news",)))
    assert (
        sample.term(Present("symbol")) == Sample(ENGLISH).term(Present("symbol")) > sample.term(Prefixed("symbol", "A"))
    )


@pytest.mark.parametrize("count", [0, 1, 2, 255, 256, 1000])
def test_places_in_rectangles_are_counted_exactly(count: int) -> None:
    rng = np.random.default_rng(count)
    lon, lat = (rng.integers(-9, 10, count).astype(np.float64) * width for width in (20, 10))
    lon[: count // 10] = np.nan
    west, east = np.sort(rng.integers(-10, 11, (2, 300)) * 18.0, axis=0)
    south, north = np.sort(rng.integers(-10, 11, (2, 300)) * 9.0, axis=0)
    inside = (west[:, None] <= lon) & (lon <= east[:, None]) & (south[:, None] <= lat) & (lat <= north[:, None])
    found = Places(lon, lat).count(np.column_stack([west, south, east, north]))
    assert found.tolist() == inside.sum(axis=1).tolist()


def test_many_areas_cost_as_one_by_one() -> None:
    rng = np.random.default_rng(1)
    columns = {"lon": rng.uniform(-180, 180, 300), "lat": rng.uniform(-90, 90, 300), "volume": rng.normal(size=300)}
    sides = np.array([[-20.0, -30, 60, 30], [0, 0, 0, 0], [-180, -90, 180, 90]])
    low, high = number_keys(np.array([-1.0, 0.5])), number_keys(np.array([1.0, 0.6]))
    for sample in (Sample(ENGLISH), Sample(ENGLISH, pa.table({"id": [str(row) for row in range(300)], **columns}))):
        assert sample.boxes(sides).tolist() == [sample.region(Rectangle(*own)) for own in sides.tolist()]
        for name in ("volume", "price"):
            costs = [sample.number_range((name, False), *own) for own in zip(low.tolist(), high.tolist(), strict=True)]
            assert sample.number_ranges((name, False), low, high).tolist() == costs
