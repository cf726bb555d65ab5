"""Which operations does the evaluation of [LSM] do? Each note on a map subscribes or publishes, in the cell around it.

As in [LSM] 7.1.1: 500 x 500 cells over a region, or a quadtree of depth 5, or circles of five radii.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from tidings.arrays import IntArray
from tidings.terms import cells, labels

GRID = 500
DEPTH = 5
RADII = (4.0, 2.0, 1.0, 0.5, 0.25)
"""In widths of the smallest cell ([LSM] 7.2.3)."""

LOADS = {"3:1": 0.25, "1:3": 0.75}
"""Subscriptions to publications, and which part of the operations publishes."""

REGION = (-10.0, 36.0, 30.0, 60.0)
"""West, south, east, north: Europe, with 122,744 of the notes."""

Places = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Step:
    """An operation to come. ``group``: the level or the radius of its label."""

    label: bytes
    publishes: bool
    group: str


@dataclass(frozen=True, slots=True)
class Load:
    """Operations, a row each: which of ``names`` and ``groups`` it has, and whether it publishes."""

    names: Sequence[bytes]
    groups: Sequence[str]
    label: IntArray
    group: IntArray
    publishes: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.label)

    def steps(self, first: int, last: int) -> Iterator[Step]:
        columns = (self.label[first:last], self.publishes[first:last], self.group[first:last])
        for label, publishes, group in zip(*(column.tolist() for column in columns), strict=True):
            yield Step(self.names[label], publishes, self.groups[group])


def places(data: Path | None, count: int, seed: int) -> Places:
    """So many places in [0, 1): of the notes of a region in their order, over and over, or made up in clusters."""
    if data is None:
        rng = np.random.default_rng(seed)
        around = rng.random((2_000, 2))[rng.zipf(1.3, count) % 2_000]
        return np.asarray(np.clip(around + rng.normal(0, 0.002, (count, 2)), 0, 0.999_999))
    table = pq.read_table(data / "notes.parquet", columns=["lon", "lat"])
    found = np.column_stack([table["lon"].to_numpy(), table["lat"].to_numpy()])
    west, south, east, north = REGION
    scaled = (found - (west, south)) / (east - west, north - south)
    inside = scaled[((scaled >= 0) & (scaled < 1)).all(axis=1)]
    return np.resize(inside, (count, 2))


def grid(at: Places, publishing: float, seed: int) -> Load:
    """Each place as an operation on its cell of 500 x 500."""
    column, row = (at * GRID).astype(np.int64).T
    names = [number.to_bytes(8, "big") for number in range(GRID * GRID)]
    publishes = np.random.default_rng(seed).random(len(at)) < publishing
    return Load(names, ["cell"], column * GRID + row, np.zeros(len(at), dtype=np.int64), publishes)


def levels(at: Places, seed: int) -> Load:
    """Each place as an operation on a cell of the quadtree around it; a level up is half as likely ([LSM] 7.2.3)."""
    rng = np.random.default_rng(seed)
    chances = 0.5 ** np.arange(DEPTH, -1, -1)
    group = rng.choice(DEPTH + 1, len(at), p=chances / chances.sum())
    names = [_cell(x, y, level) for (x, y), level in zip(at.tolist(), group.tolist(), strict=True)]
    return _load(names, [f"level {level}" for level in range(DEPTH + 1)], group, rng)


def circles(at: Places, seed: int) -> tuple[Load, Load, dict[bytes, list[bytes]]]:
    """Each place as a circle: as an operation on the smallest cell around it; the same with a label of its own; and the
    smallest cells that each of those labels intersects."""
    rng = np.random.default_rng(seed)
    group = rng.choice(len(RADII), len(at))
    width = 1 / 2**DEPTH
    around, leaves = [], {}
    for number, ((x, y), which) in enumerate(zip(at.tolist(), group.tolist(), strict=True)):
        around.append(_around(x, y, RADII[which] * width))
        leaves[number.to_bytes(8, "big")] = _touched(x, y, RADII[which] * width)
    variable = _load(around, [f"radius {radius:g}" for radius in RADII], group, rng)
    own = Load([*leaves], variable.groups, np.arange(len(at)), group, variable.publishes)
    return variable, own, leaves


def _load(names: list[bytes], groups: list[str], group: IntArray, rng: np.random.Generator) -> Load:
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    label = np.array([places[name] for name in names], dtype=np.int64)
    return Load([*places], groups, label, group, rng.random(len(names)) < 0.5)


def _cell(x: float, y: float, level: int) -> bytes:
    return labels.to_bytes(cells.cell(360 * x - 180, 180 * y - 90, level))


def _around(x: float, y: float, radius: float) -> bytes:
    """The smallest cell around what a circle has in common with the region."""
    low_x, low_y, high_x, high_y = _box(x, y, radius)
    level = max(
        level
        for level in range(DEPTH + 1)
        if int(low_x * 2**level) == int(high_x * 2**level) and int(low_y * 2**level) == int(high_y * 2**level)
    )
    return _cell(x, y, level)


def _touched(x: float, y: float, radius: float) -> list[bytes]:
    """The smallest cells that a circle intersects."""
    side = 2**DEPTH
    low_x, low_y, high_x, high_y = (int(bound * side) for bound in _box(x, y, radius))
    found = []
    for column, row in product(range(low_x, high_x + 1), range(low_y, high_y + 1)):
        nearest = min(max(x, column / side), (column + 1) / side), min(max(y, row / side), (row + 1) / side)
        if (nearest[0] - x) ** 2 + (nearest[1] - y) ** 2 <= radius**2:
            found.append(_cell((column + 0.5) / side, (row + 0.5) / side, DEPTH))
    return found


def _box(x: float, y: float, radius: float) -> tuple[float, float, float, float]:
    last = 1 - 1e-9
    return max(x - radius, 0), max(y - radius, 0), min(x + radius, last), min(y + radius, last)
