from __future__ import annotations

from random import Random

import pytest

from tidings.broker.queries import ANYTHING, Queries
from tidings.language import evaluate, parse
from tidings.model import Publication, QueryError


def test_what_a_publication_answers_is_what_the_language_says() -> None:
    random, queries = Random(1), Queries()
    texts = [f"symbol:{random.choice('AB')} volume:>{random.randrange(10)}" for _ in range(30)]
    numbers = {text: queries.number(text) for text in texts}
    for volume in range(10):
        post = Publication("p", attributes={"symbol": random.choice("AB"), "volume": volume})
        expected = {number for text, number in numbers.items() if evaluate(parse(text), post)}
        assert queries.answers(post) == expected


def test_texts_that_say_the_same_share_a_number() -> None:
    queries = Queries()
    assert queries.number("[class,=,'STOCK'],[volume,>,5]") == queries.number("class:STOCK volume:>5")
    assert len(queries) == 1


def test_a_sweep_keeps_what_is_used_and_gives_other_numbers_again() -> None:
    queries = Queries()
    kept = queries.number("symbol:KEPT")
    gone = {queries.number(f"symbol:X{number}") for number in range(5)}
    queries.sweep(frozenset({kept}))
    assert len(queries) == 1 and queries.text(kept) == "symbol:KEPT"
    assert queries.answers(Publication("p", attributes={"symbol": "X1"})) == set()
    assert queries.answers(Publication("p", attributes={"symbol": "KEPT"})) == {kept}
    assert queries.number("symbol:NEW") in gone
    assert queries.answers(Publication("p", attributes={"symbol": "NEW"})) == {queries.number("symbol:NEW")}


def test_a_broker_that_has_seen_many_queries_asks_to_be_swept() -> None:
    queries = Queries()
    for number in range(1_000):
        assert not queries.is_sweep_due
        queries.number(f"symbol:X{number}")
    assert queries.is_sweep_due
    queries.sweep(frozenset())
    assert not queries.is_sweep_due and len(queries) == 0


def test_anything_is_advertised_and_not_asked_for() -> None:
    queries = Queries()
    anything, yhoo = queries.advertised(ANYTHING), queries.number("symbol:YHOO")
    assert queries.meets(yhoo, anything) and queries.meets(anything, yhoo)
    assert not queries.covers(anything, yhoo) and not queries.covers(yhoo, anything)
    with pytest.raises(QueryError):
        queries.number(ANYTHING)


def test_queries_that_need_two_values_of_one_attribute_do_not_meet() -> None:
    queries = Queries()
    yhoo, goog, large = (queries.number(text) for text in ("symbol:YHOO", "symbol:GOOG", "volume:>5"))
    assert not queries.meets(yhoo, goog) and queries.meets(yhoo, large)


def test_what_covers_what_is_remembered_of_a_bounded_number_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidings.broker.queries._MOST_COMPARED", 5)
    queries = Queries()
    numbers = [queries.number(f"volume:>{number}") for number in range(8)]
    for wide in numbers:
        for narrow in numbers:
            assert queries.covers(wide, narrow) == (wide <= narrow)
            assert len(queries._covers) <= 5
