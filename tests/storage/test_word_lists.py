"""Are words that somebody else has read the same as those that are read here?"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tidings.analysis.fast import FastAnalyser
from tidings.analysis.vocabulary import TermSets, WordSets
from tidings.storage.guards import word_key
from tidings.storage.word_lists import WordLists, WordNumbers, named

WORDS = "fire smoke drill flood storm rain".split()
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), max_size=6)


def read(analyser: FastAnalyser, texts: list[str]) -> WordSets:
    return WordSets(analyser.vocabulary, analyser.analyse(pa.array(texts, pa.large_string())))


def having(texts: list[str], word: str) -> list[int]:
    return [place for place, text in enumerate(texts) if word in text.split()]


@given(st.lists(st.tuples(st.integers(0, 2), TEXTS), min_size=1, max_size=5))
def test_words_of_several_readers_are_numbered_as_one(drawn: list[tuple[int, list[str]]]) -> None:
    readers, own = [FastAnalyser() for _ in range(2)], FastAnalyser()
    numbers = WordNumbers(own.vocabulary)
    found = [numbers.of(read([*readers, own][who], texts)) for who, texts in drawn]
    texts, joined = [text for _, some in drawn for text in some], WordLists.joined(found)
    assert len(joined.sets) == len(texts)
    for word in WORDS:
        assert joined.with_word(word).tolist() == having(texts, word)


@given(st.lists(st.tuples(st.integers(0, 2), TEXTS), min_size=1, max_size=5))
def test_lists_by_name_are_in_order_whoever_read_the_words(drawn: list[tuple[int, list[str]]]) -> None:
    readers = [FastAnalyser() for _ in range(3)]
    lists = named([WordLists(*read(readers[who], texts)) for who, texts in drawn])
    texts = [text for _, some in drawn for text in some]
    for word in WORDS:
        assert lists.with_key(word_key(word)).tolist() == having(texts, word)


def test_a_word_that_nobody_had_when_the_block_was_made_has_no_list() -> None:
    analyser = FastAnalyser()
    lists = WordLists(*read(analyser, ["fire", "smoke"]))
    assert lists.with_word("flood").tolist() == [] and lists.with_word("smoke").tolist() == [1]
    analyser.analyse(pa.array(["flood"]))
    assert lists.with_word("flood").tolist() == []


def test_sets_of_terms_are_joined() -> None:
    rows = [[[5], [6, 7]], [[8]], [[], [9]]]
    parts = [
        TermSets(np.cumsum([0, *map(len, some)]), np.array([each for row in some for each in row], dtype=np.int32))
        for some in rows
    ]
    joined = TermSets.joined(parts)
    assert [joined.row(row).tolist() for row in range(len(joined))] == [row for some in rows for row in some]
