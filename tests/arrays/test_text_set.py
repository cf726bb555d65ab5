"""A set of texts that grows by columns knows again just what a set of Python's would."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.arrays import text_set
from tidings.arrays.text_set import TextSet

TEXTS = st.lists(st.text("ab\u00e4", max_size=20) | st.text(max_size=3), max_size=30)


@given(st.lists(TEXTS, max_size=6), TEXTS, st.sampled_from([pa.string(), pa.large_string()]))
def test_what_came_before_is_known_again(columns: list[list[str]], asked: list[str], kind: pa.DataType) -> None:
    known, expected = TextSet(), set[str]()
    for texts in columns:
        met = known.add(pa.array(["cut off", *texts], kind).slice(1))
        for text, came_before in zip(texts, met.tolist(), strict=True):
            assert came_before == (text in expected)
            expected.add(text)
    assert known.has(pa.array(asked, kind)).tolist() == [text in expected for text in asked]


def test_it_grows_beyond_its_first_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_set, "_FIRST_PLACES", 4)
    known = TextSet()
    names = [f"post {number}" for number in range(1_000)]
    for start in range(0, 1_000, 7):
        assert not known.add(pa.array(names[start : start + 7])).any()
    assert known.has(pa.array(names)).all() and known.add(pa.array(names)).all()
    assert not known.has(pa.array(["post 1000", "post"])).any()


def test_a_text_that_comes_again_and_again_takes_one_place() -> None:
    known = TextSet()
    for _ in range(4):
        known.add(pa.array(["same"] * 10_000))
    assert np.count_nonzero(known._slots >= 0) == 1 and len(known) == 40_000


@pytest.mark.parametrize("name", ["{}", "1600000000000{:06}", "{:032x}", "{}-a-long-end-that-is-the-same"])
@pytest.mark.parametrize("seeds", [None, (0xC8869417842DE46D, 0xC8E345A4F5BEB8AD)])
def test_ids_that_count_up_are_spread(
    name: str, seeds: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or each would be looked for among many others. With those seeds the hash of files has 44 % in the second case."""
    if seeds:
        monkeypatch.setattr(text_set, "_seeds", lambda: np.array(seeds, dtype=np.uint64))
    known = TextSet()
    known.add(pa.array([name.format(number) for number in range(10_000)]))
    homes = np.unique(known._hashes.filled & np.uint64(len(known._slots) - 1))
    assert len(homes) > 0.7 * 10_000  # by chance it would be 74 %


def test_texts_of_one_hash_are_told_apart() -> None:
    """Whoever finds two ids of one hash must not be able to hide a post behind another's id."""
    known = TextSet()
    known.add(pa.array(["fire"]))
    table = known._offsets.view, known._data.view, known._hashes.array, known._slots
    hash_of_fire = known._hashes.array[0]
    for text, is_there in ((b"fire", True), (b"rain", False)):
        slot = text_set._slot(np.frombuffer(text, dtype=np.uint8), 0, 4, hash_of_fire, *table)
        assert (known._slots[slot] == 0) == is_there
