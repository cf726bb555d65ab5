"""Which subscriptions do these publications answer, by place first? GI2, the index of a worker of [PS2] IV-D.

Space is a grid. In each cell that a conjunction's places touch, it is in the inverted list of its least frequent
keyword there. A publication walks the lists of its words in its cell. Deletion is lazy: the ids of deleted queries are
noted, and their entries fall out of a list when it is next walked.

Departs from the paper. What asks for no place, or for one that touches more than ``WIDEST`` cells, is in one more cell,
*everywhere*, which every publication looks into. What has no keyword is in the list of another of its terms, or of the
term that every publication has. So the whole language is matched. A list is checked for deleted queries only if some
were deleted since it was last walked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.analysis import ENGLISH, Analyser
from tidings.arrays import IdArray, IntArray
from tidings.arrays.growing import Growing
from tidings.index.beside import FiledBeside
from tidings.index.filing import Filer
from tidings.index.gi2.kernels import match_lists
from tidings.index.gi2.postings import Postings
from tidings.index.matcher import Clock
from tidings.index.predicates import Predicates
from tidings.index.scanning import BATCH_ROWS
from tidings.index.snapshot import Readers, instants_of
from tidings.index.subscribers import Record, Row, RowRoster, latest, table_of
from tidings.language import normal_form, to_text
from tidings.model import Subscription
from tidings.model.values import utc_now
from tidings.tables.checked import Publications
from tidings.tables.columns import instant_key, place_columns
from tidings.tables.matches import Counters, Deliveries, Matches
from tidings.terms.dictionary import Dictionary
from tidings.terms.even_grid import Grid, regions_of
from tidings.terms.sample import Sample

LEVEL = 6
"""The paper's granularity: 2^6 columns and as many rows."""

WIDEST = 256

MANY_GONE = 1 << 16
"""Where more were deleted than are left, and so many at least, those that are left are filed anew."""


class GI2:
    """A matcher for everything the language says; for one thread.

    ``sample``: publications like those to come. Keywords are rare or frequent by it, and the grid lies over its places;
    without any, over the earth.

    >>> from tidings.language import parse
    >>> index = GI2()
    >>> index.add([Subscription("s1", parse("fire bounding_box:[150 -35 152 -33]")), Subscription("s2", parse("rain"))])
    >>> index.match(pa.table({"id": ["p1"], "text": ["A fire"], "lat": [-34.0], "lon": [151.0]})).pairs()
    {(0, 's1')}
    """

    def __init__(
        self,
        analyser: Analyser = ENGLISH,
        sample: pa.Table | None = None,
        clock: Clock = utc_now,
        level: int = LEVEL,
    ) -> None:
        self._analyser = analyser
        self._readers = Readers(analyser, clock)
        places = pa.table({"id": pa.array([], pa.string())}) if sample is None else sample
        self._grid = Grid.of(*place_columns(Publications.of(places).table), level)
        self._region = np.arange(1, self._grid.side**2 + 1, dtype=np.int32)
        self._sample = Sample.of(analyser, sample)
        self._begin()

    def _begin(self) -> None:
        """Hold nothing."""
        self._terms, self._predicates = Dictionary(), Predicates()
        self._filer = Filer(self._terms, self._predicates, self._sample)
        self._postings = Postings()
        self._rows: list[Row] = []
        self._since, self._until = Growing(np.int64), Growing(np.int64)
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def pending(self) -> int:
        """How many deleted subscriptions are still in some list."""
        return self._postings.pending

    @property
    def size_bytes(self) -> int:
        """Of the arrays that matching reads: not the ids and texts, nor the tables that find words."""
        return self._postings.size_bytes + sum(array.nbytes for array in self._predicates.filled().values())

    def add(self, subscriptions: Iterable[Subscription]) -> None:
        """Take subscriptions; one with a known id replaces the one before."""
        last = {subscription.id: subscription for subscription in subscriptions}
        forms = [normal_form(each.query, self._analyser) for each in last.values()]
        rows: list[Row] = [Record.of(each, to_text(each.query))[:] for each in last.values()]
        self._put(rows, FiledBeside.of_forms(forms, self._filer))

    def add_table(self, table: pa.Table) -> None:
        """Add many: ``id`` and ``query``, and whatever else of COLUMNS there is; the later of two equal ids counts."""
        table = latest(table)
        filed = FiledBeside.of_column(table["query"], self._analyser, self._filer)
        self._put(list(zip(*(column.to_pylist() for column in table.columns), strict=True)), filed)

    def _put(self, rows: list[Row], filed: FiledBeside) -> None:
        self.remove(row[0] for row in rows)
        first = len(self._rows)
        self._numbers.update((row[0], first + place) for place, row in enumerate(rows))
        self._rows += rows
        self._since.extend([row[5] for row in rows])
        self._until.extend([row[6] for row in rows])
        queries = filed.queries[filed.entries.queries]
        has_several = np.bincount(queries, minlength=len(rows))[queries] > 1
        marked = np.where(has_several, -(queries + first) - 1, queries + first)
        regions = regions_of(filed.areas, self._grid, self._region, WIDEST)
        self._postings.add(filed.entries.with_queries(marked.astype(np.int32)), *filed.in_regions(regions))
        if len(self._rows) > 2 * len(self) + MANY_GONE:
            self._renew()

    def remove(self, ids: Iterable[str]) -> int:
        """Give up subscriptions; returns how many there were."""
        gone = [self._numbers.pop(name) for name in ids if name in self._numbers]
        self._postings.delete(np.array(gone, dtype=np.int64))
        return len(gone)

    def match(self, table: pa.Table) -> Matches:
        """All matches of a table; rows that are no publications are left out."""
        parts, counters = list[Deliveries](), np.zeros(3, dtype=np.int64)
        for batch in Publications.of(table).batches(BATCH_ROWS):
            instants = instants_of(batch.table, instant_key(self._readers.clock()))
            for rows, numbers in self._found(batch, counters):
                valid = self._valid(instants[rows], numbers)
                parts.append(Deliveries(batch, rows[valid], RowRoster(self._rows), numbers[valid]))
        return Matches(parts, Counters(*counters.tolist()))

    def count(self, table: pa.Table) -> Counters:
        """How much work matching is, without asking who is valid when."""
        counters = np.zeros(3, dtype=np.int64)
        for batch in Publications.of(table).batches(BATCH_ROWS):
            for _ in self._found(batch, counters):
                pass
        return Counters(*counters.tolist())

    def _found(self, batch: Publications, counters: IntArray) -> Iterator[tuple[IdArray, IdArray]]:
        """Rows of a batch and the numbers of the subscriptions that they match, side by side."""
        scratch, predicates = self._readers.scratch(self._terms), self._predicates.arrays()
        read = scratch.reader.read(batch.table, self._predicates.has_sequences)
        lists = self._postings.lists.local(self._grid.cells(*place_columns(batch.table)), self._region, read.terms)
        ends, row = np.empty(len(batch), dtype=np.int64), 0
        posts = (
            read.terms.ids,
            read.terms.offsets,
            read.numbers,
            read.points,
            read.tokens.offsets,
            read.tokens.ids,
        )
        while row < len(batch):
            own, entries = self._postings.arrays()
            room = *scratch.marks(len(self._rows), with_masks=False), scratch.out, ends, counters
            stop = int(match_lists(row, lists.offsets, lists.ids, *posts, *own, *entries, *predicates, *room))
            if stop == row:
                scratch.widen(2 * len(scratch.out))
            else:
                counts = np.diff(ends[row:stop], prepend=0)
                yield np.repeat(np.arange(row, stop, dtype=np.int32), counts), scratch.out[: counts.sum()].copy()
            row = stop

    def _valid(self, instants: IntArray, numbers: IdArray) -> npt.NDArray[np.bool_]:
        """Which subscriptions are valid at these instants."""
        valid: npt.NDArray[np.bool_] = self._since.array[numbers] <= instants
        return valid & (instants < self._until.array[numbers])

    def _renew(self) -> None:
        """File those that are left anew, without all that was kept for others."""
        rows = [self._rows[number] for number in self._numbers.values()]
        self._begin()
        self.add_table(table_of(rows))
