"""Does a stream find what brute force finds while a mapping of words and places takes the place of the hash?

Wherever posts are, whatever places are asked for, and however many matchers there are.
"""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.spark import oracle
from tidings.cluster.learning import Learn, MappingLearner
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.releases import Plan
from tidings.index import BruteForce
from tidings.language import parse
from tidings.model import Subscription
from tidings.registry import Registry
from tidings.spark.pipeline import Pipeline
from tidings.spark.sinks import MemorySink
from tidings.spark.sources import posts_from_files

pytestmark = pytest.mark.spark


def test_a_stream_goes_over_to_the_hybrid_and_finds_what_brute_force_finds(
    tmp_path: Path, spark: SparkSession, registry: Registry
) -> None:
    oracle.write_posts(tmp_path / "posts", 0)
    posts = posts_from_files(spark, tmp_path / "posts", files_per_batch=1)
    sink, rng, home = MemorySink(), random.Random(2), PipelineFolder(tmp_path / "state")
    with Pipeline(posts, registry, sink, tmp_path / "state", plan=Plan("partitioned", 3)).start() as running:
        for number, partitioner in enumerate(("", "hybrid", "kd-tree"), start=1):
            oracle.write_posts(tmp_path / "posts", number)
            running.process_all()
            if partitioner:
                home.mappings.put(*MappingLearner(home, Learn(partitioner), registry).learn())  # type: ignore[arg-type]
            oracle.change(registry, rng)
            oracle.write_posts(tmp_path / "posts", 10 + number)
            running.process_all()
    expected = oracle.expected(tmp_path / "state", registry)
    assert {batch: oracle.rows_of(table) for batch, table in sink.batches.items()} == expected
    mappings = [pin.mapping for batch in expected if (pin := running.journal.pin(batch))]
    assert {"hash-3", "learned-1", "learned-2"} <= set(mappings) and all(expected.values())


Place = tuple[float | None, float | None]
ASKED = {
    "north pole": "fire bounding_box:[-180 80 180 90]",
    "south pole": "fire bounding_box:[-180 -90 180 -80]",
    "earth": "fire bounding_box:[-180 -90 180 90]",
    "all of the earth": "bounding_box:[-180 -90 180 90]",
    "not on it": "fire -bounding_box:[-180 -90 180 90]",
    "date line": "fire point_radius:[180 10 300km]",
    "polygons": "polygon:(((0 80, 90 90, -90 90)), ((0 0, 9 0, 9 9, 0 9), (1 1, 2 1, 2 2)), ((179 9, 180 9, 180 12)))",
    "nobody posts there": "fire bounding_box:[100 40 110 50]",
    "nor there": "bounding_box:[-120 -50 -110 -40]",
    "anywhere": "fire",
    "either": "smoke OR (fire bounding_box:[0 0 5 5])",
}
FAR: list[Place] = [
    (0.0, 90.0),
    (180.0, 90.0),
    (-180.0, -90.0),
    (180.0, 10.0),
    (-180.0, 10.0),
    (179.5, 11.0),
    (None, None),
]
"""At the poles, at the date line, and nowhere."""

NEW: list[Place] = [(105.0, 45.0), (-115.0, -45.0), (60.0, -30.0)]
"""Where nothing was posted when the mapping was learned; at the last one nobody asks for a place."""


def posted(file: Path, places: list[Place]) -> pa.Table:
    """A file of posts at these places, about fire and about smoke."""
    rows = [(word, *place) for place in places for word in ("fire", "smoke", "rain")]
    text, lon, lat = (list(column) for column in zip(*rows, strict=True))
    ids = [f"{file.stem}-{n}" for n in range(len(rows))]
    table = pa.table({"id": ids, "text": text, "lon": pa.array(lon, pa.float64()), "lat": pa.array(lat, pa.float64())})
    file.parent.mkdir(exist_ok=True)
    pq.write_table(table, file.with_name(f"_{file.name}"))
    file.with_name(f"_{file.name}").rename(file)
    return table


@pytest.mark.parametrize("matchers", [1, 12])
def test_poles_the_earth_empty_regions_and_posts_without_a_place_lose_nothing_by_one_matcher_or_too_many(
    tmp_path: Path, spark: SparkSession, matchers: int
) -> None:
    registry, home, rng = Registry(tmp_path / "registry"), PipelineFolder(tmp_path / "state"), random.Random(3)
    registry.add(pa.table({"id": list(ASKED), "query": list(ASKED.values())}))
    brute = BruteForce()
    brute.add(Subscription(name, parse(query)) for name, query in ASKED.items())
    crowd: list[Place] = [(rng.uniform(0, 9), rng.uniform(0, 9)) for _ in range(50)]
    posts, sink = tmp_path / "posts", MemorySink()
    tables = [posted(posts / "0.parquet", [*crowd, *FAR])]
    stream = posts_from_files(spark, posts, files_per_batch=1)
    with Pipeline(stream, registry, sink, home.path, plan=Plan("partitioned", matchers)).start() as running:
        running.process_all()
        learned, page = MappingLearner(home, Learn("hybrid"), registry).learn()
        assert learned.parcels.gridt is not None
        in_regions = learned.owner[learned.parcels.gridt.first[1] :]  # but for what is everywhere
        assert matchers == 1 or len(set(in_regions.tolist())) < matchers
        home.mappings.put(learned, page)
        tables += [posted(posts / "1.parquet", [*crowd, *FAR]), posted(posts / "2.parquet", NEW)]
        running.process_all()
    assert len(sink.batches) == 3
    for table, found in zip(tables, sink.batches.values(), strict=True):
        names = table["id"].to_pylist()
        expected = sorted((names[row], name) for row, name in brute.match(table).pairs())
        pairs = sorted(zip(found["publication_id"].to_pylist(), found["subscription_id"].to_pylist(), strict=True))
        assert pairs == expected and expected
    pin = home.journal.pin(2)
    assert pin is not None and pin.mapping == "learned-1"
