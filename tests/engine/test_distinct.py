"""Does a subscriber get a publication once, and does a publication find those before it under its key?"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.engine import Engine, Joined
from tidings.language import evaluate, parse
from tidings.model import DataError, Publication, PublicationError

START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
QUERIES = ["fire", "fire smoke", "smoke OR drill", "volume:>3", '"fire smoke"', "fire -drill"]
WORDS = "fire smoke drill".split()


class Clock:
    now = START

    def __call__(self) -> datetime:
        return self.now


@examples(60)
@given(st.data())
def test_a_subscriber_gets_each_publication_that_answers_any_of_its_subscriptions_once(data: st.DataObject) -> None:
    clock = Clock()
    engine = Engine(clock=clock, keep=timedelta(days=1), distinct="subscriber")
    got: Counter[tuple[str, str]] = Counter()
    wanted: set[tuple[str, str]] = set()
    posts: list[tuple[Publication, datetime]] = []
    asked: list[tuple[str, str, datetime | None]] = []
    for number in range(data.draw(st.integers(2, 14))):
        clock.now += SECOND
        if data.draw(st.booleans()):
            text = " ".join(data.draw(st.lists(st.sampled_from(WORDS), max_size=3)))
            volume = data.draw(st.sampled_from([None, 2, 5]))
            name = f"p{number}"
            if data.draw(st.booleans()):
                found = engine.publish(id=name, text=text, volume=volume)
            else:
                found = engine.match(pa.table({"id": [name], "text": [text], "volume": pa.array([volume], pa.int64())}))
            post = Publication(name, text, attributes={} if volume is None else {"volume": volume})
            posts.append((post, clock.now))
            new = {(who, name) for who, query, since in asked
                   if evaluate(parse(query), post) and (since is None or since <= clock.now)}  # fmt: skip
            got.update((match.subscriber, name) for match in found)
            wanted |= new
        else:
            who, query = data.draw(st.sampled_from(["ada", "bob"])), data.draw(st.sampled_from(QUERIES))
            since = data.draw(st.none() | st.integers(-15, 3).map(lambda s: clock.now + s * SECOND))
            subscribed = engine.subscribe(query, id=f"s{number}", subscriber=who, since=since)
            asked.append((who, query, since))
            got.update((who, match.publication_id) for match in subscribed.past)
            wanted |= {(who, post.id) for post, at in posts
                       if since is not None and since <= at and evaluate(parse(query), post)}  # fmt: skip
    assert got == Counter(wanted)


def test_who_has_no_name_gets_all_matches() -> None:
    engine = Engine(distinct="subscriber")
    engine.subscribe_many(pa.table({"id": list("abcd"), "query": ["fire"] * 4, "subscriber": ["", "", "ada", "ada"]}))
    assert Counter(match.subscriber for match in engine.publish(id="p", text="fire")) == {"": 2, "ada": 1}
    with pytest.raises(DataError, match="distinct is 'subscriber' or None, got 'tag'"):
        Engine(distinct="tag")  # type: ignore[arg-type]


@pytest.mark.parametrize("in_folder", [False, True])
def test_a_publication_finds_those_before_it_under_its_key(tmp_path: Path, in_folder: bool) -> None:
    clock = Clock()
    with Engine(tmp_path if in_folder else None, clock=clock, keep=timedelta(days=1)) as engine:
        engine.subscribe("symbol:YHOO", id="s1")
        for number, symbol in enumerate(["YHOO", "GOOG", "YHOO", "YHOO"]):
            ends = START + 5 * SECOND if number == 2 else None
            found = engine.publish(id=f"p{number}", expires=ends, self_join="symbol", symbol=symbol, price=10 + number)
            clock.now += SECOND
        assert isinstance(found, Joined) and [match.subscription_id for match in found] == ["s1"]
        assert [post.attributes["price"] for post in found.earlier] == [12, 10] and found.earlier[-1].id == "p0"
        clock.now += 9 * SECOND
        later = engine.publish(id="p0", self_join="symbol", symbol="YHOO")
        assert isinstance(later, Joined) and [post.id for post in later.earlier[:9]] == ["p3", "p0"]
        again = engine.publish(id="p0", self_join=True)
        assert isinstance(again, Joined) and [post.values("price") for post in again.earlier] == [(), (10,)]
        none = engine.publish(id="p9", self_join="symbol")
        assert isinstance(none, Joined) and len(none.earlier) == 0 and not none.earlier[:3]
        for _ in range(2):
            long = engine.publish(id="long", self_join="symbol", symbol="x" * 300 + "a")
            engine.publish(id="other", symbol="x" * 300 + "b")
        assert isinstance(long, Joined) and [post.id for post in long.earlier] == ["long"]


def test_a_self_join_without_keep_is_refused() -> None:
    with pytest.raises(PublicationError, match="self_join asks for what was kept"):
        Engine().publish(id="p1", self_join=True)
