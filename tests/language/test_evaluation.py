import itertools
from datetime import datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.language.strategies import ANALYSER, publications, small_queries
from tests.language.tiny import tiny
from tidings.engine import Engine
from tidings.language import Content, evaluate, explain, holds, normal_form, parse
from tidings.model import Phrase, Publication, Query


@examples(600)
@given(small_queries, publications())
@example(Phrase("fire the smoke"), Publication("p", "fire of smoke"))
def test_evaluation_equals_a_second_evaluator(query: Query, publication: Publication) -> None:
    assert evaluate(query, publication) == tiny(query, publication)


@examples(400)
@given(small_queries, publications())
def test_the_normal_form_means_the_same_as_the_tree(query: Query, publication: Publication) -> None:
    content = Content.of(publication, ANALYSER)
    by_conjunctions = any(
        all(holds(atom, content) for atom in conjunction.required)
        and not any(holds(atom, content) for atom in conjunction.forbidden)
        for conjunction in normal_form(query, ANALYSER)
    )
    assert by_conjunctions == evaluate(query, publication)


@examples(300)
@given(small_queries, publications())
def test_an_explanation_agrees_and_gives_a_reason(query: Query, publication: Publication) -> None:
    explanation = explain(query, publication)
    assert explanation.matched == evaluate(query, publication)
    assert explanation.reasons


def check(query: str, text: str = "", **fields: object) -> bool:
    return evaluate(parse(query), Publication("p", text, **fields))  # type: ignore[arg-type]


def test_words_are_analysed_as_posts_are() -> None:
    assert check("Firefighters", "one firefighter was hurt")
    assert check("O’Brien", "Mr O'Brien's car")
    assert check("STRASSENBAHN", "die Straßenbahn")
    assert check("covid-19", "COVID-19 is back") and not check("covid-19", "19 cases of covid")


def test_a_phrase_spans_stop_words_and_respects_order() -> None:
    assert check('"state of the union"', "the State of the Union address")
    assert not check('"state of the union"', "state union")
    assert not check('"house white"', "the White House")
    assert check('"house white"~2', "the White House") and not check('"house white"~1', "the White House")
    assert not check('"white house"~2', "white paint on that old house")
    assert check('"white house"~4', "white paint on that old house")


def test_a_near_phrase_needs_a_place_for_each_of_its_words() -> None:
    assert not check('"fire fire"~3', "fire alarm")
    assert check('"fire fire"~3', "fire, alarm, fire")


@pytest.mark.parametrize(
    ("query", "text", "answer"),
    [  # what Lucene's sloppy phrases find, and PowerTrack's "a b"~n: n - 2 others if the order is reversed
        ('"white house"~1', "white big house", True),
        ('"white house"~1', "white big old house", False),
        ('"house white"~3', "white big house", True),
        ('"house white"~2', "white big house", False),
        ('"one two three"~1', "one big two three", True),
        ('"one two three"~1', "one big two big three", False),
        ('"one two three"~2', "one big two big three", True),
        ('"one two three"~2', "two one three", True),
        ('"one two three"~4', "three two one", True),
        ('"one two three"~3', "three two one", False),
    ],
)
def test_near_words_are_those_of_lucene(query: str, text: str, answer: bool) -> None:
    assert check(query, text) is answer


def test_numbers_equal_text_and_codes_keep_their_zeros() -> None:
    assert check("volume:3e5", attributes={"volume": 300000})
    assert check("volume:300000", attributes={"volume": 300000.0})
    assert check("zip:01234", attributes={"zip": "01234"})
    assert not check("zip:01234", attributes={"zip": 1234})
    assert not check("n:9007199254740993", attributes={"n": 9007199254740992})


def test_every_field_can_be_asked_for() -> None:
    assert check("has:lat lat:>-34 ts:[2020-01-01 TO 2020-12-31] id:p", lat=-33.0, lon=151.0, ts=datetime(2020, 5, 1))
    assert check("topic:sports/*/final", topics=("sports/soccer/final/2020",))
    assert not check("topic:sports/*/final", topics=("sports/final",))


def test_han_letters_match_as_substrings() -> None:
    assert check("白宫", "昨天白宫说") and not check("白宫", "宫白")


def test_an_explanation_says_what_failed() -> None:
    explanation = explain(
        parse("fire volume:>10 OR smoke -drill"), Publication("p", "smoke drill", attributes={"volume": 3})
    )
    assert not explanation.matched
    assert explanation.reasons == ("fire: not found", '-drill: "drill"')


def test_an_explanation_of_a_failure_does_not_read_as_success() -> None:
    def why(query: str, text: str) -> str:
        return str(explain(parse(query), Publication("p", text)))

    assert why('"white house"', "house white") == 'no match: "white house": "house", "white", but not so'
    assert why('"white house"', "a house") == 'no match: "white house": only "house"'
    assert why("th*", "the end") == "no match: th*: not found"


def test_a_long_text_is_searched_for_near_words_in_linear_time() -> None:
    assert not check('"fire smoke"~1', "fire " * 100_000)


@examples(100)
@given(
    st.lists(st.sampled_from("xyz"), min_size=2, max_size=4),
    st.integers(1, 4),
    st.lists(st.sampled_from(["x", "y", "z", "d", "the"]), max_size=9),
)
def test_near_words_are_found_as_by_trying_every_place(words: list[str], slop: int, text: list[str]) -> None:
    """As Lucene has it: of the ways to give each word a place of its own, one moves none too far."""
    query, expected = f'"{" ".join(words)}"~{slop}', False
    for places in itertools.permutations(range(len(text)), len(words)):
        if all(text[place] == word for place, word in zip(places, words, strict=True)):
            moved = [place - k for k, place in enumerate(places)]
            expected = expected or max(moved) - min(moved) <= slop
    assert evaluate(parse(query), Publication("p", " ".join(text))) == expected
    engine = Engine()
    engine.subscribe(query, id="s")
    assert bool(engine.publish(id="p", text=" ".join(text))) == expected
