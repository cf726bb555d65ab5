"""Which rows have which terms? Pairs, as two arrays side by side."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tidings.arrays import IdArray, IntArray

Pairs = tuple[IntArray, IdArray]
"""Rows and the terms that they have, side by side."""


def as_pairs(pairs: Iterable[tuple[int, int]]) -> Pairs:
    """Pairs of numbers, by rows."""
    both = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1].astype(np.int32)


def each_once(rows: IntArray, terms: IdArray) -> Pairs:
    """The same pairs, by rows, each once."""
    both = np.unique(rows.astype(np.int64) << 32 | terms.astype(np.int64))
    return both >> 32, (both & 0xFFFFFFFF).astype(np.int32)


def expanded(rows: IntArray, terms: list[tuple[int, ...]]) -> Pairs:
    """Rows, as numbers of distinct values (-1 for none), to pairs with the terms of their value."""
    lengths = np.array([len(own) for own in terms] + [0], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])[:-1]
    flat = np.array([term for own in terms for term in own], dtype=np.int32)
    counts = lengths[rows]  # row -1 is the last one, of length 0
    ends = np.cumsum(counts)
    places = np.repeat(starts[rows] - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)
    return np.repeat(np.arange(len(rows)), counts), flat[places]
