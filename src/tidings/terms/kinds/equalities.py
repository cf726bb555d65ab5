"""Which equalities (``symbol:YHOO``) are asked for, and which does a publication fulfil?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from itertools import chain
from typing import Any

from tidings.language.atoms import asked_texts
from tidings.model.publication import Publication
from tidings.model.query import Equals
from tidings.model.values import Value, value_text
from tidings.terms.forms import LikelyForms
from tidings.terms.kinds.kind import Frequencies, Key, Kind, Reading, of_values
from tidings.terms.pairs import Pairs


class Equalities(Kind):
    """By attribute and canonical text, folded where letters may have any case; a literal such as 1.0 has several."""

    names = ("equal", "like")
    atoms = (Equals,)
    guess = 0.01

    def __init__(self) -> None:
        super().__init__()
        self._values: defaultdict[str, dict[str, tuple[int, ...]]] = defaultdict(dict)
        self._folded: defaultdict[str, dict[str, tuple[int, ...]]] = defaultdict(dict)

    @staticmethod
    def key(atom: Equals) -> Key:
        return "like" if atom.folded else "equal", atom.name, tuple(sorted(asked_texts(atom)))

    @staticmethod
    def read(saved: list[Any]) -> Key:
        return saved[0], saved[1], tuple(saved[2])

    @staticmethod
    def called(key: Key) -> str:
        return f"{key[1]}{'=' if key[0] == 'equal' else '=~'}{'|'.join(key[2])}"

    @staticmethod
    def count(atom: Equals, seen: Frequencies) -> int | None:
        return None if atom.folded else sum(seen.value(atom.name, text) for text in asked_texts(atom))

    def put(self, key: Key, term: int) -> None:
        own = (self._values if key[0] == "equal" else self._folded)[key[1]]
        for text in key[2]:
            own[text] = (*own.get(text, ()), term)
        super().put(key, term)

    def attributes(self) -> Iterable[str]:
        return [*self._values, *self._folded]

    def of_table(self, reading: Reading) -> list[Pairs]:
        exact = [reading.pairs(name, partial(self._exact, name)) for name in reading.asked(self._values)]
        return exact + [reading.pairs(name, partial(self._any_case, name)) for name in reading.asked(self._folded)]

    def of_one(self, publication: Publication, forms: LikelyForms) -> Iterable[int]:  # noqa: ARG002
        exact = of_values(publication, self._values, self._exact)
        return chain(exact, of_values(publication, self._folded, self._any_case)) if self._folded else exact

    def _exact(self, name: str, value: Value) -> tuple[int, ...]:
        return self._values[name].get(value_text(value), ())

    def _any_case(self, name: str, value: Value) -> tuple[int, ...]:
        return self._folded[name].get(value_text(value).casefold(), ())
