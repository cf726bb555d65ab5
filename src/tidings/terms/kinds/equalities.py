"""Which equalities (``symbol:YHOO``) are asked for, and which does a publication fulfil?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import Any

from tidings.model.publication import Publication
from tidings.model.query import Equals
from tidings.model.values import Value, equality_texts, value_text
from tidings.terms.forms import LikelyForms
from tidings.terms.kinds.kind import Frequencies, Key, Kind, Reading, of_values
from tidings.terms.pairs import Pairs


class Equalities(Kind):
    """By attribute and canonical text; a literal such as 1.0 has several texts."""

    names = ("equal",)
    atoms = (Equals,)
    guess = 0.01

    def __init__(self) -> None:
        super().__init__()
        self._values: defaultdict[str, dict[str, tuple[int, ...]]] = defaultdict(dict)

    @staticmethod
    def key(atom: Equals) -> Key:
        return "equal", atom.name, tuple(sorted(equality_texts(atom.value)))

    @staticmethod
    def read(saved: list[Any]) -> Key:
        return "equal", saved[1], tuple(saved[2])

    @staticmethod
    def called(key: Key) -> str:
        return f"{key[1]}={'|'.join(key[2])}"

    @staticmethod
    def count(atom: Equals, seen: Frequencies) -> int:
        return sum(seen.value(atom.name, text) for text in equality_texts(atom.value))

    def put(self, key: Key, term: int) -> None:
        own = self._values[key[1]]
        for text in key[2]:
            own[text] = (*own.get(text, ()), term)
        super().put(key, term)

    def attributes(self) -> Iterable[str]:
        return [*self._values]

    def of_table(self, reading: Reading) -> list[Pairs]:
        return [reading.pairs(name, partial(self._terms, name)) for name in reading.asked(self._values)]

    def of_one(self, publication: Publication, forms: LikelyForms) -> Iterable[int]:  # noqa: ARG002
        return of_values(publication, self._values, self._terms)

    def _terms(self, name: str, value: Value) -> tuple[int, ...]:
        return self._values[name].get(value_text(value), ())
