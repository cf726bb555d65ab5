"""What flows by? A publication: text, an instant, a place, topics and attributes, any of them absent."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from tidings.model.errors import PublicationError
from tidings.model.values import Value, utc

MAX_TEXT_CHARS = 1_000_000
MAX_NUMBER = sys.float_info.max
FIELDS = ("id", "text", "ts", "lat", "lon", "topic")
"""The names that are fields of their own; every other name is an attribute."""

_OWN_VALUES = frozenset(FIELDS) - {"topic"}


@dataclass(frozen=True, slots=True)
class Publication:
    """One post, quote or alert. Validated when built; instants without a zone are in UTC.

    >>> post = Publication("p1", "The White House says", topics=("news/politics",), attributes={"volume": 300000})
    >>> post.value("volume"), post.value("missing")
    (300000, None)
    """

    id: str
    text: str = ""
    ts: datetime | None = None
    lat: float | None = None
    lon: float | None = None
    topics: tuple[str, ...] = ()
    attributes: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._check_text("id", self.id)
        self._check_text("text", self.text)
        if not self.id:
            raise PublicationError("a publication needs an id that is not empty")
        if len(self.text) > MAX_TEXT_CHARS:
            raise self._error(f"its text has {len(self.text):,} characters; at most {MAX_TEXT_CHARS:,} are taken")
        self._check_place()
        for topic in self.topics:
            self._check_text("topic", topic)
            if "\0" in topic or not all(topic.split("/")):
                raise self._error(f"its topic {topic!r} is not a path of non-empty steps like sports/soccer")
        kept = {name: self._checked(name, value) for name, value in self.attributes.items() if value is not None}
        object.__setattr__(self, "attributes", MappingProxyType(kept))
        if self.ts is not None:
            if not isinstance(self.ts, datetime):
                raise self._error(f"its ts is a {type(self.ts).__name__}, not a datetime")
            object.__setattr__(self, "ts", utc(self.ts))

    def __reduce__(self) -> tuple[type[Publication], tuple[object, ...]]:
        fields = (self.id, self.text, self.ts, self.lat, self.lon, self.topics, dict(self.attributes))
        return Publication, fields

    def value(self, name: str) -> Value | None:
        """What an attribute of that name holds, or None; the fields count as attributes too."""
        if name in _OWN_VALUES:
            value: Value | None = getattr(self, name)
            return None if value == "" else value
        if name == "topic":
            return self.topics[0] if self.topics else None
        return self.attributes.get(name)

    def _check_place(self) -> None:
        if (self.lat is None) != (self.lon is None):
            raise self._error("a place needs both lat and lon")
        if self.lat is None or self.lon is None:
            return
        for name in ("lat", "lon"):
            if not isinstance(degrees := getattr(self, name), int | float) or isinstance(degrees, bool):
                raise self._error(f"its {name} is a {type(degrees).__name__}, not a number of degrees")
        if not -90 <= self.lat <= 90:
            raise self._error(f"its lat is between -90 and 90 degrees, got {self.lat:g}")
        if not -180 <= self.lon <= 180:
            raise self._error(f"its lon is between -180 and 180 degrees, got {self.lon:g}")

    def _checked(self, name: str, value: Value) -> Value:
        if isinstance(value, str):
            self._check_text(name, value)
        elif isinstance(value, datetime):
            return utc(value)
        elif not isinstance(value, int | float):
            raise self._error(
                f"its {name!r} is a {type(value).__name__}; text, numbers, truth values, instants are taken"
            )
        elif not abs(value) <= MAX_NUMBER:  # so that NaN fails too
            raise self._error(f"its attribute {name!r} is not a finite number of float64's range; leave it out instead")
        return value

    def _check_text(self, name: str, text: object) -> None:
        if not isinstance(text, str):
            raise self._error(f"its {name} is a {type(text).__name__}, not text")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise self._error(f"its {name} has half of a surrogate pair at character {error.start + 1}") from None

    def _error(self, problem: str) -> PublicationError:
        return PublicationError(f"publication {self.id!r}: {problem}")
