"""Which pieces of values (``name:Mc*``, ``name:*son``, ``name:*aab*``) are asked for, and which values have them?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import partial

from tidings.language.atoms import has_piece
from tidings.model.publication import Publication
from tidings.model.query import Contains, EndsWith, StartsWith
from tidings.model.values import Value
from tidings.terms.forms import LikelyForms
from tidings.terms.kinds.kind import Key, Kind, Reading, of_values
from tidings.terms.pairs import Pairs

Piece = StartsWith | EndsWith | Contains
_ATOMS: dict[str, type[Piece]] = {"starts": StartsWith, "ends": EndsWith, "contains": Contains}
_NAMES = {atom: name for name, atom in _ATOMS.items()}
_CALLED = {"starts": "{}={}*", "ends": "{}=*{}", "contains": "{}=*{}*"}


class Pieces(Kind):
    """By attribute; every piece is tried on every distinct value."""

    names = tuple(_ATOMS)
    atoms = tuple(_NAMES)
    guess = 0.05

    def __init__(self) -> None:
        super().__init__()
        self._pieces: defaultdict[str, dict[Piece, int]] = defaultdict(dict)

    @staticmethod
    def key(atom: Piece) -> Key:
        return _NAMES[type(atom)], atom.name, atom.value

    @staticmethod
    def called(key: Key) -> str:
        return _CALLED[key[0]].format(*key[1:])

    def put(self, key: Key, term: int) -> None:
        name, *asked = key
        self._pieces[asked[0]][_ATOMS[name](*asked)] = term
        super().put(key, term)

    def attributes(self) -> Iterable[str]:
        return [*self._pieces]

    def of_table(self, reading: Reading) -> list[Pairs]:
        return [reading.pairs(name, partial(self._terms, name)) for name in reading.asked(self._pieces)]

    def of_one(self, publication: Publication, forms: LikelyForms) -> Iterable[int]:  # noqa: ARG002
        return of_values(publication, self._pieces, self._terms)

    def _terms(self, name: str, value: Value) -> tuple[int, ...]:
        if not isinstance(value, str):
            return ()
        return tuple([term for piece, term in list(self._pieces[name].items()) if has_piece(piece, value)])
