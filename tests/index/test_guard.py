from __future__ import annotations

import gc
import random
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import combinations, pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples, thorough_but
from tests.index.strategies import NOW, subscriptions, tables
from tidings.analysis import ENGLISH, Analyser
from tidings.index import guard
from tidings.index.brute import BruteForce
from tidings.index.guard import GuardIndex
from tidings.index.renumbering import Numbering
from tidings.index.segment import together
from tidings.index.subscribers import FOREVER_AFTER, FOREVER_BEFORE, Record, latest, table_of
from tidings.language import parse, to_text
from tidings.model import Publication, Subscription
from tidings.tables.matches import Matches
from tidings.tables.rows import publications
from tidings.workloads import Posts, Stocks, q1, q2, stock_subscriptions, topic_based, tweet_based


@examples(120)
@given(st.data())
def test_the_index_equals_brute_force_while_subscriptions_come_and_go(data: st.DataObject) -> None:
    sample = data.draw(st.none() | tables(8))
    index, oracle = GuardIndex(sample=sample, clock=lambda: NOW), BruteForce(clock=lambda: NOW)
    asked: set[str] = set()
    for _ in range(data.draw(st.integers(1, 3))):
        names = data.draw(st.lists(st.sampled_from("abcdefgh"), max_size=5))
        added = [data.draw(subscriptions(name)) for name in names]
        removed = data.draw(st.lists(st.sampled_from("abcdefghz"), max_size=2))
        table = data.draw(tables())
        for matcher in (index, oracle):
            if isinstance(matcher, BruteForce) or not data.draw(st.booleans()):
                matcher.add(added)
            else:
                matcher.add_table(table_of([Record.of(s, to_text(s.query)) for s in added]))
            matcher.remove(removed)
        if data.draw(st.booleans()):
            index.compact()
        asked = (asked | set(names)) - set(removed)
        assert len(index) == len(asked)
        found = index.match(table)
        assert found.pairs() == oracle.match(table).pairs()
        assert len(found) == len(found.pairs())
        assert_all_ways_agree(index, table, found)


@examples(60)
@given(data=st.data())
def test_what_changes_while_the_index_is_compacted_is_neither_lost_nor_doubled(data: st.DataObject) -> None:
    index, oracle = GuardIndex(clock=lambda: NOW), BruteForce(clock=lambda: NOW)
    names = st.lists(st.sampled_from("abcdefgh"), max_size=5)
    asked: set[str] = set()

    def change() -> None:
        added = [data.draw(subscriptions(name)) for name in data.draw(names)]
        removed = data.draw(names)
        for matcher in (index, oracle):
            matcher.add(added)
            matcher.remove(removed)
        asked.update(subscription.id for subscription in added)
        asked.difference_update(removed)

    def changed_first(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            if not index._writing._is_owned():  # type: ignore[attr-defined]  # else every other writer would wait
                change()
            return call(*arguments)

        return wrapped

    change()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "together", changed_first(together))
        patch.setattr(Numbering, "compiled", changed_first(Numbering.compiled))
        index.compact()
    for _ in range(2):
        table = data.draw(tables())
        found = index.match(table)
        assert found.pairs() == oracle.match(table).pairs() and len(found) == len(found.pairs())
        assert len(index) == len(asked)
        assert_all_ways_agree(index, table, found)
        index.compact()


def assert_all_ways_agree(index: GuardIndex, table: pa.Table, found: Matches) -> None:
    """One publication at a time, or a table at a time, give what a batch gives."""
    ids = table["id"].to_pylist()
    expected = sorted((ids[row], name) for row, name in found.pairs())
    for matched in (found.table(), found.text()):
        pairs = zip(matched["publication_id"].to_pylist(), matched["subscription_id"].to_pylist(), strict=True)
        assert sorted(pairs) == expected
    posts = [post for post in publications(table) if isinstance(post, Publication)]
    one_by_one = [match for post in posts for match in index.match_one(post)]
    assert sorted((match.publication_id, match.subscription_id) for match in one_by_one) == expected


def as_subscriptions(table: pa.Table) -> list[Subscription]:
    return [Subscription(row["id"], parse(row["query"])) for row in table.to_pylist()]


POSTS = Posts(seed=4, vocabulary=2200).table(150)
TEXTS = POSTS["text"]


@pytest.mark.parametrize(
    ("asked", "posts"),
    [
        (tweet_based(TEXTS, 300, 1, ENGLISH, words=(1, 3)), POSTS),
        (topic_based(TEXTS, 300, 1, ENGLISH, topics=8), POSTS),
        (q1(POSTS, 300, 1, ENGLISH), POSTS),
        (q2(POSTS, 300, 1, ENGLISH), POSTS),
        (stock_subscriptions(Stocks(seed=2).table(300), 300, 1), Stocks(seed=2).table(150)),
    ],
    ids=["tweet", "topic", "q1", "q2", "stock"],
)
def test_the_index_equals_brute_force_on_each_generator(asked: pa.Table, posts: pa.Table) -> None:
    if "id" not in posts.column_names:
        posts = posts.append_column("id", pa.array([str(i) for i in range(posts.num_rows)]))
    index, oracle = GuardIndex(sample=posts), BruteForce()
    for matcher in (index, oracle):
        matcher.add(as_subscriptions(asked))
    found = index.match(posts)
    assert found.pairs() == oracle.match(posts).pairs() and len(found) > 20
    assert found.counters.candidates < 0.2 * oracle.match(posts).counters.candidates


@pytest.mark.parametrize("seed", thorough_but(range(3), 0))
def test_boxes_whose_edges_lie_on_places_are_exact_for_many_rows_at_a_time(seed: int) -> None:
    rng = random.Random(seed)
    steps = [10.0, 10.000001, 10.0000010000001, 10.00002, 10.25, 11.0, 12.5]
    words = ["fire", "smoke", "flood", "storm"]

    def box() -> str:
        (west, east), (south, north) = (sorted(rng.choices(steps, k=2)) for _ in range(2))
        return f"bounding_box:[{west!r} {south!r} {east!r} {north!r}]"

    forms: list[Callable[[], str]] = [
        box,
        lambda: f"{rng.choice(words)} {box()}",
        lambda: f"({rng.choice(words)} OR {rng.choice(words)}) {box()}",
        lambda: "{} -{} {}".format(box(), *rng.sample(words, 2)),
        lambda: f'"fire smoke" {box()} size:[{rng.choice(steps)!r} TO 13]',
        lambda: f"size:>{rng.choice(steps)!r} {box()}",
    ]
    asked = pa.table({"id": [f"s{i}" for i in range(1100)], "query": [rng.choice(forms)() for _ in range(1100)]})
    rows = 100
    table = pa.table(
        {
            "id": [f"p{i}" for i in range(rows)],
            "text": [" ".join(rng.choices(words, k=3)) for _ in range(rows)],
            "lon": [rng.choice([*steps, None]) for _ in range(rows)],
            "lat": [rng.choice(steps) for _ in range(rows)],
            "size": [rng.choice([*steps, None]) for _ in range(rows)],
        }
    )
    index, oracle = GuardIndex(), BruteForce()
    index.add_table(asked)
    oracle.add(Subscription(row["id"], parse(row["query"])) for row in asked.to_pylist())
    found = index.match(table)
    assert found.pairs() == oracle.match(table).pairs()
    assert len(found) == len(found.pairs())
    assert_all_ways_agree(index, table, found)


@pytest.mark.parametrize("with_sample", [True, False])
def test_the_plain_way_in_gives_the_same_matches(with_sample: bool) -> None:
    asked = tweet_based(TEXTS, 500, 3, ENGLISH, words=(1, 4))
    ids = asked["id"].to_pylist()
    queries = pa.chunked_array([*asked["query"].chunks, pa.array(["fire OR smoke", "white house"])])
    sample = POSTS if with_sample else None
    fast, slow = GuardIndex(sample=sample), GuardIndex(sample=sample)
    fast.add_table(pa.table({"id": [*ids, "or", "house"], "query": queries}))
    slow.add(as_subscriptions(asked))
    slow.add([Subscription("house", parse("white house")), Subscription("or", parse("fire OR smoke"))])
    assert fast.match(POSTS).pairs() == slow.match(POSTS).pairs()
    assert len(fast) == len(slow) == 502


def test_equal_queries_are_stored_once_and_fan_out_last() -> None:
    index = GuardIndex()
    index.add(Subscription(f"s{i}", parse("fires smoke" if i % 2 else "smoke FIRE")) for i in range(100))
    found = index.match(pa.table({"id": ["p"], "text": ["fire and smoke"]}))
    assert sorted(found.ids().to_pylist()) == sorted(f"s{i}" for i in range(100))
    assert found.counters.candidates == 1 and found.counters.matches == 1


def test_a_term_that_two_topics_share_counts_once() -> None:
    index = GuardIndex()
    index.add([Subscription("s", parse("topic:sports"))])
    post = Publication("p", topics=("sports/soccer", "sports/tennis"))
    assert [match.subscription_id for match in index.match_one(post)] == ["s"]
    assert index.match(pa.table({"id": ["p"], "topic": [list(post.topics)]})).ids().to_pylist() == ["s"]


def test_an_empty_index_and_an_empty_table_match_nothing() -> None:
    assert GuardIndex().match(POSTS).pairs() == set()
    index = GuardIndex()
    index.add([Subscription("s", parse("fire"))])
    assert index.match(POSTS.slice(0, 0)).pairs() == set()


def test_rows_that_are_no_publication_answer_nothing_and_harm_nobody() -> None:
    index = GuardIndex()
    index.add([Subscription("s", parse("fire"))])
    table = pa.table(
        {"id": ["a", None, "c"], "text": ["fire", "fire", "fire"], "lat": [0.0, 0.0, 99.0], "lon": [0.0] * 3}
    )
    assert index.match(table).pairs() == {(0, "s")}


def test_many_segments_and_long_batches_change_nothing() -> None:
    asked = as_subscriptions(tweet_based(TEXTS, 60, 5, ENGLISH, words=(1, 2)))
    bit_by_bit, at_once = GuardIndex(), GuardIndex()
    at_once.add(asked)
    long = pa.concat_tables([POSTS] * 40)
    for start in range(0, 60, 6):
        bit_by_bit.add(asked[start : start + 6])
        bit_by_bit.match(POSTS.slice(0, 2))
    assert bit_by_bit.match(long).pairs() == at_once.match(long).pairs()
    assert bit_by_bit.match(long).counters.matches == at_once.match(long).counters.matches


def test_another_analyser_is_followed() -> None:
    exactly = GuardIndex(Analyser(stemming=False))
    exactly.add([Subscription("s", parse("fires"))])
    table = pa.table({"id": ["a", "b"], "text": ["fire", "fires"]})
    assert exactly.match(table).pairs() == {(1, "s")}


def test_a_reader_sees_what_was_there_when_it_began() -> None:
    index = GuardIndex()
    index.add([Subscription("first", parse("fire")), Subscription("second", parse("fire"))])
    table = pa.table({"id": ["p"], "text": ["fire smoke"]})
    before = index.snapshot
    index.add(Subscription(f"s{i}", parse(f"fire OR smoke w{i}")) for i in range(500))
    index.remove(["first"])
    index.add([Subscription("second", parse("rain"))])
    index.compact()
    assert sorted(before.match(table).ids().to_pylist()) == ["first", "second"]
    assert len(index.match(table)) == 500


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("s", tz="UTC"), pa.date32()])
def test_an_instant_at_the_end_of_time_leaves_its_neighbours_alone(kind: pa.DataType) -> None:
    table = pa.table(
        {
            "id": ["a", "b"],
            "text": ["fire", "fire"],
            "ts": pa.array([datetime(9999, 1, 1), datetime(2020, 1, 1)], pa.timestamp("us")).cast(kind),
        }
    )
    index, oracle = GuardIndex(), BruteForce()
    for matcher in (index, oracle):
        matcher.add([Subscription("s", parse("fire"), until=datetime(2021, 1, 1, tzinfo=UTC))])
    assert index.match(table).pairs() == oracle.match(table).pairs() == {(1, "s")}


def test_a_range_with_an_open_end_guards_no_better_than_its_cover() -> None:
    posts = pa.table(
        {
            "id": [str(n) for n in range(1000)],
            "text": [""] * 1000,
            "topic": [f"t{n % 50}" for n in range(1000)],
            "likes": [float(n) for n in range(1000)],
        }
    )
    index = GuardIndex(sample=posts)
    index.add([Subscription(str(n), parse(f"topic:t{n} likes:>{990 - n}")) for n in range(50)])
    found = index.match(posts)
    assert found.counters.candidates == 1000  # each post asks what is filed under its topic
    assert found.counters.matches == len(found) > 0


def test_an_id_that_is_twice_in_one_change_has_its_last_query_and_counts_once() -> None:
    index = GuardIndex()
    index.add([Subscription("s", parse("rain"))])
    index.compact()
    index.add([Subscription("s", parse("fire")), Subscription("t", parse("fire")), Subscription("s", parse("smoke"))])
    assert len(index) == 2
    assert [m.subscription_id for m in index.match_one(Publication("p", "rain fire"))] == ["t"]
    assert [m.subscription_id for m in index.match_one(Publication("p", "smoke"))] == ["s"]
    assert index.remove(["s", "\ud800", "s", "nobody"]) == 1 and len(index) == 1


def test_what_is_kept_of_a_recent_subscription_is_nothing_to_the_garbage_collector() -> None:
    index = GuardIndex()
    subscriptions = [Subscription(f"s{n}", parse(f"fire w{n}"), until=NOW) for n in range(10)]
    index.add(subscriptions[:5])
    index.change(table_of([Record.of(s, to_text(s.query)) for s in subscriptions[5:]]), [])
    gc.collect()
    assert len(index._recent.subscribers.rows) == 10
    assert not any(map(gc.is_tracked, index._recent.subscribers.rows))
    assert index.record("s3") == Record.of(subscriptions[3], "fire w3")


def test_what_is_recent_after_a_freeze_has_the_room_that_was_needed_before() -> None:
    index = GuardIndex()
    index.add(Subscription(f"old{n}", parse(f"fire w{n}")) for n in range(300))
    index._freeze()
    index._show(index._moment)

    def arrays() -> list[int]:
        view = index._recent.view(index._recent.counts())
        held = view.tables[0], view.asked()
        return [id(array) for part in held for array in (part.starts, part.link)]

    before = arrays()
    index.add(Subscription(f"new{n}", parse(f"fire w{n}")) for n in range(300))
    assert arrays() == before
    assert len(index.match_one(Publication("p", "fire w7 w299"))) == 4


def test_what_a_table_does_not_say_is_empty_without_limits_and_of_version_1() -> None:
    row = latest(pa.table({"id": ["s"], "query": ["fire"]})).to_pylist()[0]
    limits = {"since": FOREVER_BEFORE, "until": FOREVER_AFTER}
    assert row == {"id": "s", "query": "fire", "subscriber": "", "tag": "", "query_version": 1} | limits


def test_one_publication_has_the_numbers_that_it_has_whatever_it_lacks() -> None:
    index = GuardIndex()
    names = ("low", "mid", "high")
    index.add(Subscription(name, parse(f"{name}:>3")) for name in names)
    for name in names:
        found = index.match_one(Publication("p", attributes={name: 5}))
        assert [match.subscription_id for match in found] == [name]


def test_the_marks_of_queries_grow_where_those_of_terms_need_not() -> None:
    index, oracle = GuardIndex(), BruteForce()
    words = [f"{a}{b}m" for a in "bdfgk" for b in "aeiou"]
    post = pa.table({"id": ["p"], "text": [" ".join(words)]})
    for number, pair in enumerate([*pairwise(words), *combinations(words, 2)]):
        for matcher in (index, oracle):
            matcher.add([Subscription(f"s{number}", parse(" OR ".join(pair)))])
        if number == len(words):
            assert index.match(post).pairs() == oracle.match(post).pairs()  # makes room for these
    assert index.match(post).pairs() == oracle.match(post).pairs()
    scratch = index._readers.local.scratch
    assert all(len(scratch.marks(queries, False)[1]) >= queries // 32 + 1 for queries in (10, 1_000, 100_000))
