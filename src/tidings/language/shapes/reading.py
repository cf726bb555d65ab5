"""What do the queries of a column ask, shape by shape? One of each shape is parsed; the others differ in values only.

What the normal form of a query is depends on its shape, on which of its words are stop words or become several, and on
which of its conditions are equal. Queries that are alike in all this have one form, into which the columns of their
conditions are put: exactly what parsing them one by one gives (a test holds that). Whatever is not surely alike is left
to the parser, and so are all errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.arrays import IntArray
from tidings.arrays.distinct import distinct_lists
from tidings.language.atoms import ResolvedAtom, SimpleAtom
from tidings.language.parser import MAX_QUERY_CHARS, longest, parse_normal
from tidings.language.shapes.conditions import (
    NOT_CARRIED,
    NOTHING,
    Atoms,
    Column,
    Condition,
    Ranges,
    TextCondition,
    Texts,
    conditions_of,
    number_column,
    number_count,
)
from tidings.language.shapes.cutting import CutTexts, cut_texts
from tidings.model.errors import QueryError

FEW = 64
"""Fewer queries than that are parsed one by one in less time."""

_GROUP = 16
"""So many queries of one form are read together; the texts of a column are cut in any case."""

Form = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
"""A normal form over columns: of each conjunction the columns that are required, and those that are forbidden."""


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """Queries of one form: ``rows`` of the column that was read, and a value for each of them in every column."""

    rows: IntArray
    form: Form
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Shaped:
    """Groups of queries, and the atoms that their columns of texts have the numbers of."""

    groups: tuple[Alike, ...]
    atoms: list[SimpleAtom]

    @property
    def rows(self) -> IntArray:
        """All rows that are in a group, in no order."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *(group.rows for group in self.groups)])


def read_shapes(queries: pa.Array | pa.ChunkedArray, analyser: Analyser) -> Shaped:
    """The queries of a column that can be read by their shape; each is one that the parser takes.

    >>> queries = [f"fire price:>{n}" for n in range(100)] + ["fire price:>"]
    >>> [group] = read_shapes(pa.array(queries), analyser=Analyser()).groups
    >>> len(group.rows), group.form, group.columns[1].low[:3]
    (100, (((0, 1), ()),), array([0., 1., 2.]))
    """
    if len(queries) < FEW:  # nor are kernels compiled for a few
        return Shaped((), [])
    column = queries.cast(pa.large_string()).fill_null("")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    cut = cut_texts(column)
    atoms = Atoms(cut.texts, analyser)
    by_shape = np.argsort(cut.shape_of, kind="stable")
    ends = np.cumsum(np.bincount(cut.shape_of, minlength=len(cut.shapes)))
    groups: list[Alike] = []
    for shape, begin, end in zip(cut.shapes, [0, *ends.tolist()], ends.tolist(), strict=False):
        conditions = conditions_of(shape) if end - begin >= min(FEW, _GROUP) else None
        if conditions is None:
            continue
        rows = by_shape[begin:end]
        rows = rows[_are_short(shape, conditions, cut.lengths[rows])]
        for own, columns in _alike(*_carried(rows, _columns(rows, conditions, cut, atoms)), atoms):
            if (form := _form(column[int(own[0])].as_py(), columns, atoms.atoms, analyser)) is not None:
                groups.append(Alike(own, form, columns))
    return Shaped(tuple(groups), atoms.atoms)


def _are_short(shape: str, conditions: tuple[Condition, ...], lengths: IntArray) -> npt.NDArray[np.bool_]:
    """Of which texts of a shape the length cannot matter: the bound of the parser, in bytes."""
    places = len(conditions) + shape.count("-") + shape.count("NOT")
    most: IntArray = longest(lengths, places)
    return most <= MAX_QUERY_CHARS


def _columns(rows: IntArray, conditions: tuple[Condition, ...], cut: CutTexts, atoms: Atoms) -> tuple[Column, ...]:
    """A column for each condition, with the values of some texts of one shape."""
    columns: list[Column] = []
    text, number = cut.first_text[rows], cut.first_number[rows]
    for condition in conditions:
        if isinstance(condition, TextCondition):
            columns.append(Texts(atoms.numbers(condition, cut.text_of[text])))
            text = text + 1
        else:
            count = number_count(condition)
            columns.append(number_column(condition, [cut.numbers[number + n] for n in range(count)]))
            number = number + count
    return tuple(columns)


def _carried(rows: IntArray, columns: tuple[Column, ...]) -> tuple[IntArray, tuple[Column, ...]]:
    """Without the rows of which a value is left to the parser."""
    carried = np.ones(len(rows), dtype=np.bool_)
    for column in columns:
        carried &= column.atoms != NOT_CARRIED if isinstance(column, Texts) else column.are_carried
    if carried.all():
        return rows, columns
    kept = np.flatnonzero(carried)
    return rows[kept], tuple(column.taken(kept) for column in columns)


def _alike(rows: IntArray, columns: tuple[Column, ...], atoms: Atoms) -> Iterator[tuple[IntArray, tuple[Column, ...]]]:
    """Rows of one shape in groups that have one form, those that are large enough."""
    sizes = np.append(atoms.sizes(), [0, 0])  # the last for NOT_CARRIED and NOTHING, which are negative
    features = [sizes[column.atoms] for column in columns if isinstance(column, Texts)]
    for i, column in enumerate(columns):
        features += [equal for other in columns[:i] if (equal := _equal(column, other)) is not None]
    usual = [np.all(feature == feature[:1]) for feature in features]
    features = [feature for feature, is_usual in zip(features, usual, strict=True) if not is_usual]
    if not features:
        number = np.zeros(len(rows), dtype=np.int64)
    else:
        lists = np.column_stack(features).astype(np.int64)
        number = distinct_lists(lists.ravel(), np.full(len(rows), lists.shape[1]))[1]
    counts = np.bincount(number)
    order, ends = np.argsort(number, kind="stable"), np.cumsum(counts)
    for group in np.flatnonzero(counts >= min(FEW, _GROUP)).tolist():
        own = order[ends[group] - counts[group] : ends[group]]
        yield rows[own], tuple(column.taken(own) for column in columns)


def _equal(column: Column, other: Column) -> npt.NDArray[np.bool_] | None:
    """Where two conditions are equal; None if they never are."""
    if type(column) is not type(other):
        return None
    if isinstance(column, Ranges) and isinstance(other, Ranges) and column.condition != other.condition:
        return None
    equal = np.ones(len(next(column.values())), dtype=np.bool_)
    for own, others in zip(column.values(), other.values(), strict=True):
        equal &= own == others
    return equal


def _form(text: str, columns: tuple[Column, ...], atoms: list[SimpleAtom], analyser: Analyser) -> Form | None:
    """The form of queries that are alike, from the text of the first; None if the parser does not read it so."""
    try:
        _, conjunctions = parse_normal(text, analyser=analyser)
        place = _place_of(columns, atoms)
        return tuple((_places(c.required, place), _places(c.forbidden, place)) for c in conjunctions)
    except (QueryError, KeyError):  # a formula has no column
        return None


def _place_of(columns: tuple[Column, ...], atoms: list[SimpleAtom]) -> dict[ResolvedAtom, int]:
    """The first column of each atom of the first row."""
    place: dict[ResolvedAtom, int] = {}
    for i, column in enumerate(columns):
        if not isinstance(column, Texts):
            place.setdefault(column.atom(0), i)
        elif column.atoms[0] != NOTHING:
            place.setdefault(atoms[column.atoms[0]], i)
    return place


def _places(atoms: tuple[ResolvedAtom, ...], place: dict[ResolvedAtom, int]) -> tuple[int, ...]:
    return tuple([place[atom] for atom in atoms])
