"""Under which keys is a kept publication filed, and which of them does a conjunction read? The dual of the index.

Words, values and topics have a key each. Places and numbers are sorted: a region or a range reads a span of keys. A
key may be cut short or stand for two values: what is read is a candidate, and is verified.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from tidings.index.predicates import range_keys
from tidings.language import Conjunction, ResolvedAtom, Sequence
from tidings.model import Publication
from tidings.model.query import Equals, Range, Topic, Within
from tidings.model.values import Value, equality_texts, value_text
from tidings.tables.columns import instant_key, number_key
from tidings.terms import cells, labels

MAX_KEY_BYTES = 256
"""Of a value in a key; longer ones are cut."""

MAX_COVER = 8

Span = tuple[bytes, bytes]
"""A range of keys, its end excluded."""

_FIELDS = ("id", "ts", "lat", "lon")
_BIAS = 1 << 63


def keys_of(publication: Publication) -> Iterator[bytes]:
    """The keys of a publication but those of its words; some may come twice."""
    for topic in publication.topics:
        steps = topic.split("/")
        for end in range(1, len(steps) + 1):
            yield _topic(steps[:end])
    if publication.lon is not None and publication.lat is not None:
        yield b"c" + labels.to_bytes(cells.cell(publication.lon, publication.lat))
    for name in (*_FIELDS, *publication.attributes):
        for value in publication.values(name):
            yield _equality(name, value_text(value))
            if not isinstance(value, str | bool):
                yield _number(name, isinstance(value, datetime), _sortable(value))


def spans_of(conjunction: Conjunction) -> list[list[Span]]:
    """What a conjunction reads: a publication that answers it has a key in some span of each of these lists."""
    found = [spans for atom in conjunction.required for spans in _exact(atom)]
    return found or [spans for atom in conjunction.required if (spans := _areas(atom))][:1]


def is_exact(conjunction: Conjunction) -> bool:
    """Whether what :func:`spans_of` reads need not be verified: words alone are asked for."""
    words = all(isinstance(atom, Sequence) and len(atom.words) == 1 for atom in conjunction.required)
    return words and not conjunction.forbidden


def _exact(atom: ResolvedAtom) -> Iterator[list[Span]]:
    match atom:
        case Sequence(words):
            yield from ([_alone(word_key(word))] for word in words)
        case Topic(path) if "*" not in path:
            yield [_alone(_topic(path))]
        case Equals(name, literal, False) if name not in ("text", "topic"):
            yield [_alone(_equality(name, text)) for text in equality_texts(literal)]


def _areas(atom: ResolvedAtom) -> list[Span]:
    match atom:
        case Within(region):
            ends = map(labels.descendants, cells.cover(region, MAX_COVER))
            return [(b"c" + labels.to_bytes(first), b"c" + labels.to_bytes(last + 1)) for first, last in ends]
        case Range(name) if name not in ("text", "topic"):
            (_, is_instant), low, high = range_keys(atom)
            return [(_number(name, is_instant, low), _number(name, is_instant, high) + b"\xff" * 9)]
        case _:
            return []


def word_key(word: str) -> bytes:
    """The key of the publications whose text has a word."""
    return b"w" + _cut(word) + b"\0"


def _topic(steps: Iterable[str]) -> bytes:
    return b"t" + _cut("/".join(steps)) + b"\0"


def _equality(name: str, text: str) -> bytes:
    return b"e" + _cut(name) + b"\0" + _cut(text) + b"\0"


def _number(name: str, is_instant: bool, key: int) -> bytes:
    return (b"i" if is_instant else b"n") + _cut(name) + b"\0" + (key + _BIAS).to_bytes(8, "big")


def _sortable(value: Value) -> int:
    return instant_key(value) if isinstance(value, datetime) else number_key(float(value))


def _cut(text: str) -> bytes:
    return text.encode()[:MAX_KEY_BYTES].replace(b"\0", b"\1")


def _alone(key: bytes) -> Span:
    return key, key + b"\xff" * 9
