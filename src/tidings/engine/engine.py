"""How does one process leave standing queries and get every post that answers them? An engine.

Each change is first committed to a log and only then shown to readers (:mod:`tidings.engine.replica`). In memory the
log is gone with the engine. With a folder it is the registry there, so nothing that was accepted is lost; the index is
saved beside it from time to time (:mod:`tidings.engine.saving`), and whatever the saved one lacks is read from the
registry when the folder is opened again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal
from uuid import uuid4

import pyarrow as pa

from tidings.analysis import ENGLISH, Analyser, Fields
from tidings.engine.asked import few_rows, unique_ids
from tidings.engine.background import Background, logged
from tidings.engine.earlier import Joined
from tidings.engine.nothing_kept import NothingKept
from tidings.engine.past import Past
from tidings.engine.replica import Replica, indexed, instant_of
from tidings.engine.saving import Saver
from tidings.engine.settings import check_settings
from tidings.engine.stats import PublishCounts, Stats
from tidings.engine.subscribed import Subscribed
from tidings.index import COMPACTION, Compaction, GuardIndex
from tidings.index.compiling import NOTICE, is_cold
from tidings.index.matcher import Clock
from tidings.index.subscribers import FOREVER_BEFORE
from tidings.language import Explanation, explain, parse_normal, to_text
from tidings.model import (
    DataError,
    Publication,
    PublicationError,
    Query,
    QueryError,
    Subscription,
    SubscriptionError,
)
from tidings.model.subscription import checked_terms
from tidings.model.values import utc_now
from tidings.registry import Log, MemoryLog, Receipt, Registry
from tidings.registry.habits import warnings_of
from tidings.tables.canonical import left_out
from tidings.tables.given import given_table
from tidings.tables.matches import Matches
from tidings.tables.nesting import warn_of
from tidings.tables.once import once_each
from tidings.tables.sifting import Sifter

CHECK_EVERY_S = 1.0
"""So often ``publish`` looks whether somebody has written into the files of the index."""

LOOK_EVERY = 128
"""After so many versions small changes look whether it is time to tidy up."""

_log = logging.getLogger(__name__)


class Engine:
    """Standing queries in one process, in memory or in the folder ``path``; safe to share between threads.

    A subscription counts from the next publication on. Publishing never waits for a change. ``sample`` is a table of
    publications like those to come: the index is the better the more it knows of them. A subscription that ended more
    than ``expire_after`` ago is removed when the index is tidied up; None keeps all, for publications of long ago.
    ``compaction`` says when that is.

    ``fields`` says how attributes are compared: names with ``exact`` (the default), ``folded`` (letters of any case) or
    ``text`` (words, as in posts); ``*`` stands for all others. A folder keeps them: opened without, it has its own.

    With ``keep`` the publications of that time are kept, at most ``keep_bytes`` of them, and a subscription whose
    ``since`` lies in the past has its past at once. The first process that opens a folder with ``keep`` publishes;
    others can subscribe there and read the past. With ``distinct="subscriber"`` a subscriber gets a publication once,
    however many of its subscriptions it answers, in their past or future; who has no name gets all.

    >>> engine = Engine()
    >>> engine.subscribe("white house -drill", id="s1", subscriber="ada")
    's1'
    >>> engine.publish(id="p1", text="The White House says")
    [Match(publication_id='p1', subscription_id='s1', subscriber='ada', tag='', query_version=1)]
    >>> engine.unsubscribe("s1"), engine.publish(id="p2", text="The White House again")
    (True, [])
    """

    def __init__(  # noqa: PLR0913  # each is a setting
        self,
        path: str | Path | None = None,
        *,
        analyser: Analyser = ENGLISH,
        fields: Mapping[str, str] | None = None,
        sample: pa.Table | None = None,
        clock: Clock = utc_now,
        expire_after: timedelta | None = timedelta(days=1),
        compaction: Compaction = COMPACTION,
        keep: timedelta | None = None,
        keep_bytes: int | None = None,
        distinct: Literal["subscriber"] | None = None,
    ) -> None:
        check_settings(path, analyser, expire_after, compaction, distinct)
        if _log.isEnabledFor(logging.INFO) and is_cold():
            _log.info(NOTICE)
        sample = None if sample is None else given_table(sample, "publications for a sample")
        if fields is not None:
            analyser = replace(analyser, fields=Fields.of(fields))
        self._clock = clock
        self._expire_after = expire_after
        self._compaction = compaction
        self._distinct = distinct is not None
        self._changing = threading.Lock()
        self._tidying = threading.Lock()
        self._background = Background()
        self._tally = PublishCounts()
        self._count = self._tally.count
        self._warned: set[str] = set()
        self._look_at = 0
        self._check_at_s = 0.0
        folder = None if path is None else Path(path)
        log: Log = MemoryLog(analyser, clock, history=None) if path is None else Registry.create(path, analyser, clock)
        self._analyser = analyser = log.analyser
        self._past: Past | NothingKept = NothingKept(folder, clock)
        if keep is not None:
            self._past = Past(folder, analyser, clock, keep, keep_bytes, self._distinct)
        self._saver = Saver(folder, analyser)
        self._replica = Replica(log, partial(GuardIndex, analyser, sample, clock))
        newest = self._saver.resume(self._replica, log, sample, clock)
        self._replica.catch_up(log.version if newest is None else newest)
        self._past.show(self._replica)
        if newest is None and len(self._index):
            logged(self._save_in_turn)

    @property
    def _index(self) -> GuardIndex:
        return self._replica.index

    # ------------------------------------------------------------------------------------------------ subscriptions

    def subscribe(
        self,
        query: str | Query,
        *,
        id: str | None = None,
        subscriber: str = "",
        tag: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Subscribed:
        """Leave a standing query, valid in ``[since, until)``; returns its id, a new one if none is given.

        If the engine keeps publications, those that have happened since ``since`` and answer the query come with the
        id, as its ``past``: see :class:`Subscribed`. Its ``warnings`` say what can never match or is a habit of another
        language. A known id gets the new query in place of the old one. Refuses with QueryError or SubscriptionError.
        Cost: about 35 µs for plain words in memory. In a folder the commit takes about 3 ms, so leave many at once
        there.
        """
        name = uuid4().hex if id is None else id
        since, until = checked_terms(name, subscriber, tag, since, until)
        if not isinstance(query, str | Query):
            raise QueryError(f"a query is text, or what tidings.parse gives, got {query!r}")
        text = query if isinstance(query, str) else to_text(query)
        row = (name, text, subscriber, tag, since, until)
        with self._changing:
            meaning = self._index.read(text, strict=True)
            receipt = self._replica.put([row], [meaning])
            before = self._past.show(self._replica)
        self._tidy_if_needed(at_once=False)
        made = Subscribed(name) if since is None else self._past.of(indexed(row, receipt.version), meaning, before)
        if ":" in text or '"' in text:  # plain words are never doubtful
            made.warnings = warnings_of(pa.array([text]), self._analyser)
        return made

    def past(self, id: str) -> Subscribed:
        """The past of a living subscription, again: the publications that are kept, answer it, and were matched without
        it. So one of :meth:`subscribe_many` gets its past, and one of another process all until this one knew of it.

        >>> engine = Engine(keep=timedelta(hours=1))
        >>> _ = engine.publish(id="p1", text="Fire!")
        >>> _ = engine.subscribe_many(pa.table({"id": ["s1"], "query": ["fire"], "since": ["2020-01-01"]}))
        >>> [match.publication_id for match in engine.past("s1").past]
        ['p1']
        """
        record = self._index.record(id)
        if record is None:
            raise SubscriptionError(f"there is no subscription {id!r}")
        has_past = record.since != FOREVER_BEFORE
        return self._past.of(record, self._index.read(record.query)) if has_past else Subscribed(id)

    def subscribe_many(self, table: pa.Table, *, dry_run: bool = False) -> Receipt:
        """Leave many standing queries at once: all that are good, and none of them if it fails.

        Columns: ``id``, ``query``, and any of ``subscriber``, ``tag``, ``since``, ``until``. The receipt has the rows
        that were rejected, with the reason. ``dry_run`` only says what would be accepted. Cost: about 6 s for a million
        plain queries, 20 s for a million of frequent shapes.
        """
        table = given_table(table, "subscriptions")
        if dry_run:
            return self._replica.log.add(table, dry_run=True)
        few = few_rows(table, partial(self._index.read, strict=True))
        with self._changing:
            if few is None:
                receipt = self._replica.add(table)
            else:
                receipt = replace(self._replica.put(*few), warnings=warnings_of(table["query"], self._analyser))
            self._past.show(self._replica)
        self._tidy_if_needed()
        return receipt

    def unsubscribe(self, id: str) -> bool:
        """Give up a subscription; False if there was none of that id."""
        return self.unsubscribe_many([id]) == 1

    def unsubscribe_many(self, ids: Iterable[str]) -> int:
        """Give up many at once; returns how many there were."""
        names = unique_ids(ids)
        with self._changing:
            self._replica.refresh()
            known = [name for name in names if name in self._index]
            if known:
                self._replica.put([], [], known)
            self._past.show(self._replica)
        self._tidy_if_needed(at_once=len(names) > 1)
        return len(known)

    def subscription(self, id: str) -> Subscription | None:
        """The living subscription of an id."""
        record = self._index.record(id)
        if record is None:
            return None
        query, _ = parse_normal(record.query, analyser=self._analyser)
        since, until = instant_of(record.since), instant_of(record.until)
        return Subscription(record.id, query, record.subscriber, record.tag, since, until, record.query_version)

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and id in self._index

    # ------------------------------------------------------------------------------------------------ publications

    def publish(  # noqa: PLR0913  # each is a field, or says what is done with them
        self,
        *,
        id: str,
        text: str = "",
        lat: float | None = None,
        lon: float | None = None,
        topic: str | Iterable[str] | None = (),
        ts: datetime | None = None,
        expires: datetime | None = None,
        self_join: bool | str = False,
        **attributes: Any,
    ) -> Matches:
        """All matches of one publication. Refuses with PublicationError. Without ``ts`` it happens now.

        If the engine keeps publications, this one is safe before it is matched. After ``expires`` it is nobody's past.
        ``self_join`` names an attribute that is its key: the publications before it with the same value come with the
        matches, as ``earlier``, the newest first (:class:`Joined`). True stands for its id.

        Matches are named when somebody looks at them. An attribute may be nested: see :class:`tidings.Publication`.
        """
        topics = (topic,) if isinstance(topic, str) else topic or ()
        if not isinstance(topics, Iterable):
            raise PublicationError(f"publication {id!r}: its topic is a text, or several of them, got {topic!r}")
        kept = {name: value for name, value in attributes.items() if value is not None}
        if time.monotonic() >= self._check_at_s:  # rarely: it is a system call, which releases the GIL
            self._mend()
        publication = Publication(id, text, ts, lat, lon, tuple(topics), kept)
        snapshot, number = self._past.commit(publication, expires)
        found = self._delivered(snapshot.match_one(publication), 1)
        if not self_join:
            return found
        return Joined(found, self._past.earlier(publication, "id" if self_join is True else self_join, number))

    def match(self, table: pa.Table, *, sifter: Sifter | None = None) -> Matches:
        """All matches of many publications: a sequence that also gives a table, as numbers of names or as plain text.

        Columns: ``id``, and any of ``text``, ``ts``, ``lat``, ``lon``, ``topic``; every other one is an attribute, or
        several where it is nested (:mod:`tidings.tables.nesting`); a warning names what can be no attribute, once.
        Rows that are no publication, and those whose id came before in the table, have no matches; a warning says how
        many and why. A ``sifter`` keeps that instead, and knows ids again that came in other tables. All rows see the
        same subscriptions.
        """
        table = given_table(table, "publications")
        if "id" not in table.column_names:
            raise DataError(f"a table of publications has a column 'id', got {', '.join(table.column_names) or 'none'}")
        self._mend()
        warn_of(left_out(table.schema), self._warned)
        sifting = Sifter.of(table) if sifter is None else sifter
        posts = sifting.sift(table)[0]
        found = self._delivered(self._past.match(posts), table.num_rows)
        if sifter is None and sifting.rejected:
            _log.warning("%s", sifting.summary())
        return found

    def _delivered(self, found: Matches, posts: int) -> Matches:
        """The matches that somebody gets of those that were found for so many publications."""
        found = once_each(found) if self._distinct else found
        self._count(posts, len(found))
        return found

    def explain(self, subscription_id: str, publication: Publication) -> Explanation:
        """Why a publication answers a subscription, or why not.

        >>> engine = Engine()
        >>> _ = engine.subscribe("fire volume:>10", id="s1")
        >>> print(engine.explain("s1", Publication("p1", "Fire!", attributes={"volume": 3})))
        no match: volume:>10: volume is 3
        """
        found = self.subscription(subscription_id)
        if found is None:
            raise SubscriptionError(f"there is no subscription {subscription_id!r}")
        if not isinstance(publication, Publication):
            raise PublicationError(f"a Publication is explained, got a {type(publication).__name__}")
        at = publication.ts or self._clock()
        if not found.valid_at(at):
            limits = f"since {found.since}" if found.until is None else f"from {found.since} to {found.until}"
            return Explanation(False, (f"valid {limits}, and the publication is of {at}",))
        return explain(found.query, publication, self._analyser)

    def stats(self) -> Stats:
        index = self._index
        return Stats(self._replica.version, len(index), index.segment_count, index.size_bytes, *self._tally.totals())

    # ------------------------------------------------------------------------------------------------ upkeep

    def refresh(self) -> int:
        """Take what other processes have changed in the folder; returns the version that is reached.

        If the registry was restored, made anew or replaced, or a file of the index was written into, the index is built
        again. Changes notice that too; ``match`` and, once a second, ``publish`` notice files that were written into.
        """
        with self._changing:
            self._replica.refresh()
            self._past.show(self._replica)
        self._tidy_if_needed()
        return self._replica.version

    def compact(self) -> None:
        """Tidy up now: drop what has ended or was removed, make one segment of all, and save it. Publishing goes on."""
        with self._tidying:
            with self._changing:
                self._replica.refresh()
                if self._expire_after is not None:
                    self._replica.expire(self._clock() - self._expire_after)
            self._index.compact()
            with self._changing:
                self._past.show(self._replica)
            self._save()

    def close(self) -> None:
        """Save the index, so that the folder opens at once; changes are safe without it."""
        self._background.join()
        with self._tidying:
            try:
                if self._saver.unsaved(self._replica):
                    self._save()
            finally:
                self._saver.close()
                self._past.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _mend(self) -> None:
        """Build the index again if somebody has written into its files."""
        self._check_at_s = time.monotonic() + CHECK_EVERY_S
        if self._replica.damage():
            self.refresh()

    def _tidy_if_needed(self, at_once: bool = True) -> None:
        """Start tidying up if it is time; small changes look only now and then."""
        index, version = self._index, self._replica.version
        if not at_once and version < self._look_at:
            return
        self._look_at = version + LOOK_EVERY
        if self._compaction.is_due(index.segment_count, len(index), index.burden):
            self._background.start(self.compact)
        elif self._saver.is_due(self._replica):
            self._background.start(self._save_in_turn)

    def _save_in_turn(self) -> None:
        with self._tidying:
            self._save()

    def _save(self) -> None:
        with self._changing:
            pending = self._saver.pending(self._replica)
        self._saver.write(pending)
