"""How does one process leave standing queries and get every post that answers them? An engine.

In memory it is the index alone. With a folder, each change is first committed to the registry there and only then
shown to readers, so nothing that was accepted is lost; the index is saved beside it from time to time, and whatever the
saved one lacks is read from the registry when the folder is opened again.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import repeat
from pathlib import Path
from types import TracebackType
from typing import IO, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis import ENGLISH, Analyser
from tidings.arrays.locks import owned
from tidings.index import GuardIndex
from tidings.index.guard import FEW
from tidings.index.matcher import Clock
from tidings.index.store import Store, described
from tidings.index.subscribers import COLUMNS, FOREVER_AFTER, FOREVER_BEFORE, keyed
from tidings.language import Explanation, explain, parse, to_text
from tidings.model import (
    DataError,
    HistoryError,
    Publication,
    PublicationError,
    Query,
    QueryError,
    Subscription,
    SubscriptionError,
)
from tidings.model.subscription import checked_terms
from tidings.model.values import utc_now
from tidings.registry import Follower, Receipt, Registry, fold
from tidings.registry.schemas import SUBSCRIPTION
from tidings.registry.validation import check_ids, check_subscriptions
from tidings.tables.canonical import left_out
from tidings.tables.columns import instant_key
from tidings.tables.given import given_table
from tidings.tables.matches import Matches
from tidings.tables.sifting import Sifter

INDEX = "index"
SAVE_AFTER = 50_000
"""So many changes wait for the index to be saved; until then a folder that is opened reads them from the registry."""

CHECK_EVERY_S = 1.0
"""So often ``publish`` looks whether somebody has written into the files of the index."""

_TEXTS = frozenset(COLUMNS[:4])
_MAX_BURDEN, _MAX_SEGMENTS, _SMALL = 0.3, 8, 1 << 16
_LOOK_EVERY = 128

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Stats:
    """What an engine holds and has done: ``version`` is that of the registry, ``size_bytes`` without ids and texts."""

    version: int
    subscriptions: int
    segments: int
    size_bytes: int
    publications: int
    matches: int


class Engine:
    """Standing queries in one process, in memory or in the folder ``path``; safe to share between threads.

    A subscription counts from the next publication on. Publishing never waits for a change. ``sample`` is a table of
    publications like those to come: the index is the better the more it knows of them. A subscription that ended more
    than ``expire_after`` ago is removed when the index is tidied up; None keeps all, for publications of long ago.

    >>> engine = Engine()
    >>> engine.subscribe("white house -drill", id="s1", subscriber="ada")
    's1'
    >>> engine.publish(id="p1", text="The White House says")
    [Match(publication_id='p1', subscription_id='s1', subscriber='ada', tag='', query_version=1)]
    >>> engine.unsubscribe("s1"), engine.publish(id="p2", text="The White House again")
    (True, [])
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        analyser: Analyser = ENGLISH,
        sample: pa.Table | None = None,
        clock: Clock = utc_now,
        expire_after: timedelta | None = timedelta(days=1),
    ) -> None:
        if path is not None and not isinstance(path, str | Path):
            raise DataError(f"an engine's folder is named by a text or a Path, got {path!r}")
        if not isinstance(analyser, Analyser):
            raise DataError(f"analyser is a tidings.Analyser, got {analyser!r}; write Analyser('english')")
        if expire_after is not None and not isinstance(expire_after, timedelta):
            raise DataError(f"expire_after is a timedelta or None, got {expire_after!r}")
        sample = None if sample is None else given_table(sample, "publications for a sample")
        self._analyser = analyser
        self._sample = sample
        self._clock = clock
        self._expire_after = expire_after
        self._changing = threading.Lock()
        self._tidying = threading.Lock()
        self._tidier: threading.Thread | None = None
        self._counts: dict[int, list[int]] = {}
        self._warned: set[str] = set()
        self._unsaved_changes = 0
        self._version = 0
        self._look_at = 0
        self._check_at_s = math.inf if path is None else 0.0
        self._registry: Registry | None = None
        self._followed: Follower | None = None
        self._store: Store | None = None
        self._lock_file: IO[str] | None = None
        if path is None:
            self._index = self._empty()
        else:
            self._open(Path(path))

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
    ) -> str:
        """Leave a standing query, valid in ``[since, until)``; returns its id, a new one if none is given.

        A known id gets the new query in place of the old one. Refuses with QueryError or SubscriptionError. Cost: about
        20 µs for plain words in memory; in a folder, some 3 ms for the commit, so leave many at once there.
        """
        name = uuid4().hex if id is None else id
        since, until = checked_terms(name, subscriber, tag, since, until)
        if not isinstance(query, str | Query):
            raise QueryError(f"a query is text, or what tidings.parse gives, got {query!r}")
        text = query if isinstance(query, str) else to_text(query)
        with self._changing:
            meaning = self._index.read(text)
            version, mark = self._committed(text, name, subscriber, tag, since, until)
            row = name, subscriber, tag, text, version, _since_key(since), _until_key(until)
            self._index.put([(row, meaning)])
            self._reach(version, mark)  # now: whatever stops this before is caught up with
            self._unsaved_changes += 1
        self._tidy_if_needed(at_once=False)
        return name

    def subscribe_many(self, table: pa.Table, *, dry_run: bool = False) -> Receipt:
        """Leave many standing queries at once: all that are good, and none of them if it fails.

        Columns: ``id``, ``query``, and any of ``subscriber``, ``tag``, ``since``, ``until``. The receipt has the rows
        that were rejected, with the reason. ``dry_run`` only says what would be accepted. Cost: about 6 s for a million
        plain queries.
        """
        table = given_table(table, "subscriptions")
        receipt = None if dry_run or self._registry is not None else self._subscribe_few(table)
        if self._registry is not None:
            with self._changing:
                receipt = self._registry.add(table, dry_run=dry_run)
                if not dry_run:
                    self._catch_up(receipt.version)
        elif receipt is None:
            checked = check_subscriptions(table, self._analyser)
            with self._changing:
                if not dry_run and checked.accepted.num_rows:
                    self._version += 1
                    versions = pa.array([self._version]).take(pa.array([0] * checked.accepted.num_rows))
                    self._index.add_table(keyed(checked.accepted.append_column("query_version", versions)))
                    self._unsaved_changes += checked.accepted.num_rows
                receipt = Receipt(self._version, checked.accepted.num_rows, checked.rejected)
        self._tidy_if_needed()
        return receipt

    def _subscribe_few(self, table: pa.Table) -> Receipt | None:
        """Leave the queries of a small table in memory if all rows are surely good; None if they have to be checked.

        Arrow's functions let other threads in, and each time the turn comes back late: rows are read one by one here.
        """
        names = table.column_names
        if not (0 < table.num_rows < FEW and set(names) >= {"id", "query"} and len(set(names)) == len(names)):
            return None
        if not (_TEXTS.issuperset(names) and all(map(_is_full_text, table.columns))):
            return None
        absent = [""] * table.num_rows
        try:
            ids, subscribers, tags, queries = (table[n].to_pylist() if n in names else absent for n in COLUMNS[:4])
            meanings = [self._index.read(query) for query in queries]
        except (QueryError, UnicodeDecodeError):
            return None
        if "" in ids:
            return None
        with self._changing:
            version = self._version + 1
            whenever = repeat(version), repeat(FOREVER_BEFORE), repeat(FOREVER_AFTER)
            self._index.put(zip(zip(ids, subscribers, tags, queries, *whenever, strict=False), meanings, strict=True))
            self._version = version
            self._unsaved_changes += len(ids)
        return Receipt(version, len(ids))

    def unsubscribe(self, id: str) -> bool:
        """Give up a subscription; False if there was none of that id."""
        if self._registry is not None:
            return self.unsubscribe_many([id]) == 1
        with self._changing:
            removed = self._index.remove((id,))
            self._version += removed
            self._unsaved_changes += removed
        self._tidy_if_needed(at_once=False)
        return removed == 1

    def unsubscribe_many(self, ids: Iterable[str]) -> int:
        """Give up many at once; returns how many there were."""
        names = _unique(ids)
        with self._changing:
            if self._registry is None:
                removed = self._index.remove(names)
                self._version += removed > 0
            else:
                self._catch_up(self._registry.version)
                known = [name for name in names if name in self._index]
                removed = len(known)
                if known:
                    self._catch_up(self._registry.remove(known).version)
            self._unsaved_changes += removed
        self._tidy_if_needed(at_once=len(names) > 1)
        return removed

    def subscription(self, id: str) -> Subscription | None:
        """The living subscription of an id."""
        record = self._index.record(id)
        if record is None:
            return None
        query = parse(record.query, analyser=self._analyser)
        since, until = _instant(record.since), _instant(record.until)
        return Subscription(record.id, query, record.subscriber, record.tag, since, until, record.query_version)

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and id in self._index

    # ------------------------------------------------------------------------------------------------ publications

    def publish(
        self,
        *,
        id: str,
        text: str = "",
        lat: float | None = None,
        lon: float | None = None,
        topic: str | Iterable[str] | None = (),
        ts: datetime | None = None,
        **attributes: Any,
    ) -> Matches:
        """All matches of one publication. Refuses with PublicationError. Without ``ts`` it happens now.

        They are named when somebody looks at them; to count them costs no more than to find them. An attribute may be
        nested, as JSON is: see :class:`tidings.model.Publication`.
        """
        topics = (topic,) if isinstance(topic, str) else topic or ()
        if not isinstance(topics, Iterable):
            raise PublicationError(f"publication {id!r}: its topic is a text, or several of them, got {topic!r}")
        kept = {name: value for name, value in attributes.items() if value is not None}
        if time.monotonic() >= self._check_at_s:  # rarely: it is a system call, which lets go of the GIL
            self._mend()
        found = self._index.match_one(Publication(id, text, ts, lat, lon, tuple(topics), kept))
        self._count(1, len(found))
        return found

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
        self._warn_of(table.schema)
        sifting = Sifter.of(table) if sifter is None else sifter
        found = self._index.match(sifting.sift(table)[0])
        self._count(table.num_rows, len(found))
        if sifter is None and sifting.rejected:
            _log.warning("%s", sifting.summary())
        return found

    def _warn_of(self, schema: pa.Schema) -> None:
        """Name the columns that are no attributes, each once."""
        for name, reason in left_out(schema).items():
            if name not in self._warned:
                self._warned.add(name)
                _log.warning("the column %r is no attribute, and queries find nothing in it: %s", name, reason)

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
        counts = list(self._counts.values())
        return Stats(
            self._version,
            len(self._index),
            self._index.segment_count,
            self._index.size_bytes,
            sum(published for published, _ in counts),
            sum(matched for _, matched in counts),
        )

    # ------------------------------------------------------------------------------------------------ upkeep

    def refresh(self) -> int:
        """Take what other processes have changed in the folder; returns the version that is reached.

        If the registry was restored, made anew or replaced, or a file of the index was written into, the index is built
        again. Changes notice that too; ``match`` and, once a second, ``publish`` notice files that were written into.
        """
        if self._registry is not None:
            with self._changing:
                self._catch_up(self._registry.version)
            self._tidy_if_needed()
        return self._version

    def compact(self) -> None:
        """Tidy up now: drop what has ended or was removed, make one segment of all, and save it. Publishing goes on."""
        with self._tidying:
            if self._registry is not None:
                with self._changing:
                    self._catch_up(self._registry.version)
            self._expire()
            self._index.compact()
            self._save()

    def close(self) -> None:
        """Save the index, so that the folder opens at once; changes are safe without it."""
        if self._tidier is not None:
            self._tidier.join()
        with self._tidying:
            try:
                if self._unsaved_changes:
                    self._save()
            finally:
                if self._lock_file is not None:
                    self._lock_file.close()
                    self._lock_file = self._store = None

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self, path: Path) -> None:
        self._registry = Registry(path, self._analyser, self._clock)
        if self._registry.version < 0:
            Registry.create(path, self._analyser, self._clock)
        self._followed = Follower(self._registry)
        self._lock_file = _owned(path / INDEX)
        store = Store(path / INDEX, described(self._analyser))
        self._store = store if self._lock_file is not None else None
        self._index, self._version = self._empty(), -1
        try:
            newest = self._open_saved(store, self._registry, self._followed)
        except DataError as error:
            _log.warning("%s; the index is built again from the registry", error)
            newest = None
        with self._changing:
            self._catch_up(self._registry.version if newest is None else newest)
        if newest is None and len(self._index):
            self._tidy(heavy=False)

    def _open_saved(self, store: Store, registry: Registry, followed: Follower) -> int | None:
        """Take the index that was saved, and return the newest version of the registry; None if none was saved."""
        opened = GuardIndex.opened(store, self._analyser, self._sample, self._clock)
        if opened is None:
            return None
        index, version, mark = opened
        newest = registry.since(version, mark)
        if newest is None and 0 < version < registry.horizon:  # it was closed for long; nothing is wrong
            _log.info("the registry has forgotten version %d; the index is built again from the registry", version)
            return None
        if newest is None:
            raise DataError(f"the index in {str(store.path)!r} was not made of what the registry has now")
        self._index, self._version = index, version
        followed.reach(version, str(mark))
        return newest

    def _empty(self) -> GuardIndex:
        return GuardIndex(self._analyser, self._sample, self._clock)

    def _committed(
        self, text: str, name: str, subscriber: str, tag: str, since: datetime | None, until: datetime | None
    ) -> tuple[int, str]:
        """Write a change down where there is a registry, and take what others have written before it.

        Returns its version and mark.
        """
        if self._registry is None:
            return self._version + 1, ""
        row = {"id": name, "query": text, "subscriber": subscriber, "tag": tag, "since": since, "until": until}
        receipt = self._registry.add(pa.Table.from_pylist([row], SUBSCRIPTION))
        if receipt.rejected:
            raise SubscriptionError(receipt.rejected[0].reason)
        self._catch_up(receipt.version - 1)
        return receipt.version, receipt.mark

    def _reach(self, version: int, mark: str) -> None:
        """The index has all changes up to a version."""
        self._version = version
        if self._followed is not None:
            self._followed.reach(version, mark)

    def _catch_up(self, version: int) -> None:
        """Let the index have all changes up to ``version``; build it again if it is not what the registry has."""
        registry, followed = self._registry, self._followed
        if registry is None or followed is None:
            return
        index, after = self._index, self._version
        try:
            changes = registry.changes(after, version) if version > after else None
            problem = self._problem(followed)  # now: if the registry has another history, they are of that one
            if problem:
                _log.warning("%s; the index is built again from the registry", problem)
        except HistoryError as error:  # an index that was left alone for long; nothing is wrong
            problem = str(error)
            _log.info("%s; the index is built again from the registry", problem)
        if problem:
            followed, index = Follower(registry), self._empty()
            changes = registry.changes(-1, version)
        if changes is None:
            return
        if changes.num_rows:
            live = fold(changes)
            gone = pc.unique(changes["id"].filter(pc.equal(changes["op"], "remove")))
            index.change(keyed(live), gone.to_pylist())
        followed.take(version, changes)
        self._index, self._version, self._followed = index, version, followed
        self._unsaved_changes += changes.num_rows

    def _problem(self, followed: Follower) -> str:
        """Why the index is not what the registry has; empty if it is."""
        if damage := self._damage():
            return damage
        return "" if followed.is_current() else "the registry was restored from a backup, made anew or replaced"

    def _mend(self) -> None:
        """Build the index again if somebody has written into its files."""
        if self._registry is not None:
            self._check_at_s = time.monotonic() + CHECK_EVERY_S
            if self._damage():
                self.refresh()

    def _damage(self) -> str:
        """What somebody has written into the files that are mapped; empty if nobody has."""
        try:
            self._index.check_files()
        except DataError as error:
            return str(error)
        return ""

    def _count(self, publications: int, matches: int) -> None:
        """Each thread counts for itself, so that none waits."""
        own = self._counts.setdefault(threading.get_ident(), [0, 0])
        own[0] += publications
        own[1] += matches

    def _tidy_if_needed(self, at_once: bool = True) -> None:
        """Start tidying up if it is time; small changes look only now and then."""
        index = self._index
        if not at_once and self._version < self._look_at:
            return
        self._look_at = self._version + _LOOK_EVERY
        heavy = index.segment_count > _MAX_SEGMENTS or (len(index) > _SMALL and index.burden > _MAX_BURDEN)
        unsaved = self._store is not None and self._unsaved_changes > SAVE_AFTER
        if (heavy or unsaved) and (self._tidier is None or not self._tidier.is_alive()):
            self._tidier = threading.Thread(target=self._tidy, args=(heavy,), name="tidings-tidy", daemon=True)
            self._tidier.start()

    def _tidy(self, heavy: bool) -> None:
        try:
            if heavy:
                self.compact()
            else:
                with self._tidying:
                    self._save()
        except Exception:
            _log.exception("tidying up failed; nothing is lost, and it is tried again later")

    def _expire(self) -> None:
        if self._expire_after is None:
            return
        end = self._clock() - self._expire_after
        with self._changing:
            ended = self._index.ended(instant_key(end))
            if ended and self._registry is not None:
                self._catch_up(self._registry.expire(end).version)
            elif ended:
                self._index.remove(ended)
                self._version += 1

    def _save(self) -> None:
        if self._store is None:
            self._unsaved_changes = 0
            return
        with self._changing:
            index, version = self._index, self._version
            mark = "" if self._followed is None else self._followed.mark
            what = index.unsaved()
            waiting, self._unsaved_changes = self._unsaved_changes, 0
        try:
            index.save(self._store, what, version, mark)
        except BaseException:
            with self._changing:
                self._unsaved_changes += waiting  # so that it is tried again
            raise


def _owned(folder: Path) -> IO[str] | None:
    """The lock of a folder; None if another process has it, or if nothing can be written there, as where one only
    wants to match."""
    try:
        return owned(folder)
    except OSError as error:
        _log.info("the index in %s is not saved: %s", folder, error)
        return None


def _unique(ids: Iterable[str]) -> list[str]:
    """The ids that somebody names, each once; what is no id is refused or left out."""
    if isinstance(ids, list | tuple | set | frozenset) and all(type(name) is str for name in ids):
        return list(dict.fromkeys(ids))
    return pc.unique(check_ids(ids).accepted["id"]).to_pylist()  # type: ignore[no-any-return]


def _is_full_text(column: pa.ChunkedArray) -> bool:
    return (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)) and not column.null_count


def _since_key(instant: datetime | None) -> int:
    return FOREVER_BEFORE if instant is None else instant_key(instant)


def _until_key(instant: datetime | None) -> int:
    return FOREVER_AFTER if instant is None else instant_key(instant)


def _instant(key: int) -> datetime | None:
    return (
        None if key in (FOREVER_BEFORE, FOREVER_AFTER) else datetime.fromtimestamp(0, UTC) + timedelta(microseconds=key)
    )
