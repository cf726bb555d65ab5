"""Is a release the index of its version, whatever it was brought forward from? In both layouts, without a session."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.test_mappings import page
from tests.examples import examples, thorough_but
from tests.index.strategies import NOW, subscriptions, tables
from tests.language.strategies import WORDS
from tests.spark.inprocess import Found, found, read
from tidings.analysis import ENGLISH, Analyser
from tidings.cluster import Homes, Router, place
from tidings.cluster.mappings import Mappings
from tidings.cluster.releases import FORMAT, Plan, Release, Releases
from tidings.index import BruteForce, GuardIndex
from tidings.index.store import Store, described
from tidings.language import parse, to_text
from tidings.model import DataError, Subscription
from tidings.partitioning import Mapping, Move, Owners
from tidings.placement import PlacementPolicy, PlacerName
from tidings.registry import History, Registry
from tidings.spark import tasks
from tidings.tables.columns import instant_key
from tidings.terms.sample import Sample
from tidings.workloads import Posts, tweet_based

LAYOUTS = [Plan("replicated"), *(Plan("partitioned", matchers) for matchers in (1, 2, 7, 16, 70))]

NAMES = ["whole", "hash-2", "learned-1", "moved-2", "moved-3", "moved-4"]


def asked(*queries: str) -> pa.Table:
    return pa.table({"id": [f"s{i}" for i in range(len(queries))], "query": queries})


def brute_pairs(
    table: pa.Table, release: Release, live: dict[str, Subscription], result: Found
) -> set[tuple[str, str]]:
    """What brute force finds in what is read, but for rows that were refused."""
    brute = BruteForce(clock=lambda: NOW)
    brute.add(live.values())
    names = table["id"].to_pylist()
    refused = {row.id for row in result.notes.rejected}
    pairs = brute.match(read(table, release)).pairs()
    return {(names[row], name) for row, name in pairs if names[row] not in refused}


@st.composite
def learned(draw: st.DrawFn) -> Mapping:
    """Any owners of the words of the small world, several of some."""
    names = sorted({word for text in WORDS for word in ENGLISH.words(text)})
    owners = [draw(st.permutations(range(5)))[: draw(st.sampled_from([1, 1, 2, 5]))] for _ in names]
    matchers = np.array([matcher for own in owners for matcher in own], dtype=np.int32)
    return Mapping.learned(pa.array(names), Owners.of_counts([len(own) for own in owners], matchers), 5)


@st.composite
def moves(draw: st.DrawFn, mapping: Mapping) -> list[Move]:
    """Half of the parcels of all words go anywhere."""
    rng = random.Random(draw(st.integers(0, 10**6)))
    parcels = sorted(set(mapping.parcels.of(pa.array(sorted({*WORDS, *RARE}))).parcels.tolist()))
    return [Move(parcel, rng.randrange(mapping.matchers)) for parcel in rng.sample(parcels, len(parcels) // 2)]


def move(mappings: Mappings, name: str, data: st.DataObject) -> str:
    mapping = mappings.mapping(name)
    assert mapping is not None
    return mappings.move(name, data.draw(moves(mapping)), "2026-01-01T00:00:00+00:00").name


@examples(25)
@given(data=st.data())
def test_every_release_equals_brute_force(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    home = tmp_path_factory.mktemp("releases")
    registry = Registry.create(home / "registry")
    plan = data.draw(st.sampled_from(LAYOUTS))
    placement = PlacementPolicy(data.draw(st.sampled_from(get_args(PlacerName))))
    releases = Releases(home / "releases", plan=plan, placement=placement)
    mappings = Mappings(home / "releases" / "mappings")
    mappings.put(data.draw(learned()), page(planned=5))
    for name in ("learned-1", "moved-2", "hash-2"):
        move(mappings, name, data)
    live: dict[str, Subscription] = {}
    history: dict[int, dict[str, Subscription]] = {registry.version: {}}
    for _ in range(data.draw(st.integers(1, 4))):
        new = [data.draw(subscriptions(name)) for name in data.draw(st.lists(st.sampled_from("abcdef"), max_size=4))]
        gone = data.draw(st.lists(st.sampled_from("abcdef"), max_size=2))
        if new:
            rows = [{"id": s.id, "query": to_text(s.query), "since": s.since, "until": s.until} for s in new]
            assert not registry.add(pa.Table.from_pylist(rows)).rejected
            live = live | {s.id: s for s in new}
            history[registry.version] = live
        if gone:
            registry.remove(gone)
            live = {name: s for name, s in live.items() if name not in gone}
            history[registry.version] = live
        if data.draw(st.booleans()):
            releases = Releases(home / "releases", plan=plan)  # another driver
        version, mapping = data.draw(st.sampled_from(sorted(history))), data.draw(st.sampled_from(["", *NAMES]))
        release = releases.release(registry, version, mapping)
        assert release.version == version and release.mapping == (mapping or release.mapping)
        if data.draw(st.booleans()):
            releases.forget_before(version, data.draw(st.sampled_from(["", release.mapping])))
        table = data.draw(tables())
        result = found(table, pickle.loads(pickle.dumps(release)), instant_key(NOW), batch_rows=3)
        assert sorted(result.pairs) == sorted(brute_pairs(table, release, history[version], result))
        assert result.notes.matches == len(result.pairs)


def counted(router: Router) -> dict[str, tuple[int, list[int]]]:
    """How much is filed under each term that posts are sent for, and its owners, by the name of the term."""
    names = router.terms.term_names().to_pylist()
    return {
        names[term]: (int(count), router.owners.of(term)) for term, count in enumerate(router.filed) if term and count
    }


RARE = ["fire", "smoke", "flood", "drill", "rain"]
RARENESS = pa.table({"id": [f"p{n}" for n in range(5)], "text": [" ".join(RARE[n:]) for n in range(5)]})
"""No two words are equally rare, so it does not depend on other queries under which word a query is filed."""

QUERIES = st.lists(st.lists(st.sampled_from(RARE), min_size=1, max_size=3).map(" ".join), min_size=1, max_size=2).map(
    lambda parts: " OR ".join(f"({part})" for part in parts)
)


@pytest.mark.thorough
@examples(15)
@given(data=st.data())
def test_after_any_history_of_changes_and_moves_the_router_is_one_built_anew(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Also where the files of many changes have become one, and where another driver goes on with them."""
    home = tmp_path_factory.mktemp("routers")
    registry, mappings = Registry.create(home / "registry"), Mappings(home / "releases" / "mappings")
    mappings.put(data.draw(learned()), page(planned=5))
    releases = Releases(home / "releases", sample=RARENESS, plan=Plan("partitioned", 5))
    changes = st.dictionaries(st.sampled_from("abcdef"), st.one_of(st.none(), QUERIES), min_size=1, max_size=3)
    for change in data.draw(st.lists(changes, min_size=1, max_size=12)):
        gone = [name for name, query in change.items() if query is None]
        rows = [{"id": name, "query": query} for name, query in change.items() if query is not None]
        if rows:
            registry.add(pa.Table.from_pylist(rows))
        if gone:
            registry.remove(gone)
        if data.draw(st.booleans()):
            releases = Releases(home / "releases", sample=RARENESS, plan=Plan("partitioned", 5))
        release = releases.release(registry, registry.version)
        releases.forget_before(release.version, release.mapping)
        mappings.forget_before(release.mapping)
        if data.draw(st.booleans()):
            move(mappings, release.mapping, data)
    mapping = mappings.mapping(release.mapping)
    assert mapping is not None
    anew = place(registry.snapshot(registry.version), mapping, Sample(ENGLISH, RARENESS)).router
    assert release.routers or not len(anew)
    if release.routers:
        router = Router.open(*(Path(release.folder, name) for name in release.routers))
        assert counted(router) == counted(router.tidied()[0]) == counted(anew) and len(router) == len(anew)
        assert np.array_equal(router.route(RARENESS).words, anew.route(RARENESS).words)


def test_a_subscription_that_is_sent_again_and_again_counts_once_and_one_that_is_gone_attracts_nothing(
    tmp_path: Path,
) -> None:
    registry = Registry.create(tmp_path / "registry")
    releases = Releases(tmp_path / "releases", plan=Plan("partitioned", 4))
    for query in ["fire"] * 11 + ["smoke"]:
        registry.add(asked(query))
        release = releases.release(registry, registry.version)
    router = Router.open(*(Path(release.folder, name) for name in release.routers))
    assert {name: count for name, (count, _) in counted(router).items()} == {"smoke": 1}
    posts = pa.table({"id": ["a", "b"], "text": ["fire", "smoke"]})
    assert router.route(posts).sizes().tolist() == [0, 1]


@pytest.mark.parametrize(
    "plan", thorough_but(LAYOUTS, LAYOUTS[0], LAYOUTS[2]), ids=lambda plan: f"{plan.layout}-{plan.matchers}"
)
def test_many_matches_come_out_once_with_all_their_columns(tmp_path: Path, plan: Plan) -> None:
    posts = Posts(seed=5).table(600)
    words = tweet_based(posts["text"], 150, 1, Analyser(), words=(1, 2))["query"].to_pylist()
    queries = [*words, "topic:technology OR likes:>5", "bounding_box:[-180 -90 180 90] OR has:lang OR likes:[0 TO 2]"]
    table = asked(*queries).append_column("subscriber", pa.array([f"of {q}" for q in queries]))
    registry = Registry(tmp_path / "registry")
    registry.add(table)
    release = Releases(tmp_path / "releases", plan=plan).release(registry, 1)
    result = found(posts, release, batch_rows=250)
    brute = BruteForce()
    brute.add(Subscription(row["id"], parse(row["query"])) for row in table.to_pylist())
    ids = posts["id"].to_pylist()
    expected = {(ids[row], name) for row, name in brute.match(posts).pairs()}
    assert len(result.pairs) == len(expected) and set(result.pairs) == expected
    instants = dict(zip(ids, posts["ts"].to_pylist(), strict=True))
    for row in result.rows:
        assert row["ts"] == instants[str(row["publication_id"])] and row["query_version"] == 1
        assert row["subscriber"] == f"of {queries[int(str(row['subscription_id'])[1:])]}"
    assert result.notes.posts == 600 and result.notes.matches == len(expected)
    assert release.attributes == ("lang", "likes") and release.matchers == (
        1 if plan.layout == "replicated" else plan.matchers
    )


@pytest.mark.parametrize("most_rows", [1, 2, 7])
@pytest.mark.parametrize("plan", LAYOUTS[:3], ids=lambda plan: f"{plan.layout}-{plan.matchers}")
def test_matches_that_come_in_several_pieces_are_all_there_once(
    tmp_path: Path, plan: Plan, most_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "_MOST_ROWS", most_rows)
    registry = Registry(tmp_path / "registry")
    registry.add(asked(*["fire OR smoke"] * 5))
    release = Releases(tmp_path / "releases", plan=plan).release(registry, 1)
    posts = pa.table({"id": [f"p{row}" for row in range(9)], "text": ["fire", "smoke", "rain"] * 3})
    result = found(posts, release)
    expected = [(f"p{row}", f"s{i}") for row in range(9) if row % 3 < 2 for i in range(5)]
    assert sorted(result.pairs) == expected and result.notes.matches == len(expected)


def test_a_change_adds_small_files_and_leaves_the_others(tmp_path: Path) -> None:
    posts = Posts(seed=6).table(3000)
    registry = Registry(tmp_path / "registry")
    registry.add(tweet_based(posts["text"], 3000, 1, Analyser(), words=(2, 4)))
    releases = Releases(tmp_path / "releases")
    first = releases.release(registry, registry.version)
    registry.add(asked("white house"))
    registry.remove(["s0"])
    registry.add(asked("zebra"))
    second = releases.release(registry, registry.version)
    (new,) = second.files - first.files
    assert first.files < second.files
    size = {name: (tmp_path / "releases" / name).stat().st_size for name in second.files}
    assert size[new] < 0.1 * sum(size.values())
    assert releases.release(registry, first.version) == first


@pytest.mark.thorough
def test_deltas_are_compacted_and_forgotten_files_removed(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "registry")
    releases = Releases(tmp_path / "releases", plan=Plan("partitioned", 2))
    for number in range(20):
        registry.add(asked(*(f"w{number} OR v{i}" for i in range(number + 1))))
        release = releases.release(registry, registry.version)
        releases.forget_before(release.version)
        files = {path.name for path in (tmp_path / "releases").iterdir()}
        assert files == {*release.files, f"release-{release.version}-hash-2.json", "lock"}
        assert max(len(part.segments) for part in release.parts) <= 8 and len(release.routers) <= 9
    result = found(pa.table({"id": ["p"], "text": ["w19 v3"]}), release)
    assert sorted(result.pairs) == sorted(("p", f"s{i}") for i in range(20))


def test_a_release_that_is_gone_or_damaged_is_compiled_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry(tmp_path / "registry")
    registry.add(asked("fire"))
    registry.remove(["s0"])
    post = pa.table({"id": ["p"], "text": ["a fire"]})
    first = Releases(tmp_path / "releases").release(registry, 1)
    for path in (tmp_path / "releases").glob("segment-*"):
        path.unlink()
    again = Releases(tmp_path / "releases").release(registry, 1)
    assert again.files.isdisjoint(first.files) and found(post, again).pairs == [("p", "s0")]
    for path in (tmp_path / "releases").glob("segment-*"):
        path.write_bytes(path.read_bytes()[:-8])
    assert found(post, Releases(tmp_path / "releases").release(registry, 2)).pairs == []
    assert "cut off" in caplog.text
    (tmp_path / "releases" / "release-1-whole.json").write_text("{")
    assert found(post, Releases(tmp_path / "releases").release(registry, 1)).pairs == [("p", "s0")]


def test_a_release_of_the_format_before_is_compiled_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry(tmp_path / "registry")
    registry.add(asked("fire"))
    first = Releases(tmp_path / "releases", plan=Plan("partitioned", 2)).release(registry, 1)
    page = tmp_path / "releases" / "release-1-hash-2.json"
    content = json.loads(page.read_text())
    page.write_text(json.dumps({name: content[name] for name in content.keys() - {"mark", "crc"}} | {"format": 2}))
    again = Releases(tmp_path / "releases", plan=Plan("partitioned", 2)).release(registry, 1)
    assert again.files.isdisjoint(first.files) and f"format 2, this tidings reads {FORMAT}" in caplog.text
    assert found(pa.table({"id": ["p"], "text": ["a fire"]}), again).pairs == [("p", "s0")]


def test_another_analyser_is_refused(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "registry")
    registry.add(asked("fire"))
    Releases(tmp_path / "releases").release(registry, 1)
    german = Analyser("german")
    with pytest.raises(DataError, match="another analyser"):
        Releases(tmp_path / "releases", german).release(registry, 1)
    with pytest.raises(DataError, match="name another folder"):
        Releases(tmp_path / "releases", german).release(Registry(tmp_path / "registry", german), 1)


def test_auto_chooses_by_size_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    table = asked("fire", "smoke")
    assert Plan().chosen(table) == "replicated" and Plan(replicated_bytes=50).chosen(table) == "partitioned"
    assert "partitioned layout: 2 subscriptions" in caplog.text
    with pytest.raises(DataError, match="got 'both'"):
        Plan("both")  # type: ignore[arg-type]


def test_an_empty_registry_has_a_release(tmp_path: Path) -> None:
    for plan in LAYOUTS[:3]:
        registry = Registry.create(tmp_path / "registry")
        folder = tmp_path / f"{plan.layout}{plan.matchers}"
        release = Releases(folder, plan=plan).release(registry, registry.version)
        result = found(Posts(seed=1).table(10), release)
        assert result.pairs == [] and result.notes.posts == 10


def test_another_mapping_or_number_of_matchers_lays_the_index_out_anew(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "registry")
    registry.add(asked(*(f"w{n} OR v{n}" for n in range(50))))
    post = pa.table({"id": ["p"], "text": [" ".join(f"w{n}" for n in range(50))]})
    folder, mappings = tmp_path / "releases", Mappings(tmp_path / "mappings")

    def newest(plan: Plan) -> Release:
        releases = Releases(folder, plan=plan, mappings=mappings)
        release = releases.release(registry, registry.version)
        assert sorted(found(post, release).pairs) == sorted(("p", f"s{n}") for n in range(50))
        releases.forget_before(release.version, release.mapping)
        (name,) = folder.glob("release-*.json")
        assert name.name == f"release-{release.version}-{release.mapping}.json"
        assert {path.name for path in folder.glob("*.tidings")} == release.files
        return release

    assert (newest(Plan("partitioned", 3)).mapping, newest(Plan("partitioned", 5)).matchers) == ("hash-3", 5)
    words = pa.array([f"w{n}" for n in range(50)])
    everything = Mapping.learned(words, Owners.single(np.full(50, 6, dtype=np.int32)), 7)
    mappings.put(everything, page(planned=5))
    release = newest(Plan("partitioned", 5))
    assert (release.mapping, release.matchers) == ("learned-1", 7)
    assert set(Router.open(*(folder / name for name in release.routers)).route(post).pairs()[1]) >= {6}
    assert newest(Plan("partitioned", 5)) == release
    registry.add(asked("w0"))
    assert newest(Plan("partitioned", 5)).mapping == "learned-1"
    assert [newest(plan).mapping for plan in (Plan("partitioned", 3), Plan(), Plan("replicated"), Plan())] == [
        *("hash-3", "hash-16", "whole", "whole")
    ]


def test_a_mapping_that_cannot_be_read_is_replaced_by_the_hash(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry, mappings = Registry(tmp_path / "registry"), Mappings(tmp_path / "mappings")
    registry.add(asked("fire"))
    mappings.put(Mapping.learned(pa.array(["fire"]), Owners.single(np.zeros(1, dtype=np.int32)), 3), page(planned=3))
    (tmp_path / "mappings" / "learned-1.tidings").write_bytes(b"")
    release = Releases(tmp_path / "releases", plan=Plan("partitioned", 3), mappings=mappings).release(registry, 1)
    assert release.mapping == "hash-3" and "terms are hashed" in caplog.text
    assert found(pa.table({"id": ["p"], "text": ["fire"]}), release).pairs == [("p", "s0")]


def test_a_mapping_that_was_replaced_under_its_name_lays_the_index_out_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry, plan = Registry(tmp_path / "registry"), Plan("partitioned", 3)
    pairs = []
    for owner in (0, 2):
        mappings = Mappings(tmp_path / f"mappings of {owner}")
        fire = Mapping.learned(pa.array(["fire"]), Owners.single(np.array([owner], dtype=np.int32)), 3)
        mappings.put(fire, page(planned=3))
        registry.add(pa.table({"id": [f"s{owner}"], "query": ["fire"]}))
        release = Releases(tmp_path / "releases", plan=plan, mappings=mappings).release(registry, registry.version)
        assert release.mapping == "learned-1"
        pairs.append(sorted(found(pa.table({"id": ["p"], "text": ["fire"]}), release).pairs))
    assert pairs == [[("p", "s0")], [("p", "s0"), ("p", "s2")]] and "compiled again" in caplog.text


@pytest.mark.parametrize("plan", LAYOUTS[:3], ids=lambda plan: f"{plan.layout}-{plan.matchers}")
def test_what_the_registry_has_forgotten_is_compiled_anew(
    tmp_path: Path, plan: Plan, caplog: pytest.LogCaptureFixture
) -> None:
    registry = Registry(tmp_path / "registry", history=History(versions=1))
    releases = Releases(tmp_path / "releases", plan=plan)
    posts = pa.table({"id": ["p"], "text": ["fire rain"]})
    old = releases.release(registry, registry.add(asked("fire", "rain")).version)
    registry.remove(["s0"])
    registry.add(pa.table({"id": ["s2"], "query": ["fire rain"]}))
    registry.tidy(grace_s=0)
    assert registry.horizon > old.version
    newest = releases.release(registry, registry.version)
    assert sorted(found(posts, newest).pairs) == [("p", "s1"), ("p", "s2")]
    assert releases.release(registry, old.version, old.mapping) == old and not caplog.text
    releases.forget_before(newest.version)
    again = releases.release(registry, old.version, old.mapping)
    assert "has forgotten version 1" in caplog.text and "matched with version" in caplog.text
    first = releases.release(registry, registry.horizon)
    assert sorted(found(posts, again).pairs) == sorted(found(posts, first).pairs) != []


def shares_of(release: Release) -> list[tuple[set[str], dict[str, list[int]]]]:
    """What each matcher has, and who else."""
    found = []
    for part in release.parts:
        filed, saved = Store(Path(release.folder), described(ENGLISH)).load(part.segments)
        index = GuardIndex.of_files(filed, saved, ENGLISH)
        homes = Homes.open(*(Path(release.folder, name) for name in part.homes)) if part.homes else None
        sets = {} if homes is None else dict(zip(homes.ids.texts().to_pylist(), homes.sets.words.tolist(), strict=True))
        found.append(({name for name in LETTERS if name in index}, sets))
    return found


LETTERS = "abcdefghijkl"


@examples(15)
@given(data=st.data())
def test_a_release_after_moves_has_what_one_compiled_anew_has(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    home = tmp_path_factory.mktemp("moved")
    registry, mappings = Registry.create(home / "registry"), Mappings(home / "mappings")
    mappings.put(data.draw(learned()), page(planned=5))
    plan, releases = Plan("partitioned", 5), Releases(home / "a", sample=RARENESS, mappings=mappings)
    name = "learned-1"
    for number in range(data.draw(st.integers(1, 4))):
        letters = data.draw(st.lists(st.sampled_from(LETTERS), min_size=1, unique=True))
        registry.add(pa.table({"id": letters, "query": [data.draw(QUERIES) for _ in letters]}))
        if number:
            name = move(mappings, name, data)
        moved = releases.release(registry, registry.version, name)
        anew = Releases(home / f"anew {number}", sample=RARENESS, plan=plan, mappings=mappings)
        compiled = anew.release(registry, registry.version, name)
        assert shares_of(moved) == shares_of(compiled) and moved.attributes == compiled.attributes
        routers = [Router.open(*(Path(r.folder, file) for file in r.routers)) for r in (moved, compiled)]
        assert counted(routers[0]) == counted(routers[1])


@pytest.mark.thorough
def test_a_move_writes_little_and_the_release_before_stays_as_it_was(tmp_path: Path) -> None:
    posts = Posts(seed=6).table(3000)
    registry, mappings = Registry(tmp_path / "registry"), Mappings(tmp_path / "mappings")
    registry.add(tweet_based(posts["text"], 3000, 1, Analyser(), words=(2, 4)))
    releases = Releases(tmp_path / "releases", plan=Plan("partitioned", 4), mappings=mappings)
    first = releases.release(registry, registry.version)
    before = found(posts, first)
    mappings.move("hash-4", [Move(0, to=3), Move(1, to=3)], "2026-01-01T00:00:00+00:00")
    second = releases.release(registry, registry.version)
    assert (second.version, second.mapping) == (first.version, "moved-1")
    size = {name: (tmp_path / "releases" / name).stat().st_size for name in first.files | second.files}
    assert sum(size[name] for name in second.files - first.files) < 0.1 * sum(size.values())
    assert [first.parts[m] == second.parts[m] for m in range(4)] == [False, True, True, False]
    assert sorted(found(posts, second).pairs) == sorted(before.pairs) != []
    assert releases.release(registry, first.version, "hash-4") == first
    again = Releases(tmp_path / "elsewhere", plan=Plan("partitioned", 4), mappings=mappings)
    for mapping in ("hash-4", "moved-1"):
        assert sorted(found(posts, again.release(registry, 1, mapping)).pairs) == sorted(before.pairs)
