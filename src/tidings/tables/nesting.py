"""Which attributes are in nested columns? The fields of structs by dotted names, and the elements of lists.

A struct ``user`` with a field ``name`` is the attribute ``user.name``. A list is an attribute with several values, and
a list of structs gives each field of theirs several. Where two get the same name, the one of fewer steps counts. Maps,
and what no attribute can hold (binary, times of day, intervals), are no attributes; the others of their row are.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidings.model.publication import FIELDS, MAX_LEVELS

Kind = TypeVar("Kind")
_log = logging.getLogger(__name__)

Shape = tuple[tuple[str, Any], ...] | list[Any] | str | None
"""What a type is made of: the fields of a struct, the one type of a list's elements, None for a plain value, or, as
text, what it is that no attribute can hold."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """Where the values of an attribute are: the fields to go through, by place and by name, and whether in a list."""

    path: tuple[str, ...]
    places: tuple[int, ...] = ()
    several: bool = False


@dataclass(frozen=True, slots=True)
class Leaves:
    """The attributes of some columns by name, and what is no attribute, with the reason."""

    found: dict[str, Leaf]
    left_out: dict[str, str]


def leaves(columns: Iterable[tuple[str, Kind]], shape: Callable[[Kind], Shape]) -> Leaves:
    """The attributes that columns of these types hold; the fields of a publication are none.

    >>> kind = pa.struct([("name", pa.string()), ("photo", pa.binary())])
    >>> found = leaves([("id", pa.string()), ("user", kind), ("tags", pa.list_(pa.string()))], arrow_shape)
    >>> list(found.found), found.left_out
    (['tags', 'user.name'], {'user.photo': 'it is of type binary'})
    """
    met: list[tuple[Leaf, str | None]] = []
    for name, kind in columns:
        if name not in FIELDS:
            _walk(Leaf((name,)), kind, shape, 0, met)
    found: dict[str, Leaf] = {}
    left_out: dict[str, str] = {}
    for leaf, problem in sorted(met, key=lambda one: len(one[0].path)):
        name = ".".join(leaf.path)
        if name in found:
            left_out[name] = f"another one has this name: {' of '.join(map(repr, reversed(found[name].path)))}"
        elif problem is not None:
            left_out[name] = problem
        else:
            found[name] = leaf
    return Leaves(found, left_out)


def warn_of(left_out: Mapping[str, str], told: set[str]) -> None:
    """Name the columns that are no attributes, each once: those that are ``told`` are not named again."""
    for name, reason in left_out.items():
        if name not in told:
            told.add(name)
            _log.warning("the column %r is no attribute, and queries find nothing in it: %s", name, reason)


def _walk(
    leaf: Leaf, kind: Kind, shape: Callable[[Kind], Shape], level: int, met: list[tuple[Leaf, str | None]]
) -> None:
    made_of = shape(kind)
    if made_of is None or isinstance(made_of, str):
        met.append((leaf, None if made_of is None else f"it is of type {made_of}"))
    elif level == MAX_LEVELS:
        met.append((leaf, f"it is nested deeper than {MAX_LEVELS} levels"))
    elif isinstance(made_of, list):
        _walk(Leaf(leaf.path, leaf.places, True), made_of[0], shape, level + 1, met)
    else:
        for place, (name, inner) in enumerate(made_of):
            _walk(Leaf((*leaf.path, name), (*leaf.places, place), leaf.several), inner, shape, level + 1, met)


def arrow_shape(kind: pa.DataType) -> Shape:
    """What an Arrow type is made of."""
    if isinstance(kind, pa.BaseExtensionType):
        return arrow_shape(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return str(kind) if arrow_shape(kind.value_type) is not None else None
    if pa.types.is_struct(kind):
        return tuple((field.name, field.type) for field in kind)
    if is_list(kind):
        return [kind.value_type]
    return None if is_plain(kind) else str(kind)


def is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


def is_plain(kind: pa.DataType) -> bool:
    """Whether it is text, a number, a truth value, an instant, or nothing at all."""
    types = pa.types
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    is_instant = types.is_timestamp(kind) or types.is_date(kind)
    return bool(is_text or is_number or is_instant or types.is_boolean(kind) or types.is_null(kind))


def several(column: pa.ChunkedArray | pa.Array) -> bool:
    """Whether a column of a canonical table holds several values a row; one that holds none there is null."""
    return bool(pa.types.is_large_list(column.type))


def elements(column: pa.ChunkedArray) -> tuple[np.ndarray[Any, np.dtype[np.int64]], pa.ChunkedArray]:
    """All values in a column of several, and the row of each."""
    lists = one_array(column)
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return np.repeat(np.arange(len(lists)), lengths), pa.chunked_array([lists.flatten()])


def one_array(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)


def values_at(column: pa.ChunkedArray, leaf: Leaf) -> pa.ChunkedArray:
    """The values of a leaf in its column: plain ones, or lists (large_list) of values that are not null.

    >>> column = pa.chunked_array([[[{"n": 1}, {"n": None}, {"n": 2}], None, []]])
    >>> values_at(column, Leaf(("items", "n"), (0,), several=True)).to_pylist()
    [[1, 2], None, None]
    """
    parts = [_values(chunk, leaf) for chunk in column.chunks or [pa.nulls(0, column.type)]]
    if not leaf.several:
        return pa.chunked_array([values for _, values in parts])
    return lists_of(np.concatenate([counts for counts, _ in parts]), pa.concat_arrays([values for _, values in parts]))


def lists_of(counts: np.ndarray[Any, np.dtype[np.int64]], values: pa.Array) -> pa.ChunkedArray:
    """So many of the values for each row, one after another; null where there are none."""
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int64())
    return pa.chunked_array([pa.LargeListArray.from_arrays(offsets, values, mask=pa.array(counts == 0))])


def _values(array: pa.Array, leaf: Leaf) -> tuple[np.ndarray[Any, np.dtype[np.int64]], pa.Array]:
    """How many values each row has, and all of them; without lists on the way, one for each row, which may be null."""
    ends = np.arange(len(array) + 1)
    places = iter(leaf.places)
    while True:
        kind = array.type
        if isinstance(kind, pa.BaseExtensionType):
            array = array.storage
        elif is_list(kind):
            lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
            ends, array = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])[ends], array.flatten()
        elif pa.types.is_struct(kind):
            array = pc.struct_field(array, [next(places)])
        else:
            break
    if not leaf.several:
        return np.diff(ends), array
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        array = array.cast(kind.value_type)
    if pa.types.is_string(array.type) or pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())
    if array.null_count:
        valid = array.is_valid()
        kept = valid.to_numpy(zero_copy_only=False)
        ends, array = np.concatenate([[0], np.cumsum(kept)])[ends], array.filter(valid)
    return np.diff(ends), array
