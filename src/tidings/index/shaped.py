"""How are queries of one form filed? Column by column, by the rules of :class:`tidings.index.filing.Filer`.

Of each conjunction the rarest term or the rarest area is the guard, the rest is verified. Here terms and their costs
are matrices with a row for each query. Among terms of one cost the one with the lowest number comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tidings.arrays import IdArray, IntArray
from tidings.arrays.distinct import distinct_lists
from tidings.index.areas import Area, AtomArea, BoxArea, RangeArea, column_area, numbered, smallest
from tidings.index.entries import NO_TEST, Loose, joined
from tidings.index.filing import Filer, absent, asked, is_phrase
from tidings.index.kernels import ALWAYS
from tidings.language.atoms import ResolvedAtom
from tidings.language.atoms import Sequence as WordSequence
from tidings.language.shapes.conditions import Texts
from tidings.language.shapes.reading import Alike, Shaped
from tidings.model.query import Range, Within
from tidings.terms.even_grid import BoxSets

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class FiledColumns:
    """A conjunction of queries that are alike: its entries, whose ``queries`` are numbers from 0, and its words.

    ``words`` int32[queries, words]: the terms of the words that each requires, also as parts of phrases, the rarest
    first; one may be there twice. ``places``: the area of each, as :func:`tidings.language.area_of` gives it; empty
    where places may be guards.
    """

    entries: Loose
    words: IdArray
    places: BoxSets


@dataclass(frozen=True, slots=True, eq=False)
class FiledGroup:
    """Queries that are alike, filed: ``rows`` of the column that was read, and the query of each, one of ``count``."""

    rows: IntArray
    queries: IntArray
    count: int
    conjunctions: tuple[FiledColumns, ...]


def file_shaped(shaped: Shaped, filer: Filer, *, by_place: bool = True) -> list[FiledGroup]:
    """File all groups; equal queries of a group are one. ``by_place``: as :meth:`Filer.file` has it."""
    distinct = [_distinct(group) for group in shaped.groups]
    atoms = _Atoms(shaped, filer)
    areas = _areas([group for group, _ in distinct], shaped.atoms, filer)
    return [
        FiledGroup(
            whole.rows,
            queries,
            len(group.rows),
            tuple(_filed(group, atoms, own, *each, by_place=by_place) for each in group.form),
        )
        for whole, (group, queries), own in zip(shaped.groups, distinct, areas, strict=True)
    ]


def _distinct(group: Alike) -> tuple[Alike, IntArray]:
    """One query of each kind of a group, and for every row which of those it is."""
    values = np.column_stack([values for column in group.columns for values in column.values()])
    firsts, queries = distinct_lists(values.ravel(), np.full(len(values), values.shape[1]))
    return Alike(group.rows[firsts], group.form, tuple(column.taken(firsts) for column in group.columns)), queries


def _used(group: Alike) -> set[int]:
    """The columns that the form of a group asks for."""
    return {place for conjunction in group.form for places in conjunction for place in places}


class _Atoms:
    """The terms, costs and predicates of the atoms that some groups ask for.

    Atom a has the ``terms`` and ``costs`` from ``begins[a]`` on, as many as it has words; one that has several also
    has a predicate.
    """

    def __init__(self, shaped: Shaped, filer: Filer) -> None:
        used = np.zeros(len(shaped.atoms), dtype=np.bool_)
        for group in shaped.groups:
            for column in (group.columns[place] for place in _used(group)):
                if isinstance(column, Texts):
                    used[column.atoms] = True
        terms: list[int] = []
        costs: list[float] = []
        self.begins, self.sizes, self.predicates = np.zeros((3, len(used)), dtype=np.int64)
        self.are_words = np.zeros(len(used), dtype=np.bool_)
        for number in np.flatnonzero(used).tolist():
            atom = shaped.atoms[number]
            if isinstance(atom, Range | Within):  # an area
                continue
            own = filer.costs_of(atom)
            self.are_words[number] = isinstance(atom, WordSequence)
            self.begins[number], self.sizes[number] = len(terms), len(own)
            terms += [term for term, _ in own]
            costs += [cost for _, cost in own]
            if is_phrase(atom):
                self.predicates[number] = filer.predicates.number(atom, filer.terms)
        self._terms, self._costs = np.array(terms, dtype=np.int32), np.array(costs, dtype=np.float64)

    def terms(self, atoms: IntArray) -> tuple[IdArray, FloatArray]:
        """The terms of a column of atoms of one size, and their costs: [atoms, words]."""
        places = self.begins[atoms][:, None] + np.arange(self.sizes[atoms[0]])
        return self._terms[places], self._costs[places]


Areas = dict[int, tuple[Area, IdArray, IdArray]]
"""The areas of a group by column, the numbers of their predicates, and of the boxes around them."""


def _areas(groups: list[Alike], known: Sequence[ResolvedAtom], filer: Filer) -> list[Areas]:
    areas: list[Areas] = [{} for _ in groups]
    columns: list[tuple[int, int, BoxArea | RangeArea]] = []
    for g, group in enumerate(groups):
        for place in sorted(_used(group)):
            column = group.columns[place]
            if not isinstance(column, Texts):
                columns.append((g, place, column_area(column, filer.terms, filer.sample)))
            elif isinstance(known[column.atoms[0]], Range | Within):
                own = AtomArea.of(column, known, filer)
                areas[g][place] = own, *own.predicates()
    for (g, place, area), numbers in zip(columns, numbered([a for _, _, a in columns], filer.predicates), strict=True):
        areas[g][place] = area, numbers, numbers
    return areas


def _filed(
    group: Alike, atoms: _Atoms, areas: Areas, required: tuple[int, ...], forbidden: tuple[int, ...], *, by_place: bool
) -> FiledColumns:
    """File one conjunction of the queries of a group."""
    of_text = [group.columns[place] for place in required if place not in areas]
    texts = [column.atoms for column in of_text if isinstance(column, Texts)]
    parts = [atoms.terms(own) for own in texts]
    own_areas = [areas[place] for place in required if place in areas]
    phrases = [asked(atoms.predicates[own]) for own in texts if atoms.sizes[own[0]] > 1]
    others = [_forbidden(place, group, atoms, areas) for place in forbidden]
    count = len(group.rows)
    asking = _Asking.of(
        _beside(count, [own for own, _ in parts], np.int32),
        _beside(count, [own for _, own in parts], np.float64),
        own_areas,
        _beside(count, [*phrases, *others], np.int32),
        by_place=by_place,
    )
    of_words = [part for part, own in zip(parts, texts, strict=True) if atoms.are_words[own[0]]]
    words = _beside(count, [own for own, _ in of_words], np.int32)
    costs = _beside(count, [own for _, own in of_words], np.float64)
    places = BoxSets.nowhere(0) if by_place else smallest([area for area, _, _ in own_areas], count)
    rarest_first = np.lexsort((-words, costs))
    return FiledColumns(asking.entries([area for area, _, _ in own_areas]), _sorted(words, rarest_first), places)


def _forbidden(place: int, group: Alike, atoms: _Atoms, areas: Areas) -> IntArray:
    """What a stream asks that a column does not hold."""
    column = group.columns[place]
    if place in areas or not isinstance(column, Texts):
        return asked(areas[place][1].astype(np.int64), negated=True)
    if atoms.sizes[column.atoms[0]] > 1:
        return asked(atoms.predicates[column.atoms], negated=True)
    return absent(atoms.terms(column.atoms)[0][:, 0].astype(np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class _Asking:
    """What the queries of a group ask in a conjunction.

    ``terms`` int32[queries, most], the rarest first, of which the first ``counts`` are to be taken. ``predicates`` of
    areas, the rarest first, and which of those ``are_boxes``; ``hulls``: the box around the rarest; ``rarest`` says
    which area is to be the guard, -1 where the rarest term is. ``others``: what else a stream asks for.
    """

    terms: IdArray
    counts: IntArray
    predicates: IdArray
    are_boxes: BoolArray
    hulls: IdArray
    rarest: IntArray
    others: IdArray

    @classmethod
    def of(
        cls,
        terms: IdArray,
        costs: FloatArray,
        areas: list[tuple[Area, IdArray, IdArray]],
        others: IdArray,
        *,
        by_place: bool,
    ) -> _Asking:
        rarest_first = np.lexsort((terms, costs))
        terms, costs = _sorted(terms, rarest_first), _sorted(costs, rarest_first)
        area_costs = _beside(len(terms), [area.costs for area, _, _ in areas], np.float64)
        order = np.argsort(area_costs, axis=1, kind="stable")
        predicates = _sorted(_beside(len(terms), [numbers for _, numbers, _ in areas], np.int32), order)
        hulls = _sorted(_beside(len(terms), [numbers for _, _, numbers in areas], np.int32), order)
        are_boxes = np.array([area.is_box for area, _, _ in areas], dtype=np.bool_)[order]
        rarest = np.full(len(terms), -1)
        if areas:
            may_guard = np.array([by_place or not area.is_place for area, _, _ in areas])
            guard_costs = np.where(may_guard, area_costs, np.inf)
            is_guard = guard_costs.min(axis=1) < (costs[:, 0] if terms.shape[1] else np.inf)
            rarest[is_guard] = guard_costs.argmin(axis=1)[is_guard]
        return cls(*_first_of_each(terms), predicates, are_boxes, hulls[:, :1], rarest, others)

    def entries(self, areas: list[Area]) -> Loose:
        """The entries, those under terms first."""
        by_term = np.flatnonzero(self.rarest < 0)
        found = [self._entries(by_term, terms_taken=min(1, self.terms.shape[1]))]
        for number, area in enumerate(areas):
            rows = np.flatnonzero(self.rarest == number)
            if len(rows):
                parts, terms, inside = area.guards(rows)
                each = np.repeat(np.arange(len(rows)), parts)
                found.append(_under(self._entries(rows), each[~inside], terms[~inside]))
                if inside.any():
                    found.append(_under(self._entries(rows, areas_taken=1), each[inside], terms[inside]))
        return joined(found)

    def _entries(self, rows: IntArray, terms_taken: int = 0, areas_taken: int = 0) -> Loose:
        """The entries of some queries; the rarest so many terms or areas are guards and not asked for again.

        A term that is taken is the guard; where none is, that is still to be said, or it is ALWAYS.
        """
        terms, counts = self.terms[rows, terms_taken:], self.counts[rows] - terms_taken
        predicates, are_boxes = self.predicates[rows, areas_taken:], self.are_boxes[rows, areas_taken:]
        guards, firsts = (np.full(len(rows), ALWAYS, dtype=np.int32) for _ in range(2))
        tests = np.full(len(rows), NO_TEST, dtype=np.int32)
        if terms_taken and len(rows):
            guards = self.terms[rows, 0]
        if terms.shape[1]:
            firsts = np.where(counts > 0, terms[:, 0], ALWAYS).astype(np.int32)
        if self.hulls.shape[1]:
            tests = self.hulls[rows, 0]
        if predicates.shape[1]:
            box = predicates[np.arange(len(rows)), are_boxes.argmax(axis=1)]
            tests = np.where(are_boxes.any(axis=1), box, tests).astype(np.int32)
        further, others = terms[:, 1:], self.others[rows]
        streams = np.hstack([further, asked(predicates.astype(np.int64)).astype(np.int32), others])
        is_there = np.hstack(
            [
                np.arange(further.shape[1]) < counts[:, None] - 1,
                predicates != tests[:, None],
                np.ones(others.shape, dtype=np.bool_),
            ]
        )
        return Loose(guards, firsts, tests, is_there.sum(axis=1), streams[is_there], rows.astype(np.int32))


def _under(entries: Loose, each: IntArray, guards: IdArray) -> Loose:
    """Some of the entries, each under its guard."""
    return replace(entries.taken(each), guards=guards)


def _beside(count: int, parts: Sequence[npt.NDArray[Any]], kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """A matrix of so many rows, with these columns or matrices side by side."""
    return np.hstack([np.zeros((count, 0), dtype=kind), *(part.reshape(count, -1).astype(kind) for part in parts)])


def _sorted(values: npt.NDArray[Any], order: IntArray) -> npt.NDArray[Any]:
    return np.take_along_axis(values, order, axis=1)


def _first_of_each(terms: IdArray) -> tuple[IdArray, IntArray]:
    """Each row, in which equal terms are neighbours, with every term once and from the left; and how many those are."""
    is_first = np.ones(terms.shape, dtype=np.bool_)
    is_first[:, 1:] = terms[:, 1:] != terms[:, :-1]
    counts = is_first.sum(axis=1)
    if not is_first.all():
        terms = _sorted(terms, np.argsort(~is_first, axis=1, kind="stable"))
    return terms, counts
