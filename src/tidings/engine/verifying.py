"""Which of these candidates answer a query? They are matched, as one batch, with an index of that query alone."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.arrays import IntArray
from tidings.index import GuardIndex
from tidings.index.guard import Meaning
from tidings.index.snapshot import Snapshot
from tidings.index.subscribers import FOREVER_AFTER, FOREVER_BEFORE
from tidings.storage.kept_rows import KeptRows, rest_of
from tidings.tables.canonical import INSTANT
from tidings.tables.checked import Publications

_COLUMN_TYPES = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.large_string(), datetime: INSTANT}
_MOST_INT = 2**63

Rest = tuple[tuple[str, ...], dict[str, Any]]
"""Topics and attributes of a publication, as they were written down."""

Shape = tuple[tuple[str, type, bool], ...]
"""The attributes of a publication: the name of each, the type of its values, and whether it may have several."""


class Verifier:
    """Verifies candidates. Safe to share between threads, which take turns."""

    def __init__(self, analyser: Analyser) -> None:
        self._analyser = analyser
        self._turn = threading.Lock()
        self._index = GuardIndex(analyser)

    def answering(self, rows: KeptRows, meaning: Meaning) -> npt.NDArray[np.bool_]:
        """Whether each of some publications answers a query."""
        with self._turn:
            return matching(rows, self._alone(meaning))

    def with_text(self, texts: pa.LargeStringArray, meaning: Meaning) -> npt.NDArray[np.bool_]:
        """Whether each of some texts answers a query that asks for nothing else."""
        with self._turn:
            return _found(pa.table({"text": texts}), self._alone(meaning))

    def _alone(self, meaning: Meaning) -> Snapshot:
        """Of an index that has this query alone. It knows the words of posts that the one before has read."""
        before, self._index = self._index, GuardIndex(self._analyser)
        self._index.put([(("", "", "", "", 0, FOREVER_BEFORE, FOREVER_AFTER), meaning)])
        self._index.take_over(before)
        return self._index.snapshot


def matching(rows: KeptRows, snapshot: Snapshot) -> npt.NDArray[np.bool_]:
    """Whether each of some publications matches anything."""
    tables, odd = tables_of(rows)
    does = np.zeros(len(rows), dtype=np.bool_)
    for places, table in tables:
        does[places] = _found(table, snapshot)
    for place, post in zip(odd.tolist(), rows.taken(odd).publications(), strict=True):
        does[place] = len(snapshot.match_one(post)) > 0
    return does


def _found(table: pa.Table, snapshot: Snapshot) -> npt.NDArray[np.bool_]:
    """Whether each row of a canonical table matches anything."""
    does = np.zeros(table.num_rows, dtype=np.bool_)
    does[snapshot.match(Publications.trusted(table)).rows()] = True
    return does


def tables_of(rows: KeptRows) -> tuple[list[tuple[IntArray, pa.Table]], IntArray]:
    """Publications as canonical tables, one for each shape of attributes, with the places of its rows; and the places
    of those that no column can hold."""
    groups: dict[Shape | None, list[int]] = defaultdict(list)
    rests: dict[int, Rest] = {}
    some = rows.with_rest
    if not some:
        return [(np.arange(len(rows)), pa.table(rows.fields()))] if len(rows) else [], np.zeros(0, dtype=np.int64)
    for place, rest in zip(some, rows.rests.take(pa.array(some, pa.int64())).to_pylist(), strict=True):
        rests[place] = rest_of(rest)
        groups[_shape(rests[place][1])].append(place)
    odd = np.array(groups.pop(None, []), dtype=np.int64)
    plain = np.delete(np.arange(len(rows)), some)
    tables = [(plain, pa.table(rows.taken(plain).fields()))] if len(plain) else []
    for shape, own in groups.items():
        places = np.array(own, dtype=np.int64)
        columns = rows.taken(places).fields() | _columns(shape or (), [rests[place] for place in own])
        tables.append((places, pa.table(columns)))
    return tables, odd


def _columns(shape: Shape, rests: Sequence[Rest]) -> dict[str, pa.Array]:
    columns = {"topic": pa.array([topics for topics, _ in rests], pa.list_(pa.large_string()))}
    for name, kind, is_several in shape:
        column_type = pa.large_list(_COLUMN_TYPES[kind]) if is_several else _COLUMN_TYPES[kind]
        columns[name] = pa.array([attributes[name] for _, attributes in rests], column_type)
    return columns


def _shape(attributes: dict[str, Any]) -> Shape | None:
    """The shape of some attributes; None if one has values of several types, or whole numbers of more than 64 bits."""
    shape = []
    for name, held in sorted(attributes.items()):
        values = held if isinstance(held, list) else [held]
        kinds = {type(value) for value in values}
        if len(kinds) != 1 or any(type(value) is int and not -_MOST_INT <= value < _MOST_INT for value in values):
            return None
        shape.append((name, kinds.pop(), isinstance(held, list)))
    return tuple(shape)
