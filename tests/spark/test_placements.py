"""Can every partitioner and every placer be chosen, and are the matches the same? Without a session."""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pytest

from tests.spark import oracle
from tests.spark.inprocess import found, read
from tidings.analysis import ENGLISH
from tidings.cluster.learning import Learn, MappingLearner
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.releases import Plan, Release, Releases
from tidings.cluster.seen import Seen
from tidings.cluster.shares import Shares
from tidings.index import BruteForce
from tidings.index.subscribers import with_all_columns
from tidings.language import parse
from tidings.model import DataError, Subscription
from tidings.partitioning import Mapping, Move
from tidings.partitioning.hybrid import PlacePartitionerName
from tidings.partitioning.learning import PartitionerName
from tidings.placement import Lasp, PlacementPolicy, PlacerName
from tidings.registry import Registry

POSTS = oracle.POSTS.table(200)
PLAN = Plan("partitioned", 5)


@dataclass
class World:
    """A registry, who should be in it, and the folder of a pipeline."""

    folder: Path
    rng: random.Random
    live: dict[str, Subscription] = field(default_factory=dict)

    @property
    def registry(self) -> Registry:
        return Registry.create(self.folder / "registry")

    @property
    def home(self) -> PipelineFolder:
        return PipelineFolder(self.folder / "state")

    def change(self, count: int = 25) -> None:
        """Some subscribe, some of them anew, and some leave."""
        table = oracle.subscriptions(self.rng, count, names=150)
        assert not self.registry.add(table).rejected
        for row in table.to_pylist():
            self.live[row["id"]] = Subscription(row["id"], parse(row["query"]), since=row["since"], until=row["until"])
        gone = self.rng.sample(sorted(self.live), 10)
        self.registry.remove(gone)
        for name in gone:
            del self.live[name]

    def releases(self, placement: str) -> Releases:
        policy = PlacementPolicy.of(placement)
        return Releases(self.home.releases, plan=PLAN, mappings=self.home.mappings, placement=policy)

    def check(self, release: Release) -> None:
        brute = BruteForce()
        brute.add(self.live.values())
        names = POSTS["id"].to_pylist()
        expected = sorted((names[row], name) for row, name in brute.match(read(POSTS, release)).pairs())
        assert sorted(found(POSTS, release).pairs) == expected and len(expected) > 50


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path, random.Random(3))
    world.change(100)
    Seen(world.home.seen).put([POSTS], 0)
    return world


@pytest.mark.parametrize("placer", get_args(PlacerName))
@pytest.mark.parametrize("partitioner", get_args(PartitionerName))
def test_every_partitioner_and_placer_delivers_what_brute_force_does(
    world: World, partitioner: PartitionerName, placer: PlacerName
) -> None:
    if partitioner.startswith("g"):
        pytest.importorskip("pymetis")
    releases = world.releases(placer)
    world.check(releases.release(world.registry, world.registry.version))
    rule = Learn(partitioner, split=partitioner in ("salb", "hash"))
    world.home.mappings.put(*MappingLearner(world.home, rule, world.registry).learn())
    release = releases.release(world.registry, world.registry.version)
    assert (release.mapping, release.placement) == ("learned-1", PlacementPolicy(placer).name)
    world.check(release)
    for restarts in (False, True, False):
        world.change()
        if restarts:
            releases = world.releases(placer)
        release = releases.release(world.registry, world.registry.version)
        world.check(release)


@pytest.mark.parametrize("partitioner", get_args(PlacePartitionerName))
def test_every_partitioner_of_places_delivers_what_brute_force_does(
    world: World, partitioner: PlacePartitionerName
) -> None:
    if partitioner == "hypergraph":
        pytest.importorskip("pymetis")
    releases = world.releases("rarest")
    releases.release(world.registry, world.registry.version)
    world.home.mappings.put(*MappingLearner(world.home, Learn(partitioner), world.registry).learn())
    for number in range(3):
        release = releases.release(world.registry, world.registry.version)
        assert release.mapping == "learned-1"
        world.check(release)
        world.change()
        if number:
            releases = world.releases("rarest")


@pytest.mark.parametrize("placement", ["random", "lasp"])
def test_a_placement_by_words_and_a_mapping_of_places_are_refused_with_the_way_out(
    world: World, placement: str
) -> None:
    world.releases(placement).release(world.registry, world.registry.version)
    with pytest.raises(DataError, match=f"by {placement}; start it with placement='rarest'"):
        MappingLearner(world.home, Learn("hybrid"), world.registry).learn()
    world.releases("rarest").release(world.registry, world.registry.version)
    world.change()
    rarest = world.releases("rarest")
    rarest.release(world.registry, world.registry.version)
    world.home.mappings.put(*MappingLearner(world.home, Learn("hybrid"), world.registry).learn())
    with pytest.raises(DataError, match="tidings learn --partitioner refined"):
        world.releases(placement).release(world.registry, world.registry.version)


@pytest.mark.parametrize("placement", ["random", "lasp"])
def test_what_a_page_promises_is_what_the_placement_does_then(world: World, placement: str) -> None:
    releases = world.releases(placement)
    releases.release(world.registry, world.registry.version)
    with pytest.raises(DataError, match="registry has to be known; name it"):
        MappingLearner(world.home, Learn("salb")).learn()
    mapping, page = MappingLearner(world.home, Learn("salb"), world.registry).learn()
    world.home.mappings.put(mapping, page)
    release = releases.release(world.registry, world.registry.version)
    posts = POSTS.take(list(range(0, POSTS.num_rows, 5)))
    sent = sum(tally.posts for tally in found(posts, release).notes.tallies if tally.stage == "match")
    assert page.after.spread == pytest.approx(sent / posts.num_rows, abs=1e-4)


def test_a_replay_gets_the_homes_of_its_pin_whatever_the_pipeline_places_by_now(world: World) -> None:
    """LASP places by what came before: the same version compiled at once may have other homes."""
    releases = world.releases("lasp")
    for _ in range(3):
        world.change()
        pinned = releases.release(world.registry, world.registry.version)
    again = world.releases("random")
    other = again.release(world.registry, world.registry.version)
    assert (other.placement, other.parts == pinned.parts) == ("random-0", False)
    assert again.release(world.registry, pinned.version, pinned.mapping, pinned.placement) == pinned
    world.check(pinned)
    world.check(other)
    again.forget_before(*other.key)
    assert [path.name for path in world.home.releases.glob("release-*")] == [other.key.path(Path()).name]


def test_a_release_of_before_is_found_as_one_by_the_rarest_term(world: World) -> None:
    release = world.releases("rarest").release(world.registry, world.registry.version)
    assert release.key.path(Path()).name == f"release-{release.version}-hash-5.json"
    assert world.releases("rarest").release(world.registry, release.version, "hash-5", "rarest") == release


def simple(rng: random.Random, names: list[str]) -> pa.Table:
    words = ["fire", "smoke", "rain", "flood", "storm", "hail", "wind", "snow"]
    queries = [" ".join(rng.sample(words, rng.randint(1, 4))) for _ in names]
    return with_all_columns(pa.table({"id": names, "query": queries}))


def test_lasp_knows_the_words_of_each_matcher_after_changes_moves_and_a_restart(tmp_path: Path) -> None:
    rng, live = random.Random(1), dict[str, str]()
    placer, mapping = Lasp(5), Mapping.hashed(5)
    shares = Shares(tmp_path, mapping, ENGLISH, None, placer)
    shares.fill(simple(rng, []))
    for _ in range(12):
        table = simple(rng, rng.sample([f"s{n}" for n in range(40)], 12))
        gone = rng.sample([f"s{n}" for n in range(40)], 8)
        shares.change(table, [*gone, *table["id"].to_pylist()])
        for name in gone:
            live.pop(name, None)
        live |= zip(table["id"].to_pylist(), table["query"].to_pylist(), strict=True)
        mapping = mapping.moved(Move(parcel, rng.randrange(5)) for parcel in range(0, mapping.parcels.count, 3))
        shares.move(mapping)
    parts = shares.save()
    rebuilt = Lasp(5)
    Shares(tmp_path, mapping, ENGLISH, None, rebuilt).open(parts, shares.routers)
    held = [placer.held(matcher) for matcher in range(5)]
    assert [rebuilt.held(matcher) for matcher in range(5)] == held
    assert placer.sizes.tolist() == rebuilt.sizes.tolist() == [len(own) for own in held]
    together = sum((Counter(own) for own in held), Counter[str]())  # nothing is split: each lives at one matcher
    assert together == Counter(word for query in live.values() for word in ENGLISH.words(query))


def test_unknown_names_are_refused_with_those_that_are_known() -> None:
    with pytest.raises(
        DataError, match=r"refined, salb, hash, gc, gfc, gfcl, gnfcl, hybrid, grid, .*, metric, got 'best'"
    ):
        Learn("best")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="rarest, random, lasp, got 'nearest'"):
        PlacementPolicy.of("nearest")
    for name in ("nearest", "random-", "lasp-1", "rarest-2", "lasp-0.0,1.0"):
        with pytest.raises(DataError):
            PlacementPolicy.named(name)
    with pytest.raises(DataError, match="rises from 0"):
        PlacementPolicy("lasp", slope=-1.0)
    with pytest.raises(DataError, match="seed"):
        PlacementPolicy("random", seed=-1)


@pytest.mark.parametrize(
    "policy", [PlacementPolicy(), PlacementPolicy("random", 7), PlacementPolicy("lasp", slope=1e-7, intercept=3)]
)
def test_a_placement_is_all_in_its_name(policy: PlacementPolicy) -> None:
    assert PlacementPolicy.named(policy.name) == policy


@pytest.mark.parametrize("name", ["gc", "gfc", "gfcl", "gnfcl"])
def test_without_metis_its_cuts_are_refused_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, name: PartitionerName
) -> None:
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(DataError, match=r'pip install "tidings\[metis\]"'):
        Learn(name)
    assert Learn("salb").partitioner == "salb"
