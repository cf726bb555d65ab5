"""What would a post say that people can read? A sentence about its topic and its city."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidings.workloads.draws import IntArray
from tidings.workloads.themes import CITIES, THEMES

_PATTERNS = (
    "{a} and {b} in {city} tonight",
    "Breaking: {a} near {city}, {b} expected",
    "{city} wakes up to {a} after {b}",
    "Who else in {city} is talking about {a} and {b}?",
    "{a} reported in {city}, more on {b} soon",
    "After the {a} comes the {b}",
    "Live from {city}: {a}, {b}, {c}",
    "I have never seen so much {a} and {b} in {city}",
    "{a} or {b}? {city} argues about {c}",
    "Nobody in {city} expected {a} before {b}",
    "{city} says no to {a} and yes to {b}",
    "Everything you need to know about {a}, {b} and {c}",
)
_PIECES = [re.split(r"\{(\w+)\}", pattern) for pattern in _PATTERNS]
_WORDS = pa.array([word for words in THEMES.values() for word in words])
_PER_THEME = len(_WORDS) // len(THEMES)
_NAMES = pa.array([name for name, _, _ in CITIES])


def sentences(rng: np.random.Generator, topic: IntArray, city: IntArray) -> pa.Array:
    """A sentence for each topic and city, by their numbers; topics beyond the themes speak of a theme as well.

    >>> rows = np.arange(3)
    >>> sentences(np.random.default_rng(2), rows, rows).to_pylist()[1]
    'Who else in London is talking about drill and wind?'
    """
    rows = len(topic)
    first = (topic % len(THEMES)) * _PER_THEME
    places = rng.permuted(np.tile(np.arange(_PER_THEME), (rows, 1)), axis=1)[:, :3]  # three different words
    filled = {name: _WORDS.take(pa.array(first + places[:, k])) for k, name in enumerate("abc")}
    filled["city"] = _NAMES.take(pa.array(city))
    pattern = rng.integers(len(_PATTERNS), size=rows)
    order = np.argsort(pattern, kind="stable")
    made = [_of_pattern(number, pa.array(np.flatnonzero(pattern == number)), filled) for number in range(len(_PIECES))]
    back = np.empty(rows, dtype=np.int64)
    back[order] = np.arange(rows)
    return pa.concat_arrays(made).take(pa.array(back))


def _of_pattern(number: int, rows: pa.Array, filled: dict[str, pa.Array]) -> pa.Array:
    parts = [filled[piece].take(rows) if k % 2 else piece for k, piece in enumerate(_PIECES[number])]
    joined = pc.binary_join_element_wise(*parts, "")
    return pc.binary_join_element_wise(
        pc.utf8_upper(pc.utf8_slice_codeunits(joined, 0, 1)), pc.utf8_slice_codeunits(joined, 1), ""
    )
