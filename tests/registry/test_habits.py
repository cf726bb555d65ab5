"""What is an operator elsewhere and an attribute here is warned of."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from tidings.analysis import Analyser, Fields
from tidings.engine import Engine
from tidings.registry import MemoryLog
from tidings.registry.habits import habits_of, may_contradict, warnings_of


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("fire lang:en", "lang:"),
        ("-is:retweet fire", "is:"),
        ("(from:a OR from:b)", "from:"),
        ("fire has:links", "has:links"),
    ],
)
def test_an_operator_of_x_is_named(query: str, name: str) -> None:
    [warning] = habits_of(pa.array([query, "fire", None]), Fields())
    assert warning.startswith(f"1 query asks for {name}, ")


@pytest.mark.parametrize(
    "query", ["fire", "language:en", '"from: here"', 'x:"is: \\" lang:"', "has:price", "has:linksx"]
)
def test_nothing_else_is_warned_of(query: str) -> None:
    assert habits_of(pa.array([query]), Fields()) == ()


def test_a_declared_field_is_no_habit() -> None:
    assert habits_of(pa.array(["lang:en"]), Fields.of({"lang": "folded"})) == ()


def test_the_receipt_of_few_and_of_many_has_the_warnings() -> None:
    for rows in (2, 200):
        table = pa.table({"id": [str(n) for n in range(rows)], "query": ["lang:en"] * rows})
        receipt = Engine().subscribe_many(table)
        assert receipt.warnings == MemoryLog(Analyser()).add(table, dry_run=True).warnings
        assert receipt.warnings[0].startswith(f"{rows} queries ask for lang:")


@pytest.mark.parametrize(
    ("query", "doubt"),
    [
        ("fire price:>5 price:<3", "only several values of price"),
        ("fire price:[1 TO 2] price:>2020-01-01", "only several values of price"),
        ("lat:>5 lat:<3", "no publication can answer it"),
        ("ts:>2020-01-02 ts:<2020-01-01", "no publication can answer it"),
        ("id:a id:b", "no publication can answer it"),
        ('"white house" -house', "no publication can answer it"),
        ("price:[3 TO 4] -price:>2", "no publication can answer it"),
        ("name:Mc* -has:name", "no publication can answer it"),
        ("ts:>2020 fire", "no publication can answer it"),
        ('"the price":>5 "the price":<3', "only several values of the price"),
        ('fire OR ("white house" NOT white)', "one of its alternatives can never match"),
    ],
)
def test_what_can_never_match_gets_a_warning(query: str, doubt: str) -> None:
    table = pa.table({"id": ["s"], "query": [query]})
    engine = Engine()
    made = engine.subscribe(query)
    assert [warning.startswith(f"{query}: {doubt}") for warning in made.warnings] == [True]
    assert engine.subscribe_many(table).warnings == made.warnings == MemoryLog(Analyser()).add(table).warnings


@pytest.mark.parametrize(
    "query",
    ["fire", "fire -drill", "tags:red tags:blue", "price:>3 price:<5", '"white house" -black', "price:>5 OR price:<3"],
)
def test_what_can_match_gets_none(query: str) -> None:
    assert Engine().subscribe(query).warnings == ()


@pytest.mark.parametrize("text", ["x:" + "a" * 60_000, 'x:"' + '\\"' * 30_000 + '"', "n:/" + '\\"' * 30_000 + "/"])
def test_long_values_take_no_time(text: str) -> None:
    began = time.thread_time()
    may_contradict(text)
    assert time.thread_time() - began < 1  # it was 12 s for a value of letters


def test_many_contradictions_are_told_once() -> None:
    queries = pa.array([f"price:>{n + 5} price:<{n}" for n in range(1_200)])
    [warning] = warnings_of(queries, Analyser())
    assert warning.endswith("(as 1,199 more)")
