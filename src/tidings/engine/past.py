"""Which publications of the past answer a new subscription? Those that an engine keeps.

Publications and subscriptions with a past take turns: one sequencer orders them. A publication is committed and then
matched with the subscriptions that were shown before it; a subscription is shown and then finds the publications that
were committed before it. So each publication is past or future of a subscription, once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa

from tidings.analysis import Analyser
from tidings.engine.background import Background
from tidings.index import GuardIndex
from tidings.index.guard import Meaning
from tidings.index.matcher import Clock
from tidings.index.snapshot import Snapshot
from tidings.index.subscribers import FOREVER_AFTER, FOREVER_BEFORE
from tidings.index.subscribers import Row as IndexRow
from tidings.language import Conjunction
from tidings.language.atoms import Sequence
from tidings.model import DataError, Match, Publication, PublicationError
from tidings.storage.kept import KeptPublications
from tidings.storage.kept_rows import KeptRow
from tidings.storage.keys import LATEST
from tidings.storage.spaces import KeySpace, MemorySpace
from tidings.tables.columns import instant_key
from tidings.tables.rows import publications

KEPT, GAP = "kept", "kept.gap"
"""What is kept in the folder of an engine, and a mark there that an engine has it open, or had, that keeps nothing."""

_PROBES = 100
"""After so many questions the index that verifies candidates is made anew, since it remembers all their terms."""


class Subscribed(str):
    """The id of a subscription, with its past: the matches of publications that came before it, the newest first.

    ``complete``: whether all publications since its ``since`` were kept.
    """

    past: tuple[Match, ...]
    complete: bool

    def __new__(cls, name: str, past: Iterable[Match] = (), complete: bool = True) -> Subscribed:
        made = super().__new__(cls, name)
        made.past, made.complete = tuple(past), complete
        return made


class Past:
    """The publications that an engine keeps, in memory or in its folder. ``order`` is held by whoever takes a turn."""

    def __init__(
        self, folder: Path | None, analyser: Analyser, clock: Clock, keep: timedelta, keep_bytes: int | None
    ) -> None:
        _check(keep, keep_bytes)
        self.order = threading.Lock()
        self._analyser = analyser
        self._clock = clock
        self._filing = Background()
        self._verifying = threading.Lock()
        self._probe, self._asked = GuardIndex(analyser), 0
        now, span = instant_key(clock()), keep // timedelta(microseconds=1)
        self._kept = KeptPublications(_space(folder), analyser, now, span, keep_bytes)
        if folder is not None and (folder / GAP).exists():
            self._kept.missed(now)
            (folder / GAP).unlink()

    def commit(
        self, posts: Iterable[Publication], expires: datetime | None, snapshot: Callable[[], Snapshot]
    ) -> Snapshot:
        """Keep publications, and give the snapshot to match them with."""
        rows, ends = list(posts), LATEST if expires is None else _instant(expires)
        with self.order:
            now = instant_key(self._clock())
            self._kept.add([KeptRow(now, instant_key(p.ts) if p.ts else now, ends, p) for p in rows])
            found = snapshot()
        if self._kept.is_due:
            self._filing.start(self._kept.file)
        return found

    @property
    def next_number(self) -> int:
        """All publications before it are past, for who takes a turn now."""
        return self._kept.next_number

    def of(self, row: IndexRow, meaning: Meaning, before: int) -> Subscribed:
        """The past of a subscription: the publications before a number that answer it."""
        name, subscriber, tag, _, version, since, until = row
        candidates = self._kept.read(_form(meaning), since, until, before, instant_key(self._clock()))
        with self._verifying:
            alone = self._alone(row, meaning)
            past = [
                Match(found.row.publication.id, name, subscriber, tag, version)
                for found in candidates
                if found.is_sure or len(alone.match_one(found.row.publication))
            ]
        return Subscribed(name, past, since >= self._kept.whole_since)

    def close(self) -> None:
        self._filing.join()
        self._kept.close()

    def _alone(self, row: IndexRow, meaning: Meaning) -> Snapshot:
        """Of an index that has this subscription alone. It is one for all, since it remembers words of posts."""
        if self._asked == _PROBES:
            self._probe, self._asked = GuardIndex(self._analyser), 0
        self._asked += 1
        self._probe.put([((*row[:5], FOREVER_BEFORE, FOREVER_AFTER), meaning)])
        found = self._probe.snapshot
        self._probe.remove([row[0]])
        return found


def keep_nothing(folder: Path | None) -> None:
    """Leave a mark in a folder where publications were kept: what comes now is not, so their past is not complete."""
    if folder is not None and (folder / KEPT).exists():
        with suppress(OSError):  # a folder where nothing can be written
            (folder / GAP).touch()


def accepted(table: pa.Table) -> Iterator[Publication]:
    """The publications of a table that was checked before."""
    return (row for row in publications(table) if isinstance(row, Publication))


def _form(meaning: Meaning) -> tuple[Conjunction, ...]:
    if isinstance(meaning, tuple):
        return meaning
    return (Conjunction(tuple([Sequence((word,)) for word in meaning])),)


def _instant(expires: object) -> int:
    if not isinstance(expires, datetime):
        raise PublicationError(f"expires is the instant at which a publication ends, a datetime, got {expires!r}")
    return instant_key(expires)


def _space(folder: Path | None) -> KeySpace:
    if folder is None:
        return MemorySpace()
    from tidings.storage.rocks import RocksSpace  # noqa: PLC0415  # most engines do without RocksDB

    return RocksSpace(folder / KEPT)


def _check(keep: object, keep_bytes: object) -> None:
    if not isinstance(keep, timedelta) or keep <= timedelta(0):
        raise DataError(f"keep is a timedelta longer than nothing, or None to keep nothing, got {keep!r}")
    if keep_bytes is not None and not (isinstance(keep_bytes, int) and keep_bytes > 0):
        raise DataError(f"keep_bytes is how many bytes may be kept, a whole number, got {keep_bytes!r}")
