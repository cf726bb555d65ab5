"""What flows by? A publication: text, an instant, a place, topics and attributes, any of them absent."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from tidings.model.errors import PublicationError, quoted
from tidings.model.values import Held, Value, half_pair, utc

MAX_TEXT_CHARS = 1_000_000
"""Of the text, and of each attribute."""

MAX_TOPICS, MAX_TOPIC_STEPS, MAX_ATTRIBUTES = 1_000, 100, 10_000
"""Far more than anybody asks about; each of them costs time and memory."""

MAX_VALUES = 10_000
"""So many values may one attribute have."""

MAX_LEVELS = 32
"""So deep may objects and lists be nested in an attribute."""

MAX_NUMBER = sys.float_info.max
FIELDS = ("id", "text", "ts", "lat", "lon", "topic")
"""The names that are fields of their own; every other name is an attribute."""

_OWN_VALUES = frozenset(FIELDS) - {"topic"}
_NESTED = (dict, list, tuple)


@dataclass(frozen=True, slots=True)
class Publication:
    """One post, quote or alert. Validated when built; instants without a zone are in UTC.

    An attribute has one value, or several in a list. Objects are taken apart: their fields are attributes with dotted
    names, and those of objects in a list have several values. Of two with one name, that of fewer steps counts.

    >>> post = Publication("p1", "The White House says", topics=("news/politics",), attributes={"volume": 300000})
    >>> post.value("volume"), post.value("missing")
    (300000, None)
    >>> Publication("p2", attributes={"user": {"name": "ada"}, "items": [{"price": 3}, {"price": 9}]}).attributes
    mappingproxy({'user.name': 'ada', 'items.price': (3, 9)})
    """

    id: str
    text: str = ""
    ts: datetime | None = None
    lat: float | None = None
    lon: float | None = None
    topics: tuple[str, ...] = ()
    attributes: Mapping[str, Held] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        self._check_text("id", self.id)
        self._check_text("text", self.text)
        if not self.id:
            raise PublicationError("a publication needs an id that is not empty")
        if len(self.text) > MAX_TEXT_CHARS:
            raise self._error(f"its text has {len(self.text):,} characters; at most {MAX_TEXT_CHARS:,} are taken")
        if self.lat is not None or self.lon is not None:
            object.__setattr__(self, "lat", self._checked_degrees("lat"))
            object.__setattr__(self, "lon", self._checked_degrees("lon"))
            if self.lat is None or self.lon is None:
                raise self._error("a place needs both lat and lon")
        if self.ts is not None:
            object.__setattr__(self, "ts", self._checked_instant("ts", self.ts))
        if self.topics != ():
            object.__setattr__(self, "topics", self._checked_topics())
        given = self.attributes
        if any(isinstance(value, _NESTED) for value in given.values()):
            given = self._taken_apart()
        kept = {name: self._checked(name, value) for name, value in given.items() if value is not None}
        if len(kept) > MAX_ATTRIBUTES:
            raise self._error(f"it has {len(kept):,} attributes; at most {MAX_ATTRIBUTES:,} are taken")
        object.__setattr__(self, "attributes", MappingProxyType(kept))

    def __reduce__(self) -> tuple[type[Publication], tuple[object, ...]]:
        fields = (self.id, self.text, self.ts, self.lat, self.lon, self.topics, dict(self.attributes))
        return Publication, fields

    def value(self, name: str) -> Held | None:
        """What an attribute of that name holds, or None; the fields count as attributes too."""
        if name in _OWN_VALUES:
            value: Held | None = getattr(self, name)
            return None if value == "" else value
        if name == "topic":
            return self.topics[0] if self.topics else None
        return self.attributes.get(name)

    def values(self, name: str) -> tuple[Value, ...]:
        """All values of an attribute or a field; none if it is absent."""
        held = self.value(name)
        return () if held is None else held if isinstance(held, tuple) else (held,)

    def _taken_apart(self) -> dict[str, Held]:
        """The attributes with dotted names; lists without a value are absent."""
        found: dict[tuple[str, ...], list[Value]] = {}
        several: set[tuple[str, ...]] = set()
        for name, given in self.attributes.items():
            self._check_name(name)
            for path, value, in_list in self._leaves((name,), given, 0):
                found.setdefault(path, []).append(value)
                if in_list:
                    several.add(path)
        flat: dict[str, Held] = {}
        for path in sorted(found, key=len):
            flat.setdefault(".".join(path), tuple(found[path]) if path in several else found[path][0])
        return flat

    def _leaves(
        self, path: tuple[str, ...], given: object, level: int
    ) -> Iterator[tuple[tuple[str, ...], Value, bool]]:
        """Each value in a nested attribute: where it is, what it is, and whether it is in a list."""
        if not isinstance(given, _NESTED):
            if given is not None:
                yield path, given, False  # type: ignore[misc]  # it is checked later
            return
        if level == MAX_LEVELS:
            raise self._error(f"its {path[0]!r} is nested deeper than {MAX_LEVELS} levels; leave it out, or flatten it")
        if isinstance(given, dict):
            for name, inner in given.items():
                if not isinstance(name, str):
                    raise self._error(f"its {path[0]!r} has the name {name!r}, which is no text")
                yield from self._leaves((*path, name), inner, level + 1)
            return
        for inner in given:
            yield from ((place, value, True) for place, value, _ in self._leaves(path, inner, level + 1))

    def _checked_degrees(self, name: str) -> float | None:
        degrees = getattr(self, name)
        if degrees is None:
            return None
        if not isinstance(degrees, int | float) or isinstance(degrees, bool):
            raise self._error(f"its {name} is a {type(degrees).__name__}, not a number of degrees")
        limit = 90 if name == "lat" else 180
        if not -limit <= degrees <= limit:
            got = f"{degrees:g}" if abs(degrees) <= MAX_NUMBER else "far more"
            raise self._error(f"its {name} is between -{limit} and {limit} degrees, got {got}")
        return float(degrees)

    def _checked_topics(self) -> tuple[str, ...]:
        if isinstance(self.topics, str):
            raise self._error(f"its topics are a tuple of paths, got the text {quoted(self.topics)}")
        if len(self.topics) > MAX_TOPICS:
            raise self._error(f"it has {len(self.topics):,} topics; at most {MAX_TOPICS:,} are taken")
        for topic in self.topics:
            self._check_text("topic", topic)
            if topic.count("/") >= MAX_TOPIC_STEPS:
                steps = topic.count("/") + 1
                raise self._error(f"its topic has {steps:,} steps; at most {MAX_TOPIC_STEPS:,} are taken")
            if "\0" in topic or not all(topic.split("/")):
                raise self._error(f"its topic {quoted(topic)} is not a path of non-empty steps like sports/soccer")
        return tuple(self.topics)

    def _checked_instant(self, name: str, instant: object) -> datetime:
        if not isinstance(instant, datetime):
            raise self._error(f"its {name} is a {type(instant).__name__}, not a datetime")
        try:
            return utc(instant)
        except ValueError as error:
            raise self._error(f"its {name} is no instant: {error}") from None

    def _check_name(self, name: object) -> None:
        if not isinstance(name, str) or name in FIELDS:
            raise self._error(
                f"{quoted(name)} cannot name an attribute: names are text, and {', '.join(FIELDS)} are fields"
            )

    def _checked(self, name: str, value: Held) -> Held:
        self._check_name(name)
        if isinstance(value, tuple):
            if len(value) > MAX_VALUES:
                raise self._error(f"its {quoted(name)} has {len(value):,} values; at most {MAX_VALUES:,} are taken")
            return tuple([self._checked_value(name, one) for one in value])
        return self._checked_value(name, value)

    def _checked_value(self, name: str, value: Value) -> Value:
        if isinstance(value, str):
            self._check_text(name, value)
            if len(value) > MAX_TEXT_CHARS:
                raise self._error(
                    f"its {_named(name)} has {len(value):,} characters; at most {MAX_TEXT_CHARS:,} are taken"
                )
            return value
        if isinstance(value, datetime):
            return self._checked_instant(name, value)
        if not isinstance(value, int | float):
            raise self._error(
                f"its {quoted(name)} is a {type(value).__name__}; text, numbers, truth values, instants, "
                "and lists and objects of them are taken"
            )
        if not abs(value) <= MAX_NUMBER:  # so that NaN fails too
            raise self._error(
                f"its attribute {quoted(name)} is not a finite number of float64's range; leave it out instead"
            )
        return float(value) if isinstance(value, float) else value

    def _check_text(self, name: str, text: object) -> None:
        if not isinstance(text, str):
            raise self._error(f"its {_named(name)} is a {type(text).__name__}, not text")
        if not text.isascii() and (at := half_pair(text)) is not None:
            raise self._error(f"its {_named(name)} has half of a surrogate pair at character {at}")

    def _error(self, problem: str) -> PublicationError:
        return PublicationError(f"publication {quoted(self.id)}: {problem}")


def _named(name: str) -> str:
    """A field by its name, an attribute, whose name anybody may have chosen, in quotes."""
    return name if name in FIELDS else quoted(name)
