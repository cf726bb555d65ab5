"""Does a subscription get each publication of its past and of its future once, and none else?"""

from __future__ import annotations

import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.engine import Engine
from tidings.engine.past import Past
from tidings.language import evaluate, parse
from tidings.model import DataError, Publication, PublicationError, Subscription
from tidings.storage import kept
from tidings.storage.kept import KeptPublications

START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
QUERIES = [
    *("fire", "fire smoke", "fires -drill", '"white house"', '"white house"~3', "smo*", "fire OR symbol:YHOO"),
    *("symbol:YHOO", "symbol:(YHOO OR 5)", "symbol:Y*", "has:volume", "volume:>3", "volume:[2 TO 5} smoke", "id:p1"),
    *("topic:sports", "topic:sports/soccer", "topic:*/soccer", "topic:sports -fire", "ts:>=2026-01-01T00:00:05Z"),
    *("bounding_box:[0 0 10 10]", "point_radius:[5 5 300km]", "bounding_box:[0 0 10 10] fire", "tags:red", "lat:>4"),
]
POSTS = st.fixed_dictionaries(
    {"text": st.lists(st.sampled_from("fire fires smoke drill white house the".split()), max_size=6).map(" ".join)},
    optional={
        "place": st.sampled_from([(5.0, 5.0), (7.5, 9.0), (100.0, -40.0)]),
        "topic": st.sampled_from(["sports", "sports/soccer", "arts/soccer/clay"]),
        "symbol": st.sampled_from(["YHOO", "GOOG", 5, "5"]),
        "volume": st.sampled_from([1, 2, 4.5, 7]),
        "tags": st.lists(st.sampled_from(["red", "blue"]), max_size=2),
        "seen": st.just(START),
        "us": st.just(3),
    },
)


@dataclass
class Clock:
    now: datetime = START

    def __call__(self) -> datetime:
        return self.now


@dataclass
class History:
    """What was published, in order, with the instant at which it happened and the one at which it ends."""

    posts: list[tuple[Publication, datetime, datetime | None]] = field(default_factory=list)
    got: dict[str, Counter[str]] = field(default_factory=dict)
    wanted: dict[str, Counter[str]] = field(default_factory=dict)
    asked: dict[str, Subscription] = field(default_factory=dict)

    def publish(self, post: Publication, now: datetime, expires: datetime | None, found: Any) -> None:
        happened = post.ts or now
        self.posts.append((post, happened, expires))
        for match in found:
            self.got[match.subscription_id][post.id] += 1
        for name, one in self.asked.items():
            self.wanted[name][post.id] += one.valid_at(happened) and evaluate(one.query, post)

    def subscribe(self, one: Subscription, now: datetime, found: Any) -> None:
        self.asked[one.id] = one
        self.got[one.id] = Counter(match.publication_id for match in found.past)
        self.wanted[one.id] = Counter(
            post.id
            for post, happened, expires in self.posts
            if one.since is not None
            and one.valid_at(happened)
            and (expires is None or now < expires)
            and evaluate(one.query, post)
        )


def file_all(engine: Engine) -> None:
    """Let an engine make blocks and files of what it keeps."""
    assert isinstance(engine._past, Past) and isinstance(engine._past._kept, KeptPublications)
    engine._past._kept.file()


def drawn_post(data: st.DataObject, name: str, now: datetime) -> Publication:
    given_fields: dict[str, Any] = dict(data.draw(POSTS))
    text, place, topic = given_fields.pop("text"), given_fields.pop("place", None), given_fields.pop("topic", None)
    ts = data.draw(st.none() | st.integers(-20, 5).map(lambda s: now + s * SECOND))
    lon, lat = place or (None, None)
    return Publication(name, text, ts, lat, lon, (topic,) if topic else (), given_fields)


def as_row(post: Publication) -> dict[str, Any]:
    fields = {"id": post.id, "text": post.text, "ts": post.ts, "lat": post.lat, "lon": post.lon}
    own = {name: value for name, value in post.attributes.items() if name not in ("symbol", "tags")}
    return fields | {"topic": list(post.topics)} | own


@pytest.mark.parametrize(("in_folder", "count", "part_bytes"), [(False, 30, 500), (True, 3, 1 << 20), (True, 3, 500)])
def test_past_and_future_have_each_match_once(
    in_folder: bool, count: int, part_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "PART_BYTES", part_bytes)

    @examples(count)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        clock, history = Clock(), History()
        with TemporaryDirectory() as folder:

            def opened() -> Engine:
                return Engine(folder if in_folder else None, clock=clock, keep=timedelta(days=1))

            engine = opened()
            for number in range(data.draw(st.integers(1, 25))):
                clock.now += data.draw(st.integers(0, 9)) * SECOND
                match data.draw(st.sampled_from(["publish", "publish", "match", "subscribe", "file", "reopen"])):
                    case "publish":
                        post = drawn_post(data, f"p{number}", clock.now)
                        expires = data.draw(st.none() | st.integers(1, 40).map(lambda s: clock.now + s * SECOND))
                        topic, own = post.topics, dict[str, Any](post.attributes)
                        found = engine.publish(
                            id=post.id, text=post.text, ts=post.ts, lat=post.lat, lon=post.lon, topic=topic,
                            expires=expires, **own,
                        )  # fmt: skip
                        history.publish(post, clock.now, expires, found)
                    case "match":
                        posts = [drawn_post(data, f"p{number}-{n}", clock.now) for n in range(3)]
                        rows = [as_row(post) for post in posts]
                        table = pa.Table.from_pylist(rows)
                        names = {name for row in rows for name in row}
                        table = pa.table({name: [row.get(name) for row in rows] for name in sorted(names)})
                        matches = list(engine.match(table))
                        for post, row in zip(posts, rows, strict=True):
                            kept = {k: v for k, v in post.attributes.items() if k in row}
                            same = Publication(post.id, post.text, post.ts, post.lat, post.lon, post.topics, kept)
                            own_matches = [m for m in matches if m.publication_id == post.id]
                            history.publish(same, clock.now, None, own_matches)
                    case "subscribe":
                        since = data.draw(st.none() | st.integers(-60, 9).map(lambda s: clock.now + s * SECOND))
                        until = data.draw(st.none() | st.integers(10, 60).map(lambda s: clock.now + s * SECOND))
                        text = data.draw(st.sampled_from(QUERIES))
                        name = f"s{number}"
                        subscribed = engine.subscribe(text, id=name, subscriber="ada", since=since, until=until)
                        assert subscribed == name and subscribed.complete == (since is None or since >= START)
                        one = Subscription(name, parse(text), "ada", "", since, until)
                        history.subscribe(one, clock.now, subscribed)
                    case "file":
                        file_all(engine)
                    case _ if in_folder:
                        engine.close()
                        engine = opened()
            engine.close()
        assert {name: +got for name, got in history.got.items()} == {n: +want for n, want in history.wanted.items()}

    check()


def test_what_is_older_than_keep_is_dropped_whole_and_the_past_says_so(tmp_path: Path) -> None:
    clock = Clock()
    with Engine(tmp_path, clock=clock, keep=80 * SECOND) as engine:
        for number in range(300):
            clock.now = START + number * SECOND
            engine.publish(id=f"p{number}", text="fire")
        whole = engine.subscribe("fire", since=clock.now - 80 * SECOND)
        assert [match.publication_id for match in whole.past] == [f"p{n}" for n in range(299, 218, -1)]
        assert whole.complete
        longer = engine.subscribe("fire", since=START)
        assert not longer.complete and 81 <= len(longer.past) <= 95
    with Engine(tmp_path, clock=clock, keep=timedelta(days=1)) as engine:
        again = engine.subscribe("fire", since=START)
        assert not again.complete and again.past[-1].publication_id == longer.past[-1].publication_id


def test_keep_bytes_bounds_what_is_kept() -> None:
    engine = Engine(keep=timedelta(days=1), keep_bytes=20_000)
    for number in range(500):
        engine.publish(id=f"p{number}", text="fire " * 20)
    assert isinstance(engine._past, Past) and engine._past._kept.size_bytes <= 20_000
    past = engine.subscribe("fire", since=datetime.now(UTC) - timedelta(hours=1)).past
    assert 50 < len(past) < 200 and past[0].publication_id == "p499"


def test_threads_get_every_match_once() -> None:
    engine = Engine(keep=timedelta(days=1))
    found: list[tuple[str, str]] = []

    def work(worker: int) -> None:
        for number in range(40):
            name = f"{worker}-{number}"
            if number % 4 == 0:
                past = engine.subscribe("fire", id=name, since=datetime(2000, 1, 1, tzinfo=UTC)).past
                found.extend((match.publication_id, name) for match in past)
            else:
                found.extend((name, match.subscription_id) for match in engine.publish(id=name, text="fire"))

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(found) == Counter({(f"{a}-{p}", f"{b}-{s}"): 1 for a in range(8) for b in range(8)
                                      for p in range(40) if p % 4 for s in range(0, 40, 4)})  # fmt: skip


def test_without_keep_nothing_is_kept_and_the_past_is_said_to_be_incomplete() -> None:
    engine = Engine()
    engine.publish(id="p1", text="fire")
    subscribed = engine.subscribe("fire", since=datetime(2000, 1, 1, tzinfo=UTC))
    assert subscribed.past == () and not subscribed.complete
    with pytest.raises(PublicationError, match="give the engine keep"):
        engine.publish(id="p2", text="fire", expires=START)


def test_the_past_is_not_complete_where_an_engine_without_keep_was_open(tmp_path: Path) -> None:
    clock = Clock()
    for keep in (timedelta(days=1), None, timedelta(days=1)):
        with Engine(tmp_path, clock=clock, keep=keep) as engine:
            clock.now += SECOND
            engine.publish(id=f"p{clock.now.second}", text="fire")
            found = engine.subscribe("fire", since=START)
            later = engine.subscribe("fire", since=clock.now)
    assert [match.publication_id for match in found.past] == ["p3", "p1"] and not found.complete
    assert [match.publication_id for match in later.past] == ["p3"] and later.complete


def test_what_is_no_span_or_size_is_refused() -> None:
    with pytest.raises(DataError, match="keep is a timedelta longer than nothing"):
        Engine(keep=timedelta(0))
    with pytest.raises(DataError, match="keep_bytes is how many bytes"):
        Engine(keep=SECOND, keep_bytes=0)
    with pytest.raises(PublicationError, match="expires is the instant"):
        Engine(keep=SECOND).publish(id="p1", expires=5)  # type: ignore[arg-type]


def test_the_past_of_a_subscription_on_an_attribute_with_several_values_is_found() -> None:
    clock = Clock()
    with Engine(clock=clock, keep=timedelta(days=1)) as engine:
        for name, tags in (("a", ["blue", "red"]), ("b", ["red"]), ("c", "red"), ("d", ["blue"])):
            engine.publish(id=name, text="fire", tags=tags)
        found = engine.subscribe("tags:red", id="s", since=clock.now - SECOND).past
        assert sorted(match.publication_id for match in found) == ["a", "b", "c"]


@pytest.mark.parametrize("query", ["fire", "fire bounding_box:[0 0 10 10]"])
def test_the_words_of_a_table_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    """Filing takes over what matching has read, also where matching reads posts by their places."""
    engine = Engine(tmp_path, keep=timedelta(days=1))
    boxes = [f"bounding_box:[{n} 0 {n + 1} 9]" for n in range(9)]
    engine.subscribe_many(pa.table({"id": list("abcdefghij"), "query": [query, *boxes]}))
    engine.compact()
    assert isinstance(engine._past, Past)
    monkeypatch.setattr(engine._past._kept._fast, "analyse", lambda _: pytest.fail("texts are read again"))
    rng = random.Random(5)
    texts = [" ".join(rng.choices(["fire", "smoke", "storm"], k=2)) for _ in range(300)]
    places = [rng.uniform(0, 9) for _ in texts]
    engine.match(pa.table({"id": [str(n) for n in range(300)], "text": texts, "lat": places, "lon": places[::-1]}))
    expected = [str(n) for n in reversed(range(300)) if "storm" in texts[n]]
    for name in ("before", "after"):
        found = engine.subscribe("storm", id=name, since=START - 365 * 86_400 * SECOND)
        assert [match.publication_id for match in found.past] == expected
        file_all(engine)
    engine.close()
