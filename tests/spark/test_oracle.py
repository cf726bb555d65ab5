"""Does the oracle of the Spark tests agree with the product, in what it does not share with it? Without a session."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from tests.spark import oracle
from tidings.cluster.cut import Chosen, Cut, cut_posts
from tidings.index import BruteForce, GuardIndex
from tidings.language import parse
from tidings.model import Subscription
from tidings.registry import Registry


@pytest.mark.parametrize("seed", range(3))
def test_a_plain_evaluation_finds_what_the_product_finds(tmp_path: Path, seed: int) -> None:
    """Of each version: fold against snapshot, reader against parser, words against analyser."""
    rng, registry, posts = random.Random(seed), Registry(tmp_path / "registry"), oracle.POSTS.table(200)
    found = 0
    for _ in range(4):
        oracle.change(registry, rng)
        registry.add(oracle.subscriptions(rng, 60))
    for version in range(1, registry.version + 1):
        asked = {row["id"]: row for row in registry.snapshot(version).to_pylist()}
        matcher = BruteForce()
        rows = asked.values()
        matcher.add(
            Subscription(row["id"], parse(row["query"]), since=row["since"], until=row["until"]) for row in rows
        )
        expected = sorted((f"p{at}", name, asked[name]["query_version"]) for at, name in matcher.match(posts).pairs())
        plain = oracle.brute(posts, registry, version)
        assert sorted((row[0], row[1], row[4]) for row in plain) == expected
        found += len(plain)
    assert found > 500


@pytest.mark.parametrize("layout", ["replicated", "partitioned"])
@pytest.mark.parametrize("cut", [Cut(3, "random", 2.0, 0.5, 0.1), Cut(9, "random", 1.0, 0.3, 0.05, looked_at=0.4)])
def test_the_posts_that_a_cut_leaves_are_those_that_the_product_matches(layout: str, cut: Cut) -> None:
    posts = oracle.POSTS.table(2_000)
    chosen = Chosen.of(posts, cut)
    seen = chosen.posts
    if layout == "replicated":
        seen = seen.take(pa.array(cut_posts(chosen, GuardIndex(), cut).routes.with_matcher(0)))
    left = oracle.left(posts, cut, layout)
    assert left["id"].to_pylist() == seen["id"].to_pylist()
    assert left.num_rows < posts.num_rows or (layout, cut.looked_at) == ("partitioned", 1.0)
