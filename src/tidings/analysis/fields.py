"""How are the values of an attribute compared: exactly, with letters of any case, or as a text of words?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tidings.model.errors import DataError

EXACT, FOLDED, TEXT = "exact", "folded", "text"
KINDS = (EXACT, FOLDED, TEXT)
ALL = "*"
"""The name that stands for all attributes that are not named."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The kinds of attributes; one that is not named is ``exact``, or what ``*`` says.

    >>> fields = Fields.of({"title": "text", "*": "folded"})
    >>> fields.kind("title"), fields.kind("user"), Fields().kind("user")
    ('text', 'folded', 'exact')
    """

    kinds: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, str] | Fields) -> Fields:
        """Those of a mapping from names to kinds."""
        if isinstance(given, Fields):
            return given
        if not isinstance(given, Mapping):
            raise DataError(f"fields are names with their kinds, as in {{'title': 'text'}}, got {given!r}")
        for name, kind in given.items():
            if not isinstance(name, str) or not name or name in ("text", "topic"):
                raise DataError(f"{name!r} is not the name of an attribute whose kind can be chosen")
            if kind not in KINDS:
                raise DataError(f"the kind of the field {name!r} is one of {', '.join(KINDS)}, got {kind!r}")
        other = given.get(ALL, EXACT)
        named = {name: kind for name, kind in given.items() if name != ALL and kind != other}
        return cls(tuple(sorted((named if other == EXACT else {**named, ALL: other}).items())))

    @classmethod
    def written(cls, given: Iterable[str]) -> Fields:
        """Those of texts such as ``title=text``."""
        pairs = [text.partition("=") for text in given]
        if bad := [name for name, sign, _ in pairs if not sign]:
            raise DataError(f"{bad[0]!r} has no kind; write it as name=kind, as in title=text")
        return cls.of({name: kind for name, _, kind in pairs})

    def kind(self, name: str) -> str:
        """The kind of an attribute."""
        kinds = dict(self.kinds)
        return kinds.get(name) or kinds.get(ALL, EXACT)
