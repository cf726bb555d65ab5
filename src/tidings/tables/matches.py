"""What comes out of matching? Matches: pairs of numbers, which get names when somebody asks for them.

A match is found as two numbers, of a publication in its batch and of a subscription in its part of the index. Their
texts take 65 bytes, and to write them out takes longer than to find the match. So :meth:`Matches.table` has
dictionary-encoded columns: the numbers are the indices, the memory-mapped ids of the index are the dictionary, and
nothing is copied. :meth:`Matches.text` makes plain text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from itertools import chain, groupby
from operator import add
from typing import Any, Protocol, overload

import numpy as np
import pyarrow as pa

from tidings.arrays import IdArray, IntArray
from tidings.arrays.gathering import check_size, gathered
from tidings.arrays.strings import text_bytes
from tidings.model import Match
from tidings.tables.canonical import INSTANT
from tidings.tables.checked import TEXT

MATCHES = pa.schema(
    [
        ("publication_id", TEXT),
        ("subscription_id", TEXT),
        ("subscriber", TEXT),
        ("tag", TEXT),
        ("query_version", pa.int64()),
    ]
)
"""The columns of a match, as plain text."""

WITH_INSTANT = MATCHES.append(pa.field("ts", INSTANT))
"""The same, and the instant of the publication, null if it has none."""

IN_FILES = pa.schema([field.with_type(pa.string()) if field.type == TEXT else field for field in WITH_INSTANT])
"""The same in files and in Spark's rows."""

_OF_PUBLICATIONS = {"publication_id": "id", "ts": "ts"}
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Counters:
    """How much work a batch was: conjunctions under a guard that a publication had, those whose first further term it
    had too, and queries that matched; and how many candidates were ``spared``, since a box was compared with several
    publications at once."""

    candidates: int = 0
    verified: int = 0
    matches: int = 0
    spared: int = 0

    def __add__(self, other: Counters) -> Counters:
        return Counters(*map(add, astuple(self), astuple(other)))

    @property
    def compared(self) -> int:
        """How many times an entry was compared, with one publication or with several at once: what takes time."""
        return self.candidates - self.spared


class Published(Protocol):
    """The publications of a batch: :class:`tidings.tables.checked.Publications`, or a list of values."""

    @property
    def rows(self) -> IntArray:
        """Which rows they were in the table that they come from."""

    def column(self, name: str) -> pa.Array:
        """``id`` or ``ts``."""

    def ids(self, rows: IdArray) -> Iterable[str]:
        """The ids of some rows, as Python values; an endless one where there is one publication."""


class Roster(Protocol):
    """The subscriptions of one part of an index, by number."""

    def column(self, name: str, numbers: IdArray) -> tuple[pa.Array, IdArray]:
        """Values of a column of MATCHES, and the place in them of each of these numbers.

        There is one value where all are equal. Those of ``subscription_id`` are distinct.
        """

    def values(self, numbers: IdArray) -> Sequence[Iterable[Any]]:
        """Id, subscriber, tag and query version of a few, as Python values; an endless one where all are equal."""


@dataclass(frozen=True, eq=False)
class Deliveries:
    """Row ``rows[i]`` of some publications answers subscription ``numbers[i]`` of a roster; both int32."""

    publications: Published
    rows: IdArray
    roster: Roster
    numbers: IdArray

    def __len__(self) -> int:
        return len(self.numbers)

    def taken(self, places: IntArray | slice) -> Deliveries:
        """Some of them."""
        return Deliveries(self.publications, self.rows[places], self.roster, self.numbers[places])

    def column(self, name: str) -> tuple[pa.Array, IdArray]:
        """Values of a column, and the place in them of each match."""
        if name in _OF_PUBLICATIONS:
            return self.publications.column(_OF_PUBLICATIONS[name]), self.rows
        return self.roster.column(name, self.numbers)

    def encoded(self, name: str) -> pa.DictionaryArray:
        """A column as numbers over a dictionary of all names."""
        values, places = self.column(name)
        return pa.DictionaryArray.from_arrays(pa.array(places), values, safe=False)

    def compact(self, name: str) -> pa.DictionaryArray:
        """A column of text as numbers over a dictionary of the names that are used, each once."""
        values, places = self.column(name)
        if len(values) > 1:
            used, places = self._used(places)
            values = plain(values, used)
            if name != "subscription_id":  # those of a roster are distinct, others need not be
                encoded = values.dictionary_encode()
                values, places = encoded.dictionary, encoded.indices.to_numpy()[places]
        return pa.DictionaryArray.from_arrays(pa.array(places), values, safe=False)

    def text(self, name: str, kind: pa.DataType = TEXT) -> pa.Array:
        """A column written out, texts as that kind; ArrowInvalid if they are too long for it."""
        return plain(*self.column(name), kind)

    def _used(self, places: IdArray) -> tuple[IdArray, IdArray]:
        if places is self.numbers:
            return self._numbers_used
        return self._rows_used if places is self.rows else renumbered(places)

    @cached_property
    def _rows_used(self) -> tuple[IdArray, IdArray]:
        return renumbered(self.rows)

    @cached_property
    def _numbers_used(self) -> tuple[IdArray, IdArray]:
        return renumbered(self.numbers)

    @cached_property
    def table_rows(self) -> IntArray:
        """The rows in the table that the publications come from."""
        return self.publications.rows[self.rows]

    def matches(self) -> Iterator[Match]:
        """Each as a value."""
        names = self.publications.ids(self.rows)
        return map(Match, names, *self.roster.values(self.numbers))


class Matches(Sequence[Match]):
    """All matches of some publications, as a sequence of :class:`tidings.Match` in order of the publications.

    ``len`` and :meth:`ids` cost nothing; looking at an item makes a Match. As an Arrow stream, for any library that
    takes one, it is :meth:`table`. ``parts``: where they were found; ``counters``: how much work that was.

    >>> import tidings
    >>> engine = tidings.Engine()
    >>> engine.subscribe("fire", id="s1", subscriber="ada"), engine.subscribe("smoke", id="s2")
    ('s1', 's2')
    >>> found = engine.match(pa.table({"id": ["p1", "p2"], "text": ["Fire!", "Fire and smoke"]}))
    >>> len(found), found[0]
    (3, Match(publication_id='p1', subscription_id='s1', subscriber='ada', tag='', query_version=1))
    >>> found.text().to_pydict()["publication_id"]
    ['p1', 'p2', 'p2']
    """

    __slots__ = ("_length", "_places", "counters", "parts")

    def __init__(self, parts: Iterable[Deliveries], counters: Counters = Counters()) -> None:
        self.parts = tuple(part for part in parts if len(part))
        self.counters = counters
        self._length = sum(map(len, self.parts))
        self._places: IntArray | None = None

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> Match: ...
    @overload
    def __getitem__(self, place: slice) -> list[Match]: ...
    def __getitem__(self, place: int | slice) -> Match | list[Match]:
        if isinstance(place, slice):
            return [self._match(each) for each in range(self._length)[place]]
        return self._match(range(self._length)[place])

    def __iter__(self) -> Iterator[Match]:
        if self._is_of_one:
            return chain.from_iterable(part.matches() for part in self.parts)
        found = [match for part in self.parts for match in part.matches()]
        return (found[place] for place in self._order.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        more = [f"... {self._length:,} in all"] if self._length > _SHOWN else []
        return f"[{', '.join([*map(repr, self[:_SHOWN]), *more])}]"

    def ids(self) -> pa.ChunkedArray:
        """The ids of the subscriptions, dictionary-encoded, in the order of :meth:`table`."""
        return self.table(["subscription_id"])["subscription_id"]

    def rows(self) -> IntArray:
        """The rows of the publications in the table that was matched, in the order of :meth:`table`."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *(part.table_rows for part in self.parts)])

    def pairs(self) -> set[tuple[int, str]]:
        """Row and subscription id of each."""
        return set(zip(self.rows().tolist(), self.ids().to_pylist(), strict=True))

    def table(self, columns: Sequence[str] = MATCHES.names) -> pa.Table:
        """All of them, each column dictionary-encoded, in the order in which they were found: part by part.

        ``columns``: some of MATCHES, and ``ts``. The chunks have dictionaries of their own;
        ``pyarrow.Table.unify_dictionaries`` makes one of them where somebody needs one. Cost: none for each match.
        """
        kinds = {name: pa.dictionary(pa.int32(), WITH_INSTANT.field(name).type) for name in columns}
        found = [pa.chunked_array([part.encoded(name) for part in self.parts], kinds[name]) for name in columns]
        return pa.table(found, schema=pa.schema(list(kinds.items())))

    def text(self, columns: Sequence[str] = MATCHES.names) -> pa.Table:
        """All of them written out, in order of the publications."""
        schema = pa.schema([WITH_INSTANT.field(name) for name in columns])
        batches = (list(parts) for _, parts in groupby(self.parts, key=lambda part: id(part.publications)))
        return pa.concat_tables([schema.empty_table(), *(_text(parts, schema) for parts in batches)])

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table().__arrow_c_stream__(requested_schema)

    @property
    def _order(self) -> IntArray:
        """Where those are that come first, second, … in order of the publications."""
        if self._places is None:
            order = _order(self.rows())
            self._places = np.arange(self._length) if order is None else order
        return self._places

    @property
    def _is_of_one(self) -> bool:
        """Whether there is one publication. Numpy releases the GIL, which must not be: see index.single.kernels."""
        return len({id(part.publications) for part in self.parts}) == 1 and len(self.parts[0].publications.rows) == 1

    def _match(self, place: int) -> Match:
        at = place if self._is_of_one else int(self._order[place])
        for part in self.parts:
            if at < len(part):
                return next(part.taken(slice(at, at + 1)).matches())
            at -= len(part)
        raise IndexError(place)


def plain(values: pa.Array, places: IdArray, kind: pa.DataType = TEXT) -> pa.Array:
    """Values at these places, texts as that kind; one value stands for all."""
    is_text = values.type == TEXT
    if len(values) == 1:
        if is_text:
            check_size(len(places), len(places) * values[0].as_buffer().size, kind)
        return pa.repeat(values[0].cast(kind) if is_text else values[0], len(places))
    if not is_text:
        return values.take(pa.array(places))
    data, offsets = text_bytes(values)
    return gathered(offsets, data, places, kind)


def renumbered(numbers: IdArray) -> tuple[IdArray, IdArray]:
    """Which numbers there are, and the place of each among them.

    >>> [array.tolist() for array in renumbered(np.array([7, 2, 7], dtype=np.int32))]
    [[2, 7], [1, 0, 1]]
    """
    is_used = np.zeros(int(numbers.max(initial=-1)) + 1, dtype=np.bool_)
    is_used[numbers] = True
    places = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(is_used).astype(np.int32), places[numbers]


def _text(parts: list[Deliveries], schema: pa.Schema) -> pa.Table:
    """The matches of one batch."""
    if len(parts) == 1:
        order = _order(parts[0].table_rows)
        parts = parts if order is None else [parts[0].taken(order)]
        return pa.table([parts[0].text(name) for name in schema.names], schema=schema)
    columns = [pa.chunked_array([part.text(name) for part in parts]) for name in schema.names]
    order = _order(np.concatenate([part.table_rows for part in parts]))
    table = pa.table(columns, schema=schema)
    return table if order is None else table.take(pa.array(order))


def _order(rows: IntArray) -> IntArray | None:
    """The places of rows in rising order, equal ones as they are; None if that is how they are.

    By 16 bits at a time, which numpy sorts by radix.
    """
    if not np.any(rows[1:] < rows[:-1]):
        return None
    order = np.argsort(rows.astype(np.uint16), kind="stable")
    for shift in range(16, int(rows.max()).bit_length(), 16):
        order = order[np.argsort((rows[order] >> shift).astype(np.uint16), kind="stable")]
    return order
