"""How is a message written? As JSON: an object with its type and its fields; a field with its default is left out.

Reading is strict: unknown types and fields, wrong types, NaN and infinity are refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, NoReturn, Union, get_args, get_origin, get_type_hints

from tidings.broker.frames import FrameError
from tidings.broker.messages import Delivery
from tidings.model import Publication, TidingsError
from tidings.model.errors import MAX_QUOTED_CHARS

_Read = Callable[[Any], Any]
_LARGEST = 2**63 - 1


def encode(message: object) -> bytes:
    """The text of a message.

    >>> from tidings.broker.messages import Refused
    >>> encode(Refused(3, "no"))
    b'{"type":"Refused","number":3,"reason":"no"}'
    """
    return json.dumps(_plain(message), separators=(",", ":"), allow_nan=False).encode()


def encode_deliveries(subscribers: Iterable[str], key: str, publication: Publication) -> Iterator[bytes]:
    """The texts of deliveries of one publication, which is written only once."""
    before, after = encode(Delivery("", key, publication)).split(b'""', 1)
    for subscriber in subscribers:
        yield before + json.dumps(subscriber).encode() + after


def decode(body: bytes, kinds: tuple[type, ...]) -> Any:
    """A message of one of these types; refuses with FrameError.

    >>> from tidings.broker.messages import Accepted, Refused
    >>> decode(b'{"type":"Refused","number":3,"reason":"no"}', (Accepted, Refused))
    Refused(number=3, reason='no')
    """
    try:
        given = json.loads(body, parse_constant=_no_constant)
        return _one_of(kinds)(given)
    except (ValueError, OverflowError, RecursionError) as error:  # JSONDecodeError and UnicodeDecodeError among them
        raise FrameError(f"this cannot be read: {_shown(str(error))}") from None
    except FrameError:
        raise
    except TidingsError as error:  # a value that its type refuses
        raise FrameError(str(error)) from None


def _no_constant(text: str) -> NoReturn:
    raise FrameError(f"{text} is no number here")


def _shown(value: object) -> str:
    """``repr``, but not longer than a reason may be."""
    text = repr(value)
    return text if len(text) <= MAX_QUOTED_CHARS else f"{text[:MAX_QUOTED_CHARS]}…"


# --- writing


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, datetime):
        return {"instant": value.isoformat()}
    kind: type = type(value)
    found: dict[str, Any] = {"type": kind.__name__}
    for name, default in _defaults(kind):
        held = getattr(value, name)
        if default is MISSING or held != default:
            found[name] = {key: _plain(each) for key, each in held.items()} if name == "attributes" else _plain(held)
    return found


@cache
def _defaults(kind: type) -> tuple[tuple[str, Any], ...]:
    found = []
    for field in fields(kind):
        made = field.default_factory
        found.append((field.name, field.default if made is MISSING else made()))
    return tuple(found)


# --- reading


@cache
def _one_of(kinds: tuple[type, ...]) -> _Read:
    """Reads an object of one of these types, which it names."""
    known = {kind.__name__: kind for kind in kinds}

    def read(given: Any) -> Any:
        if not isinstance(given, dict):
            raise FrameError(f"a message is an object, got {_shown(given)}")
        kind = given.get("type")
        if not isinstance(kind, str) or kind not in known:
            raise FrameError(f"one of {', '.join(known)} is expected, got {_shown(kind)}")
        return _read_object(known[kind], given)

    return read


def _read_object(kind: type, given: dict[str, Any]) -> Any:
    readers = _readers(kind)
    values = {}
    for name, value in given.items():
        if name == "type":
            continue
        if name not in readers:
            raise FrameError(f"{kind.__name__} has no field {_shown(name)}")
        values[name] = readers[name](value)
    for name, default in _defaults(kind):
        if default is MISSING and name not in values:
            raise FrameError(f"{kind.__name__} lacks its field {name!r}")
    return kind(**values)


@cache
def _readers(kind: type) -> dict[str, _Read]:
    if kind is Publication:
        hints: dict[str, Any] = dict.fromkeys(("id", "text"), str)
        hints |= dict.fromkeys(("lat", "lon"), float | None)
        return {name: _reader(hint) for name, hint in hints.items()} | {
            "ts": _instant,
            "topics": _reader(tuple[str, ...]),
            "attributes": _attributes,
        }
    return {name: _reader(hint) for name, hint in get_type_hints(kind).items()}


@cache
def _reader(hint: Any) -> _Read:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is float:
        return _number
    if hint is Hashable or hint in (str, int, bool):
        return _exactly(str if hint is Hashable else hint)
    if origin in (Union, UnionType):
        return _union(tuple(each for each in inner if each is not NoneType), optional=NoneType in inner)
    if origin in (tuple, frozenset):
        return _several(origin, _reader(inner[0]))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _member(hint)
    if is_dataclass(hint) and isinstance(hint, type):
        return _one_of((hint,))
    raise TypeError(f"a message cannot have a {hint}")


def _exactly(kind: Any) -> _Read:
    def read(given: Any) -> Any:
        if type(given) is not kind or (kind is int and abs(given) > _LARGEST):
            raise FrameError(f"{kind.__name__} is expected, got {_shown(given)}")
        if kind is str:
            given.encode()  # half of a surrogate pair, which JSON may have, is a ValueError
        return given

    return read


def _number(given: Any) -> float:
    if type(given) not in (int, float) or not isfinite(given):
        raise FrameError(f"a finite number is expected, got {_shown(given)}")
    return float(given)


def _union(members: tuple[Any, ...], *, optional: bool) -> _Read:
    read = _reader(members[0]) if len(members) == 1 else _one_of(members)
    return lambda given: None if given is None and optional else read(given)


def _several(kind: type, item: _Read) -> _Read:
    def read(given: Any) -> Any:
        if not isinstance(given, list):
            raise FrameError(f"a list is expected, got {_shown(given)}")
        return kind(item(each) for each in given)

    return read


def _member(kind: type[Enum]) -> _Read:
    known = {member.value: member for member in kind}

    def read(given: Any) -> Any:
        if not isinstance(given, str) or given not in known:
            raise FrameError(f"one of {', '.join(known)} is expected, got {_shown(given)}")
        return known[given]

    return read


def _attributes(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise FrameError(f"attributes are an object, got {_shown(given)}")
    return {name: _attribute(value) for name, value in given.items()}


def _attribute(given: Any) -> Any:
    if isinstance(given, list):
        return tuple(_attribute(each) for each in given)
    return _instant(given) if isinstance(given, dict) else given


def _instant(given: Any) -> datetime:
    if not isinstance(given, dict) or given.keys() != {"instant"} or not isinstance(given["instant"], str):
        raise FrameError(f'an instant is {{"instant": "2026-01-02T03:04:05Z"}}, got {_shown(given)}')
    return datetime.fromisoformat(given["instant"])
