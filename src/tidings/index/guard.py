"""Which subscriptions do these publications answer, among millions? The guard index.

Each conjunction of a query is filed under one of its terms, the rarest. A publication looks only at what is filed under
the terms that it has, and verifies the rest (:mod:`tidings.index.kernels`). Who asked for a query is looked up
last.

Writers take turns; readers never wait. A change writes where no reader looks and then shows a new state; a reader takes
a :class:`~tidings.index.snapshot.Snapshot` and sees nothing that comes later. Recent subscriptions are chained, older
ones lie in segments, and :meth:`GuardIndex.compact` makes one segment of all.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from tidings.analysis import ENGLISH, Analyser
from tidings.arrays import IntArray
from tidings.index.bulk import form_key, source_of
from tidings.index.carrying import FiledEntries
from tidings.index.filing import Filer, only_words
from tidings.index.matcher import Clock
from tidings.index.predicates import Predicates
from tidings.index.recent import Recent
from tidings.index.renumbering import Numbering
from tidings.index.segment import Segment, compiled, living, tidied, together
from tidings.index.snapshot import Readers, Shown, Snapshot
from tidings.index.store import Contents, Saved, Store, Unsaved, unsaved
from tidings.index.subscribers import ChainedSubscribers, Record, Row, Subscribers, latest
from tidings.language import Conjunction, normal_form, parse_normal, to_text
from tidings.language.plain import PlainWords
from tidings.model import Publication, Subscription
from tidings.model.values import utc_now
from tidings.tables.checked import TEXT, Publications
from tidings.tables.matches import Counters, Matches
from tidings.terms.dictionary import Dictionary
from tidings.terms.sample import Sample

MAX_RECENT = 1 << 16
MAX_WORDS = 4_000_000
"""When more words of queries are remembered, they are all forgotten."""

FEW = 1024
"""So many at least become a segment of their own at once."""


Meaning = list[str] | tuple[Conjunction, ...]
"""What a query asks: the words of a plain one, each once, or the normal form of any."""


class GuardIndex:
    """A matcher for everything the language says, safe to share between threads.

    ``sample``: publications like those to come, to choose guards by. A publication without an instant counts as one of
    now, by ``clock``.

    >>> from tidings.language import parse
    >>> index = GuardIndex()
    >>> index.add([Subscription("s1", parse("white house")), Subscription("s2", parse("fire -drill"))])
    >>> index.match(pa.table({"id": ["p1"], "text": ["The White House is on fire"]})).pairs() == {(0, "s1"), (0, "s2")}
    True
    """

    def __init__(
        self, analyser: Analyser = ENGLISH, sample: pa.Table | Sample | None = None, clock: Clock = utc_now
    ) -> None:
        self._analyser = analyser
        self._sample = Sample.of(analyser, sample)
        self._writing = threading.RLock()
        self._compacting = threading.Lock()
        self._readers = Readers(analyser, clock)
        self._plain = PlainWords(analyser)
        self._count = 0
        self._segments: tuple[Segment, ...] = ()
        self._saved = Saved()
        self._recent = Recent()
        self._set_contents(Contents(Dictionary(), Predicates(), ()))
        self._show(0)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, name: str) -> bool:
        with self._writing:
            return self._find(name) is not None

    def known(self, ids: pa.Array) -> list[str]:
        """Those of these ids that live here. Cost: some 0.1 µs for each of them in each segment."""
        with self._writing:
            return [name for part in self._parts() for name in part.known(ids)]

    # ------------------------------------------------------------------------------------------------ changes

    def add(self, subscriptions: Iterable[Subscription]) -> None:
        self.put(
            [
                (Record.of(subscription, to_text(subscription.query)), normal_form(subscription.query, self._analyser))
                for subscription in subscriptions
            ]
        )

    def take_over(self, before: GuardIndex) -> None:
        """Let this thread have the words of publications that it remembers for another index."""
        self._readers.take_over(before._readers, before._terms, self._terms)

    def read(self, query: str, *, strict: bool = False) -> Meaning:
        """What a query asks, as :meth:`put` takes it; refuses with QueryError, ``strict`` if it is a new one."""
        if len(self._plain) > MAX_WORDS:
            self._plain = PlainWords(self._analyser)
        return self._plain.read(query) or parse_normal(query, analyser=self._analyser, strict=strict)[1]

    def put(self, added: Iterable[tuple[Row, Meaning]], gone: Iterable[str] = ()) -> None:
        """Remove the ids in ``gone`` and add subscriptions with what their queries ask, in one step: for a few.

        Of those with the same id the last one counts.
        """
        with self._writing:
            moment = self._moment + 1
            asked = {row[0]: (row, self._query_of(meaning)) for row, meaning in added}
            self._bury([*gone, *asked], moment)
            for row, query in asked.values():
                self._recent.subscribers.add(row, query)
            self._count += len(asked)
            self._show(moment)

    def add_table(self, table: pa.Table) -> None:
        """Add many: ``id`` and ``query``, and whatever else of COLUMNS there is; the later of two equal ids counts.

        The rows are subscriptions that were checked before. Plain queries and frequent shapes do not pass the parser.
        """
        self.change(table, [])

    def change(self, table: pa.Table, gone: Iterable[str], few: int | None = None) -> None:
        """Remove the ids in ``gone`` and add the rows of a table, in one step.

        Fewer rows than ``few`` (FEW if not told) come one by one, without a segment of their own.
        """
        table = latest(table)
        names = list(gone)
        if table.num_rows < (FEW if few is None else few):
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            self.put([(row, self.read(row[3])) for row in rows], names)
            return
        with self._writing:
            moment = self._moment + 1
            segment = compiled(tidied(source_of(table, self._analyser, self._filer)), self._predicates)
            self._bury(names, moment)
            self._add_segment(segment, moment)
            self._show(moment)

    def _add_segment(self, segment: Segment, moment: int) -> None:
        """Add all of a segment; who had one of its ids dies."""
        for part in self._segments:
            self._bury_numbers(part, part.subscribers.ids.find_many(segment.subscribers.ids.texts()), moment)
        for name in self._recent.subscribers.living_ids():
            if segment.subscribers.ids.find(name) >= 0:
                self._count -= self._recent.subscribers.bury(name, moment)
        self._segments = (*self._segments, segment)
        self._count += len(segment.subscribers)

    def filed(self, ids: pa.Array) -> FiledEntries:
        """The living of these ids as they are filed, for another index to :meth:`take`."""
        with self._writing:
            self._freeze()
            return FiledEntries.of(self._segments, ids, self._terms, self._predicates)

    def take(self, filed: Sequence[FiledEntries], gone: Iterable[str]) -> None:
        """Remove the ids in ``gone`` and have what other indexes had filed, in one step."""
        with self._writing:
            moment = self._moment + 1
            self._bury(gone, moment)
            if filed:
                source = together([each.numbered(self._terms, self._predicates) for each in filed])
                self._add_segment(compiled(tidied(source), self._predicates), moment)
            self._show(moment)

    def remove(self, ids: Iterable[str]) -> int:
        """Give up subscriptions; returns how many there were."""
        with self._writing:
            moment, before = self._moment + 1, self._count
            self._bury(ids, moment)
            self._show(moment)
            return before - self._count

    def record(self, name: str) -> Record | None:
        """The living subscription of an id."""
        with self._writing:
            place = self._find(name)
            if place is None:
                return None
            segment, number = place
            if segment is None:
                return Record(*self._recent.subscribers.rows[number])
            return Record(**segment.subscribers.columns(np.array([number], dtype=np.int32)).to_pylist()[0])

    def subscriptions(self, ids: pa.Array) -> pa.Table:
        """The living subscriptions of these ids, with all COLUMNS, in no order. Cost: some 0.5 µs each."""
        with self._writing:
            return pa.concat_tables([part.living_of(ids) for part in self._parts()])

    def queries(self) -> pa.ChunkedArray:
        """What each of the living asks, in no order."""
        with self._writing:
            return pa.chunked_array([part.living_queries() for part in self._parts()], TEXT)

    def ended(self, key: int) -> list[str]:
        """The ids of the living whose ``until`` is that instant or earlier."""
        with self._writing:
            return [name for part in self._parts() for name in part.ended(key)]

    def _parts(self) -> list[Subscribers | ChainedSubscribers]:
        return [*(segment.subscribers for segment in self._segments), self._recent.subscribers]

    def compact(self) -> None:
        """Make one segment of all, without what is dead or nobody's. Readers go on meanwhile, and so do writers, but
        for moments; what they bring is in a segment of its own. If somebody has written into a mapped file, it is a
        DataError, and nothing is changed."""
        with self._compacting:
            with self._writing:
                self._freeze()
                old, moment = self._segments, self._moment
            if not old:
                return
            merged = tidied(together([living(segment) for segment in old]))
            with self._writing:
                numbering = Numbering.of(merged.entries, self._terms, self._predicates)
            segment = numbering.compiled(merged)
            with self._writing:
                self._freeze()
                segments, newer = [segment], self._segments[len(old) :]
                if newer:
                    late = tidied(together([living(part) for part in newer]))
                    segments.append(numbering.including(late.entries, self._terms, self._predicates).compiled(late))
                dead = [_ids_buried_after(part, moment) for part in old]
                self.check_files()
                self._set_contents(Contents(numbering.terms, numbering.predicates, tuple(segments)))
                for ids in dead:
                    self._bury_numbers(segment, segment.subscribers.ids.find_many(ids), 1, count=0)
                self._show(1)

    @property
    def segment_count(self) -> int:
        return len(self._segments)

    @property
    def burden(self) -> float:
        """How much :meth:`compact` would save: entries outside the largest segment, and the dead, by all entries."""
        with self._writing:
            sizes = [len(segment.subscribers) for segment in self._segments] + [len(self._recent)]
            dead = sum(sizes) - self._count
            return (sum(sizes) - max(sizes) + max(dead, 0)) / max(sum(sizes), 1)

    def unsaved(self) -> Unsaved:
        """What :meth:`save` has to write: all changes up to now."""
        with self._writing:
            self._freeze()
            if len(self._segments) == len(self._saved.names):  # an empty one, to say who died
                self._segments = (*self._segments, compiled(Recent().source(), self._predicates))
            return unsaved(Contents(self._terms, self._predicates, self._segments), self._saved)

    def check_files(self) -> None:
        """A DataError if somebody has written into a file that is mapped. Cost: 2 µs a file."""
        for file in self._saved.files:
            file.check()

    def save(self, store: Store, what: Unsaved, version: int, mark: str = "") -> None:
        """Write what was not saved. Nothing may be compacted between the two."""
        self._saved = store.write(what, self._saved, version, mark)

    def save_beside(self, store: Store, what: Unsaved) -> tuple[str, ...]:
        """Write what was not saved, but let no manifest name it: the names of all its files, for :meth:`of_files`."""
        self._saved = store.add(what, self._saved)
        return self._saved.names

    @classmethod
    def opened(
        cls, store: Store, analyser: Analyser, sample: pa.Table | None, clock: Clock
    ) -> tuple[GuardIndex, int, object] | None:
        """The index of a folder, its version and its mark; None if there is none."""
        found = store.read()
        if found is None:
            return None
        filed, saved, version, mark = found
        return cls(analyser, sample, clock)._holding(filed, saved), version, mark

    @classmethod
    def of_files(
        cls,
        filed: Contents,
        saved: Saved,
        analyser: Analyser,
        sample: pa.Table | Sample | None = None,
        before: GuardIndex | None = None,
    ) -> GuardIndex:
        """The index that these files hold; this thread's memory of words is taken over from the one ``before``."""
        index = cls(analyser, sample)._holding(filed, saved)
        if before is not None:
            index._readers.take_over(before._readers, before._terms, filed.terms)
        return index

    def _holding(self, filed: Contents, saved: Saved) -> GuardIndex:
        self._set_contents(filed)
        self._saved = saved
        self._count = sum(int(np.count_nonzero(segment.subscribers.died == 0)) for segment in filed.segments)
        self._show(1)
        return self

    @property
    def attributes(self) -> frozenset[str]:
        """The names of attributes, and of fields, that somebody asks about."""
        with self._writing:
            return self._terms.attributes()

    @property
    def size_bytes(self) -> int:
        """Of the arrays that matching reads: not the ids and texts, nor the tables that find words."""
        with self._writing:
            predicates: int = sum(array.nbytes for array in self._predicates.filled().values())
            return predicates + self._recent.size_bytes + sum(segment.size_bytes for segment in self._segments)

    def _set_contents(self, filed: Contents) -> None:
        self._terms: Dictionary = filed.terms
        self._predicates: Predicates = filed.predicates
        self._segments = filed.segments
        self._filer = Filer(self._terms, self._predicates, self._sample)
        self._last: tuple[Shown, Snapshot] | None = None
        self._recent = Recent(self._recent)  # even where nobody is in it: its terms may have other numbers now
        self._saved = Saved()

    def _show(self, moment: int) -> None:
        """Let readers who come from now on see all that was done up to a moment."""
        counts = self._recent.counts()
        if max(counts) > MAX_RECENT:
            self._freeze()
            counts = self._recent.counts()
        self._moment = moment
        self._shown = Shown(
            self._terms,
            self._predicates.arrays(),
            self._predicates.has_sequences,
            self._segments,
            self._recent,
            counts,
            moment,
        )

    def _query_of(self, meaning: Meaning) -> int:
        return self._word_query(meaning) if isinstance(meaning, list) else self._form_query(meaning)

    def _word_query(self, words: list[str]) -> int:
        """The recent query of some words, filed if it is new."""
        terms = self._filer.words(words)
        query = self._recent.find(terms)
        return self._recent.file(terms, [[self._filer.entry_of(terms)]]) if query < 0 else query

    def _form_query(self, form: tuple[Conjunction, ...]) -> int:
        """The recent query of a normal form, filed if it is new."""
        if words := only_words(form):
            return self._word_query(words)
        key = form_key(form)
        query = self._recent.find(key)
        return self._recent.file(key, [self._filer.file(each) for each in form]) if query < 0 else query

    def _find(self, name: str) -> tuple[Segment | None, int] | None:
        """Where the living subscription of an id is: its segment, None if it is recent, and its number there."""
        number = self._recent.subscribers.find(name)
        if number >= 0:
            return None, number
        for segment in reversed(self._segments):
            number = segment.subscribers.find(name)
            if number >= 0:
                return segment, number
        return None

    def _bury(self, names: Iterable[str], moment: int) -> None:
        """Bury those of these ids that live."""
        names, bury = list(names), self._recent.subscribers.bury
        older = [name for name in names if not bury(name, moment)]
        self._count -= len(names) - len(older)
        for segment in self._segments:
            died = segment.subscribers.died
            for number in segment.subscribers.ids.find_few(older):
                if number >= 0 and not died[number]:
                    died[number] = moment
                    self._count -= 1

    def _bury_numbers(self, segment: Segment, numbers: IntArray, moment: int, count: int = 1) -> None:
        """Bury those that live; -1 is nobody."""
        died = segment.subscribers.died
        numbers = numbers[numbers >= 0]
        numbers = np.unique(numbers[died[numbers] == 0])
        died[numbers] = moment
        self._count -= count * len(numbers)

    def _freeze(self) -> None:
        """Make a segment of what is recent; readers see no difference."""
        if len(self._recent):
            segment = compiled(tidied(self._recent.source()), self._predicates)
            self._segments = (*self._segments, segment)
            self._recent = Recent(self._recent)

    # ------------------------------------------------------------------------------------------------ reading

    @property
    def snapshot(self) -> Snapshot:
        """What a reader who comes now sees, for as long as it likes."""
        shown, last = self._shown, self._last
        if last is None or last[0] is not shown:
            last = self._last = shown, Snapshot(shown.state(), self._readers)
        return last[1]

    def match(self, table: pa.Table | Publications, now: int | None = None) -> Matches:
        """:meth:`Snapshot.match` of now."""
        return self.snapshot.match(table, now)

    def match_one(self, publication: Publication) -> Matches:
        """:meth:`Snapshot.match_one` of now."""
        return self.snapshot.match_one(publication)

    def count(self, table: pa.Table | Publications) -> Counters:
        """:meth:`Snapshot.count` of now."""
        return self.snapshot.count(table)


def _ids_buried_after(segment: Segment, moment: int) -> pa.Array:
    return segment.subscribers.ids.texts().filter(pa.array(segment.subscribers.died > moment))
