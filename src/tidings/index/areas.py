"""What do columns of ranges and rectangles cost as guards, and which terms cover them?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tidings.arrays import IdArray, IntArray
from tidings.arrays.runs import runs
from tidings.index.filing import MAX_COVER, Filer, is_box
from tidings.index.predicates import Predicates
from tidings.language.areas import boxes_of, size_of
from tidings.language.atoms import ResolvedAtom
from tidings.language.shapes.conditions import Boxes, Ranges, Texts
from tidings.model.query import Range, Within
from tidings.tables.columns import LAT, LON, KeyArray, number_keys
from tidings.terms import cells, intervals
from tidings.terms.cover import Covers
from tidings.terms.dictionary import Dictionary
from tidings.terms.even_grid import BoxSets
from tidings.terms.sample import Sample

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


class Guards(NamedTuple):
    """The covers of some areas: how many ``parts`` each has, the ``terms`` of all these parts, and whether each lies
    inside an area that need then not be asked for (which a box is in any case)."""

    parts: IntArray
    terms: IdArray
    inside: BoolArray

    @classmethod
    def of_boxes(cls, parts: IntArray, terms: IdArray) -> Guards:
        return cls(parts, terms, np.zeros(len(terms), dtype=np.bool_))


class Area(Protocol):
    """A column of areas, all boxes or none, with the ``costs`` of their covers."""

    @property
    def costs(self) -> FloatArray: ...

    @property
    def is_box(self) -> bool: ...

    @property
    def is_place(self) -> bool:
        """Whether they are regions."""

    def places(self) -> tuple[BoxSets, FloatArray]:
        """The boxes of each, and their sizes; for regions."""

    def guards(self, rows: IntArray) -> Guards:
        """The covers of some of them."""


@dataclass(frozen=True, slots=True, eq=False)
class BoxArea:
    """Rectangles; they are covered when somebody wants their guards."""

    terms: Dictionary
    sides: FloatArray
    costs: FloatArray
    slots: tuple[int, int]
    keys: KeyArray
    is_box: bool = True
    is_place: bool = True

    @classmethod
    def of(cls, column: Boxes, terms: Dictionary, sample: Sample) -> BoxArea:
        keys = number_keys(np.ascontiguousarray(column.sides[:, [0, 2, 1, 3]]))
        return cls(terms, column.sides, sample.boxes(column.sides), (LON, LAT), keys)

    def places(self) -> tuple[BoxSets, FloatArray]:
        west, south, east, north = self.sides.T
        return BoxSets(np.arange(len(self.sides) + 1), self.sides), (east - west) * (north - south)

    def guards(self, rows: IntArray) -> Guards:
        covers = cells.cover_many(self.sides[rows], MAX_COVER)
        return Guards.of_boxes(np.diff(covers.offsets), self.terms.many_cells(covers.labels))


@dataclass(frozen=True, slots=True, eq=False)
class RangeArea:
    """Ranges of one attribute; what they cost is what their covers hold."""

    terms: Dictionary
    name: str
    covers: Covers
    costs: FloatArray
    slots: tuple[int, int]
    keys: KeyArray
    is_box: bool = True
    is_place: bool = False

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

    def places(self) -> tuple[BoxSets, FloatArray]:
        return BoxSets.nowhere(len(self.costs)), np.full(len(self.costs), np.inf)

    def guards(self, rows: IntArray) -> Guards:
        counts = np.diff(self.covers.offsets)[rows]
        labels = self.covers.labels[runs(self.covers.offsets[:-1][rows], counts)]
        return Guards.of_boxes(counts, self.terms.many_intervals((self.name, False), labels))


@dataclass(frozen=True, slots=True, eq=False)
class AtomArea:
    """Ranges of instants, circles or polygons: ``distinct`` ones are asked of the filer; ``atoms`` says which."""

    filer: Filer
    distinct: list[Range | Within]
    atoms: IntArray
    costs: FloatArray
    is_box: bool

    @classmethod
    def of(cls, column: Texts, known: Sequence[ResolvedAtom], filer: Filer) -> AtomArea:
        numbers, atoms = np.unique(column.atoms, return_inverse=True)
        distinct = [atom for atom in (known[number] for number in numbers.tolist()) if isinstance(atom, Range | Within)]
        costs = np.array([filer.area_cost(atom) for atom in distinct])[atoms]
        return cls(filer, distinct, atoms, costs, is_box(distinct[0]))

    @property
    def is_place(self) -> bool:
        return isinstance(self.distinct[0], Within)

    def places(self) -> tuple[BoxSets, FloatArray]:
        boxes = [boxes_of(atom) for atom in self.distinct if isinstance(atom, Within)]
        return BoxSets.of(boxes).taken(self.atoms), np.array([size_of(own) for own in boxes])[self.atoms]

    def predicates(self) -> tuple[IdArray, IdArray]:
        """The number of the predicate of each, and of the box around it."""
        predicates, terms = self.filer.predicates, self.filer.terms
        numbers = [(predicates.number(atom, terms), predicates.hull(atom, terms)) for atom in self.distinct]
        own, hulls = np.array(numbers, dtype=np.int32)[self.atoms].T
        return own, hulls

    def guards(self, rows: IntArray) -> Guards:
        used, own = np.unique(self.atoms[rows], return_inverse=True)
        covers = [self.filer.cover(self.distinct[number]) for number in used.tolist()]
        parts = np.array([len(cover) for cover in covers], dtype=np.int64)
        terms = np.array([term for cover in covers for term, _ in cover], dtype=np.int32)
        inside = np.array([is_inside for cover in covers for _, is_inside in cover], dtype=np.bool_)
        places = runs((np.cumsum(parts) - parts)[own], parts[own])
        return Guards(parts[own], terms[places], inside[places] & (not self.is_box))


def column_area(column: Ranges | Boxes, terms: Dictionary, sample: Sample) -> BoxArea | RangeArea:
    return BoxArea.of(column, terms, sample) if isinstance(column, Boxes) else RangeArea.of(column, terms, sample)


def numbered(areas: Sequence[BoxArea | RangeArea], predicates: Predicates) -> list[IdArray]:
    """The numbers of the predicates of each column; equal ones of all columns are one."""
    if not areas:
        return []
    sizes = [len(area.costs) for area in areas]
    slots = np.repeat(np.array([area.slots for area in areas], dtype=np.int32), sizes, axis=0)
    numbers = predicates.boxes(slots, np.concatenate([area.keys for area in areas]))
    return np.split(numbers, np.cumsum(sizes)[:-1])


def smallest(areas: Sequence[Area], count: int) -> BoxSets:
    """Of columns of areas the smallest region of each of ``count`` rows; without a box where no column is of regions.

    The first one of several that are as small, as :func:`tidings.language.area_of` has it.
    """
    found = [area.places() for area in areas if area.is_place]
    if not found:
        return BoxSets.nowhere(count)
    choice = np.column_stack([sizes for _, sizes in found]).argmin(axis=1)
    return BoxSets.joined([boxes for boxes, _ in found]).taken(choice * count + np.arange(count))
