"""Do releases find what brute force finds while a mapping is used beside an older one, and after that is retired?

Without a session: what workers do is done in this process (:mod:`tests.spark.inprocess`).
"""

from __future__ import annotations

import pickle
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.test_mappings import AT, page
from tests.cluster.test_meeting import MAPPINGS
from tests.cluster.test_places import counts, local, spread
from tests.cluster.test_placing import as_table
from tests.examples import examples
from tests.index.strategies import NOW
from tests.spark.inprocess import found, read
from tidings.cluster import Router, place
from tidings.cluster.cut import Cut
from tidings.cluster.filings import Filings, merged
from tidings.cluster.mappings import Mappings
from tidings.cluster.older import SideBySide
from tidings.cluster.releases import Plan, Release, Releases, newest_release
from tidings.index import BruteForce
from tidings.language import to_text
from tidings.model import Subscription
from tidings.partitioning import Mapping, Move
from tidings.registry import Registry
from tidings.tables.columns import instant_key

KINDS = ("hash", "salb", "hybrid", "kd-tree")
PLAN = Plan("partitioned", 5)


class World:
    """A registry that changes, mappings, and releases of which each is compared with brute force."""

    def __init__(self, home: Path, rng: random.Random) -> None:
        self.home, self.rng = home, rng
        self.registry, self.mappings = Registry.create(home / "registry"), Mappings(home / "mappings")
        self.live: dict[str, Subscription] = {}
        self.history: dict[int, dict[str, Subscription]] = {}
        self.open_anew()
        self.change(30)

    def open_anew(self) -> None:
        """Let another driver go on."""
        self.releases = Releases(self.home / "releases", plan=PLAN, mappings=self.mappings)

    def change(self, count: int = 9) -> None:
        rng = self.rng
        added = {name: local(name, rng) for name in (f"s{n}" for n in rng.sample(range(50), count))}
        gone = [f"s{rng.randrange(50)}" for _ in range(count // 2)]
        self.registry.remove(gone)
        rows = {"id": list(added), "query": [to_text(own.query) for own in added.values()]}
        assert not self.registry.add(pa.table(rows)).rejected
        self.live = {name: own for name, own in self.live.items() if name not in gone} | added
        self.history[self.registry.version] = self.live

    def learned(self, kind: str) -> Mapping:
        return MAPPINGS[kind](as_table([*self.live.values()]), spread(self.rng, 60))

    def in_use(self) -> str:
        return self.mappings.newest(5)

    def adopt(self, kind: str) -> None:
        beside = self.mappings.parcels(self.in_use())
        self.mappings.put(self.learned(kind), replace(page(5, 5), beside=beside))

    def move(self) -> None:
        mapping = self.mappings.mapping(self.in_use())
        assert mapping is not None
        moves = [Move(self.rng.randrange(mapping.parcels.count), self.rng.randrange(5)) for _ in range(9)]
        self.mappings.move(self.in_use(), moves, AT)

    def retire(self) -> None:
        self.mappings.move(self.in_use(), (), AT, retires=True)

    def check(self, version: int | None = None, mapping: str = "") -> Release:
        """The release of a version, which finds what brute force finds, each match once."""
        version = self.registry.version if version is None else version
        release = self.releases.release(self.registry, version, mapping)
        assert release.mapping == (mapping or self.in_use())
        posts, brute = spread(self.rng), BruteForce(clock=lambda: NOW)
        brute.add(self.history[version].values())
        names = posts["id"].to_pylist()
        expected = sorted((names[row], name) for row, name in brute.match(read(posts, release)).pairs())
        pickled = pickle.loads(pickle.dumps(release))
        assert sorted(found(posts, pickled, instant_key(NOW), batch_rows=13).pairs) == expected
        return release


@pytest.mark.thorough
@examples(10)
@given(seed=st.integers(0, 10**6))
def test_releases_find_what_brute_force_finds_through_global_adjustments(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    rng = random.Random(seed)
    world = World(tmp_path_factory.mktemp("beside"), rng)
    world.check()
    for _ in range(6):
        version, mapping = world.registry.version, world.in_use()
        if rng.random() < 0.7:
            world.change()
        deed = rng.choice(["adopt", "adopt", "retire", "move", "put"])
        if deed == "adopt":
            world.adopt(rng.choice(KINDS))
        elif deed == "put":
            world.mappings.put(world.learned(rng.choice(KINDS)), page(5, 5))
        else:
            getattr(world, deed)()
        if rng.random() < 0.4:
            world.open_anew()
        release = world.check()
        assert deed != "retire" or not release.older
        if rng.random() < 0.3:
            world.check(version, mapping)  # a batch of before is run again
        if rng.random() < 0.5:
            world.releases.forget_before(*release.key)
            world.mappings.forget_before(release.mapping)
    world.retire()
    world.open_anew()
    release = world.check()
    mapping_now = world.mappings.mapping(release.mapping)
    assert mapping_now is not None and not release.older
    anew = place(as_table([*world.live.values()]), mapping_now).router
    assert counts(Router.open(*(world.home / "releases" / name for name in release.routers))) == counts(anew)


def left(release: Release, names: tuple[str, ...]) -> set[str]:
    """The subscriptions that are filed in some files of a router."""
    parts = [Filings.open(Path(release.folder, name)) for name in names]
    return set(merged(parts).ids.texts().to_pylist())


def test_old_ones_stay_with_the_old_mapping_and_new_ones_go_to_the_new_until_it_is_retired(tmp_path: Path) -> None:
    world = World(tmp_path, random.Random(1))
    first = world.check()
    world.adopt("hybrid")
    beside = world.check()
    assert beside.older == first.routers and not beside.routers and beside.files == first.files  # nothing is written
    old = set(world.live)
    world.change()
    third = world.check()
    changed = set(world.registry.changes(first.version)["id"].to_pylist())
    assert left(third, third.older) == old - changed and left(third, third.routers) == set(world.live) & changed
    assert newest_release(tmp_path / "releases").older == [tmp_path / "releases" / name for name in third.older]
    world.move()
    moved = world.check()
    assert moved.older == third.older and moved.routers != third.routers
    world.retire()
    last = world.check()
    assert not last.older and left(last, last.routers) == set(world.live)
    world.move()
    assert not world.check().older  # what is moved after that is retired too


@pytest.mark.thorough
def test_what_is_left_of_the_older_mapping_is_kept_in_few_files(tmp_path: Path) -> None:
    world = World(tmp_path, random.Random(2))
    world.check()
    world.adopt("kd-tree")
    for number in range(12):
        world.change(4)
        if number % 3 == 0:
            world.open_anew()
        release = world.check()
        world.releases.forget_before(*release.key)
    assert 1 <= len(release.older) <= 9
    assert {path.name for path in (tmp_path / "releases").glob("*.tidings")} == set(release.files)


@pytest.mark.thorough
def test_routers_that_have_become_empty_and_are_written_anew_go_on(tmp_path: Path) -> None:
    world = World(tmp_path, random.Random(3))
    world.check()
    world.adopt("kd-tree")
    for number in range(11):  # more than there are files before all become one
        world.registry.remove(name for name in world.live if int(name[1:]) % 11 == number)
        release = world.releases.release(world.registry, world.registry.version)
    assert not left(release, release.older) and not release.routers
    world.live = {}
    world.change()
    assert world.check().routers


def test_a_release_that_is_lost_is_compiled_with_one_mapping(tmp_path: Path) -> None:
    world = World(tmp_path, random.Random(3))
    world.check()
    world.adopt("hybrid")
    release = world.check()
    assert release.older
    for path in (tmp_path / "releases").glob("*.tidings"):
        path.unlink()
    world.open_anew()
    again = world.check(release.version, release.mapping)
    assert not again.older and again.key == release.key and left(again, again.routers) == set(world.live)


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A release with subscriptions of both mappings."""
    world = World(tmp_path_factory.mktemp("cut"), random.Random(4))
    world.check()
    world.adopt("hybrid")
    world.change(20)
    release = world.check()
    assert release.older and release.routers
    return release


def test_two_routers_have_the_occurrences_of_both_and_all_of_a_row_are_its_route(beside: Release) -> None:
    newer, older = (
        Router.open(*(Path(beside.folder, name) for name in names)) for names in (beside.routers, beside.older)
    )
    both, posts = SideBySide(newer, older), spread(random.Random(5))
    terms, owners, _ = both.occurrences(posts)
    rows = np.repeat(np.arange(len(terms)), np.diff(terms.offsets))
    pairs = {(int(row), int(owner)) for row, owner in zip(rows, owners, strict=True) if owner >= 0}
    assert pairs == set(zip(*(own.tolist() for own in both.route(posts).pairs()), strict=True)) and pairs
    sent = np.flatnonzero(owners >= 0)
    assert np.all(both.filed[terms.ids[sent]] > 0) and terms.ids.max() >= len(newer.filed)


@pytest.mark.parametrize("policy", ["random", "consensus", "subscription", "threshold"])
def test_shedding_beside_an_older_mapping_only_loses(beside: Release, policy: str) -> None:
    posts = spread(random.Random(6), 200)
    every = set(found(posts, beside, instant_key(NOW)).pairs)
    cut = Cut(1, policy, limit=1.0, fraction=0.3, spared=0.1)
    some = found(posts, beside, instant_key(NOW), cut=cut)
    assert set(some.pairs) < every and len(set(some.pairs)) == len(some.pairs) and some.pairs
    assert sum(shed.posts_cut for shed in some.notes.shed) > 0
