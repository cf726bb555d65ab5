"""How good is a partitioner on posts that it has not seen? Learned from most folds, measured with the one left out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.matching import Advance, silent
from benchmarks.s3tm.corpus import folds
from tidings.partitioning.learning import Hashed, Incidence, Network, Partitioner, Quality, Refined, Salb, measure

Row = dict[str, Any]
LISTING = "SALB listing"
"""SALB as the listing of the thesis has it."""

METHODS: dict[str, Callable[..., Partitioner]] = {
    "hash": Hashed,
    "gC": lambda **settings: Network(cut="gC", **settings),
    "gFC": lambda **settings: Network(cut="gFC", **settings),
    "gFCL": lambda **settings: Network(cut="gFCL", **settings),
    "gNFCL": lambda **settings: Network(cut="gNFCL", **settings),
    "SALB": Salb,
    LISTING: lambda **settings: Salb(imbalance="sqrt(var/mean)", **settings),
    "refined": Refined,
}
NETWORKS = frozenset({"gC", "gFC", "gFCL", "gNFCL"})
CONTENDERS = ("hash", "gFCL", "gNFCL", "SALB", "refined")
SHARE = 0.5
"""Of a matcher's fair load, beyond which a term is split: that of [S3TM] 5.1."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What all figures have in common.

    A partitioner learns from ``learn`` posts of all folds but one and is measured with that one, for each of the first
    ``measured`` of ``folds`` folds; of networks of words, which take long, for the first ``networks`` of them.
    ``matchers``: how many there are, one after another; ``placed``: where subscriptions are placed; ``on_spark``.
    ``so_far`` is given the figures of a run that takes long, whenever there are more of them.
    """

    learn: int = 40_000
    folds: int = 10
    measured: int = 10
    networks: int = 2
    subscriptions: int = 100_000
    most: int = 1_000_000
    matchers: tuple[int, ...] = (2, 4, 8, 16, 32, 64, 128, 256)
    placed: tuple[int, ...] = (16, 64)
    on_spark: tuple[int, ...] = (8, 16)
    seed: int = 1
    advance: Advance = silent
    so_far: Callable[[Row], object] = dict

    def count(self, method: str) -> int:
        """How many folds are measured."""
        measured = min(self.folds, self.measured)
        return min(measured, self.networks) if method in NETWORKS else measured


def trial(incidence: Incidence, method: str, matchers: int, plan: Plan, share: float | None = None) -> Row:
    """Means over folds, and standard deviations: of spread, imbalance and throughput, on posts that are held out.

    ``bound`` is the throughput that the same spread would give if all matchers had as much to do. ``learned_s`` is time
    of the processor.
    """
    found, seconds = zip(
        *(held_out(incidence, method, matchers, plan, share, n) for n in range(plan.count(method))), strict=True
    )
    return {"folds": len(found), **figures(list(found), matchers), "learned_s": round(float(np.mean(seconds)), 2)}


def held_out(
    incidence: Incidence, method: str, matchers: int, plan: Plan, share: float | None, fold: int
) -> tuple[Quality, float]:
    """The quality on the posts of one fold, and the seconds that learning from the others took."""
    partitioner = METHODS[method]() if share is None else METHODS[method](share=share)
    numbers = folds(len(incidence.sets), plan.folds, plan.seed)
    rest = np.random.default_rng(plan.seed + fold).permutation(np.flatnonzero(numbers != fold))[: plan.learn]
    sample, held = incidence.taken(np.sort(rest)), incidence.taken(np.flatnonzero(numbers == fold))
    began = time.process_time()
    mapping = partitioner.partition(sample, matchers)
    seconds = time.process_time() - began
    plan.advance(1)
    return measure(mapping, held), seconds


def figures(found: list[Quality], matchers: int) -> Row:
    """Means and standard deviations of some qualities."""
    row: Row = {}
    for name in ("spread", "imbalance", "throughput"):
        values = [getattr(quality, name) for quality in found]
        row |= {name: round(float(np.mean(values)), 3), f"{name}_sd": round(float(np.std(values)), 3)}
    return row | {"bound": round(matchers / row["spread"], 3) if row["spread"] else None}


def columns(rows: list[Row]) -> dict[str, list[Any]]:
    """From rows that have the same names to columns."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def beside_salb(rows: list[Row], *labels: str) -> list[Row]:
    """The rows with ``relative``: the throughput divided by that of SALB where all labels are the same."""
    salb = {tuple(row[label] for label in labels): row["throughput"] for row in rows if row["partitioner"] == "SALB"}
    return [
        row | {"relative": round(row["throughput"] / salb[tuple(row[label] for label in labels)], 3)} for row in rows
    ]
