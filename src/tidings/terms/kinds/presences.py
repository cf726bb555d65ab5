"""Which attributes must be there (``has:likes``), and does a publication have them?"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidings.arrays import IntArray
from tidings.model.publication import Publication
from tidings.model.query import Present
from tidings.terms.forms import LikelyForms
from tidings.terms.kinds.kind import Key, Kind, Reading
from tidings.terms.pairs import Pairs


class Presences(Kind):
    """By attribute. An empty text counts as none, an empty attribute as one."""

    names = ("present",)
    atoms = (Present,)
    guess = 0.9

    def __init__(self) -> None:
        super().__init__()
        self._terms: dict[str, int] = {}

    @staticmethod
    def key(atom: Present) -> Key:
        return "present", atom.name

    @staticmethod
    def called(key: Key) -> str:
        return f"has:{key[1]}"

    def put(self, key: Key, term: int) -> None:
        self._terms[key[1]] = term
        super().put(key, term)

    def attributes(self) -> Iterable[str]:
        return [*self._terms]

    def of_table(self, reading: Reading) -> list[Pairs]:
        found = []
        for name in reading.asked(self._terms):
            rows = _rows(name, reading.table[name])
            found.append((rows, np.full(len(rows), self._terms[name], dtype=np.int32)))
        return found

    def of_one(self, publication: Publication, forms: LikelyForms) -> Iterable[int]:  # noqa: ARG002
        return [term for name, term in list(self._terms.items()) if publication.value(name) is not None]


def _rows(name: str, column: pa.ChunkedArray) -> IntArray:
    """Rows with a value."""
    present = column.is_valid()
    if name == "text":
        present = pc.and_(present, pc.fill_null(pc.not_equal(column.cast(pa.string()), ""), False))
    if name == "topic" and pa.types.is_nested(column.type):
        present = pc.and_(present, pc.fill_null(pc.greater(pc.list_value_length(column), 0), False))
    return np.flatnonzero(present.to_numpy())
