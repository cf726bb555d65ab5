"""Which rows have which terms? Pairs, as two arrays side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tidings.arrays import IdArray, IntArray
from tidings.arrays.runs import runs

Pairs = tuple[IntArray, IdArray]
"""Rows and the terms that they have, side by side."""

NO_PAIRS: Pairs = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32))


def as_pairs(pairs: Iterable[tuple[int, int]]) -> Pairs:
    """Pairs of numbers, by rows."""
    both = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1].astype(np.int32)


def each_once(rows: IntArray, terms: IdArray) -> Pairs:
    """The same pairs, by rows, each once."""
    both = np.unique(rows.astype(np.int64) << 32 | terms.astype(np.int64))
    return both >> 32, (both & 0xFFFFFFFF).astype(np.int32)


def by_rows(parts: Sequence[Pairs]) -> Pairs:
    """The pairs of several, by rows."""
    if len(parts) == 1:
        return parts[0]
    rows, terms = (np.concatenate(side) for side in zip(*parts, NO_PAIRS, strict=True))
    order = np.argsort(rows, kind="stable")
    return rows[order], terms[order]


def expanded(rows: IntArray, terms: list[tuple[int, ...]]) -> Pairs:
    """Rows, as numbers of distinct values (-1 for none), to pairs with the terms of their value."""
    lengths = np.array([len(own) for own in terms] + [0], dtype=np.int64)
    return _spread(rows, lengths, np.array([term for own in terms for term in own], dtype=np.int32))


def spread(rows: IntArray, count: int, values: IntArray, terms: IdArray) -> Pairs:
    """The same, where ``terms`` are those of ``values``, in order, of ``count`` distinct values."""
    return _spread(rows, np.bincount(values, minlength=count + 1), terms)


def _spread(rows: IntArray, lengths: IntArray, flat: IdArray) -> Pairs:
    """``flat`` has the terms of each value, ``lengths`` how many: of none for the last one, which rows -1 have."""
    counts = lengths[rows]
    return np.repeat(np.arange(len(rows)), counts), flat[runs((np.cumsum(lengths) - lengths)[rows], counts)]
