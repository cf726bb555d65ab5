"""What was asked just now? Subscriptions that came one by one, chained until there are enough for a segment."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidings.index.entries import Chained, Entries, Entry
from tidings.index.segment import Source
from tidings.index.subscribers import Asked, ChainedSubscribers, Record, table_of
from tidings.model import Match
from tidings.terms.vocabulary import IdArray


@dataclass(frozen=True, slots=True)
class RecentView:
    """What a reader sees of the recent subscriptions, as if it were a segment."""

    tables: tuple[Entries, ...]
    query_count: int
    _asked: Asked
    _records: list[Record]

    def __len__(self) -> int:
        return len(self.tables[0])

    def asked(self) -> Asked:
        return self._asked

    def delivered(self, numbers: IdArray) -> list[pa.Array]:
        """Id, subscriber, tag and query version of some subscriptions."""
        table = table_of([self._records[number] for number in numbers.tolist()])
        return [table[name].combine_chunks() for name in ("id", "subscriber", "tag", "query_version")]

    def matches(self, publication_id: str, numbers: IdArray) -> list[Match]:
        """What a publication that these answer is to each of them."""
        asked = [self._records[number] for number in numbers.tolist()]
        return [Match(publication_id, r.id, r.subscriber, r.tag, r.query_version) for r in asked]


class Recent:
    """One thread adds and buries; :meth:`view` is what a reader may see from now on. Equal queries are one."""

    def __init__(self) -> None:
        self._entries = Chained()
        self.subscribers = ChainedSubscribers()
        self._queries: dict[Hashable, int] = {}

    def __len__(self) -> int:
        """Entries and subscriptions: what a freeze would have to sort."""
        return max(len(self._entries), len(self.subscribers))

    def add(self, record: Record, form: Hashable, file: Callable[[], list[list[Entry]]]) -> None:
        """Add a subscription; ``file`` gives the entries of each conjunction of its query, asked if it is new."""
        query = self._queries.get(form)
        if query is None:
            conjunctions = file()
            query = self._queries[form] = len(self._queries)
            marked = -query - 1 if len(conjunctions) > 1 else query
            for entry in (entry for entries in conjunctions for entry in entries):
                self._entries.add(entry, marked)
        self.subscribers.add(record, query)

    def view(self) -> RecentView:
        asked = self.subscribers.asked()
        return RecentView((self._entries.entries(),), len(self._queries), asked, self.subscribers.records)

    @property
    def size_bytes(self) -> int:
        """Of the arrays that matching reads, as far as they are filled."""
        return self._entries.size_bytes + self.subscribers.size_bytes

    def source(self) -> Source:
        """All that is not dead."""
        table, queries = self.subscribers.living()
        return Source(self._entries.loosened(), table, np.asarray(queries, dtype=np.int64))
