"""What every matcher has to do, whichever way it does it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.index.strategies import NOW, subscriptions, tables
from tidings.index import GI2, BruteForce, GuardIndex, Matcher, Trie
from tidings.language import parse
from tidings.model import Subscription

MATCHERS: dict[str, Callable[[], Matcher]] = {
    "brute": lambda: BruteForce(clock=lambda: NOW),
    "trie": lambda: Trie(clock=lambda: NOW),
    "guard": lambda: GuardIndex(clock=lambda: NOW),
    "gi2": lambda: GI2(clock=lambda: NOW),
}
POSTS = pa.table({"id": ["a", "b", "c"], "text": ["fire and smoke", "a fire drill", None]})


@pytest.fixture(params=sorted(MATCHERS))
def matcher(request: pytest.FixtureRequest) -> Matcher:
    return MATCHERS[request.param]()


def asked(**queries: str) -> list[Subscription]:
    return [Subscription(name, parse(query)) for name, query in queries.items()]


@examples(60)
@given(st.data())
def test_all_matchers_agree_while_subscriptions_come_and_go(data: st.DataObject) -> None:
    matchers = [make() for make in MATCHERS.values()]
    for _ in range(2):
        added = [data.draw(subscriptions(name)) for name in data.draw(st.lists(st.sampled_from("abcdef"), max_size=4))]
        removed = data.draw(st.lists(st.sampled_from("abcdefz"), max_size=2))
        table = data.draw(tables())
        for each in matchers:
            each.add(added)
            each.remove(removed)
        first, *others = [each.match(table) for each in matchers]
        assert all(other.pairs() == first.pairs() and len(other) == len(first) for other in others)


def test_nothing_asked_and_nothing_published_match_nothing(matcher: Matcher) -> None:
    assert matcher.match(POSTS).pairs() == set()
    matcher.add(asked(s="fire"))
    assert matcher.match(POSTS.slice(0, 0)).pairs() == set()


def test_add_then_remove_leaves_the_others(matcher: Matcher) -> None:
    matcher.add(asked(s="fire", t="fire smoke", u="fire -drill"))
    matcher.remove(["t", "unknown"])
    assert matcher.match(POSTS).pairs() == {(0, "s"), (1, "s"), (0, "u")}
    matcher.remove(["s", "u"])
    assert matcher.match(POSTS).pairs() == set()


def test_the_same_id_replaces(matcher: Matcher) -> None:
    matcher.add(asked(s="drill"))
    matcher.add(asked(s="smoke"))
    assert matcher.match(POSTS).pairs() == {(0, "s")}


def test_a_query_with_alternatives_matches_once(matcher: Matcher) -> None:
    matcher.add(asked(s="fire OR smoke OR (fire drill)"))
    assert matcher.match(POSTS).ids().to_pylist() == ["s", "s"]


def test_matching_twice_gives_the_same_and_counts_it(matcher: Matcher) -> None:
    matcher.add(asked(s="fire", t="smoke"))
    first, second = matcher.match(POSTS), matcher.match(POSTS)
    assert first.pairs() == second.pairs() and first.counters == second.counters
    assert first.counters.matches == 3


def test_validity_is_asked_at_the_instant_of_the_publication(matcher: Matcher) -> None:
    day = datetime(2020, 1, 2, tzinfo=UTC)
    matcher.add([Subscription("s", parse("fire"), since=day, until=datetime(2020, 1, 3, tzinfo=UTC))])
    ts = pa.array([datetime(2020, 1, 1), day, None], pa.timestamp("us", tz="UTC"))
    assert matcher.match(pa.table({"id": ["a", "b", "c"], "text": ["fire"] * 3, "ts": ts})).pairs() == {(1, "s")}


def test_the_trie_counts_one_look_up_for_each_later_word_of_the_post() -> None:
    trie = Trie()
    trie.add(asked(s="alpha beta", t="alpha gamma"))
    found = trie.match(pa.table({"id": ["p"], "text": ["gamma alpha delta"]}))
    assert found.pairs() == {(0, "t")}
    assert found.counters.candidates == 3 + 2  # three words from the root, two behind alpha, none below gamma
