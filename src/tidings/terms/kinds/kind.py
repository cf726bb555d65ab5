"""What is a kind of term? It says which term an atom asks for, and which of its terms a publication has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from tidings.arrays import IntArray
from tidings.language.atoms import AttributeWords, FieldPrefix, FieldWords, FoldedTag, FormPrefix
from tidings.model.publication import FIELDS, Publication
from tidings.model.query import Equals, InNetwork, Piece, Present, Topic
from tidings.model.values import Value
from tidings.tables.columns import encoded, is_text, python_values
from tidings.tables.nesting import elements, several
from tidings.terms.forms import LikelyForms
from tidings.terms.pairs import NO_PAIRS, Pairs, each_once, expanded, spread

TermAtom = (
    FoldedTag | FormPrefix | FieldWords | FieldPrefix | AttributeWords | Equals | Piece | InNetwork | Present | Topic
)
"""An atom that a publication fulfils by having one term (a word of a sequence is asked for by Dictionary.word)."""

Key = tuple[Any, ...]
"""What tells a term from all others: one of the names of its kind, and what is asked for."""


class Frequencies(Protocol):
    """How many of some publications have a value of an attribute, or a topic at or below a path."""

    def value(self, name: str, text: str) -> int: ...

    def topic(self, path: tuple[str, ...]) -> int: ...


class Kind(ABC):
    """The terms of one kind that are asked for. One thread adds to them, any number read."""

    names: ClassVar[tuple[str, ...]]
    """What the keys of its terms begin with, also in files: they must not change without a new format."""

    atoms: ClassVar[tuple[type, ...]]
    """The atoms that ask for a term of this kind."""

    guess: ClassVar[float]
    """Which share of all publications has one of its terms, where nothing is known of them."""

    def __init__(self) -> None:
        self.ids: dict[Key, int] = {}

    @staticmethod
    @abstractmethod
    def key(atom: Any) -> Key:
        """The key of the term that an atom asks for."""

    @staticmethod
    @abstractmethod
    def called(key: Key) -> str:
        """What a term is called. Mappings follow from it, so it must not change without a new format."""

    @staticmethod
    def read(saved: list[Any]) -> Key:
        """A key that went through JSON."""
        return tuple(saved)

    @staticmethod
    def count(atom: Any, seen: Frequencies) -> int | None:  # noqa: ARG004
        """How many of some publications have the term of an atom; None if that cannot be told."""
        return None

    def put(self, key: Key, term: int) -> None:
        """Add a term."""
        self.ids[key] = term

    def attributes(self) -> Iterable[str]:
        """The attributes, and the fields, that are asked about; ALL for any."""
        return ()

    @abstractmethod
    def of_table(self, reading: Reading) -> list[Pairs]:
        """The terms of each row of a table; each pair once."""

    @abstractmethod
    def of_one(self, publication: Publication, forms: LikelyForms) -> Iterable[int]:
        """The terms of a publication, each once."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A canonical table that all kinds read, and what they have in common."""

    table: pa.Table
    forms: LikelyForms
    _encoded: dict[str, tuple[IntArray | None, IntArray, pa.Array]] = field(default_factory=dict)
    _values: dict[str, list[Value | None]] = field(default_factory=dict)

    @property
    def text(self) -> pa.ChunkedArray:
        has_text = "text" in self.table.column_names
        return self.table["text"] if has_text else pa.nulls(self.table.num_rows, pa.string())

    def asked(self, names: Collection[str]) -> Iterator[str]:
        """Those of its columns that have one of these names."""
        return (name for name in self.table.column_names if name in names)

    def pairs(self, name: str, terms: Callable[[Value], tuple[int, ...]]) -> Pairs:
        """The terms of each row by the values of a column; each distinct value is looked up once."""
        owners, rows, values = self._distinct(name)
        if name not in self._values:
            self._values[name] = python_values(values)
        found = expanded(rows, [() if value is None else terms(value) for value in self._values[name]])
        return found if owners is None else each_once(owners[found[0]], found[1])

    def text_pairs(self, name: str, terms: Callable[[pa.Array], Pairs]) -> Pairs:
        """The terms of each row by the texts of a column; ``terms`` gets distinct texts, and says which has which."""
        owners, rows, texts = self._distinct(name)
        if not is_text(texts.type):
            return NO_PAIRS
        found = spread(rows, len(texts), *terms(texts))
        return found if owners is None else each_once(owners[found[0]], found[1])

    def _distinct(self, name: str) -> tuple[IntArray | None, IntArray, pa.Array]:
        if name not in self._encoded:
            column = self.table[name]
            owners, column = elements(column) if several(column) else (None, column)
            self._encoded[name] = owners, *encoded(column)
        return self._encoded[name]


def of_values(
    publication: Publication, names: Collection[str], terms: Callable[[str, Value], tuple[int, ...]]
) -> Iterator[int]:
    """The terms of what a publication holds under these names, each once."""
    for name in (*publication.attributes, *FIELDS):
        if name in names and (held := publication.value(name)) is not None:
            if isinstance(held, tuple):
                yield from {term for value in held for term in terms(name, value)}
            else:
                yield from terms(name, held)
