"""How is a publication written down that is kept? As a record of its own, or many as one table.

Id and text are plain UTF-8. Topics and attributes, where there are any, are JSON behind them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import groupby
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis.vocabulary import WordSets
from tidings.arrays import IntArray
from tidings.model import DataError, Publication
from tidings.model.publication import FIELDS
from tidings.tables.canonical import INSTANT
from tidings.tables.columns import ABSENT, column_keys, instant_key, is_instant, place_columns
from tidings.tables.rows import publications

TEXT = pa.large_string()
Buffer = bytes | memoryview
"""A piece of a record."""

FloatArray = npt.NDArray[np.float64]

_ONE, _MANY = b"p", b"t"
MARKS = _ONE + _MANY
"""What a record begins with."""
_ROW = Struct("<cqqqqqddII")
_TABLE = Struct("<cqqq")
_INSTANT = "us"
_EPOCH = datetime.fromtimestamp(0, UTC)
_NO_INSTANT = int(ABSENT)


class KeptRow(NamedTuple):
    """A publication that is kept: when it came, when it happened and when it ends, in microseconds since 1970; the
    version of the subscriptions that it was matched with; its fields, ``ts`` and place ABSENT and NaN where it has
    none; the rest of it as JSON, empty if there is none."""

    came: int
    happened: int
    ends: int
    version: int
    ts: int
    lat: float
    lon: float
    id: str
    text: str
    rest: str

    @classmethod
    def of(cls, post: Publication, came: int, ends: int, version: int) -> KeptRow:
        ts = _NO_INSTANT if post.ts is None else instant_key(post.ts)
        happened = came if post.ts is None else ts
        lat = math.nan if post.lat is None else post.lat
        lon = math.nan if post.lon is None else post.lon
        rest = _rest(post) if post.topics or post.attributes else ""
        return cls(came, happened, ends, version, ts, lat, lon, post.id, post.text, rest)

    @property
    def posts(self) -> int:
        """How many publications it is."""
        return 1

    @property
    def words(self) -> None:
        """Nobody has read them."""

    def packed(self) -> list[Buffer]:
        name, text = self.id.encode(), self.text.encode()
        return [_ROW.pack(_ONE, *self[:7], len(name), len(text)) + name + text + self.rest.encode()]


@dataclass(slots=True, eq=False)
class KeptTable:
    """Publications that came together, as a canonical table; as :class:`KeptRow` but for their fields.

    ``words``: those of all rows in order, once somebody has read them.
    """

    came: int
    ends: int
    version: int
    table: pa.Table
    words: Sequence[WordSets] | None = None

    @property
    def posts(self) -> int:
        """How many publications it is."""
        return int(self.table.num_rows)

    def packed(self) -> list[Buffer]:
        measured = pa.MockOutputStream()
        self._write(measured)
        buffer = pa.allocate_buffer(measured.size())  # one that grows is copied over and over
        self._write(pa.FixedSizeBufferWriter(buffer))
        return [_TABLE.pack(_MANY, self.came, self.ends, self.version), memoryview(buffer)]

    def _write(self, sink: pa.NativeFile) -> None:
        with pa.ipc.new_stream(sink, self.table.schema) as stream:
            stream.write_table(self.table)

    def rows(self) -> KeptRows:
        table, count = self.table, self.posts
        names = table.column_names
        has_ts = "ts" in names and is_instant(table.schema.field("ts").type)
        ts = column_keys(table["ts"]) if has_ts else np.full(count, ABSENT)
        lon, lat = place_columns(table)
        texts = table["text"] if "text" in names else pa.nulls(count, TEXT)
        has_rest = any(name == "topic" or name not in FIELDS for name in names)
        rests = [_rest(post) for post in publications(table) if isinstance(post, Publication)] if has_rest else None
        return KeptRows(
            np.full(count, self.came), np.where(ts == ABSENT, self.came, ts), np.full(count, self.ends),
            np.full(count, self.version), ts, lat, lon, _texts(table["id"]), _texts(texts),
            _empty_texts(count) if rests is None else pa.array(rests, TEXT),
        )  # fmt: skip


def unpacked(record: bytes) -> KeptRow | KeptTable:
    """What ``packed`` wrote; DataError if that was not this tidings."""
    if record[:1] == _MANY:
        _, came, ends, version = _TABLE.unpack_from(record)
        return KeptTable(came, ends, version, pa.ipc.open_stream(pa.py_buffer(record)[_TABLE.size :]).read_all())
    if record[:1] != _ONE:
        raise DataError(f"a publication was kept as {record[:1]!r}, which this tidings does not know")
    _, *values, id_bytes, text_bytes = _ROW.unpack_from(record)
    id_end = _ROW.size + id_bytes
    text_end = id_end + text_bytes
    texts = (record[_ROW.size : id_end], record[id_end:text_end], record[text_end:])
    return KeptRow(*values, *(text.decode() for text in texts))


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Publications as columns: those of :class:`KeptRow`, int64, float64 and Arrow's text."""

    came: IntArray
    happened: IntArray
    ends: IntArray
    version: IntArray
    ts: IntArray
    lat: FloatArray
    lon: FloatArray
    ids: pa.LargeStringArray
    texts: pa.LargeStringArray
    rests: pa.LargeStringArray

    @classmethod
    def of(cls, rows: Sequence[KeptRow]) -> KeptRows:
        *times, lat, lon, ids, texts, rests = zip(*rows, strict=True)
        numbers: list[Any] = [np.array(column, dtype=np.int64) for column in times]
        numbers += [np.array(column, dtype=np.float64) for column in (lat, lon)]
        return cls(*numbers, *(pa.array(column, TEXT) for column in (ids, texts, rests)))

    @classmethod
    def gathered(cls, kept: Sequence[KeptRow | KeptTable]) -> KeptRows:
        """Of all these, in order."""
        parts: list[KeptRows] = []
        for kind, group in groupby(kept, key=type):
            some: Any = list(group)
            parts += [KeptRows.of(some)] if kind is KeptRow else [table.rows() for table in some]
        return cls.joined(parts)

    @classmethod
    def joined(cls, parts: Sequence[KeptRows]) -> KeptRows:
        if len(parts) == 1:
            return parts[0]
        columns = [[getattr(part, field.name) for part in parts] for field in fields(cls)]
        return cls(*(_joined(column) for column in columns))

    def __len__(self) -> int:
        return len(self.came)

    def taken(self, places: npt.NDArray[np.integer[Any]]) -> KeptRows:
        """Some of them, in that order."""
        columns = [self.came, self.happened, self.ends, self.version, self.ts, self.lat, self.lon]
        chosen = pa.array(places)
        rests = self.rests.take(chosen) if self.with_rest else _empty_texts(len(places))
        taken: list[Any] = [one[places] for one in columns]
        taken += [self.ids.take(chosen), self.texts.take(chosen), rests]
        return KeptRows(*taken)

    @cached_property
    def limits(self) -> tuple[int, int, int, int]:
        """When the first and the last of them happened, when the first of them ends, and the newest version."""
        return int(self.happened.min()), int(self.happened.max()), int(self.ends.min()), int(self.version.max())

    @cached_property
    def with_rest(self) -> list[int]:
        """Which of them have topics or attributes."""
        found: list[int] = np.flatnonzero(pc.binary_length(self.rests).to_numpy(zero_copy_only=False)).tolist()
        return found

    def publications(self) -> Iterator[Publication]:
        """Each as it was published."""
        own = zip(self.ids.to_pylist(), self.texts.to_pylist(), self.ts.tolist(), strict=True)
        places = zip(self.lat.tolist(), self.lon.tolist(), strict=True)
        for (name, text, ts), (lat, lon), rest in zip(own, places, self.rests.to_pylist(), strict=True):
            at = None if ts == _NO_INSTANT else _EPOCH + timedelta(microseconds=ts)
            topics, attributes = rest_of(rest)
            place = (None, None) if math.isnan(lat) else (lat, lon)
            yield Publication(name, text, at, place[0], place[1], topics, attributes)

    def fields(self) -> dict[str, pa.Array]:
        """The columns of a canonical table but for the rest."""
        return {
            "id": self.ids,
            "text": self.texts,
            "ts": pa.array(self.ts, mask=self.ts == ABSENT).cast(INSTANT),
            "lat": pa.array(self.lat, from_pandas=True),
            "lon": pa.array(self.lon, from_pandas=True),
        }


def rest_of(rest: str) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Topics and attributes."""
    if not rest:
        return (), {}
    topics, attributes = json.loads(rest, object_hook=_instants)
    return tuple(topics), dict(attributes)


def _rest(post: Publication) -> str:
    return _ENCODER.encode([post.topics, list(post.attributes.items())])


def _texts(column: pa.ChunkedArray | pa.Array) -> pa.LargeStringArray:
    found = column.cast(TEXT).fill_null("")
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _empty_texts(count: int) -> pa.LargeStringArray:
    return pa.Array.from_buffers(TEXT, count, [None, pa.py_buffer(bytes(8 * count + 8)), pa.py_buffer(b"")])


def _joined(parts: list[Any]) -> Any:
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else pa.concat_arrays(parts)


def _of_instant(value: object) -> dict[str, int]:
    assert isinstance(value, datetime)
    return {_INSTANT: instant_key(value)}


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=_of_instant, separators=(",", ":"))


def _instants(found: dict[str, Any]) -> datetime:
    """Instants are the only objects in a row."""
    return _EPOCH + timedelta(microseconds=found[_INSTANT])
