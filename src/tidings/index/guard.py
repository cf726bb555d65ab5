"""Which subscriptions do these publications answer, among millions? The guard index.

Each conjunction of a query is filed under one of its terms, the rarest. A publication looks only at what is filed under
the terms that it has, and verifies the rest (:mod:`tidings.index.kernels`). Who asked for a query is looked up
last.

Writers take turns; readers never wait. A change writes where no reader looks and then sets a new :class:`State`; a
reader takes the state that is there when it begins, and sees nothing that comes later. Recent subscriptions are
chained, older ones lie in segments, and :meth:`GuardIndex.compact` makes one segment of all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
import pyarrow as pa

from tidings.index import kernels
from tidings.index.bulk import file_plain
from tidings.index.dictionary import Dictionary
from tidings.index.entries import Entry, joined, loose
from tidings.index.filing import Filer
from tidings.index.matcher import Clock, Counters, Matches
from tidings.index.predicates import Predicates
from tidings.index.recent import Recent
from tidings.index.sample import Sample
from tidings.index.scanning import BRIEFLY, Block, Deliveries, Scratch, State, blocks, fanned_out
from tidings.index.segment import Segment, Source, compiled, living, tidied, together
from tidings.index.store import Filed, Saved, Store, Unsaved, unsaved
from tidings.index.subscribers import TEXT, Record, with_all_columns
from tidings.language import Conjunction, Sequence, normal_form, parse_normal, to_text
from tidings.language.plain import plain_words
from tidings.model import Match, Publication, Subscription
from tidings.model.values import utc_now
from tidings.tables.columns import ABSENT, column_keys, instant_key, is_instant
from tidings.tables.validity import good_rows
from tidings.terms import ENGLISH, Analyser
from tidings.terms.fast import FastAnalyser
from tidings.terms.vocabulary import IntArray

BATCH_ROWS = 4096
MAX_RECENT = 1 << 16
MAX_WORDS = 4_000_000
"""When a thread remembers more words of posts, or of queries, it forgets them all."""

FEW = 1024
"""So many at least become a segment of their own at once."""


MATCHES = pa.schema(
    [
        ("publication_id", TEXT),
        ("subscription_id", TEXT),
        ("subscriber", TEXT),
        ("tag", TEXT),
        ("query_version", pa.int64()),
    ]
)
"""Of a table of matches."""


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

    def __init__(self, analyser: Analyser = ENGLISH, sample: pa.Table | None = None, clock: Clock = utc_now) -> None:
        self._analyser = analyser
        self._clock = clock
        self._sample = Sample(analyser, sample)
        self._writing = threading.RLock()
        self._compacting = threading.Lock()
        self._local = threading.local()
        self._fast = FastAnalyser(analyser)
        self._count = 0
        self._segments: tuple[Segment, ...] = ()
        self._saved = Saved()
        self._set_filed(Filed(Dictionary(), Predicates(), ()))
        self._state = self._seen(0)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, name: str) -> bool:
        with self._writing:
            return self._find(name) is not None

    # ------------------------------------------------------------------------------------------------ changes

    def add(self, subscriptions: Iterable[Subscription]) -> None:
        prepared = [
            (Record.of(subscription, to_text(subscription.query)), normal_form(subscription.query, self._analyser))
            for subscription in subscriptions
        ]
        with self._change() as moment:
            for record, form in prepared:
                self._add(record, _key(form), moment, partial(self._filed, form))

    def add_form(self, record: Record, form: tuple[Conjunction, ...]) -> None:
        """Add one subscription whose query has that normal form."""
        with self._change() as moment:
            self._add(record, _key(form), moment, partial(self._filed, form))

    def add_words(self, record: Record, words: list[str]) -> None:
        """Add one subscription that asks for nothing but words, without repetitions: the fast way in for one."""
        with self._change() as moment:
            self._add(record, tuple(sorted(words)), moment, partial(self._filed_words, words))

    def add_table(self, table: pa.Table) -> None:
        """Add many: ``id`` and ``query``, and whatever else of COLUMNS there is; the later of two equal ids counts.

        The rows are subscriptions that were checked before. Plain queries do not pass the parser.
        """
        self.change(table, [])

    def change(self, table: pa.Table, gone: Iterable[str]) -> None:
        """Remove the ids in ``gone`` and add the rows of a table, in one step."""
        table = with_all_columns(table)
        last = (
            pa.table({"id": table["id"], "row": np.arange(table.num_rows)}).group_by("id").aggregate([("row", "max")])
        )
        if last.num_rows < table.num_rows:
            table = table.take(last["row_max"].sort())
        names = list(gone)
        with self._change() as moment:
            few = self._prepared(table) if table.num_rows < FEW else []
            segment = None if table.num_rows < FEW else compiled(tidied(self._source(table)), self._predicates)
            for name in names:
                self._bury(name, moment)
            for record, key, file in few:
                self._add(record, key, moment, file)
            if segment is not None:
                self._add_segment(segment, moment)

    def _prepared(self, table: pa.Table) -> list[tuple[Record, Hashable, Callable[[], list[list[Entry]]]]]:
        """Records with the key of their query and what files it."""
        prepared: list[tuple[Record, Hashable, Callable[[], list[list[Entry]]]]] = []
        for record in map(Record._make, zip(*(column.to_pylist() for column in table.columns), strict=True)):
            if words := self.plain_words(record.query):
                prepared.append((record, tuple(sorted(words)), partial(self._filed_words, words)))
            else:
                form = parse_normal(record.query, analyser=self._analyser)[1]
                prepared.append((record, _key(form), partial(self._filed, form)))
        return prepared

    def plain_words(self, query: str) -> list[str] | None:
        """The words of a plain query, for :meth:`add_words`; None if it is another."""
        with self._writing:
            if len(self._fast.vocabulary) > MAX_WORDS:
                self._fast = FastAnalyser(self._analyser)
            return plain_words(query, self._fast)

    def _filed_words(self, words: list[str]) -> list[list[Entry]]:
        return [[self._filer.words(words)]]

    def _add_segment(self, segment: Segment, moment: int) -> None:
        """Add all of a segment; who had one of its ids dies."""
        for part in self._segments:
            self._bury_numbers(part, part.subscribers.ids.find_many(segment.subscribers.ids.texts()), moment)
        for name in self._recent.subscribers.living_ids():
            if segment.subscribers.ids.find(name) >= 0:
                self._recent.subscribers.bury(name, moment)
                self._count -= 1
        self._segments = (*self._segments, segment)
        self._count += len(segment.subscribers)

    def remove(self, ids: Iterable[str]) -> int:
        """Give up subscriptions; returns how many there were."""
        names = list(ids)
        with self._change() as moment:
            before = self._count
            for name in names:
                self._bury(name, moment)
            return before - self._count

    def record(self, name: str) -> Record | None:
        """The living subscription of an id."""
        with self._writing:
            place = self._find(name)
            if place is None:
                return None
            segment, number = place
            if segment is None:
                return self._recent.subscribers.records[number]
            return Record(**segment.subscribers.columns(np.array([number], dtype=np.int32)).to_pylist()[0])

    def ended(self, key: int) -> list[str]:
        """The ids of the living whose ``until`` is that instant or earlier."""
        with self._writing:
            recent = self._recent.subscribers
            found = [r.id for n, r in enumerate(recent.records) if r.until <= key and recent.find(r.id) == n]
            for segment in self._segments:
                own = segment.subscribers
                if len(own.until):
                    found += own.ids.texts().filter(pa.array((own.until <= key) & (own.died == 0))).to_pylist()
            return found

    def compact(self) -> None:
        """Make one segment of all, without what is dead or nobody's. Readers go on meanwhile, and so do writers, but
        for the last steps."""
        with self._compacting:
            with self._writing:
                self._freeze()
                old, moment = self._segments, self._state.moment
            merged = tidied(together([living(segment) for segment in old])) if old else None
            with self._writing:
                self._freeze()
                newer = [tidied(living(segment)) for segment in self._segments[len(old) :]]
                dead = [_ids_buried_after(segment, moment) for segment in old]
                sources = [merged, *newer] if merged is not None else newer
                self._set_filed(_renumbered(sources, self._terms, self._predicates))
                for ids in dead:
                    self._bury_numbers(self._segments[0], self._segments[0].subscribers.ids.find_many(ids), 1, count=0)
                self._state = self._seen(1)

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
            return unsaved(Filed(self._terms, self._predicates, self._segments), self._saved)

    def save(self, store: Store, what: Unsaved, version: int) -> None:
        """Write what was not saved. Nothing may be compacted between the two."""
        self._saved = store.write(what, self._saved, version)

    @classmethod
    def opened(
        cls, store: Store, analyser: Analyser, sample: pa.Table | None, clock: Clock
    ) -> tuple[GuardIndex, int] | None:
        """The index of a folder, and its version; None if there is none."""
        found = store.read()
        if found is None:
            return None
        filed, saved, version = found
        index = cls(analyser, sample, clock)
        index._set_filed(filed)
        index._saved = saved
        living = [int(np.count_nonzero(segment.subscribers.died == 0)) for segment in filed.segments]
        index._count = sum(living)
        index._state = index._seen(1)
        return index, version

    @property
    def size_bytes(self) -> int:
        """Of the arrays that matching reads: not the ids and texts, nor the tables that find words."""
        with self._writing:
            predicates: int = sum(array.nbytes for array in self._predicates.filled().values())
            return predicates + self._recent.size_bytes + sum(segment.size_bytes for segment in self._segments)

    @contextmanager
    def _change(self) -> Iterator[int]:
        """One change: what is done at the moment that is given is seen when all of it is done."""
        with self._writing:
            moment = self._state.moment + 1
            yield moment
            self._state = self._seen(moment)
            if len(self._recent) > MAX_RECENT:
                self._freeze()

    def _set_filed(self, filed: Filed) -> None:
        self._terms: Dictionary = filed.terms
        self._predicates: Predicates = filed.predicates
        self._segments = filed.segments
        self._filer = Filer(self._terms, self._predicates, self._sample)
        self._recent: Recent = Recent()
        self._saved = Saved()

    def _seen(self, moment: int) -> State:
        """All that was done, as a reader sees it."""
        return State(
            self._terms,
            self._predicates.arrays(),
            len(self._predicates.sequence_words) > 0,
            self._segments,
            self._recent.view(),
            moment,
        )

    def _add(self, record: Record, form: Hashable, moment: int, file: Callable[[], list[list[Entry]]]) -> None:
        self._bury(record.id, moment)
        self._recent.add(record, form, file)
        self._count += 1

    def _filed(self, form: tuple[Conjunction, ...]) -> list[list[Entry]]:
        return [self._filer.file(conjunction) for conjunction in form]

    def _source(self, table: pa.Table) -> Source:
        """The rows of a table, filed: plain queries at once, the others one by one."""
        plain = file_plain(table["query"], self._analyser, self._terms, self._sample)
        queries = np.full(table.num_rows, -1, dtype=np.int64)
        queries[plain.rows] = plain.queries
        others = np.flatnonzero(queries < 0)
        numbers: dict[Hashable, int] = {}
        entries: list[Entry] = []
        marked: list[int] = []
        known = 0
        for row, text in zip(others.tolist(), table["query"].take(pa.array(others)).to_pylist(), strict=True):
            form = parse_normal(text, analyser=self._analyser)[1]
            number = numbers.setdefault(_key(form), len(plain.entries) + len(numbers))
            if len(numbers) > known:
                known = len(numbers)
                filed = [entry for part in self._filed(form) for entry in part]
                entries += filed
                marked += [-number - 1 if len(form) > 1 else number] * len(filed)
            queries[row] = number
        return Source(joined([plain.entries, loose(entries, marked)]), table, queries)

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

    def _bury(self, name: str, moment: int) -> None:
        place = self._find(name)
        if place is None:
            return
        segment, number = place
        if segment is None:
            self._recent.subscribers.bury(name, moment)
        else:
            segment.subscribers.died[number] = moment
        self._count -= 1

    def _bury_numbers(self, segment: Segment, numbers: IntArray, moment: int, count: int = 1) -> None:
        """Bury those that live; -1 is nobody."""
        died = segment.subscribers.died
        numbers = numbers[numbers >= 0]
        numbers = np.unique(numbers[died[numbers] == 0])
        died[numbers] = moment
        self._count -= count * len(numbers)

    def _freeze(self) -> None:
        """Make a segment of what is recent."""
        if len(self._recent):
            segment = compiled(tidied(self._recent.source()), self._predicates)
            self._segments = (*self._segments, segment)
            self._recent = Recent()
            self._state = self._seen(self._state.moment)

    # ------------------------------------------------------------------------------------------------ matching

    def match(self, table: pa.Table) -> Matches:
        state = self._state
        rows, ids, counters = [np.zeros(0, dtype=np.int64)], [], Counters()
        for start in range(0, table.num_rows, BATCH_ROWS):
            batch, good = good_rows(table.slice(start, BATCH_ROWS))
            found, spent = self._deliveries(state, batch)
            counters += spent
            own = np.concatenate([np.zeros(0, dtype=np.int64), *(part.rows for part in found)])
            names = [name for part in found for name in part.part.delivered(part.numbers)[0].to_pylist()]
            order = np.argsort(own, kind="stable")
            rows.append(good[own[order]] + start)
            ids += [names[i] for i in order]
        return Matches(np.concatenate(rows), ids, counters)

    def match_one(self, publication: Publication) -> list[Match]:
        """The matches of one publication: the fast way for one."""
        state, found = self._state, []
        instants = np.array([instant_key(publication.ts or self._clock())])
        for block in self._blocks_of_one(state, publication):
            if len(block.queries):
                fanned = fanned_out(block, instants, state.moment, kernels.fan_out_briefly)
                found += fanned.part.matches(publication.id, fanned.numbers)
        return found

    def count_one(self, publication: Publication) -> int:
        """How many queries one publication answers, before it is known who asked for them."""
        return sum(len(block.queries) for block in self._blocks_of_one(self._state, publication))

    def _blocks_of_one(self, state: State, publication: Publication) -> Iterator[Block]:
        scratch = self._scratch(state)
        batch = scratch.reader.read_one(publication, state.has_sequences)
        return blocks(state, batch, scratch, np.zeros(3, dtype=np.int64), BRIEFLY)

    def match_table(self, table: pa.Table) -> pa.Table:
        """The matches of many publications: publication_id, subscription_id, subscriber, tag, query_version."""
        state = self._state
        tables = [
            self._matched_table(state, table.slice(start, BATCH_ROWS)) for start in range(0, table.num_rows, BATCH_ROWS)
        ]
        return pa.concat_tables([MATCHES.empty_table(), *tables])

    def _matched_table(self, state: State, table: pa.Table) -> pa.Table:
        canonical, _ = good_rows(table)
        found, _ = self._deliveries(state, canonical)
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *(part.rows for part in found)])
        columns = [part.part.delivered(part.numbers) for part in found if len(part.numbers)]
        if not columns:
            return MATCHES.empty_table()
        texts = [pa.chunked_array(chunks) for chunks in zip(*columns, strict=True)]
        ids = canonical["id"].cast(TEXT).take(pa.array(rows))
        matches = pa.table([ids, *texts], schema=MATCHES)
        return matches if np.all(np.diff(rows) >= 0) else matches.take(pa.array(np.argsort(rows, kind="stable")))

    def count(self, table: pa.Table) -> Counters:
        """How much work matching is, up to where it is known which queries matched, but not who asked for them."""
        state = self._state
        counters = np.zeros(3, dtype=np.int64)
        for start in range(0, table.num_rows, BATCH_ROWS):
            canonical, _ = good_rows(table.slice(start, BATCH_ROWS))
            scratch = self._scratch(state)
            batch = scratch.reader.read(canonical, state.has_sequences)
            for _ in blocks(state, batch, scratch, counters):
                pass
        return Counters(*counters.tolist())

    def _deliveries(self, state: State, table: pa.Table) -> tuple[list[Deliveries], Counters]:
        """Who is to get which row of a canonical table without bad rows."""
        scratch = self._scratch(state)
        batch = scratch.reader.read(table, state.has_sequences)
        counters = np.zeros(3, dtype=np.int64)
        instants = self._instants(table)
        found = [fanned_out(block, instants, state.moment) for block in blocks(state, batch, scratch, counters)]
        return found, Counters(*counters.tolist())

    def _scratch(self, state: State) -> Scratch:
        """That of this thread; a new one if the terms were numbered anew, or if it remembers too many words."""
        scratch: Scratch | None = getattr(self._local, "scratch", None)
        if scratch is None or scratch.reader.remembered > MAX_WORDS:
            scratch = self._local.scratch = Scratch(state.terms, self._analyser)
        elif scratch.terms is not state.terms:
            scratch = self._local.scratch = Scratch(state.terms, self._analyser, scratch.reader)
        return scratch

    def _instants(self, table: pa.Table) -> IntArray:
        """When each publication happened: now, where nobody says."""
        now = instant_key(self._clock())
        if "ts" not in table.column_names or not is_instant(table.schema.field("ts").type):
            return np.full(table.num_rows, now, dtype=np.int64)
        keys = column_keys(table["ts"])
        return np.where(keys == ABSENT, now, keys)


def _key(form: tuple[Conjunction, ...]) -> Hashable:
    """Equal for equal queries, whatever the order of their parts: the words alone, where there is nothing else."""
    words = [atom.words for c in form for atom in c.required if isinstance(atom, Sequence) and len(atom.words) == 1]
    if len(form) == 1 and len(words) == len(form[0].required) and not form[0].forbidden:
        return tuple(sorted(word for (word,) in words))
    return frozenset((frozenset(c.required), frozenset(c.forbidden)) for c in form)


def _ids_buried_after(segment: Segment, moment: int) -> pa.Array:
    return segment.subscribers.ids.texts().filter(pa.array(segment.subscribers.died > moment))


def _renumbered(sources: list[Source], terms: Dictionary, predicates: Predicates) -> Filed:
    """The segments of some sources, with terms and predicates that nobody needs left out."""
    entries = joined([source.entries for source in sources])
    kept = np.unique(entries.predicates()).astype(np.int64)
    part = predicates.part(kept)
    used = np.zeros(len(terms), dtype=np.bool_)
    used[0] = True
    used[entries.terms()] = True
    used[part["sequence_words"]] = True
    term_of = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
    predicate_of = np.full(len(predicates), -1, dtype=np.int32)
    predicate_of[kept] = np.arange(len(kept))
    new_terms, new_predicates = Dictionary(), Predicates()
    new_terms.load(terms.saved(term_of), int(used.sum()))
    part["sequence_words"] = term_of[part["sequence_words"]]
    new_predicates.extend(part)
    renumbered = [
        Source(source.entries.renumbered(term_of, predicate_of), source.table, source.queries) for source in sources
    ]
    return Filed(new_terms, new_predicates, tuple(compiled(source, new_predicates) for source in renumbered))
