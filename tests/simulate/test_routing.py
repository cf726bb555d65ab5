"""Advertisements, subscriptions and unsubscriptions: the paper's example, and covering against no covering."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.language import covers, evaluate, parse
from tidings.model import Publication
from tidings.simulate.clock import Clock
from tidings.simulate.routing import LOCAL, Advertise, Forward, Routing, Unadvertise, Unwant, Want
from tidings.simulate.universe import Universe, bits


@pytest.fixture
def universe() -> Universe:
    return Universe()


def test_figure_3(universe: Universe) -> None:
    """B1 - B2, and B2 - B3, B2 - B4; the publisher is at B1, sub1 at B4, sub2 at B3."""
    ad, sub1, sub2 = (universe.number(text) for text in ("[a,>,1]", "[a,>,5]", "[a,>,9]"))
    b2 = Routing(universe, ("B1", "B3", "B4"))
    assert b2.advertise(Advertise("p", ad), "B1") == [("B3", Advertise("p", ad)), ("B4", Advertise("p", ad))]
    assert b2.want(sub1, "B4") == [("B1", Want(sub1))]
    assert b2.want(sub2, "B3") == []  # covered by sub1
    assert [name for name, mask in b2.masks.items() if mask & universe.answers(_a(7))] == ["B4"]
    assert [name for name, mask in b2.masks.items() if mask & universe.answers(_a(10))] == ["B3", "B4"]
    assert b2.unwant(sub1, "B4") == [("B1", Want(sub2)), ("B1", Unwant(sub1))]


def _a(value: int) -> Publication:
    return Publication(f"a{value}", attributes={"a": value})


def test_an_advertisement_is_flooded_once_and_taken_back_by_its_own_path(universe: Universe) -> None:
    ad = universe.number("[class,=,'STOCK']")
    broker = Routing(universe, ("B1", "B2"))
    assert broker.advertise(Advertise("p", ad), LOCAL) == [("B1", Advertise("p", ad)), ("B2", Advertise("p", ad))]
    assert broker.advertise(Advertise("p", ad), "B1") == []
    assert broker.unadvertise(Unadvertise("p"), "B1") == []
    assert broker.unadvertise(Unadvertise("p"), LOCAL) == [("B1", Unadvertise("p")), ("B2", Unadvertise("p"))]


def test_a_subscription_goes_only_where_something_is_advertised_that_it_meets(universe: Universe) -> None:
    stock, sports = universe.number("[class,=,'STOCK']"), universe.number("[class,=,'SPORTS']")
    broker = Routing(universe, ("B1", "B2"))
    broker.advertise(Advertise("p1", stock), "B1")
    assert broker.want(sports, LOCAL) == []
    assert broker.advertise(Advertise("p2", sports), "B2") == [("B1", Advertise("p2", sports)), ("B2", Want(sports))]
    assert broker.unadvertise(Unadvertise("p2"), "B2") == [("B1", Unadvertise("p2")), ("B2", Unwant(sports))]


def test_a_query_is_wanted_until_the_last_who_wants_it_is_gone(universe: Universe) -> None:
    stock = universe.number("[class,=,'STOCK']")
    broker = Routing(universe, ("B1", "B2"))
    broker.advertise(Advertise("p1", stock), "B1")
    assert broker.want(stock, LOCAL) == [("B1", Want(stock))]
    assert broker.want(stock, LOCAL) == broker.want(stock, "B2") == []
    assert broker.unwant(stock, LOCAL) == broker.unwant(stock, LOCAL) == []
    assert broker.unwant(stock, "B2") == [("B1", Unwant(stock))]
    assert broker.unwant(stock, "B2") == []


def test_a_lost_neighbour_is_forgotten_and_greeted(universe: Universe) -> None:
    stock, yhoo = universe.number("[class,=,'STOCK']"), universe.number("[class,=,'STOCK'],[symbol,=,'YHOO']")
    broker = Routing(universe, ("B1", "B2"))
    broker.advertise(Advertise("p1", stock), "B1")
    broker.advertise(Advertise("p2", stock), "B2")
    broker.want(yhoo, "B2")
    assert set(broker.forget("B2")) == {("B1", Unwant(yhoo)), ("B1", Unadvertise("p2"))}
    assert broker.greet("B2") == [("B2", Advertise("p1", stock))]
    assert broker.masks["B2"] == 0


TEXTS = [f"[a,>,{low}]" for low in range(4)] + [f"[a,<,{high}]" for high in range(3, 7)] + ["[b,=,'x']", "[b,=,'y']"]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9), st.sampled_from([LOCAL, "B2", "B3"])), max_size=30))
def test_what_was_forwarded_attracts_all_that_is_wanted_and_nothing_else(steps: list[tuple[bool, int, str]]) -> None:
    """B1 knows what it was told; a publication comes from there iff somebody here wants it."""
    universe = Universe()
    for text in TEXTS:
        universe.number(text)
    broker = Routing(universe, ("B1", "B2", "B3"))
    broker.advertise(Advertise("p", universe.number("[a,isPresent,0]")), "B1")
    told: set[int] = set()
    wanted: dict[str, list[int]] = {LOCAL: [], "B2": [], "B3": []}
    publications = [Publication(f"p{a}{b}", attributes={"a": a, "b": b}) for a in range(7) for b in "xyz"]
    for adds, query, hop in steps:
        if adds:
            if hop != LOCAL and query in wanted[hop]:
                continue  # a neighbour tells a query once
            wanted[hop].append(query)
            _hear(told, broker.want(query, hop))
        elif query in wanted[hop]:
            wanted[hop].remove(query)
            _hear(told, broker.unwant(query, hop))
        asked = {query for queries in wanted.values() for query in queries}
        for publication in publications:
            answers = set(bits(universe.answers(publication)))
            assert bool(answers & told) == bool(answers & asked)


def _hear(told: set[int], forwards: list[Forward]) -> None:
    for neighbour, message in forwards:
        assert neighbour == "B1"
        match message:
            case Want(query):
                told.add(query)
            case Unwant(query):
                told.remove(query)


def test_the_universe_agrees_with_the_definition() -> None:
    universe = Universe()
    texts = [*TEXTS, "[b,=,'x'],[a,>,2]", "[a,=,3]", "[b,str-prefix,'x']", "[b,isPresent,0]"]
    publications = [Publication(f"p{a}{b}", attributes={"a": a, "b": b}) for a in range(7) for b in ("x", "xy", "3")]
    for known in range(len(texts)):
        universe.number(texts[known])
        for publication in publications:
            expected = {n for n in range(known + 1) if evaluate(parse(texts[n], syntax="padres"), publication)}
            assert set(bits(universe.answers(publication))) == expected


def test_covering_in_the_universe_is_covering_in_the_language() -> None:
    universe = Universe()
    texts = [
        *TEXTS,
        "[b,=,'x'],[a,>,2]",
        "[b,=,'x'],[a,>,1]",
        "[b,=,'x'],[a,<,4]",
        "[b,str-prefix,'x']",
        "[b,isPresent,0]",
    ]
    numbers = {text: universe.number(text) for text in texts}
    parsed = {text: parse(text, syntax="padres") for text in texts}
    for wide, one in numbers.items():
        for narrow, other in numbers.items():
            assert universe.covers(one, other) == covers(parsed[wide], parsed[narrow]), (wide, narrow)


def test_equal_times_are_ordered_by_the_seed() -> None:
    orders = []
    for seed in (1, 1, 2, 3):
        clock, order = Clock(seed), list[int]()
        for number in range(8):
            clock.at(1.0, order.append, number)
        clock.run(until=1.0)
        orders.append(order)
    assert orders[0] == orders[1]
    assert orders[0] != orders[2] != orders[3]
