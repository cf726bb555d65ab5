"""Does a mapping of places that was learned for a pipeline keep its promises? Without a session."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.examples import thorough_but
from tidings.analysis import Analyser
from tidings.cluster import Router, place_learning
from tidings.cluster.learning import HELD_OUT, Learn, MappingLearner
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.releases import Plan, Release, Releases
from tidings.cluster.seen import Seen
from tidings.model import DataError
from tidings.partitioning import NamedParcels
from tidings.partitioning.gridt import Gridt
from tidings.registry import Registry
from tidings.workloads import Posts
from tidings.workloads.squares import q1

PLAN = Plan("partitioned", 4)


def release_of(home: PipelineFolder, registry: Registry) -> Release:
    return Releases(home.releases, plan=PLAN, mappings=home.mappings).release(registry, registry.version)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    registry = Registry(tmp_path / "registry")
    registry.add(q1(Posts(seed=3, vocabulary=2_200).table(3_000), 1_000, 1, Analyser()))
    return registry


@pytest.fixture
def home(tmp_path: Path, registry: Registry) -> PipelineFolder:
    """That of a pipeline on the hash, which has kept some posts with places."""
    home = PipelineFolder(tmp_path / "state")
    release_of(home, registry)
    Seen(home.seen).put([Posts(seed=3, vocabulary=2_200).table(3_000)], 0)
    return home


def sent(home: PipelineFolder, release: Release) -> np.ndarray:
    """How many of the posts that are held out each matcher gets."""
    posts = Seen(home.seen).table()
    assert posts is not None
    routes = Router.open(*(home.releases / name for name in release.routers)).route(
        posts.take(list(range(0, posts.num_rows, HELD_OUT)))
    )
    return np.bincount(routes.pairs()[1], minlength=PLAN.matchers)


@pytest.mark.parametrize("name", thorough_but(["hybrid", "kd-tree", "metric"], "kd-tree"))
def test_a_page_tells_how_often_the_router_sends_posts_then(
    home: PipelineFolder, registry: Registry, name: str
) -> None:
    mapping, page = MappingLearner(home, Learn(name), registry).learn()  # type: ignore[arg-type]
    assert isinstance(mapping.parcels, Gridt) and page.posts == 2_400
    before = sent(home, release_of(home, registry))
    home.mappings.put(mapping, page)
    release = release_of(home, registry)
    assert release.mapping == "learned-1"
    assert page.before.spread == pytest.approx(before.sum() / 600, rel=0.1)  # other frequencies choose the rarest terms
    assert page.after.spread == pytest.approx(sent(home, release).sum() / 600, rel=0.1)
    if name == "hybrid":
        assert page.after.throughput > 1.2 * page.before.throughput


@pytest.mark.thorough
def test_terms_alone_are_learned_again_after_places(home: PipelineFolder, registry: Registry) -> None:
    home.mappings.put(*MappingLearner(home, Learn("hybrid"), registry).learn())
    release_of(home, registry)
    mapping, page = MappingLearner(home, Learn("refined"), registry).learn()
    assert isinstance(mapping.parcels, NamedParcels) and page.before.throughput > page.after.throughput > 1
    with pytest.raises(DataError, match="registry has to be known"):
        MappingLearner(home, Learn("refined")).learn()


@pytest.mark.thorough
def test_other_posts_may_be_given_and_queries_are_sampled(
    home: PipelineFolder, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place_learning, "MOST_QUERIES", 300)
    _, page = MappingLearner(home, Learn("grid"), registry).learn(3, posts=Posts(seed=4).table(500))
    assert (page.posts, page.matchers, page.planned) == (400, 3, 4)


def test_what_is_missing_is_told(home: PipelineFolder, registry: Registry) -> None:
    with pytest.raises(DataError, match=r"to divide places.*--registry"):
        MappingLearner(home, Learn("hybrid")).learn()
    with pytest.raises(DataError, match="leave split out"):
        Learn("hybrid", split=True)
    with pytest.raises(DataError, match="8 posts are too few"):
        MappingLearner(home, Learn("hybrid"), registry).learn(posts=Posts(seed=4).table(10))


def test_posts_without_places_and_nobody_who_asks_give_a_mapping(tmp_path: Path) -> None:
    nobody, home = Registry.create(tmp_path / "nobody"), PipelineFolder(tmp_path / "state")
    nobody.add(pa.table({"id": ["a"], "query": ["fire"]}))
    release_of(home, nobody)
    nobody.remove(["a"])
    posts = Posts(seed=4).table(200).drop_columns(["lat", "lon"])
    mapping, page = MappingLearner(home, Learn("hybrid"), nobody).learn(posts=posts)
    assert mapping.matchers == 4 and (page.after.spread, page.after.imbalance, page.after.throughput) == (0, 1, 4)
