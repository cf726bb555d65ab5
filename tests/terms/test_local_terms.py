"""Words in regions are found by their numbers, and no others."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidings.analysis.vocabulary import TermSets
from tidings.terms.local_terms import LocalTerms


def ids(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(values, dtype=np.int32)


@given(seed=st.integers(0, 10**6))
def test_it_is_a_dictionary_of_pairs_however_it_grew(seed: int) -> None:
    rng = random.Random(seed)
    known: dict[tuple[int, int], int] = {}
    terms = LocalTerms()
    for _ in range(4):
        fresh = {(rng.randrange(5), rng.randrange(60)) for _ in range(rng.randrange(80))} - known.keys()
        numbered = {pair: len(known) + n for n, pair in enumerate(sorted(fresh))}
        terms.put(ids([r for r, _ in numbered]), ids([t for _, t in numbered]), ids([*numbered.values()]))
        known |= numbered
        asked = [(r, t) for r in range(6) for t in range(-1, 61)]
        found = terms.find(ids([r for r, _ in asked]), ids([t for _, t in asked])).tolist()
        assert found == [known.get(pair, -1) for pair in asked]
        assert [column.tolist() for column in terms.items()] == [
            [r for r, _ in known], [t for _, t in known], [*known.values()]
        ]  # fmt: skip
        assert len(terms) == len(known)


@given(seed=st.integers(0, 10**6))
def test_a_post_has_its_words_in_its_region_and_everywhere(seed: int) -> None:
    rng = random.Random(seed)
    pairs = sorted({(rng.randrange(4), rng.randrange(12)) for _ in range(rng.randrange(30))})
    terms = LocalTerms()
    terms.put(ids([r for r, _ in pairs]), ids([t for _, t in pairs]), ids([*range(len(pairs))]))
    posts = [rng.sample(range(1, 12), rng.randrange(6)) + [-1] * rng.randrange(2) for _ in range(8)]
    cells = [rng.randrange(-1, 3) for _ in posts]
    offsets = np.cumsum([0, *map(len, posts)])
    found = terms.local(ids(cells), ids([1, 2, 3]), TermSets(offsets, ids([t for post in posts for t in post])))
    for row, (cell, post) in enumerate(zip(cells, posts, strict=True)):
        regions = {0, cell + 1} if cell >= 0 else {0}
        expected = [n for n, (r, t) in enumerate(pairs) if r in regions and t in {0, *post}]
        assert sorted(found.row(row).tolist()) == expected
