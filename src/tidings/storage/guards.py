"""Under which keys is a kept publication filed, and which of them does a conjunction read? The dual of the index.

Words, values and topics have a key each, with a list of those that have it. Numbers of attributes lie in columns, and
those of fields in arrays of their own: a range compares all of them. A long key is cut short: what is read is a
candidate, and is verified.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from tidings.index.predicates import range_keys
from tidings.language import Conjunction, FormPrefix, ResolvedAtom, Sequence
from tidings.language.atoms import FieldPrefix, FieldWords, FoldedTag
from tidings.model import Publication, Rectangle
from tidings.model.query import (
    Contains,
    EndsWith,
    Equals,
    InNetwork,
    Present,
    Range,
    Regex,
    StartsWith,
    Topic,
    Wildcard,
    Within,
)
from tidings.model.values import Held, Value, equality_texts, value_text
from tidings.tables.columns import instant_key, number_key

MAX_KEY_CHARS = 256
"""Of a value or a topic in a key; longer ones are cut. Words never are."""

WORD = "w"
"""The keys of words begin with it."""

_OF_TEXT = (Sequence, FormPrefix, FoldedTag)
_FIELDS = ("id", "text", "ts", "lat", "lon", "topic")


@dataclass(frozen=True, slots=True)
class NumberRange:
    """A column of numbers, and the keys that it may have, both included."""

    column: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class KeptGuard:
    """What a publication has that answers a conjunction: a key of each of ``keys``, none of ``without``, one of the
    ``ids`` if any, a number in each of the ``ranges``, a place in one rectangle of each of the ``regions``.

    ``is_exact``: one that has all this does answer it. Others have to be verified, by their text alone if the
    conjunction ``is_of_text``.
    """

    keys: tuple[tuple[str, ...], ...] = ()
    without: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    ranges: tuple[NumberRange, ...] = ()
    regions: tuple[tuple[Rectangle, ...], ...] = ()
    is_exact: bool = False
    is_of_text: bool = False

    @classmethod
    def of(cls, conjunction: Conjunction) -> KeptGuard:
        required = conjunction.required
        without = [word for atom in conjunction.forbidden if (word := _plain_word(atom))]
        plain = [*filter(_plain_word, required)]
        return cls(
            tuple(keys for atom in required for keys in _keys(atom)),
            tuple(word_key(word) for word in without),
            tuple(text for atom in required for text in _ids(atom)),
            tuple(_range(atom) for atom in required if isinstance(atom, Range) and atom.name not in ("text", "topic")),
            tuple(atom.region.bounds() for atom in required if isinstance(atom, Within)),
            len(plain) == len(required) and len(without) == len(conjunction.forbidden),
            all(isinstance(atom, _OF_TEXT) for atom in (*required, *conjunction.forbidden)),
        )


def same_key(publication: Publication, name: str) -> KeptGuard:
    """What the publications have whose ``name``, an attribute or ``id``, has a value that this one's has."""
    texts = tuple(value_text(value) for value in publication.values(name))
    return KeptGuard(ids=texts) if name == "id" else KeptGuard(keys=(tuple(_equality(name, text) for text in texts),))


def keys_of(topics: Iterable[str], attributes: dict[str, Held]) -> Iterator[str]:
    """The keys of a publication but those of its words; some may come twice."""
    for topic in topics:
        steps = topic.split("/")
        for end in range(1, len(steps) + 1):
            yield _topic(steps[:end])
    for name, held in attributes.items():
        yield _presence(name)
        for value in held if isinstance(held, list | tuple) else (held,):
            yield _equality(name, value_text(value))


def numbers_of(attributes: dict[str, Held]) -> Iterator[tuple[str, int]]:
    """The columns in which a publication has numbers, and the key of each."""
    for name, held in attributes.items():
        for value in held if isinstance(held, list | tuple) else (held,):
            if not isinstance(value, str | bool):
                yield column_name(name, isinstance(value, datetime)), _sortable(value)


def word_key(word: str) -> str:
    """The key of the publications whose text has a word."""
    return WORD + word


def column_name(name: str, is_instant: bool) -> str:
    """The column of the numbers, or of the instants, that an attribute or a field has."""
    return ("i" if is_instant else "n") + name


def _plain_word(atom: ResolvedAtom) -> str | None:
    return atom.words[0] if isinstance(atom, Sequence) and len(atom.words) == 1 else None


def _keys(atom: ResolvedAtom) -> Iterator[tuple[str, ...]]:
    match atom:
        case Sequence(words):
            yield from ((word_key(word),) for word in words)
        case Topic(path) if "*" not in path:
            yield (_topic(path),)
        case Equals(name, literal, False) if name not in _FIELDS:
            yield tuple(_equality(name, text) for text in equality_texts(literal))
        case (
            Present(name)
            | StartsWith(name)
            | EndsWith(name)
            | Contains(name)
            | Wildcard(name)
            | Regex(name)
            | Equals(name)
            | InNetwork(name)
            | FieldWords(name)
            | FieldPrefix(name)
        ) if name not in _FIELDS:
            yield (_presence(name),)


def _ids(atom: ResolvedAtom) -> frozenset[str]:
    return (
        equality_texts(atom.value)
        if isinstance(atom, Equals) and atom.name == "id" and not atom.folded
        else frozenset()
    )


def _range(asked: Range) -> NumberRange:
    (name, is_instant), low, high = range_keys(asked)
    return NumberRange(column_name(name, is_instant), low, high)


def _topic(steps: Iterable[str]) -> str:
    return "t" + "/".join(steps)[:MAX_KEY_CHARS]


def _presence(name: str) -> str:
    return "a" + name[:MAX_KEY_CHARS]


def _equality(name: str, text: str) -> str:
    return f"e{name[:MAX_KEY_CHARS]}\0{text[:MAX_KEY_CHARS]}"


def _sortable(value: Value) -> int:
    return instant_key(value) if isinstance(value, datetime) else number_key(float(value))
