"""Habits of other languages are refused, and nothing else is."""

from __future__ import annotations

import pytest

from tidings.engine import Engine
from tidings.language import evaluate, parse, parse_normal, to_text
from tidings.model import Equals, Publication, QueryError, Wildcard
from tidings.model.habits import value_habit, word_habit


@pytest.mark.parametrize(
    "word", ["te?t", "fire?", "a&&b", "/fire/", "/fire/i", "…", ",", "😀", "#", "--", "#1989", "$bitcoin"]
)
def test_words_of_other_languages_are_refused(word: str) -> None:
    assert word_habit(word)


@pytest.mark.parametrize(
    "word", ["fire", "AT&T", "covid-19", "a/b", "and/or", "c++", "fire!", "№", "白宫", "o'brien", "50%", "$5", "$5.20"]
)
def test_words_are_taken_as_they_come(word: str) -> None:
    assert word_habit(word) is None


@pytest.mark.parametrize(
    "value",
    [
        "a\\b",
        "C:\\Windows",
        "a&&b",
        "a||b",
        "fire~",
        "fire~2",
        "fire~0.8",
        "fire^2",
        "+fire",
        "&x",
        "10-20",
        "1.5-2",
        "-5-3",
        "'fire",
        "10.0.0.0/33",
    ],
)
def test_values_of_other_languages_are_refused_and_are_equal_in_quotes(value: str) -> None:
    with pytest.raises(QueryError):
        parse(f"name:{value}")
    assert parse(to_text(Equals("name", value))) == Equals("name", value)


@pytest.mark.parametrize(
    "value",
    [
        "Yahoo!",
        "AT&T",
        "text/html",
        "2020-10",
        "2020-01-02",
        "20-10",
        "1-800-5",
        "555-0100",
        "12345-6789",
        "a^b",
        "a~b",
        "x+y",
        "10.0.0.1/a",
        "o'brien",
    ],
)
def test_values_are_taken_as_they_come(value: str) -> None:
    assert value_habit("name", value) is None
    assert parse(f"name:{value}") == Equals("name", value)


def test_a_wildcard_with_a_habit_is_written_in_quotes() -> None:
    asked = Wildcard("path", ("C:\\x", "y^2"), ("?",))
    assert parse(to_text(asked)) == asked


@pytest.mark.parametrize(
    ("text", "post"),
    [
        ("te?t", Publication("p", "te t")),
        ("fire …", Publication("p", "fire")),
        ("a1&&b1", Publication("p", "a1 b1")),
        ("path:C:\\x", Publication("p", "", attributes={"path": "C:\\x"})),
        ("price:10-20", Publication("p", "", attributes={"price": "10-20"})),
        ("te?*", Publication("p", "tests")),
        ("#fir*", Publication("p", "fires")),
        ("min_faves:10", Publication("p", "", attributes={"min_faves": 10})),
        ("name:'x", Publication("p", "", attributes={"name": "'x"})),
        ("name:/<1-5>/", Publication("p", "", attributes={"name": "<1-5>"})),
        ("price:10 TO 20", Publication("p", "to 20", attributes={"price": "10"})),
        ("(fire smoke)@2", Publication("p", "fire smoke @2")),
    ],
)
def test_what_was_accepted_once_is_read_as_it_was(text: str, post: Publication) -> None:
    with pytest.raises(QueryError):
        parse(text)
    with pytest.raises(QueryError):
        Engine().subscribe(text)
    query, _ = parse_normal(text)
    assert evaluate(query, post)
    assert parse_normal(to_text(query))[0] == query
