"""What do columns of ranges and rectangles cost as guards, and which terms cover them?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tidings.arrays import IdArray, IntArray
from tidings.index.entries import runs
from tidings.index.filing import MAX_COVER
from tidings.index.predicates import Predicates
from tidings.language.shapes.conditions import Boxes, Ranges
from tidings.tables.columns import LAT, LON, KeyArray, number_keys
from tidings.terms import cells, intervals
from tidings.terms.cover import Covers
from tidings.terms.dictionary import Dictionary
from tidings.terms.sample import Sample

FloatArray = npt.NDArray[np.float64]


class Area(Protocol):
    """A column of areas: the ``costs`` of their covers, and what its predicates compare."""

    @property
    def costs(self) -> FloatArray: ...

    @property
    def slots(self) -> tuple[int, int]: ...

    @property
    def keys(self) -> KeyArray: ...

    def guards(self, rows: IntArray) -> tuple[IntArray, IdArray]:
        """How many parts the covers of some have, and the terms of all these parts."""


@dataclass(frozen=True, slots=True, eq=False)
class BoxArea:
    """Rectangles; they are covered when somebody wants their guards."""

    terms: Dictionary
    sides: FloatArray
    costs: FloatArray
    slots: tuple[int, int]
    keys: KeyArray

    @classmethod
    def of(cls, column: Boxes, terms: Dictionary, sample: Sample) -> BoxArea:
        keys = number_keys(np.ascontiguousarray(column.sides[:, [0, 2, 1, 3]]))
        return cls(terms, column.sides, sample.boxes(column.sides), (LON, LAT), keys)

    def guards(self, rows: IntArray) -> tuple[IntArray, IdArray]:
        covers = cells.cover_many(self.sides[rows], MAX_COVER)
        return np.diff(covers.offsets), self.terms.many_cells(covers.labels)


@dataclass(frozen=True, slots=True, eq=False)
class RangeArea:
    """Ranges of one attribute; what they cost is what their covers hold."""

    terms: Dictionary
    name: str
    covers: Covers
    costs: FloatArray
    slots: tuple[int, int]
    keys: KeyArray

    @classmethod
    def of(cls, column: Ranges, terms: Dictionary, sample: Sample) -> RangeArea:
        name = column.condition.name
        low, high = column.closed()
        covers = intervals.cover_many(low, high, MAX_COVER)
        first = intervals.bounds_many(covers.labels[covers.offsets[:-1]])[0]
        last = intervals.bounds_many(covers.labels[covers.offsets[1:] - 1])[1]
        costs = sample.number_ranges((name, False), number_keys(first), number_keys(last))
        slot = terms.slot((name, False))
        return cls(terms, name, covers, costs, (slot, slot), np.column_stack([number_keys(low), number_keys(high)] * 2))

    def guards(self, rows: IntArray) -> tuple[IntArray, IdArray]:
        counts = np.diff(self.covers.offsets)[rows]
        labels = self.covers.labels[runs(self.covers.offsets[:-1][rows], counts)]
        return counts, self.terms.many_intervals((self.name, False), labels)


def area_of(column: Ranges | Boxes, terms: Dictionary, sample: Sample) -> Area:
    return BoxArea.of(column, terms, sample) if isinstance(column, Boxes) else RangeArea.of(column, terms, sample)


def numbered(areas: Sequence[Area], predicates: Predicates) -> list[IdArray]:
    """The numbers of the predicates of each column; equal ones of all columns are one."""
    if not areas:
        return []
    sizes = [len(area.costs) for area in areas]
    slots = np.repeat(np.array([area.slots for area in areas], dtype=np.int32), sizes, axis=0)
    numbers = predicates.boxes(slots, np.concatenate([area.keys for area in areas]))
    return np.split(numbers, np.cumsum(sizes)[:-1])
