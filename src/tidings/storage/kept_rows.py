"""How is a publication written down? As JSON behind its times, so that it can be read without tidings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from struct import Struct
from typing import Any

from tidings.model import Publication
from tidings.tables.columns import instant_key

_TIMES = Struct(">qqq")
_INSTANT = "us"
_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class KeptRow:
    """A publication that is kept: when it came, when it happened and when it ends, in microseconds since 1970."""

    came: int
    happened: int
    ends: int
    publication: Publication

    def packed(self) -> bytes:
        post = self.publication
        fields = [post.id, post.text, post.ts, post.lat, post.lon, post.topics, list(post.attributes.items())]
        return _TIMES.pack(self.came, self.happened, self.ends) + _ENCODER.encode(fields).encode()

    @classmethod
    def unpacked(cls, packed: bytes) -> KeptRow:
        """The row that :meth:`packed` wrote."""
        name, text, ts, lat, lon, topics, attributes = json.loads(packed[_TIMES.size :], object_hook=_instants)
        post = Publication(name, text, ts, lat, lon, tuple(topics), dict(attributes))
        return cls(*times_of(packed), post)


def times_of(packed: bytes) -> tuple[int, int, int]:
    """When a row came, happened and ends, without the rest of it."""
    came, happened, ends = _TIMES.unpack_from(packed)
    return came, happened, ends


def _of_instant(value: object) -> dict[str, int]:
    assert isinstance(value, datetime)
    return {_INSTANT: instant_key(value)}


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=_of_instant, separators=(",", ":"))


def _instants(found: dict[str, Any]) -> datetime:
    """Instants are the only objects in a row."""
    return _EPOCH + timedelta(microseconds=found[_INSTANT])
