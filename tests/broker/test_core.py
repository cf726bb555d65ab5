"""Cores that are wired by hand: whatever is asked for and published, the right ones get it, each once."""

from __future__ import annotations

from collections import Counter, deque
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.broker.overlays import quote
from tests.examples import examples
from tidings.broker.core import BrokerCore, BrokerPacket, Entering, Leaving, Linked, Outcome, ToBroker, ToSubscribers
from tidings.broker.messages import Advert, AdvertGone, Interest, InterestGone, Transit
from tidings.language import evaluate, parse
from tidings.model import QueryError

LINKS = (("B0", "B1"), ("B0", "B2"), ("B0", "B3"), ("B3", "B4"))
NAMES = ("B0", "B1", "B2", "B3", "B4")
HEADS = frozenset({"B0", "B3"})
QUERIES = ("volume:>=0", "volume:>=5", "symbol:A", "symbol:A volume:>=5", "symbol:B", "symbol:B volume:<3")


class Wired:
    """Brokers whose messages arrive at random, but in order on each link."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cores = {
            name: BrokerCore(name, tuple(b if a == name else a for a, b in LINKS if name in (a, b)), HEADS, 1e6, 0.0)
            for name in NAMES
        }
        self.flying: dict[tuple[str, str], deque[BrokerPacket]] = {}
        self.got: Counter[tuple[str, str]] = Counter()

    def put(self, name: str, packet: BrokerPacket, hop: str = "") -> None:
        self.apply(name, self.cores[name].on(packet, hop, 0.0))

    def apply(self, name: str, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            if isinstance(outcome, ToBroker):
                self.flying.setdefault((name, outcome.neighbour), deque()).append(outcome.message)
            elif isinstance(outcome, ToSubscribers):
                self.got.update((each, outcome.carried.key) for each in outcome.subscribers)

    def settle(self) -> None:
        while any(self.flying.values()):
            sender, receiver = self.random.choice(sorted(link for link, waiting in self.flying.items() if waiting))
            self.put(receiver, self.flying[sender, receiver].popleft(), sender)


@examples(150)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from(QUERIES), st.booleans()), max_size=15),
    st.lists(st.tuples(st.sampled_from(["A", "B"]), st.integers(0, 9)), max_size=10),
    st.integers(0, 99),
)
def test_each_publication_reaches_each_that_asked_once(
    asked: list[tuple[int, str, bool]], published: list[tuple[str, int]], seed: int
) -> None:
    wired = Wired(seed)
    wired.put("B0", Advert("exchange/1", "class:STOCK"))
    staying = {}
    for number, (place, query, leaves) in enumerate(asked):
        wired.put(NAMES[place], Entering(f"s{number}", query))
        if leaves:
            wired.put(NAMES[place], Leaving(f"s{number}"))
        else:
            staying[f"s{number}"] = query
    wired.settle()
    posts = [quote(volume, symbol) for symbol, volume in published]
    for number, post in enumerate(posts):
        wired.put("B0", Transit(post, str(number)))
    wired.settle()
    expected = {
        (name, str(number)): 1
        for name, query in staying.items()
        for number, post in enumerate(posts)
        if evaluate(parse(query), post)
    }
    assert dict(wired.got) == expected


def test_a_neighbour_that_comes_back_knows_nothing_and_is_told_all() -> None:
    wired = Wired(1)
    wired.put("B0", Advert("exchange/1", "class:STOCK"))
    wired.put("B4", Entering("s1", "symbol:A"))
    wired.settle()
    wired.cores["B3"] = Wired(1).cores["B3"]  # it was started again
    for one, other in (("B3", "B0"), ("B0", "B3"), ("B3", "B4"), ("B4", "B3")):
        wired.put(one, Linked(other), other)
    wired.settle()
    wired.put("B0", Transit(quote(1, "A"), "1"))
    wired.settle()
    assert wired.got == {("s1", "1"): 1}


def test_when_nobody_asks_any_more_nothing_is_sent() -> None:
    wired = Wired(1)
    wired.put("B0", Advert("exchange/1", "class:STOCK"))
    wired.put("B4", Entering("s1", "symbol:A"))
    wired.settle()
    wired.put("B4", Leaving("s1"))
    wired.settle()
    assert all(not wanted for core in wired.cores.values() for wanted in core.routing.wanted.values())
    wired.put("B0", AdvertGone("exchange/1"))
    wired.settle()
    assert all(not core.routing.advertised for core in wired.cores.values())


@pytest.mark.parametrize("packet", [Entering("s1", "volume:>"), Interest("("), InterestGone("("), Advert("a/1", "")])
def test_a_query_that_cannot_be_read_changes_nothing(packet: BrokerPacket) -> None:
    core = Wired(1).cores["B0"]
    with pytest.raises(QueryError):
        core.on(packet, "B1", 0.0)
    assert not core.subscribers and not core.routing.advertised and not core.routing.wanted["B1"]


def test_a_broker_does_not_grow_with_the_queries_it_has_seen() -> None:
    core = Wired(1).cores["B1"]
    core.on(Entering("kept", "symbol:KEPT"), "", 0.0)
    for number in range(2_500):
        core.on(Entering("s", f"symbol:X{number}"), "", 0.0)
        core.on(Leaving("s"), "", 0.0)
    assert len(core.queries) <= 1_010
    outcomes = core.on(Transit(quote(1, "KEPT"), "1"), "B0", 0.0)
    assert [each.subscribers for each in outcomes if isinstance(each, ToSubscribers)] == [("kept",)]
