"""What does a move cost beside compiling everything? Some parcels of a cluster, to other matchers, files included."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.matching import Advance, Workload, silent
from tidings.analysis import ENGLISH
from tidings.arrays import IntArray
from tidings.cluster.placing import place
from tidings.cluster.shares import Shares
from tidings.index.subscribers import with_all_columns
from tidings.partitioning import Mapping, Move
from tidings.terms.sample import Sample

_WARM = 20_000
"""So many subscriptions are compiled and moved before, to load the kernels."""


def measure(
    workload: Workload, matchers: int = 8, share: float = 0.01, rounds: int = 3, advance: Advance = silent
) -> dict[str, Any]:
    """The best of some rounds, in each of which all is compiled and then ``share`` of the load is moved."""
    table, sample = with_all_columns(workload.subscriptions), workload.sample
    mapping, rng = Mapping.hashed(matchers), np.random.default_rng(1)
    loads = place(table, mapping, Sample(ENGLISH, sample)).router.touched(workload.posts)
    found = []
    with TemporaryDirectory() as folder:
        for number in range(-1, rounds):
            shares = Shares(Path(folder, str(number)), mapping, ENGLISH, sample)
            chosen = chosen_parcels(loads, share, rng)
            to = (mapping.owner[chosen] + 1 + rng.integers(matchers - 1, size=len(chosen))) % matchers
            moved = mapping.moved(Move(*move) for move in zip(chosen.tolist(), to.tolist(), strict=True))
            rows = table.slice(0, _WARM) if number < 0 else table
            compiled_s = _timed(partial(shares.fill, rows)) + _timed(shares.save)
            moved_s = _timed(partial(shares.move, moved)) + _timed(shares.save)
            if number >= 0:
                found.append((compiled_s, moved_s, float(loads[chosen].sum() / loads.sum()), len(chosen)))
                advance(1)
    compiled, move, shares_moved, parcels = zip(*found, strict=True)
    return {
        "subscriptions": table.num_rows,
        "matchers": matchers,
        "rounds": rounds,
        "parcels_moved": list(parcels),
        "load_moved": [round(each, 4) for each in shares_moved],
        "compiled_s": round(min(compiled), 3),
        "moved_s": [round(each, 3) for each in move],
        "compiled_by_moved": round(min(compiled) / min(move), 1),
    }


def chosen_parcels(loads: IntArray, share: float, rng: np.random.Generator) -> IntArray:
    """Parcels by chance, with at least ``share`` of the load and not much more."""
    order = rng.permutation(np.flatnonzero((loads > 0) & (loads <= share * loads.sum() / 2)))
    return order[: 1 + int(np.searchsorted(np.cumsum(loads[order]), share * loads.sum()))]


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
