"""Which words belong together, if all that counts is how often two of them meet? METIS cuts the network of words.

Implements [S3TM] 3.2. Symbols: f(w) the publications of a word, f(v, w) those of two, fn(w) the sum of f(v, w) over all
v. Here they are counts; METIS wants whole numbers, so loads that are fractions are scaled. Departs from the paper:
versions of a term which METIS puts together are set apart afterwards.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tidings.arrays import IdArray, IntArray
from tidings.model import DataError
from tidings.partitioning.learning import kernels
from tidings.partitioning.learning.partitioner import Partitioner
from tidings.partitioning.learning.words import Words

Cut = Literal["gC", "gFC", "gFCL", "gNFCL"]
_MOST = 1 << 30
"""METIS adds weights in 32 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network(Partitioner):
    """The network of words, cut by METIS where the fewest words that meet are parted.

    gC: a pair of words counts 1, and so does a word: parts have equally many. gFC: a pair counts f(v, w). gFCL: in
    addition a word counts f(w), so parts have equal sums of it. gNFCL: a word counts f(w) / (1 + fn(w) / f(w)), which
    makes up for the publications that its neighbours bring as well. Cost: minutes for a million publications, and
    12 bytes for each pair of words that meet, twice.
    """

    cut: Cut = "gFCL"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.cut not in ("gC", "gFC", "gFCL", "gNFCL"):
            raise DataError(f"a cut is gC, gFC, gFCL or gNFCL, got {self.cut!r}; choose one of them")

    def place(self, words: Words) -> IdArray:
        placed = words.start()
        if words.matchers == 1:
            placed[:] = 0
            return placed
        bounds, others, together = _network(words)
        loads = _loads(self.cut, words, bounds, together)
        weights = None if self.cut == "gC" else _scaled(together)
        placed[words.matchers :] = _parts(words.matchers, bounds, others, loads, weights, self.seed)
        return words.apart(placed)


def _network(words: Words) -> tuple[IntArray, IdArray, IntArray]:
    """The neighbours of each word that is not fixed, numbered from 0: CSR of both directions, and f(v, w)."""
    sets, free = words.sets, words.sets.ids >= words.matchers
    offsets = np.concatenate([[0], np.cumsum(free)])[sets.offsets]
    ids = sets.ids[free] - np.int32(words.matchers)
    starts, rows = (
        words.starts[words.matchers :] - words.starts[words.matchers],
        words.rows[words.starts[words.matchers] :],
    )
    bounds = np.zeros(len(starts), dtype=np.int64)
    kernels.count_neighbours(starts, rows, offsets, ids, bounds)
    others, together = np.empty(bounds[-1], dtype=np.int32), np.empty(bounds[-1], dtype=np.int64)
    kernels.meet(starts, rows, offsets, ids, words.weights, bounds, others, together)
    return bounds, others, together


def _loads(cut: Cut, words: Words, bounds: IntArray, together: IntArray) -> IntArray | None:
    f = words.frequencies[words.matchers :]
    if cut in ("gC", "gFC"):
        return None
    if cut == "gFCL":
        return _scaled(f)
    sums = np.concatenate([[0], np.cumsum(together)])
    fn = sums[bounds[1:]] - sums[bounds[:-1]]
    return _scaled(f * f / np.maximum(f + fn, 1))


def _scaled(weights: npt.NDArray[Any]) -> IntArray:
    """Whole numbers of at least 1 that are as the weights, as fine as METIS can add them up."""
    factor = _MOST / max(float(weights.sum()), 1.0)
    if np.issubdtype(weights.dtype, np.integer):
        factor = min(factor, 1.0)
    scaled: IntArray = np.maximum(np.rint(weights * factor), 1).astype(np.int64)
    return scaled


def _parts(
    matchers: int, bounds: IntArray, others: IdArray, loads: IntArray | None, weights: IntArray | None, seed: int
) -> IdArray:
    if len(bounds) <= 1:
        return np.zeros(0, dtype=np.int32)
    metis = pymetis()
    network, options = metis.CSRAdjacency(bounds, others), metis.Options(seed=seed)
    found = metis.part_graph(matchers, network, vweights=loads, eweights=weights, options=options)
    return np.array(found.vertex_part, dtype=np.int32)


def pymetis() -> ModuleType:
    """METIS; a DataError says how to get it where it is missing."""
    try:
        return importlib.import_module("pymetis")
    except ImportError as error:
        problem = f"networks of words are cut by METIS, and pymetis cannot be imported ({error})"
        raise DataError(f'{problem}: pip install "tidings[metis]"') from error
