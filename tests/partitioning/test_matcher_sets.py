from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.analysis.vocabulary import TermSets
from tidings.partitioning import MatcherSets, Owners

Lists = list[set[int]]


def sets_of(lists: Lists, matchers: int) -> MatcherSets:
    """The sets themselves as terms, each owned by the matcher of its number."""
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in lists])]).astype(np.int64)
    ids = np.array([m for own in lists for m in own], dtype=np.int32)
    return MatcherSets.owning(TermSets(offsets, ids), Owners.single(np.arange(matchers, dtype=np.int32)), matchers)


@st.composite
def two_lists(draw: st.DrawFn) -> tuple[int, Lists, Lists]:
    matchers = draw(st.sampled_from([1, 2, 63, 64, 65, 128, 256]))
    both = draw(st.lists(st.tuples(*[st.sets(st.integers(0, matchers - 1), max_size=6)] * 2), max_size=5))
    return matchers, [a for a, _ in both], [b for _, b in both]


@given(two_lists(), st.data())
def test_sets_are_sets(drawn: tuple[int, Lists, Lists], data: st.DataObject) -> None:
    matchers, left, right = drawn
    sets, others = sets_of(left, matchers), sets_of(right, matchers)
    pairs = [(i, m) for i, own in enumerate(left) for m in sorted(own)]
    assert list(zip(*(array.tolist() for array in sets.pairs()), strict=True)) == pairs
    assert sets.sizes().tolist() == [len(own) for own in left]
    matcher = data.draw(st.integers(0, matchers - 1))
    assert sets.with_matcher(matcher).tolist() == [i for i, own in enumerate(left) if matcher in own]
    expected = [any(m < matcher for m in a & b) for a, b in zip(left, right, strict=True)]
    assert sets.meet_below(others, matcher).tolist() == expected


@given(two_lists(), st.integers(0, 3))
def test_sets_travel_as_a_column(drawn: tuple[int, Lists, Lists], start: int) -> None:
    matchers, lists, _ = drawn
    sets = sets_of(lists, matchers)
    column = sets.column().slice(start)
    for sent in (column, column.cast(pa.binary()), pa.chunked_array([column, column], column.type)):
        back = MatcherSets.from_column(sent, matchers)
        times = len(sent) // max(len(column), 1)
        assert np.array_equal(back.words, np.tile(sets.words[start:], (times, 1)))


@pytest.mark.parametrize("matchers", [1, 64, 65, 256])
def test_empty_sets_have_room_for_all_matchers(matchers: int) -> None:
    sets = MatcherSets.empty(2, matchers)
    assert sets.with_matcher(matchers - 1).tolist() == [] and sets.words.shape[1] == (matchers + 63) // 64
