"""Are polygons found as by definition, also on their borders and in their holes?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.language.strategies import SMALL_POLYGONS, polygons
from tidings.analysis import ENGLISH
from tidings.engine import Engine
from tidings.index import BruteForce, GuardIndex
from tidings.language import parse, to_text
from tidings.model import Polygon, Publication, Subscription, Within

_shares = st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1)


@given(st.lists(polygons(), min_size=1, max_size=5), st.lists(st.tuples(_shares, _shares), max_size=8))
def test_index_equals_brute_force_on_the_borders_of_polygons(
    regions: list[Polygon], around: list[tuple[float, float]]
) -> None:
    queries = [to_text(Within(region)) for region in regions]
    queries += [f"has:lat -{query}" for query in queries] + [f"fire {queries[0]}"]
    places = [(0.0, 0.0)]
    for region in regions:
        for k, (x1, y1, x2, y2) in enumerate(region.edges()):
            places += [(x1, y1), *((x1 + a * (x2 - x1), y1 + (a if k % 2 else b) * (y2 - y1)) for a, b in around)]
    lon, lat = np.array(places).T
    names = [str(row) for row in range(len(places))]
    posts = pa.table({"id": names, "text": ["fire"] * len(names), "lat": lat, "lon": lon})
    oracle = BruteForce(ENGLISH)
    oracle.add(Subscription(str(number), parse(query)) for number, query in enumerate(queries))
    expected = oracle.match(posts).pairs()
    index = GuardIndex(sample=posts)
    index.add_table(pa.table({"id": [str(number) for number in range(len(queries))], "query": queries}))
    assert index.match(posts).pairs() == expected
    one_by_one = {
        (row, found.subscription_id)
        for row, (x, y) in enumerate(zip(lon.tolist(), lat.tolist(), strict=True))
        for found in index.snapshot.match_one(Publication(names[row], "fire", lon=x, lat=y))
    }
    assert one_by_one == expected


def test_an_engine_finds_the_same_after_it_was_opened_again(tmp_path: Path) -> None:
    """Circles and polygons lie side by side in the files, of several segments."""
    posts = pa.table({"id": ["a", "b"], "lon": [1.0, 3.5], "lat": [1.0, 3.0]})
    queries = [f"polygon:{text}" for text in SMALL_POLYGONS] + ["point_radius:[1 1 5km]", "point_radius:[3 3 90km]"]
    found = []
    for part in (queries[::2], queries[1::2], []):
        with Engine(tmp_path) as engine:
            for query in part:
                engine.subscribe(query, id=query)
            found.append({(match.publication_id, match.subscription_id) for match in engine.match(posts)})
    oracle = BruteForce(ENGLISH)
    oracle.add(Subscription(query, parse(query)) for query in queries)
    assert found[1] == found[2] == {(own.publication_id, own.subscription_id) for own in oracle.match(posts)}
