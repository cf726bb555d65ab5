"""Reading by shape gives what the parser gives."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.language.fuzz import HARD, VALID, mutated, one_input
from tests.language.strategies import ANALYSER, small_queries, writable_queries
from tidings.language import Conjunction, parse_normal, to_text
from tidings.language.shapes import reading
from tidings.language.shapes.conditions import Texts, conditions_of
from tidings.language.shapes.cutting import cut_texts
from tidings.language.shapes.kernels import MAX_NUMBER_BYTES
from tidings.language.shapes.reading import Shaped, read_shapes
from tidings.model import QueryError
from tidings.model.values import read_number

_VALUES = (
    "fire", "Fires", "smoke", "the", "of", "The", "AND", "OR", "NOT", "and", "or", "Not", "TO", "covid-19", "o'brien's",
    "-drill", "--x", "-", "@a", "#tag", "a,b", "http://t.co/x", "//x", "白宫", "é", "a\u3000b", "a\u00a0b", "“x”", "x”",
    "–dash", "x–y", "\u200b", "２", "YHOO", "BRK-B", "BRK.B", "5", "5.0", "-5", "-0", "-0.0", "007", "1e5", "1e999",
    "nan", "0.1", "151.20929999999998", "-33.865143000000001", "180", "180.0000001", "-90", "90.5", "12..20", "10..9",
    "2020-01-01", "2020-01-01T10:00:00Z", "16km", "5mi", "3m", "*", "a*", "*a", "a*b", "=x", "!x", "~3", "x~3", "a:b",
    "a|b", "a\\b", "a/b", "sports/soccer", "a//b", "/", "x" * 257, "9" * 41, "1" + "0" * 320, "0.3", ".5", "5.", "+5",
    "", " ", "\x01", "\x04", "\n", '"', "(", ")", "[", "]", "text", "topic", "has", "bounding_box", "AND-x", "\u2028",
    "0.1000000000000000055511151231257827",
)  # fmt: skip
_TEMPLATES = (
    "{}", "{} {}", "{} {} {}", "{} OR {}", "({} OR {}) {}", "{} -{}", "{} NOT {}", "{} AND {}", "-({} OR {}) fire",
    "{}*", '"{} {}"', '"{}"~2 {}', '"{}"{}', "x:{}", "x:{} {}", 'x:"{}"', "x:{}*", "x:*{}", "x:*{}*", "x:>{}",
    "x:>={} y:<{}", "x:[{} TO {}]", "x:{{{} TO {}]", "x:[* TO {}]", "x:>{} x:>{}", "fire -x:<={}", "x:{}..{}", "x: {}",
    "has:{}", "has:x {}", "topic:{}", "topic:a/{} {}", "x:({} OR {})", "topic:({} OR {} OR {})",
    'fire -x:({} OR "{}")', "bounding_box:[{} {} {} {}]", "{} -bounding_box:"
    "[{},{} , {} {}]", "({} OR {}) bounding_box:[1 2 {} 4]", "point_radius:[{} {} {}km]", "point_radius:[1 2 {}]",
    "ts:[{} TO {}]", "x:>{} x:[{} TO *]", "point_radius:[{},{} 5km] point_radius:[1 2 {}]",
    "{}:5", "{}:>5", "http:{}", "symbol:{} volume:>{} {}", "bounding_box:{}", "bounding_box: [{} 2 3 4]", "{}({})",
)  # fmt: skip


def _forms(shaped: Shaped) -> dict[int, tuple[Conjunction, ...]]:
    """The normal form of each row that was read."""
    found: dict[int, tuple[Conjunction, ...]] = {}
    for group in shaped.groups:
        for at, row in enumerate(group.rows.tolist()):
            atoms = [
                (shaped.atoms[column.atoms[at]] if column.atoms[at] >= 0 else None)
                if isinstance(column, Texts)
                else column.atom(at)
                for column in group.columns
            ]
            assert row not in found
            found[row] = tuple(
                Conjunction(tuple(atoms[i] for i in required), tuple(atoms[i] for i in forbidden))  # type: ignore[misc]
                for required, forbidden in group.form
            )
    return found


def _check(queries: list[str]) -> int:
    """Compare each query that was read by its shape with what the parser says; returns how many were."""
    found = _forms(read_shapes(pa.array(queries, pa.large_string()), ANALYSER))
    for row, form in found.items():
        assert form == parse_normal(queries[row], analyser=ANALYSER)[1], queries[row]
    return len(found)


@pytest.fixture(autouse=True)
def _groups_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "FEW", 1)


@pytest.mark.parametrize("template", _TEMPLATES)
def test_all_values_in_a_place_give_what_the_parser_gives(template: str) -> None:
    rng = random.Random(template)
    holes = template.count("{}")
    usual = [value for value in _VALUES if value.isalnum()]
    rows = [
        template.format(*(rng.choice(usual if rng.random() < 0.6 else _VALUES) for _ in range(holes)))
        for _ in range(400)
    ]
    _check([*rows, *(template.format(*[value] * holes) for value in _VALUES)])


@examples(60)
@given(st.lists(st.one_of(writable_queries, small_queries).map(to_text), min_size=1, max_size=30))
def test_a_column_of_queries_gives_what_the_parser_gives(queries: list[str]) -> None:
    _check(queries)


def test_hostile_texts_give_what_the_parser_gives() -> None:
    rng = random.Random(7)
    texts = [*HARD, *VALID, *(one_input(rng) for _ in range(1_500)), *(mutated(VALID[1], rng) for _ in range(500))]
    _check([text.encode("utf-8", "replace").decode() for text in texts])


@pytest.mark.parametrize(
    "query",
    [
        "(bus OR caution OR mona) bounding_box:[151.052282 -33.994112 151.366734 -33.733002]",
        "time exercise the elizabeth bounding_box:[150.8,-34.0, 151.2 -33.6]",
        "class:STOCK symbol:ZBH volume:>826105 -high:<=79.67",
        'fire "white house"~2 -terror* topic:news/sport has:price name:*son x:[1 TO 2.5} y:[* TO 7]',
        "covid-19 白宫 o'brien's symbol:\"a b\"",
        'symbol:(YHOO OR "a b" OR BRK-B) -topic:(news OR ads/x)',
        "fire ts:>2020-01-01 ts:[2020-01-01 TO 2021-01-01T10:00:00Z} -point_radius:[151.2 -33.9 16km]",
    ],
)
def test_usual_queries_are_read_by_their_shape(query: str) -> None:
    assert _check([query, query]) == 2


def test_few_queries_of_a_shape_are_left_to_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    queries = [f"fire price:>{n}" for n in range(reading.FEW)]
    assert _check(queries) == reading.FEW and _check(queries[1:]) == 0


def test_queries_that_are_refused_are_left_to_the_parser() -> None:
    refused = ["fire -fire", "-fire", "the", "x:>abc", "bounding_box:[3 2 1 4]", "x:[5 TO 4]", "x:{4 TO 4]", "AND x"]
    assert _check(refused * 2) == 0
    for query in refused:
        with pytest.raises(QueryError):
            parse_normal(query)


def test_a_query_that_may_be_too_long_when_written_out_is_left_to_the_parser() -> None:
    assert _check(["fire price:>1 " * 8]) == 1
    phrase = '"' + "white house " * 9 + '"'
    assert _check([f"{phrase} price:>1 " * 16]) == 0


def test_empty_and_null_columns() -> None:
    assert not read_shapes(pa.array([], pa.string()), ANALYSER).groups
    assert not read_shapes(pa.chunked_array([[None], [""]], pa.string()), ANALYSER).groups


@examples(100)
@given(st.lists(st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,18})?", fullmatch=True), min_size=1, max_size=20))
def test_numbers_are_those_of_the_parser(numbers: list[str]) -> None:
    cut = cut_texts(pa.array([f"x:>{number}" for number in numbers], pa.large_string()))
    plain = [number for row, number in enumerate(numbers) if cut.shapes[cut.shape_of[row]] == "x:>\x04"]
    expected = np.array([float(read_number(number) or 0.0) for number in plain])
    assert cut.numbers.tobytes() == expected.tobytes()
    for number in set(numbers) - set(plain):
        assert len(number) > MAX_NUMBER_BYTES or (float(number) == 0.0 and number[0] == "-")


def test_a_shape_with_a_condition_that_is_no_column_has_none() -> None:
    listed = ("x:(\x01 \x01)", "x:(\x01* OR \x01)", "x:(-\x01 OR \x01)")
    for shape in (*listed, "x: \x01", "point_radius:[\x04 \x04 \x04]", "x:[* TO *]", "", "AND", "x:"):
        assert conditions_of(shape) is None
