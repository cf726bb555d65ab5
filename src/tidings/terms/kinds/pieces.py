"""Which pieces of values (``name:Mc*``, ``name:*son``, ``name:a*b?c``, ``name:/a+b/``) are asked for, and found?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tidings.model.publication import Publication
from tidings.model.query import Contains, EndsWith, Piece, Regex, StartsWith, Wildcard
from tidings.model.values import Value
from tidings.terms.finding.finder import Finder
from tidings.terms.forms import LikelyForms
from tidings.terms.kinds.kind import Key, Kind, Reading, of_values
from tidings.terms.pairs import Pairs

_ATOMS: dict[str, type[Piece]] = {
    "starts": StartsWith,
    "ends": EndsWith,
    "contains": Contains,
    "wildcard": Wildcard,
    "regex": Regex,
}
_NAMES = {atom: name for name, atom in _ATOMS.items()}
_FOLDED = "folded"


class Pieces(Kind):
    """By attribute: a finder for each."""

    names = tuple(_ATOMS)
    atoms = tuple(_NAMES)
    guess = 0.05

    def __init__(self) -> None:
        super().__init__()
        self._finders: dict[str, Finder] = {}

    @staticmethod
    def key(atom: Piece) -> Key:
        name = _NAMES[type(atom)]
        match atom:
            case Wildcard():
                asked: Key = (name, atom.name, atom.texts, atom.signs)
            case Regex():
                asked = name, atom.name, atom.pattern
            case _:
                asked = name, atom.name, atom.value
        return (*asked, _FOLDED) if atom.folded else asked

    @staticmethod
    def read(saved: list[Any]) -> Key:
        return tuple(tuple(part) if isinstance(part, list) else part for part in saved)

    @staticmethod
    def called(key: Key) -> str:
        piece = _piece(key)
        sign = "=~" if piece.folded else "="
        match piece:
            case StartsWith(_, value):
                return f"{piece.name}{sign}{value}*"
            case EndsWith(_, value):
                return f"{piece.name}{sign}*{value}"
            case Contains(_, value):
                return f"{piece.name}{sign}*{value}*"
            case Regex(_, pattern):
                return f"{piece.name}{sign}/{pattern}/"
            case Wildcard(_, texts, signs):
                return f"{piece.name}{sign}" + "".join(map("".join, zip(texts, (*signs, ""), strict=True)))

    def put(self, key: Key, term: int) -> None:
        finders = self._finders
        if key[1] not in finders:
            finders = {**finders, key[1]: Finder()}
        finders[key[1]].put(_piece(key), term)
        self._finders = finders
        super().put(key, term)

    def attributes(self) -> Iterable[str]:
        return [*self._finders]

    def of_table(self, reading: Reading) -> list[Pairs]:
        return [reading.text_pairs(name, self._finders[name].of_texts) for name in reading.asked(self._finders)]

    def of_one(self, publication: Publication, forms: LikelyForms) -> Iterable[int]:  # noqa: ARG002
        return of_values(publication, self._finders, self._terms)

    def _terms(self, name: str, value: Value) -> tuple[int, ...]:
        return self._finders[name].of_text(value) if isinstance(value, str) else ()


def _piece(key: Key) -> Piece:
    """The piece of a key."""
    is_folded = key[-1] == _FOLDED and len(key) == (5 if key[0] == "wildcard" else 4)
    build: Callable[..., Piece] = _ATOMS[key[0]]
    return build(*(key[1:-1] if is_folded else key[1:]), folded=is_folded)
