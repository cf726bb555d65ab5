"""Who asked for a query? Subscriptions by number, side by side in order of their query, or chained.

As with entries, what was asked for a long time lies side by side and never changes (:class:`Subscribers`), and what was
asked just now is chained (:class:`ChainedSubscribers`). Either way a removal only writes down when it happened
(``died``), and readers who came before go on seeing the subscription.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidings.arrays import IdArray, IntArray
from tidings.arrays.growing import Growing, read_only
from tidings.arrays.packs import Pack
from tidings.arrays.strings import StringTable, some_texts, text_bytes
from tidings.index.single.kernels import some_values
from tidings.index.single.packs import ASKED
from tidings.model import Subscription
from tidings.tables.checked import TEXT
from tidings.tables.columns import instant_key
from tidings.tables.matches import MATCHES, plain, renumbered

FOREVER_BEFORE, FOREVER_AFTER = -(2**63) + 1, 2**63 - 1
COLUMNS = ("id", "subscriber", "tag", "query", "query_version", "since", "until")
"""Of a table of subscriptions as the index takes and gives it; instants as keys, never null."""


class Record(NamedTuple):
    """A row of such a table."""

    id: str
    subscriber: str
    tag: str
    query: str
    query_version: int
    since: int
    until: int

    @classmethod
    def of(cls, subscription: Subscription, text: str) -> Record:
        since = FOREVER_BEFORE if subscription.since is None else instant_key(subscription.since)
        until = FOREVER_AFTER if subscription.until is None else instant_key(subscription.until)
        return cls(subscription.id, subscription.subscriber, subscription.tag, text, subscription.version, since, until)


Row = tuple[str, str, str, str, int, int, int]
"""A Record, or the same as a plain tuple. What is kept is plain: the garbage collector looks at plain tuples of texts
and numbers once, and at Records again and again, each time with all other objects that there are."""

_PLACES = {"subscription_id": 0, "subscriber": 1, "tag": 2, "query_version": 4}
"""Where the columns of a match are in a Row."""


@dataclass(frozen=True, slots=True)
class RowRoster:
    """Subscriptions in a list of rows, as a :class:`tidings.tables.matches.Roster`."""

    rows: list[Row]

    def column(self, name: str, numbers: IdArray) -> tuple[pa.Array, IdArray]:
        """The values of those that are asked for, each once."""
        used, places = renumbered(numbers)
        at, kind = _PLACES[name], MATCHES.field(name).type
        return pa.array([self.rows[number][at] for number in used.tolist()], kind), places

    def values(self, numbers: IdArray) -> list[Iterable[Any]]:
        asked = [self.rows[number] for number in numbers.tolist()]
        return [[row[at] for row in asked] for at in _PLACES.values()]


FIRST_ROOM = 64
NO_NUMBERS: IdArray = read_only(np.zeros(0, dtype=np.int32))
NO_KEYS: IntArray = read_only(np.zeros(0, dtype=np.int64))


@dataclass(frozen=True)
class Asked:
    """Subscriptions as :mod:`tidings.index.fan_out.kernels` takes them: side by side, or chained by ``link``."""

    starts: IdArray
    link: IdArray
    limit: int
    died: npt.NDArray[np.int32]
    since: IntArray
    until: IntArray

    @cached_property
    def packed(self) -> Pack:
        return Pack(ASKED, (self.starts, self.link, self.died, self.since, self.until))


@dataclass(frozen=True)
class Subscribers:
    """Those of query q are ``starts[q] … starts[q + 1]``, int32. ``since`` and ``until`` are empty without limits.

    ``died`` int32[subscriptions] alone changes: 0 for the living, else the moment (a count of changes) of the removal.
    """

    starts: IdArray
    ids: StringTable
    subscribers: pa.LargeStringArray
    tags: pa.LargeStringArray
    queries: pa.LargeStringArray
    versions: IntArray
    since: IntArray
    until: IntArray
    died: npt.NDArray[np.int32] = field(repr=False)

    @classmethod
    def of(cls, table: pa.Table, queries: IntArray, query_count: int) -> Subscribers:
        """The rows of a table with COLUMNS, each asking for the query of that number; ids are distinct."""
        order = np.argsort(queries, kind="stable")
        counts = np.bincount(queries, minlength=query_count)
        ordered = table.take(pa.array(order)) if np.any(np.diff(order) < 0) else table
        since, until = (ordered[name].to_numpy() for name in ("since", "until"))
        limited = bool(np.any(since != FOREVER_BEFORE) or np.any(until != FOREVER_AFTER))
        return cls(
            starts=read_only(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)),
            ids=StringTable.of(ordered["id"]),
            subscribers=_compact(ordered["subscriber"]),
            tags=_compact(ordered["tag"]),
            queries=_one_array(ordered["query"]),
            versions=read_only(_constant_or_all(ordered["query_version"].to_numpy())),
            since=read_only(since) if limited else NO_KEYS,
            until=read_only(until) if limited else NO_KEYS,
            died=np.zeros(table.num_rows, dtype=np.int32),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def asked(self) -> Asked:
        return Asked(self.starts, NO_NUMBERS, len(self), read_only(self.died), self.since, self.until)

    def find(self, name: str) -> int:
        """The number of the living subscription of that id, or -1."""
        number = self.ids.find(name)
        return -1 if number >= 0 and self.died[number] else number

    def living_numbers(self, ids: pa.Array) -> IntArray:
        """The numbers of the living of these ids."""
        found = self.ids.find_many(ids)
        known: IntArray = found[found >= 0]
        living: IntArray = known[self.died[known] == 0]
        return living

    def known(self, ids: pa.Array) -> list[str]:
        """Those of these ids that live."""
        names: list[str] = self.ids.texts().take(pa.array(self.living_numbers(ids))).to_pylist()
        return names

    def living_of(self, ids: pa.Array) -> pa.Table:
        """The living of these ids, with all COLUMNS."""
        return self.columns(self.living_numbers(ids).astype(np.int32))

    def living_queries(self) -> pa.Array:
        """What each of the living asks."""
        return self.queries.filter(pa.array(self.died == 0))

    def ended(self, key: int) -> list[str]:
        """The ids of the living whose ``until`` is that instant or earlier."""
        if not len(self.until):
            return []
        names: list[str] = self.ids.texts().filter(pa.array((self.until <= key) & (self.died == 0))).to_pylist()
        return names

    def columns(self, numbers: IdArray) -> pa.Table:
        """Some of them, with all COLUMNS."""
        since, until = (
            np.full(len(numbers), filler) if not len(keys) else keys[numbers]
            for keys, filler in ((self.since, FOREVER_BEFORE), (self.until, FOREVER_AFTER))
        )
        names, who, tags, versions = (plain(*self.column(name, numbers)) for name in MATCHES.names[1:])
        queries = self.queries.take(pa.array(numbers))
        return pa.table([names, who, tags, queries, versions, pa.array(since), pa.array(until)], names=COLUMNS)

    def column(self, name: str, numbers: IdArray) -> tuple[pa.Array, IdArray]:
        """As a :class:`tidings.tables.matches.Roster` gives it; nothing is copied."""
        if name == "subscription_id":
            return self.ids.texts(), numbers
        if name == "query_version":
            found = pa.array(self.versions)
        else:
            found = self.subscribers if name == "subscriber" else self.tags
        return found, np.zeros(len(numbers), dtype=np.int32) if len(found) == 1 else numbers

    def values(self, numbers: IdArray) -> list[Iterable[Any]]:
        """The same as Python values, for a few; what all have in common is repeated without end."""
        texts = (self.subscribers, self.tags)
        versions = (
            some_values(self.versions, numbers).tolist() if len(self.versions) > 1 else repeat(int(self.versions[0]))
        )
        return [
            self.ids.some(numbers),
            *(_some(column, numbers) if len(column) > 1 else repeat(column[0].as_py()) for column in texts),
            versions,
        ]

    @property
    def size_bytes(self) -> int:
        """Without the ids and texts themselves, but with the table that finds an id."""
        arrays = (self.starts, self.versions, self.since, self.until, self.died, self.ids.slots)
        return sum(array.nbytes for array in arrays)


def _some(column: pa.LargeStringArray, numbers: IdArray) -> list[str]:
    data, offsets = text_bytes(column)
    return some_texts(offsets, data.data, numbers)


def _constant_or_all(values: IntArray) -> IntArray:
    return values[:1] if len(values) and np.all(values == values[0]) else values


def _one_array(column: pa.ChunkedArray | pa.Array) -> pa.LargeStringArray:
    column = column.cast(TEXT)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _compact(column: pa.ChunkedArray) -> pa.LargeStringArray:
    """One element where all are equal."""
    array = _one_array(column)
    return array[:1] if len(array) > 1 and pc.all(pc.equal(array, array[0])).as_py() else array


class ChainedSubscribers:
    """Subscriptions that are added one at a time; one thread writes. :meth:`asked`: what a reader may see of them.

    A reader may come at any time and take the first so many. It takes the arrays in the order in which Asked has them:
    what begins a chain before what continues it, so that no chain leads out of the arrays that it holds.
    """

    def __init__(self, room: int = FIRST_ROOM) -> None:
        self._starts, self._link = Growing(np.int32, filler=-1), Growing(np.int32, filler=-1)
        self._died = Growing(np.int32)
        self._since, self._until = Growing(np.int64, filler=FOREVER_BEFORE), Growing(np.int64, filler=FOREVER_AFTER)
        self._limited = False
        self._barrier = threading.Lock()
        self._numbers: dict[str, int] = {}
        self._queries: list[int] = []
        self.rows: list[Row] = []
        self._make_room(room)
        self._starts.reach(room)

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, row: Row, query: int) -> None:
        number = len(self.rows)
        if number == self.room:
            self._make_room(2 * number)
        if query >= len(self._starts.array):
            self._starts.reach(query + 1)
        if self._limited or row[5] != FOREVER_BEFORE or row[6] != FOREVER_AFTER:
            self._limit(number, row)
        starts = self._starts.array
        self._link.array[number] = starts[query]
        self._queries.append(query)
        self.rows.append(row[:])  # a plain tuple, whatever it was
        self._numbers[row[0]] = number
        with self._barrier:  # whoever finds it in its chain must find all of it: no store passes a lock
            pass
        starts[query] = number

    def _make_room(self, room: int) -> None:
        self.room = room
        for column in (self._link, self._died, *((self._since, self._until) if self._limited else ())):
            column.reach(room)
        self._starts.renew()  # after the link: who has the short one must not find what lies beyond it

    def _limit(self, number: int, row: Row) -> None:
        """Keep the instants of a subscription; until the first that has any, there is no room for them."""
        self._since.reach(self.room)
        self._until.reach(self.room)
        self._since.array[number], self._until.array[number] = row[5:]
        self._limited = True

    def asked(self, count: int) -> Asked:
        """The first so many; where one of them has a limit, with limits."""
        starts, link = self._starts.view, self._link.view
        since, until = (self._since.view, self._until.view) if self._limited else (NO_KEYS, NO_KEYS)
        return Asked(starts, link, count, self._died.view, since, until)

    @property
    def size_bytes(self) -> int:
        """Of the arrays that matching reads, as far as they are filled."""
        each = self._link.array.itemsize + self._died.array.itemsize
        limits = self._since.array.itemsize + self._until.array.itemsize if self._limited else 0
        return int(self._starts.array.nbytes) + len(self) * (each + limits)

    def find(self, name: str) -> int:
        """The number of the living subscription of that id, or -1."""
        return self._numbers.get(name, -1)

    def living_ids(self) -> list[str]:
        return list(self._numbers)

    def bury(self, name: str, moment: int) -> bool:
        """Bury the living subscription of that id; False if there is none."""
        number = self._numbers.pop(name, None)
        if number is None:
            return False
        self._died.array[number] = moment
        return True

    def known(self, ids: pa.Array) -> list[str]:
        """Those of these ids that live."""
        return [name for name in ids.to_pylist() if name in self._numbers] if self._numbers else []

    def living_of(self, ids: pa.Array) -> pa.Table:
        """The living of these ids, with all COLUMNS."""
        numbers = [self.find(name) for name in ids.to_pylist()] if self.rows else []
        return table_of([self.rows[number] for number in numbers if number >= 0])

    def living_queries(self) -> pa.Array:
        """What each of the living asks."""
        return pa.array([self.rows[number][3] for number in self._numbers.values()], TEXT)

    def ended(self, key: int) -> list[str]:
        """The ids of the living whose ``until`` is that instant or earlier."""
        return [name for name, number in self._numbers.items() if self.rows[number][6] <= key]

    def living(self) -> tuple[pa.Table, IntArray]:
        """The living with all COLUMNS, and the query that each asks for."""
        alive = np.flatnonzero(self._died.array[: len(self)] == 0)
        return table_of([self.rows[number] for number in alive.tolist()]), np.array(self._queries, np.int64)[alive]


def table_of(rows: Sequence[Row]) -> pa.Table:
    kinds = [TEXT] * 4 + [pa.int64()] * 3
    columns = [[row[at] for row in rows] for at in range(len(kinds))]  # to zip them makes an object of each row
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)], names=COLUMNS)


def latest(table: pa.Table) -> pa.Table:
    """A table with all COLUMNS, where the later of two equal ids counts.

    >>> latest(pa.table({"id": ["s", "t", "s"], "query": ["fire", "rain", "smoke"]}))["query"].to_pylist()
    ['rain', 'smoke']
    """
    table = with_all_columns(table)
    last = pa.table({"id": table["id"], "row": np.arange(table.num_rows)}).group_by("id").aggregate([("row", "max")])
    return table.take(last["row_max"].sort()) if last.num_rows < table.num_rows else table


def keyed(table: pa.Table) -> pa.Table:
    """Subscriptions as the index takes them: instants as keys, those that are absent far away."""
    for name, absent in (("since", FOREVER_BEFORE), ("until", FOREVER_AFTER)):
        at = table.column_names.index(name)
        table = table.set_column(at, name, pc.fill_null(table[name].cast(pa.int64()), absent))
    return table


def with_all_columns(table: pa.Table) -> pa.Table:
    """A table with all COLUMNS: what it lacks is empty, without limits, and of version 1."""
    fillers = {"subscriber": "", "tag": "", "query_version": 1, "since": FOREVER_BEFORE, "until": FOREVER_AFTER}
    kinds = [TEXT] * 4 + [pa.int64()] * 3
    columns = [
        table[name].cast(kind)
        if name in table.column_names
        else pa.chunked_array([pa.repeat(pa.scalar(fillers[name], kind), table.num_rows)])
        for name, kind in zip(COLUMNS, kinds, strict=True)
    ]
    return pa.table(columns, names=COLUMNS)
