"""Small workloads: posts and queries on a map of 8 x 8 cells, one degree each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tidings.analysis.vocabulary import TermSets
from tidings.partitioning.hybrid.ground import Ground
from tidings.partitioning.hybrid.workload import Workload
from tidings.partitioning.load import LoadCosts
from tidings.terms.even_grid import Grid

Box = tuple[float, float, float, float]
Post = tuple[float, float, str]
Query = Sequence[tuple[str, Box | None]]
"""Conjunctions of words, the first of which files, and a box or none."""

GRID = Grid(0, 0, 8, 8, level=3)
NOWHERE = math.nan
WORDS = ["", *"abcdefgh"]
COSTS = LoadCosts(pair=0.01, post=1, insertion=2, deletion=0)


def workload(posts: Sequence[Post], queries: Sequence[Query], deletions: int = 0) -> Workload:
    """Posts (lon, lat, words) and queries; a word is a letter, and "" is word 0."""
    entries = [(n, words, box) for n, query in enumerate(queries) for words, box in query]
    return Workload(
        pa.array(WORDS, pa.large_string()),
        np.array([lon for lon, _, _ in posts], dtype=np.float64),
        np.array([lat for _, lat, _ in posts], dtype=np.float64),
        _sets([text for _, _, text in posts]),
        _sets(["".join(dict.fromkeys("".join(words for words, _ in query))) for query in queries]),
        np.array([n for n, _, _ in entries], dtype=np.int64),
        np.array([WORDS.index(words[:1]) for _, words, _ in entries], dtype=np.int32),
        np.array([box or (NOWHERE,) * 4 for _, _, box in entries], dtype=np.float64).reshape(-1, 4),
        deletions,
    )


def ground(posts: Sequence[Post], queries: Sequence[Query], costs: LoadCosts = COSTS) -> Ground:
    return Ground(workload(posts, queries), GRID, costs)


def _sets(texts: Sequence[str]) -> TermSets:
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts], dtype=np.int64)])
    return TermSets(offsets, np.array([WORDS.index(letter) for text in texts for letter in text], dtype=np.int32))


degrees = st.floats(0, 8, width=16)
letters = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=4).map("".join)


@st.composite
def boxes(draw: st.DrawFn) -> Box | None:
    if draw(st.integers(0, 7)) == 0:
        return draw(st.sampled_from([None, (-180.0, -90.0, 180.0, 90.0)]))
    (west, east), (south, north) = (sorted((draw(degrees), draw(degrees))) for _ in range(2))
    return west, south, east, north


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    place = st.one_of(st.tuples(degrees, degrees), st.just((NOWHERE, NOWHERE)))
    posts = draw(st.lists(st.tuples(place, letters), max_size=30))
    query = st.lists(st.tuples(letters, boxes()), min_size=1, max_size=3)
    return workload([(*at, text) for at, text in posts], draw(st.lists(query, max_size=20)), draw(st.integers(0, 9)))
