"""Which publications of the past answer a new subscription? Those that an engine keeps.

Publications and subscriptions with a past take turns: one sequencer orders them. A publication is committed and then
matched with the subscriptions that were shown before it; a subscription is shown and then finds the publications that
were committed before it. So each publication is past or future of a subscription, once. What is committed also says
with which version of the subscriptions it is matched: so another process knows what was not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, TypeVar

import numpy as np
import numpy.typing as npt

from tidings.analysis import Analyser
from tidings.analysis.vocabulary import WordSets
from tidings.arrays.locks import owned
from tidings.engine.background import Background
from tidings.engine.deliveries import has_already
from tidings.engine.earlier import Earlier
from tidings.engine.finding import PastFinder
from tidings.engine.nothing_kept import GAP, PAST
from tidings.engine.replica import Replica
from tidings.engine.settings import check_keeping
from tidings.engine.subscribed import Subscribed
from tidings.index import GuardIndex
from tidings.index.guard import Meaning
from tidings.index.matcher import Clock
from tidings.index.snapshot import Snapshot
from tidings.index.subscribers import Row as IndexRow
from tidings.model import DataError, Publication, PublicationError
from tidings.model.values import value_text
from tidings.storage.guards import MAX_KEY_CHARS, same_key
from tidings.storage.kept import KeptPublications
from tidings.storage.kept_block import Window
from tidings.storage.kept_reader import KeptReader
from tidings.storage.kept_rows import KeptRow, KeptRows, KeptTable
from tidings.storage.keys import EARLIEST, LATEST
from tidings.tables.checked import Publications
from tidings.tables.columns import instant_key
from tidings.tables.matches import Matches

KeptT = TypeVar("KeptT", KeptRow, KeptTable)


class Past:
    """The publications that an engine keeps, in memory or in its folder. The sequencer of publications and
    subscriptions: :meth:`commit` and :meth:`show` take turns.

    If another process keeps them in that folder, this one reads them.
    """

    def __init__(
        self,
        folder: Path | None,
        analyser: Analyser,
        clock: Clock,
        keep: timedelta,
        keep_bytes: int | None = None,
        distinct: bool = False,
    ) -> None:
        check_keeping(keep, keep_bytes)
        self._order = threading.Lock()
        self._shown: tuple[GuardIndex, Snapshot, int]
        self._distinct = distinct
        self._clock = clock
        self._filing = Background()
        self._lock = None if folder is None else _owned(folder / PAST)
        self._kept: KeptPublications | KeptReader
        if folder is not None and self._lock is None:
            self._kept = KeptReader(folder / PAST, analyser)
        else:
            span = keep // timedelta(microseconds=1)
            self._kept = _opened(folder, analyser, instant_key(clock()), span, keep_bytes)
        self._finder = PastFinder(self._kept, analyser)
        self._gap = None if folder is None else folder / GAP

    def show(self, replica: Replica) -> int | None:
        """Let publications see what was changed; returns the number of the first that does.

        One thread at a time. Another process tells the past by versions alone.
        """
        shown = replica.index, replica.index.snapshot, replica.version
        with self._order:
            self._shown = shown
            return None if isinstance(self._kept, KeptReader) else self._kept.next_number

    def commit(self, post: Publication, expires: datetime | None = None) -> tuple[Snapshot, int]:
        """Keep a publication. Gives the snapshot to match it with, and its number."""
        ends = LATEST if expires is None else _instant(expires)
        snapshot, number, _ = self._committed(lambda now, version: KeptRow.of(post, now, ends, version))
        self._file_if_due()
        return snapshot, number

    def match(self, posts: Publications) -> Matches:
        """Keep publications, and then match them. Filing takes over the words that matching has read."""
        if not len(posts) and isinstance(self._kept, KeptPublications):
            return self._shown[1].match(posts)
        words = list[WordSets | None]()
        snapshot, _, kept = self._committed(lambda now, version: KeptTable(now, LATEST, version, posts.table))
        found = snapshot.match(posts, words=words)
        if all(words):
            kept.words = [each for each in words if each is not None]
        self._file_if_due()
        return found

    def _committed(self, made: Callable[[int, int], KeptT]) -> tuple[Snapshot, int, KeptT]:
        """Keep what is made of the instant and a version. Gives the snapshot to match it with, its number, and it."""
        kept = self._kept
        if isinstance(kept, KeptReader):
            raise DataError(
                "another process keeps the publications of this folder; publish there, or open the engine without keep"
            )
        with self._order:
            now = instant_key(self._clock())
            (_, snapshot, version), number = self._shown, kept.next_number
            one = made(now, version)
            kept.add(one)
        return snapshot, number, one

    def _file_if_due(self) -> None:
        kept = self._kept
        if isinstance(kept, KeptPublications) and kept.is_due:
            self._filing.start(kept.file)

    def earlier(self, publication: Publication, name: str, before: int) -> Earlier:
        """The publications under the key of this one, before a number: those that have its value of ``name``."""
        texts = {value_text(value) for value in publication.values(name)}
        if not texts:
            return Earlier([])
        window = Window(EARLIEST, LATEST, instant_key(self._clock()), before, LATEST)
        found = self._kept.read([same_key(publication, name)], window)
        if max(map(len, texts)) > MAX_KEY_CHARS:  # it was cut
            found = [each.verified(_have(each.rows(), name, texts)) for each in found]
        return Earlier(found)

    def of(self, row: IndexRow, meaning: Meaning, before: int | None = None) -> Subscribed:
        """The past of a subscription: the publications before a number that answer it; without a number, those that
        were matched with a version before its own."""
        now = instant_key(self._clock())
        if self._gap is not None and self._gap.exists() and isinstance(self._kept, KeptPublications):
            self._kept.missed(now)
        found = self._finder.find(row, meaning, now, before)
        if self._distinct and row[1]:
            index, snapshot, _ = self._shown
            found = [each.without(has_already(each.rows(), row, snapshot, index.record)) for each in found]
        return self._finder.subscribed(row, found)

    def close(self) -> None:
        self._filing.join()
        self._kept.close()
        if self._lock is not None:
            self._lock.close()


def _opened(folder: Path | None, analyser: Analyser, now: int, keep: int, keep_bytes: int | None) -> KeptPublications:
    kept = KeptPublications(None if folder is None else folder / PAST, analyser, now, keep, keep_bytes)
    kept.drop_old(now)
    if folder is not None and (folder / GAP).exists():
        kept.missed(now)
        (folder / GAP).unlink()
    return kept


def _have(rows: KeptRows, name: str, texts: set[str]) -> npt.NDArray[np.bool_]:
    """Whether each publication has a value of ``name`` with one of these texts."""
    return np.array([not texts.isdisjoint(map(value_text, post.values(name))) for post in rows.publications()])


def _instant(expires: object) -> int:
    if not isinstance(expires, datetime):
        raise PublicationError(f"expires is the instant at which a publication ends, a datetime, got {expires!r}")
    return instant_key(expires)


def _owned(folder: Path) -> IO[str] | None:
    """The lock of a folder; None if another process keeps publications there."""
    try:
        return owned(folder)
    except OSError as error:
        raise DataError(f"cannot keep publications in {str(folder)!r}: {error.strerror or error}") from error
