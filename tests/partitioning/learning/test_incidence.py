from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.partitioning.learning.samples import sample
from tidings.analysis.vocabulary import TermSets
from tidings.model import DataError
from tidings.model.query import Equals
from tidings.partitioning.learning import Incidence, split
from tidings.partitioning.learning.words import Words
from tidings.partitioning.mapping import hash_names
from tidings.terms.dictionary import Dictionary


def test_an_incidence_has_the_terms_that_count_of_the_rows_that_are_publications() -> None:
    terms = Dictionary()
    fire, smoke, symbol = terms.word("fire"), terms.word("smoke"), terms.term(Equals("symbol", "YHOO"))
    table = pa.table(
        {
            "id": ["a", None, "c", "d"],
            "text": ["Smoke and fires", "fire", "nothing", "smoke, smoke"],
            "symbol": ["YHOO", "YHOO", "YHOO", "GOOG"],
        }
    )
    incidence = Incidence.of(table, terms)
    assert [set(incidence.sets.row(i).tolist()) for i in range(3)] == [{fire, smoke, symbol}, {symbol}, {smoke}]
    assert incidence.keys.tolist() == hash_names(pa.array(["a", "c", "d"])).tolist()
    assert incidence.names.to_pylist() == ["", "fire", "smoke", "symbol=YHOO"] and incidence.posts == 3
    counted = np.array([False, True, False, True])
    assert Incidence.of(table, terms, counted=counted).frequencies().tolist() == [0, 1, 0, 2]
    assert incidence.taken(np.array([2, 0])).frequencies().tolist() == [0, 1, 2, 1]


def test_no_publications_at_all_are_an_incidence() -> None:
    terms = Dictionary()
    terms.word("fire")
    assert Incidence.of(pa.table({"id": pa.array([], pa.string())}), terms).frequencies().tolist() == [0, 0]


def test_arrays_that_do_not_fit_are_refused() -> None:
    sets, one = TermSets(np.array([0, 1]), np.array([2], dtype=np.int32)), np.ones(1, dtype=np.int64)
    with pytest.raises(DataError, match="numbered from 0 to 1"):
        Incidence(pa.array(["a", "b"]), sets, one.astype(np.uint64), one)
    with pytest.raises(DataError, match="as many keys and weights"):
        Incidence(pa.array(["a", "b", "c"]), sets, np.zeros(2, dtype=np.uint64), one)


def test_no_version_carries_more_than_half_of_a_fair_share() -> None:
    incidence = sample([{0}] * 60 + [{1}] * 30 + [{2}] * 10)
    # a fair share of four matchers is 25, half of it 12.5: 60 / 12.5 needs 4.8 versions, 30 / 12.5 needs 2.4
    assert split(incidence, 4).tolist() == [4, 4, 1]
    assert split(incidence, 16).tolist() == [16, 16, 4]
    assert split(incidence, 2).tolist() == [2, 2, 1]
    assert split(incidence, 4, share=np.inf).tolist() == [1, 1, 1]
    assert split(incidence, 1).tolist() == [1, 1, 1]


def test_copies_go_to_the_terms_with_most_publications_for_a_subscription() -> None:
    incidence = sample([{0, 1}] * 60 + [{1, 2}] * 30, filed=[50, 1, 9, 40])
    # term 1: 90 for one; term 2: 30 for 9; term 0: 60 for 50; term 3 never occurs
    assert split(incidence, 4, np.inf, copies=0.03).tolist() == [1, 4, 1, 1]
    assert split(incidence, 4, np.inf, copies=0.29).tolist() == [1, 4, 1, 1]
    assert split(incidence, 4, np.inf, copies=0.30).tolist() == [1, 4, 4, 1]
    with pytest.raises(DataError, match="filed="):
        split(sample([{0}]), 4, copies=1.0)


@pytest.mark.parametrize(("share", "copies"), [(0.0, 0.0), (-1.0, 0.0), (float("nan"), 0.0), (0.5, -0.1)])
def test_a_share_of_nothing_is_refused(share: float, copies: float) -> None:
    with pytest.raises(DataError, match="a share is above 0"):
        split(sample([{0}]), 4, share, copies)


def test_equal_sets_are_merged_and_versions_follow_the_keys() -> None:
    incidence = sample([{0, 1}, {1, 0}, {1}, {0, 1}], keys=[0, 1 << 62, 3 << 62, 3 << 62])
    plain = Words.of(incidence, 4, np.array([1, 1]))
    assert plain.weights.tolist() == [3, 1] and plain.frequencies[4:].tolist() == [3, 4]
    versions = Words.of(incidence, 4, np.array([2, 1]))
    assert versions.frequencies[4:].tolist() == [2, 1, 4] and versions.weights.tolist() == [2, 1, 1]
    everywhere = Words.of(incidence, 4, np.array([4, 1]))
    assert everywhere.frequencies.tolist() == [1, 1, 0, 1, 4]


def test_terms_that_are_everywhere_are_one_word_of_a_publication() -> None:
    words = Words.of(sample([{0, 1, 2}], keys=[1 << 63]), 4, np.array([4, 4, 1]))
    assert words.sets.ids.tolist() == [2, 4] and words.frequencies.tolist() == [0, 0, 1, 0, 1]


def test_versions_that_are_together_are_set_apart() -> None:
    words = Words.of(sample([{0}] * 4 + [{1}] * 3, keys=[0, 1 << 62, 2 << 62, 3 << 62, 0, 0, 0]), 3, np.array([2, 1]))
    assert words.frequencies.tolist() == [0, 0, 0, 2, 2, 3]
    assert words.apart(np.array([0, 1, 2, 1, 1, 0], dtype=np.int32)).tolist() == [0, 1, 2, 1, 2, 0]
