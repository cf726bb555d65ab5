"""Regular expressions: what they mean by definition is what Python and RE2 find, and none takes long."""

from __future__ import annotations

import re

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.language.strategies import patterns
from tidings.language import evaluate, parse
from tidings.language.regular import Program, needed, plain_text, regex_node
from tidings.model import Publication, QueryError
from tidings.model.query import Regex

_texts = st.text(st.sampled_from("abAB/é\\.0ßsSkK ſ\n"), max_size=8)


@examples(500)
@given(patterns, _texts)
def test_a_program_accepts_what_python_finds(pattern: str, text: str) -> None:
    if "(?i)" in pattern:  # Python has it at the beginning only
        pattern = "(?i)" + pattern.replace("(?i)", "")
    program = Program(regex_node(pattern))
    flags = re.ASCII if "(?i)" not in pattern else 0  # without its letters Python would not know the case of others
    if "(?i)" in pattern and (re.search(r"\\[wb]", pattern) or not text.isascii() or "ß" in pattern):
        return
    assert program.accepts(text) == (re.fullmatch(pattern.replace("$", r"\Z"), text, flags) is not None)


@examples(500)
@given(patterns, _texts, st.booleans())
def test_re2_finds_what_a_program_accepts_and_both_need_the_literals(pattern: str, text: str, folded: bool) -> None:
    node = regex_node(pattern, folded)
    accepted = Program(node).accepts(text)
    assert (re2.search(rf"\A(?:{plain_text(node)})\z", text) is not None) == accepted
    if accepted:
        for is_folded in (False, True):
            literals = needed(node, is_folded)
            assert not literals or any(literal in (text.casefold() if is_folded else text) for literal in literals)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?=a)b", "look-around is not linear"),
        (r"(a)\1", "back references are not linear"),
        ("a**", "two repetitions side by side"),
        ("*a", "repeats nothing"),
        ("(a", "'(' is not closed"),
        ("a)", "closes nothing"),
        ("[a", "'[' is not closed"),
        ("[z-a]", "the smaller one first"),
        ("[[:alpha:]]", "instead of [:name:]"),
        ("a{5,2}", "the smaller count comes first"),
        ("a{1001}", "counts to at most 1,000"),
        ("(a{100}){100}", "inside each other count to at most 1,000"),
        ("(?:[ab]{1000}|[cd]{1000}){1}" * 3, "more than 5,120 parts"),
        ("|".join([".{999}"] * 2), "more than 5,120 parts"),  # alternatives count together
        (
            "[" + "".join(map(chr, range(0x100, 0x300, 2))) + "]{200}",
            "more than 5,120 parts",
        ),  # so do ranges of a class
        ("(" * 60 + "a" + ")" * 60, "nested deeper than 50"),
        (r"\q", "not known here"),
        (r"\x{110000}", "no character has that number"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(pattern: str, reason: str) -> None:
    with pytest.raises(QueryError, match=re.escape(reason)):
        parse(f"name:/{pattern}/")


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(a*)*b", "(.*)(.*)(.*)b", "(a?){500}a{500}", "(a|aa)+$"])
def test_a_hostile_pattern_takes_steps_in_proportion_to_the_text(pattern: str) -> None:
    """Each would take a backtracking engine longer than the universe has existed."""
    asked = Regex("name", pattern)
    evaluate(asked, Publication("1", attributes={"name": "a" * 400}))


def test_letters_of_any_case_are_those_that_fold_alike() -> None:
    for text in ("K", "k", "\u212a"):
        assert Program(regex_node("k", folded=True)).accepts(text)
    assert not Program(regex_node("k")).accepts("K")
    assert not Program(regex_node("ss", folded=True)).accepts("ß")  # a class is one character


def test_a_line_feed_is_matched_by_the_flag_s_alone() -> None:
    assert not Program(regex_node("a.b")).accepts("a\nb")
    assert Program(regex_node("(?s)a.b")).accepts("a\nb") and Program(regex_node("(?s:a.)b")).accepts("a\nb")
    assert not Program(regex_node("(?s:a)b.")).accepts("ab\n")
