"""Which subscriptions do these publications answer, among millions? The guard index.

Each conjunction of a query is filed under one of its terms, the rarest. A publication looks only at what is filed under
the terms that it has, and verifies the rest (:mod:`tidings.index.kernels`). Who asked for a query is looked up
last.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from tidings.index import kernels
from tidings.index.bulk import plain_segment
from tidings.index.dictionary import Dictionary
from tidings.index.filing import Filer, Filing, Predicates
from tidings.index.matcher import Clock, Counters, Matches
from tidings.index.reader import Batch, Reader
from tidings.index.sample import Sample
from tidings.index.segment import Segment, filed, merged
from tidings.index.subscriptions import Subscriptions
from tidings.language import Conjunction, normal_form
from tidings.model import Subscription, SubscriptionError
from tidings.model.values import utc_now
from tidings.tables.canonical import INSTANT
from tidings.tables.columns import ABSENT, column_keys, instant_key
from tidings.tables.validity import good_rows
from tidings.terms import ENGLISH, Analyser
from tidings.terms.vocabulary import IdArray, IntArray

BATCH_ROWS = 4096
_MAX_SEGMENTS = 6
_FIRST_ROOM = 1 << 16


class GuardIndex:
    """A matcher for everything the language says. ``sample``: publications like those to come, to choose guards by.

    A publication without an instant counts as one of now, by ``clock``. Not safe to share between threads.

    >>> from tidings.language import parse
    >>> index = GuardIndex()
    >>> index.add([Subscription("s1", parse("white house")), Subscription("s2", parse("fire -drill"))])
    >>> index.match(pa.table({"id": ["p1"], "text": ["The White House is on fire"]})).pairs() == {(0, "s1"), (0, "s2")}
    True
    """

    def __init__(self, analyser: Analyser = ENGLISH, sample: pa.Table | None = None, clock: Clock = utc_now) -> None:
        self._analyser = analyser
        self._clock = clock
        self._terms = Dictionary()
        self._predicates = Predicates()
        self._sample = Sample(analyser, sample)
        self._filer = Filer(self._terms, self._predicates, self._sample)
        self._reader = Reader(self._terms, analyser)
        self._subscriptions = Subscriptions()
        self._queries: dict[tuple[Conjunction, ...], int] = {}
        self._query_count = 0
        self._pending: list[tuple[int, Filing]] = []
        self._pending_has_others: list[bool] = []
        self._segments: list[Segment] = []
        self._predicate_arrays = self._predicates.arrays()

    def __len__(self) -> int:
        return len(self._subscriptions)

    def add(self, subscriptions: Iterable[Subscription]) -> None:
        for subscription in subscriptions:
            self._subscriptions.add(subscription, self._query(normal_form(subscription.query, self._analyser)))

    def add_plain(self, ids: list[str], queries: pa.Array | pa.ChunkedArray) -> IntArray:
        """The fast way in for plain word queries; returns the rows that are not plain and were left out.

        Equal ones among them are stored once, but are not compared with what was added before.
        """
        if len(ids) != len(queries) or not all(isinstance(name, str) and name for name in ids):
            raise SubscriptionError(f"each of the {len(queries)} queries needs an id that is text and not empty")
        found = plain_segment(queries, self._analyser, self._terms, self._sample, self._query_count)
        self._segments.append(found.segment)
        self._query_count += found.query_count
        self._subscriptions.add_many([ids[row] for row in found.rows.tolist()], found.queries)
        return np.setdiff1d(np.arange(len(ids)), found.rows)

    def remove(self, ids: Iterable[str]) -> None:
        for name in ids:
            self._subscriptions.remove(name)

    def match(self, table: pa.Table) -> Matches:
        found = [self._match(table.slice(start, BATCH_ROWS)) for start in range(0, table.num_rows, BATCH_ROWS)]
        rows = [part.rows + i * BATCH_ROWS for i, part in enumerate(found)]
        counters = np.array([(p.counters.candidates, p.counters.verified, p.counters.matches) for p in found])
        totals = counters.sum(axis=0).tolist() if found else (0, 0, 0)
        ids = [name for part in found for name in part.ids]
        return Matches(np.concatenate([np.zeros(0, dtype=np.int64), *rows]), ids, Counters(*totals))

    @property
    def size_bytes(self) -> int:
        """Of the arrays that matching reads: not the ids, nor the tables that find words, ids and equal queries."""
        self._freeze()
        return sum(segment.size_bytes for segment in self._segments) + self._subscriptions.size_bytes

    def match_queries(self, table: pa.Table) -> tuple[IntArray, IdArray, Counters]:
        """Rows and the numbers of the queries that they answer, before anybody who asked is looked up."""
        table, good = good_rows(table)
        rows, queries, counters = self._matched(table)
        return good[rows], queries, counters

    def _match(self, table: pa.Table) -> Matches:
        table, good = good_rows(table)
        rows, queries, counters = self._matched(table)
        asked, instants = self._subscriptions, self._instants(table)
        room = max(1024, 2 * len(rows))
        while True:
            out_rows, out = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
            count = kernels.fan_out(
                rows, queries, asked.first, asked.next, asked.alive, asked.since, asked.until, instants, out_rows, out
            )
            if count >= 0:
                order = np.argsort(out_rows[:count], kind="stable")
                ids = [asked.ids[s] for s in out[:count][order]]
                return Matches(good[out_rows[:count][order]], ids, counters)
            room *= 2

    def _matched(self, table: pa.Table) -> tuple[IdArray, IdArray, Counters]:
        """:meth:`match_queries` of a canonical table without bad rows."""
        self._freeze()
        batch = self._reader.read(table, with_tokens=bool(self._predicates.sequence_words))
        counters = np.zeros(3, dtype=np.int64)
        parts = [self._match_segment(segment, batch, counters) for segment in self._segments]
        rows = np.concatenate([np.zeros(0, dtype=np.int32), *(part[0] for part in parts)])
        queries = np.concatenate([np.zeros(0, dtype=np.int32), *(part[1] for part in parts)])
        return rows, queries, Counters(*counters.tolist())

    def _instants(self, table: pa.Table) -> IntArray:
        """When each publication happened: now, where nobody says."""
        now = instant_key(self._clock())
        if "ts" not in table.column_names or table.schema.field("ts").type != INSTANT:
            return np.full(table.num_rows, now, dtype=np.int64)
        keys = column_keys(table["ts"])
        return np.where(keys == ABSENT, now, keys)

    def _query(self, form: tuple[Conjunction, ...]) -> int:
        """The number of a query; one never seen before is filed."""
        if (known := self._queries.get(form)) is not None:
            return known
        filings = [self._filer.file(conjunction) for conjunction in form]
        number = self._queries[form] = self._query_count
        self._query_count += 1
        self._pending += [(number, filing) for filing in filings]
        self._pending_has_others += [len(form) > 1] * len(form)
        return number

    def _freeze(self) -> None:
        """Make a segment of what was filed since the last one; many small segments become one."""
        if self._pending:
            self._segments.append(filed(self._pending, self._pending_has_others))
            self._predicate_arrays = self._predicates.arrays()
            self._pending, self._pending_has_others = [], []
        if len(self._segments) > _MAX_SEGMENTS:
            self._segments = [merged(self._segments)]

    def _match_segment(self, segment: Segment, batch: Batch, counters: IntArray) -> tuple[IdArray, IdArray]:
        stamps = np.full(len(self._terms), -1, dtype=np.int64)
        query_stamps = np.full(self._query_count, -1, dtype=np.int64)
        publications = batch.numbers, batch.lon, batch.lat, batch.tokens.offsets, batch.tokens.ids
        found_rows, found_queries = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int32)]
        row, room = 0, _FIRST_ROOM
        while row < len(batch.terms):
            rows, queries = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
            stopped, count = kernels.match_rows(
                row, batch.terms.ids, batch.terms.offsets, segment.starts, segment.firsts, segment.stream_offsets,
                segment.stream, segment.entry_queries, self._predicate_arrays, publications, stamps, query_stamps, 0,
                rows, queries, counters,
            )  # fmt: skip
            found_rows.append(rows[:count])
            found_queries.append(queries[:count])
            room = 2 * room if stopped == row else room
            row = stopped
        return np.concatenate(found_rows), np.concatenate(found_queries)
