"""Pieces of values are found in one pass: what is found is what trying each of them finds."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.language.strategies import patterns
from tidings.language.atoms import has_piece
from tidings.model.query import Contains, EndsWith, Piece, Regex, StartsWith, Wildcard
from tidings.terms.finding import finder as finding
from tidings.terms.finding.automaton import BEGIN, END, Automaton, text_arrays
from tidings.terms.finding.finder import MAX_KNOWN, Finder

_letters = st.text(st.sampled_from("abABéßİ"), min_size=1, max_size=4)
_pieces: st.SearchStrategy[Piece] = st.one_of(
    *(st.builds(kind, st.just("x"), _letters, st.booleans()) for kind in (StartsWith, EndsWith, Contains)),
    st.builds(Wildcard, st.just("x"), st.tuples(_letters, _letters), st.sampled_from([("*",), ("?",)]), st.booleans()),
    st.builds(Wildcard, st.just("x"), st.tuples(_letters, st.just(""), _letters), st.just(("?", "*")), st.booleans()),
    st.builds(Regex, st.just("x"), patterns, st.booleans()),
)
_texts = st.lists(st.text(st.sampled_from("abABéßİs/ \n"), max_size=9), min_size=1, max_size=6, unique=True)


@examples(300)
@given(st.lists(_pieces, max_size=12, unique=True), _texts, st.integers(0, 12))
def test_a_finder_finds_what_each_piece_finds(pieces: list[Piece], texts: list[str], first: int) -> None:
    """Also where pieces are added after others have been looked for, and when a text is asked about again."""
    finder = Finder()
    for known in (pieces[:first], pieces):
        for term, piece in enumerate(known):
            if known is not pieces or term >= first:
                finder.put(piece, term)
        expected = [(n, term) for n, text in enumerate(texts) for term, p in enumerate(known) if has_piece(p, text)]
        rows, terms = finder.of_texts(pa.array(texts))
        assert sorted(zip(rows.tolist(), terms.tolist(), strict=True)) == expected and sorted(rows) == rows.tolist()
        for _ in range(2):
            assert [(n, t) for n, text in enumerate(texts) for t in sorted(finder.of_text(text))] == expected


@examples(200)
@given(
    st.lists(st.binary(min_size=1, max_size=4).filter(lambda b: not {0xFE, 0xFF} & {*b}), unique=True, max_size=20),
    st.lists(st.binary(max_size=12).filter(lambda b: not {0xFE, 0xFF} & {*b}), max_size=5),
)
def test_an_automaton_finds_each_literal_of_each_text_once(literals: list[bytes], texts: list[bytes]) -> None:
    marked = [*literals, *(BEGIN + one for one in literals), *(one + END for one in literals)]
    rows, found = Automaton(marked).find(*text_arrays(texts))
    whole = [BEGIN + text + END for text in texts]
    expected = [(row, n) for row, text in enumerate(whole) for n, literal in enumerate(marked) if literal in text]
    assert sorted(zip(rows.tolist(), found.tolist(), strict=True)) == expected


def test_literals_inside_each_other_are_found_once_in_a_long_text() -> None:
    """Each of 2,000 literals ends at each of 100,000 places: the pairs are 2,000, not 200 million."""
    automaton = Automaton([b"a" * n for n in range(1, 2_001)])
    rows, found = automaton.find(*text_arrays([b"a" * 100_000, b"", b"ba"]))
    assert sorted(found[rows == 0].tolist()) == [*range(2_000)] and found[rows == 2].tolist() == [0]


def test_many_pieces_that_come_one_by_one_have_few_automata() -> None:
    finder = Finder()
    for n in range(300):
        finder.put(Contains("x", f"<{n}>"), n)
        assert finder.of_text(f"a<{n}>b") == (n,)
    assert len(finder._sides[0].levels()) <= 9
    assert finder.of_text("<0><299>") == (0, 299)


def test_a_finder_forgets_texts_rather_than_grow() -> None:
    finder = Finder()
    finder.put(Contains("x", "7"), 1)
    for n in range(MAX_KNOWN + 10):
        finder.of_text(str(n))
    finder.of_text("7" * 5_000)
    assert len(finder._known) <= MAX_KNOWN and max(map(len, finder._known)) < 5_000


@examples(200)
@given(st.lists(_pieces, min_size=1, max_size=8, unique=True), st.lists(_texts, max_size=6), st.integers(0, 6))
def test_batches_that_have_texts_again_find_what_each_piece_finds(
    pieces: list[Piece], batches: list[list[str]], second: int
) -> None:
    finder, asked = Finder(), list[Piece]()
    for number, texts in enumerate(batches):
        for piece in pieces if number == second else pieces[: len(pieces) // 2] if number == 0 else ():
            finder.put(piece, len(asked))
            asked.append(piece)
        rows, terms = finder.of_texts(pa.array(texts))
        expected = [(n, term) for n, text in enumerate(texts) for term, p in enumerate(asked) if has_piece(p, text)]
        assert sorted(zip(rows.tolist(), terms.tolist(), strict=True)) == expected and sorted(rows) == rows.tolist()


def test_batches_remember_texts_that_come_again_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "MAX_KNOWN", 8)
    finder, kept = Finder(), list[list[str]]()
    finder.put(Contains("name", "a"), 1)
    for batch in ("abcd", "abcx", "abcxyz", "pq", "abcdefghi", "ab"):
        finder.of_texts(pa.array([*batch]))
        kept.append(finder._known_to_batches._last[0].to_pylist())
    assert ["".join(each) for each in kept] == ["abcd", "abcdx", "abcdxyz", "pq", "", "ab"]
    finder.put(Contains("name", "b"), 2)
    assert [each.tolist() for each in finder.of_texts(pa.array(["ab"]))] == [[0, 0], [1, 2]]


def test_a_thousand_characters_of_any_kind_can_be_asked_for() -> None:
    """One of Sigma's public rules does."""
    finder = Finder()
    finder.put(Regex("x", "(?s:.*)(?:.{1000,})(?s:.*)"), 7)
    assert [[*finder.of_text(text)] for text in ("é" * 999, "\n" + "é" * 1_000, "a" * 999 + "\n" + "a" * 999)] == [
        [],
        [7],
        [],
    ]
