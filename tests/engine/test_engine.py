from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples, thorough_but
from tests.index.strategies import NOW, subscriptions, tables
from tidings.engine import Engine, saving
from tidings.index import BruteForce, Compaction, GuardIndex, guard, snapshot
from tidings.language import parse, to_text
from tidings.model import DataError, Match, Publication, PublicationError, QueryError, SubscriptionError
from tidings.registry import Registry, memory
from tidings.tables.matches import Matches

OFTEN = Compaction(small=10)
POST = Publication("p", "The White House is on fire", attributes={"volume": 5})


@pytest.fixture
def engines(tmp_path: Path) -> Iterator[list[Engine]]:
    """One in memory, one in a folder: whatever holds for one holds for the other."""
    with Engine(tmp_path / "folder", clock=lambda: NOW) as durable:
        yield [Engine(clock=lambda: NOW), durable]


def pairs(found: Matches) -> list[tuple[str, str]]:
    return sorted((match.publication_id, match.subscription_id) for match in found)


def published(engine: Engine, post: Publication) -> list[str]:
    found = engine.publish(id=post.id, text=post.text, volume=5)
    return sorted(match.subscription_id for match in found)


def test_a_subscription_counts_from_the_next_publication_on(engines: list[Engine]) -> None:
    for engine in engines:
        assert published(engine, POST) == []
        assert engine.subscribe("white house", id="s1", subscriber="ada", tag="news") == "s1"
        assert engine.publish(id="p", text=POST.text) == [Match("p", "s1", "ada", "news", 1)]
        engine.subscribe("fire -drill", id="s1")
        assert engine.publish(id="p", text=POST.text) == [Match("p", "s1", query_version=2)]
        assert engine.unsubscribe("s1") and not engine.unsubscribe("s1")
        assert published(engine, POST) == [] and len(engine) == 0
        engine.subscribe("fire", id="s1")
        assert engine.publish(id="p", text="fire")[0].query_version == 4


def test_an_id_is_made_where_none_is_given() -> None:
    engine = Engine()
    first, second = engine.subscribe("fire"), engine.subscribe("fire")
    assert first != second and first in engine and published(engine, POST) == sorted([first, second])


def test_a_query_may_be_given_as_a_tree() -> None:
    engine = Engine()
    engine.subscribe(parse("fire volume:[3 TO 9]"), id="tree")
    assert published(engine, POST) == ["tree"]
    found = engine.subscription("tree")
    assert found is not None and to_text(found.query) == "fire volume:[3 TO 9]"


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda e: e.subscribe("fire OR", id="a"), QueryError, "column"),
        (lambda e: e.subscribe("fire", id=""), SubscriptionError, "not empty"),
        (lambda e: e.subscribe("fire", id="a", since=NOW, until=NOW), SubscriptionError, "ends"),
        (lambda e: e.publish(id=""), PublicationError, "id"),
        (lambda e: e.publish(id="p", lat=99, lon=0), PublicationError, "lat"),
        (lambda e: e.match(pa.table({"text": ["fire"]})), DataError, "column 'id'"),
        (lambda e: e.explain("nobody", POST), SubscriptionError, "no subscription 'nobody'"),
        (lambda e: e.subscribe_many(pa.table({"id": ["a"], "qeury": ["fire"]})), DataError, "query"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_and_changes_nothing(call, error, text, engines) -> None:  # type: ignore[no-untyped-def]
    for engine in engines:
        with pytest.raises(error, match=text):
            call(engine)
        assert len(engine) == 0 and engine.stats().version == 0


def test_many_at_once_and_what_is_rejected(engines: list[Engine]) -> None:
    table = pa.table(
        {"id": ["a", "b", "c", "a"], "query": ["fire", "fire OR", "white -house", "house"], "tag": list("wxyz")}
    )
    for engine in engines:
        assert engine.subscribe_many(table, dry_run=True).accepted == 3 and len(engine) == 0
        receipt = engine.subscribe_many(table)
        assert (receipt.accepted, [bad.id for bad in receipt.rejected], len(engine)) == (3, ["b"], 2)
        assert engine.publish(id="p", text=POST.text) == [Match("p", "a", tag="z", query_version=1)]
        assert engine.unsubscribe_many(["a", "c", "z"]) == 2 and len(engine) == 0


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_a_few_at_once_are_what_each_alone_would_be(kind: pa.DataType) -> None:
    at_once, singly = Engine(clock=lambda: NOW), Engine(clock=lambda: NOW)
    queries = ["fire", "white house", "fire -drill", "house OR smoke", "smoke", "fire"]
    ids = ["a", "b", "c", "d", "a", "e"]
    receipt = at_once.subscribe_many(
        pa.table({"id": pa.array(ids).cast(kind), "query": queries, "tag": list("uvwxyz")})
    )
    for name, query, tag in zip(ids, queries, "uvwxyz", strict=True):
        singly.subscribe(query, id=name, tag=tag)
    assert (receipt.version, receipt.accepted, receipt.rejected, len(at_once)) == (1, 6, (), 5)
    found = [sorted(m[1:4] for m in engine.publish(id="p", text=POST.text)) for engine in (at_once, singly)]
    assert found[0] == found[1] == [("b", "", "v"), ("c", "", "w"), ("d", "", "x"), ("e", "", "z")]
    assert {m.query_version for m in at_once.publish(id="p", text=POST.text)} == {1}
    assert at_once.subscribe_many(pa.table({"id": ["f", ""], "query": ["fire", "fire"]})).accepted == 1
    assert at_once.subscribe_many(pa.table({"id": ["g", "h"], "query": ["fire", None]})).accepted == 1


def test_validity_is_that_of_the_publications_instant(engines: list[Engine]) -> None:
    day = timedelta(days=1)
    for engine in engines:
        engine.subscribe("fire", id="now", since=NOW, until=NOW + day)
        engine.subscribe("fire", id="later", since=NOW + day)
        assert published(engine, POST) == ["now"]
        assert [m.subscription_id for m in engine.publish(id="p", text="fire", ts=NOW + day)] == ["later"]
        assert str(engine.explain("later", POST)).startswith("no match: valid since")
        assert engine.explain("now", POST).matched
        kept = engine.subscription("now")
        assert kept is not None and (kept.since, kept.until) == (NOW, NOW + day)


def test_explanations_come_from_the_query_that_is_live(engines: list[Engine]) -> None:
    for engine in engines:
        engine.subscribe("fire volume:>9", id="s")
        assert str(engine.explain("s", POST)) == "no match: volume:>9: volume is 5"
        engine.compact()
        assert not engine.explain("s", POST).matched


@examples(40)
@given(data=st.data())
def test_both_kinds_equal_brute_force_through_any_history(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("engine")
    memory, oracle = Engine(clock=lambda: NOW, expire_after=None), BruteForce(clock=lambda: NOW)
    durable = Engine(folder, clock=lambda: NOW, expire_after=None)
    try:
        for _ in range(data.draw(st.integers(1, 3))):
            added = [
                data.draw(subscriptions(name)) for name in data.draw(st.lists(st.sampled_from("abcdef"), max_size=3))
            ]
            removed = data.draw(st.lists(st.sampled_from("abcdez"), max_size=2, unique=True))
            rows: list[dict[str, Any]] = [
                {
                    "id": s.id,
                    "query": to_text(s.query),
                    "subscriber": s.subscriber,
                    "tag": s.tag,
                    "since": s.since,
                    "until": s.until,
                }
                for s in added
            ]
            oracle.add(added)
            oracle.remove(removed)
            at_once = data.draw(st.booleans())
            for engine in (memory, durable):
                if at_once and rows:
                    assert not engine.subscribe_many(pa.Table.from_pylist(rows)).rejected
                else:
                    for row in rows:
                        engine.subscribe(**row)
                engine.unsubscribe_many(removed)
            step = data.draw(st.sampled_from(["nothing", "compact", "reopen", "crash"]))
            if step == "compact":
                memory.compact()
                durable.compact()
            elif step == "reopen":
                durable.close()
                durable = Engine(folder, clock=lambda: NOW, expire_after=None)
            elif step == "crash":
                durable._saver.close()  # as the death of a process does
                durable = Engine(folder, clock=lambda: NOW, expire_after=None)
            table = data.draw(tables())
            ids = table["id"].to_pylist()
            expected = sorted((ids[row], name) for row, name in oracle.match(table).pairs())
            assert pairs(memory.match(table)) == pairs(durable.match(table)) == expected
            assert len(memory) == len(durable)
    finally:
        durable.close()


def test_a_folder_opens_with_all_that_was_accepted(tmp_path: Path) -> None:
    with Engine(tmp_path) as engine:
        engine.subscribe_many(
            pa.table({"id": [f"s{i}" for i in range(2000)], "query": [f"fire w{i}" for i in range(2000)]})
        )
        engine.subscribe("fire", id="last", subscriber="ada")
        engine.unsubscribe("s7")
    with Engine(tmp_path) as engine:
        assert len(engine) == 2000 and "s7" not in engine and "s8" in engine
        assert engine.publish(id="p", text="fire w8")[0] in [
            Match("p", "s8", query_version=1),
            Match("p", "last", "ada", query_version=2),
        ]
        assert engine.stats().version == 3


def test_other_processes_are_followed_when_asked(tmp_path: Path) -> None:
    first = Engine(tmp_path)
    second = Engine(tmp_path)
    first.subscribe("fire", id="a")
    assert published(second, POST) == []
    assert second.refresh() == 1 and published(second, POST) == ["a"]
    second.subscribe("house", id="b")
    first.subscribe("white", id="c")  # sees what came before it
    assert published(first, POST) == ["a", "b", "c"]
    second.close()
    first.close()
    with Engine(tmp_path) as third:
        assert len(third) == 3


@pytest.mark.parametrize("damage", ["truncated", "foreign", "flipped", "missing", "manifest", "empty", "newer"])
def test_a_damaged_index_is_told_by_name_and_built_again(
    damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Engine(tmp_path) as engine:
        engine.subscribe("fire", id="a")
    (segment,) = (tmp_path / "index").glob("segment-*")
    manifest = tmp_path / "index" / "manifest.json"
    match damage:
        case "truncated":
            segment.write_bytes(segment.read_bytes()[:-100])
        case "foreign":
            segment.write_bytes(b"PAR1" * 1000)
        case "flipped":
            raw = bytearray(segment.read_bytes())
            for at in range(len(raw) // 2, len(raw) // 2 + 200):
                raw[at] ^= 64
            segment.write_bytes(raw)
        case "missing":
            segment.unlink()
        case "empty":
            manifest.write_text(manifest.read_text().replace('"segments"', '"sediments"'))
        case "manifest":
            manifest.write_text("{")
        case "newer":
            manifest.write_text(manifest.read_text().replace('"version": 1', '"version": 9'))
    named = segment.name if damage in {"truncated", "foreign", "flipped", "missing"} else "index"
    with Engine(tmp_path) as engine:
        assert published(engine, POST) == ["a"]
    assert named in caplog.text and "built again" in caplog.text
    caplog.clear()
    with Engine(tmp_path) as engine:
        assert published(engine, POST) == ["a"]
    assert not caplog.text


def test_what_ended_long_ago_is_removed_by_tidying(engines: list[Engine]) -> None:
    day = timedelta(days=1)
    for engine in engines:
        for name, until in (("old", NOW - 2 * day), ("recent", NOW - day / 2), ("live", NOW + day)):
            engine.subscribe("fire", id=name, until=until)
        engine.compact()
        assert len(engine) == 2 and "old" not in engine
        assert [m.subscription_id for m in engine.publish(id="p", text="fire", ts=NOW - day)].count("recent") == 1


def test_much_change_is_tidied_up_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "SAVE_AFTER", 50)
    for engine in (Engine(compaction=OFTEN), Engine(tmp_path / "folder", compaction=OFTEN)):
        for batch in range(12):
            ids = [f"s{i}" for i in range(100)]
            engine.subscribe_many(pa.table({"id": ids, "query": [f"fire w{batch} v{i}" for i in range(100)]}))
        assert len(engine) == 100
        found = engine.publish(id="p", text="fire w11 v3 w10 v4")
        assert [m.subscription_id for m in found] == ["s3"] or sorted(m.subscription_id for m in found) == ["s3", "s4"]
        engine.close()
    assert list((tmp_path / "folder" / "index").glob("segment-*"))


@pytest.fixture
def many_switches() -> Iterator[None]:
    """Let threads take turns far more often than they would."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def no_switches() -> Iterator[None]:
    """Let a thread go on until it lets go of the interpreter by itself. What other tests left behind is collected
    before: files that are closed let go of it."""
    before = sys.getswitchinterval()
    gc.collect()
    gc.disable()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(before)
    gc.enable()


@pytest.mark.usefixtures("no_switches")
@pytest.mark.parametrize("query", thorough_but(["fire", "fire v{}", "fire -v{}", "fire OR v{}"], "fire v{}"))
@pytest.mark.parametrize("named", [False, True])
def test_publishing_does_not_let_go_of_the_interpreter(query: str, named: bool) -> None:
    """Who waits asks for a turn only when nobody has let go for a while: letting go for moments would starve it."""
    engine = Engine()
    columns = ("id", "subscriber", "tag") if named else ("id",)
    for batch in range(3):
        ids = [f"{batch}-{i}" for i in range(1200)]
        names = dict.fromkeys(columns, ids)
        engine.subscribe_many(pa.table({**names, "query": [query.format(i) for i in range(1200)]}))
        engine.subscribe(query.format("x"), id=f"{batch}", subscriber="ada")
    engine.compact()  # a segment of several versions
    engine.subscribe(query.format("y"), id="recent", subscriber="ada")
    text = " ".join(["fire x y", *(f"v{i}" for i in range(1100))])
    assert len(list(engine.publish(id="p", text=text))) > 3
    asleep, has_run = threading.Lock(), threading.Event()

    def wake_up() -> None:
        with asleep:
            has_run.set()

    asleep.acquire()
    other = threading.Thread(target=wake_up)
    other.start()
    asleep.release()
    for _ in range(40):
        assert list(engine.publish(id="p", text=text))  # with names
    assert not has_run.is_set()
    other.join()


@pytest.mark.usefixtures("many_switches")
def test_readers_and_writers_share_an_engine() -> None:
    engine = Engine()
    engine.subscribe("fire", id="always")
    stop = threading.Event()
    problems: list[str] = []

    def write(name: str) -> None:
        count = 0
        while not stop.is_set():
            engine.subscribe(f"fire {name}", id=name)  # replaced again and again: there is always exactly one
            count += 1
            if count % 50 == 0:
                engine.subscribe_many(
                    pa.table({"id": [f"{name}{i}" for i in range(1100)], "query": ["fire flood"] * 1100})
                )
                engine.unsubscribe_many([f"{name}{i}" for i in range(1100)])
            if count % 70 == 0:
                engine.compact()

    def read() -> None:
        for turn in range(400):
            found = sorted(m.subscription_id for m in engine.publish(id="p", text="fire alpha beta"))
            if found != ["alpha", "always", "beta"]:
                problems.append(f"{turn}: {found}")

    engine.subscribe("fire alpha", id="alpha")
    engine.subscribe("fire beta", id="beta")
    writers = [threading.Thread(target=write, args=(name,)) for name in ("alpha", "beta")]
    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in (*writers, *readers):
        thread.start()
    for thread in readers:
        thread.join()
    stop.set()
    for thread in writers:
        thread.join()
    assert not problems, problems[:5]
    assert engine.stats().publications == 800 and engine.stats().matches == 800 * 3


def test_a_renewed_subscription_does_not_end_with_the_old_one(engines: list[Engine]) -> None:
    for engine in engines:
        engine.subscribe("fire", id="s", until=NOW - timedelta(days=9))
        engine.subscribe("fire", id="s")
        engine.compact()
        assert published(engine, POST) == ["s"]


def test_expiry_spares_what_another_process_renews_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put = Registry.put
    renewed: list[object] = []

    def late(registry: Registry, rows: Any, gone: Any = (), *, after: int | None = None) -> Any:
        if gone and not renewed:
            renewed.append(Registry(tmp_path).add(pa.table({"id": ["s"], "query": ["fire"]})))
        return put(registry, rows, gone, after=after)

    with Engine(tmp_path, clock=lambda: NOW) as engine:
        for name in "st":
            engine.subscribe("fire", id=name, until=NOW - timedelta(days=9))
        monkeypatch.setattr(Registry, "put", late)
        engine.compact()
        assert renewed and len(engine) == 1 and published(engine, POST) == ["s"]


def test_what_was_committed_is_there_whatever_stops_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with Engine(tmp_path) as engine:
        engine.subscribe("house", id="before")
        with monkeypatch.context() as patch:
            patch.setattr(GuardIndex, "put", interrupted)
            with pytest.raises(KeyboardInterrupt):
                engine.subscribe("fire", id="s")
        engine.refresh()
        assert published(engine, POST) == ["before", "s"]
    with Engine(tmp_path) as engine:
        assert published(engine, POST) == ["before", "s"]


def test_a_follower_removes_what_others_have_added_and_tidies_up(tmp_path: Path) -> None:
    with Engine(tmp_path, compaction=OFTEN) as owner, Engine(tmp_path, compaction=OFTEN) as follower:
        for _ in range(12):
            ids = [f"s{i}" for i in range(1100)]
            owner.subscribe_many(pa.table({"id": ids, "query": ["fire"] * 1100}))
            follower.refresh()
        owner.subscribe("white", id="fresh")
        assert follower.unsubscribe("fresh") and not follower.unsubscribe("fresh")
        assert len(follower) == 1100 and follower.stats().segments < 10


def test_words_are_forgotten_when_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "MAX_WORDS", 50)
    monkeypatch.setattr(snapshot, "MAX_READER_BYTES", 1_000_000)
    engine = Engine()
    engine.subscribe("fire", id="s")
    engine.subscribe("smok*", id="prefix")
    for i in range(200):
        engine.subscribe(f"smoke w{i}", id="other")
        text = "fire and " + " ".join(f"v{i}x{j}" for j in range(200))
        assert [m.subscription_id for m in engine.publish(id="p", text=text)] == ["s"]
        assert engine._index._readers.local.scratch.reader.size_bytes < 1_100_000


def test_what_is_asked_for_while_the_index_is_saved_is_there_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others get their turn as soon as it is known what is to be saved."""
    engine = Engine(tmp_path)
    engine.subscribe("smoke", id="before")
    engine.subscribe("house", id="gone")
    changing, unsaved = engine._changing, GuardIndex.unsaved
    turns: list[str] = []

    class Turns:
        def __enter__(self) -> None:
            changing.acquire()

        def __exit__(self, *_: object) -> None:
            changing.release()
            if turns:
                turns.clear()
                engine.subscribe("fire", id="meanwhile")
                engine.unsubscribe("gone")

    def told(index: GuardIndex) -> Any:
        turns.append("others")
        return unsaved(index)

    monkeypatch.setattr(engine, "_changing", Turns())
    with monkeypatch.context() as patched:
        patched.setattr(GuardIndex, "unsaved", told)
        engine.compact()
    engine._saver.close()  # as the death of a process does
    with Engine(tmp_path) as again:
        assert published(again, POST) == ["meanwhile"] and len(again) == 2


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_a_few_good_queries_need_no_check_by_columns(kind: pa.DataType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(memory, "check_subscriptions")
    engine = Engine()
    table = pa.table({"id": pa.array(["s1", "s2"], kind), "query": pa.array(["fire", "smoke"], kind)})
    assert engine.subscribe_many(table).accepted == 2 and published(engine, POST) == ["s1"]


def test_an_index_that_was_built_from_the_registry_is_saved_at_once(tmp_path: Path) -> None:
    Registry(tmp_path).add(pa.table({"id": ["s1"], "query": ["fire"]}))
    with Engine(tmp_path) as engine:
        assert (tmp_path / "index" / "manifest.json").exists() and published(engine, POST) == ["s1"]
    saved = (tmp_path / "index" / "manifest.json").stat().st_mtime_ns
    with Engine(tmp_path) as engine:
        assert published(engine, POST) == ["s1"]
        assert (tmp_path / "index" / "manifest.json").stat().st_mtime_ns == saved  # what was opened is not saved again


def test_one_change_is_no_reason_to_tidy_up(engines: list[Engine]) -> None:
    for engine in engines:
        engine.subscribe_many(pa.table({"id": ["s1", "s2"], "query": ["fire", "smoke"]}))
        engine.unsubscribe_many(["s1", "s2"])
        assert not engine._background.has_begun


@pytest.mark.parametrize(("small", "is_tidied"), [(10, True), (1_000, False)])
def test_only_a_large_index_is_tidied_up_for_its_dead(small: int, is_tidied: bool) -> None:
    engine, ids = Engine(compaction=Compaction(small=small)), [f"s{number}" for number in range(100)]
    engine.subscribe_many(pa.table({"id": ids, "query": ["fire"] * 100}))
    engine.compact()
    engine.unsubscribe_many(ids[:60])
    assert engine._background.has_begun == is_tidied
    engine._background.join()
    assert (engine._index.burden == 0) == is_tidied and published(engine, POST) == sorted(ids[60:])
