"""Small samples of publications to learn from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tidings.analysis.vocabulary import TermSets
from tidings.partitioning.learning import Incidence


def sample(
    rows: Sequence[set[int]],
    terms: int | None = None,
    keys: Sequence[int] | None = None,
    filed: Sequence[int] | None = None,
) -> Incidence:
    """The incidence of these sets; term t is called ``t<t>``."""
    most = 1 + max((term for row in rows for term in row), default=-1)
    names = pa.array([f"t{t}" for t in range(terms or (most if filed is None else len(filed)))], pa.large_string())
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    ids = np.array([term for row in rows for term in sorted(row)], dtype=np.int32)
    if keys is None:
        keys = np.random.default_rng(1).integers(0, 1 << 64, len(rows), dtype=np.uint64).tolist()
    weights = np.ones(len(rows), dtype=np.int64)
    counts = None if filed is None else np.array(filed, dtype=np.int64)
    return Incidence(names, TermSets(offsets, ids), np.array(keys, dtype=np.uint64), weights, counts)


@st.composite
def samples(draw: st.DrawFn) -> Incidence:
    terms = draw(st.integers(1, 12))
    term = st.integers(0, terms - 1).map(lambda t: t * t // terms)  # low ones are frequent
    rows = draw(st.lists(st.sets(term, max_size=6), max_size=30))
    keys = draw(st.lists(st.integers(0, (1 << 64) - 1), min_size=len(rows), max_size=len(rows)))
    return sample(rows, terms, keys, draw(st.lists(st.integers(0, 5), min_size=terms, max_size=terms)))


def topics(posts: int, seed: int, themes: int = 40, words: int = 20) -> Incidence:
    """Posts of five words, most of them of one theme, and two of words that go with all themes."""
    rng = np.random.default_rng(seed)
    theme = (themes * rng.random(posts) ** 2).astype(int)
    own = theme[:, None] * words + (words * rng.random((posts, 4)) ** 2).astype(int)
    common = themes * words + (200 * rng.random((posts, 2)) ** 2).astype(int)
    rows = [{int(t) for t in row} for row in np.hstack([own, common])]
    keys = rng.integers(0, 1 << 64, posts, dtype=np.uint64).tolist()
    return sample(rows, themes * words + 200, keys, rng.integers(0, 9, themes * words + 200).tolist())
