"""How does an index have what a log of subscriptions has? It follows the log, change by change."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from tidings.index import GuardIndex
from tidings.index.guard import Meaning
from tidings.index.subscribers import FOREVER_AFTER, FOREVER_BEFORE, keyed
from tidings.index.subscribers import Row as IndexRow
from tidings.model import DataError, HistoryError
from tidings.registry import Follower, Log, Receipt, Row, fold
from tidings.tables.columns import instant_key

_log = logging.getLogger(__name__)


class Replica:
    """An index that follows a log. Whoever calls it takes turns: nothing here is locked.

    A change is committed to the log first and shown in the index then, after whatever others have committed before it.
    If anything stops this in between, the next call catches up. If the log has another history than the one that was
    followed, or somebody has written into the files of the index, the index is built again.

    ``changes`` counts those that the index has taken since it was made or opened.
    """

    def __init__(self, log: Log, empty: Callable[[], GuardIndex]) -> None:
        self.log = log
        self._empty = empty
        self._followed = Follower(log)
        self.index = empty()
        self.changes = 0

    @property
    def version(self) -> int:
        """The version of the log that the index has; -1 before it has any."""
        return self._followed.version

    @property
    def mark(self) -> str:
        """The mark of that version."""
        return self._followed.mark

    def resume(self, index: GuardIndex, version: int, mark: str) -> None:
        """Go on from an index that has all up to a version."""
        self.index = index
        self._followed.reach(version, mark)

    def put(self, rows: Sequence[Row], meanings: Sequence[Meaning], gone: Sequence[str] = ()) -> Receipt:
        """Commit and show a few changes: rows with what their queries ask, and ids that are given up."""
        receipt = self.log.put(rows, gone)
        self.catch_up(receipt.version - 1)
        versioned = (indexed(row, receipt.version) for row in rows)
        self.index.put(zip(versioned, meanings, strict=True), gone)
        self._followed.reach(receipt.version, receipt.mark)
        self.log.reached(receipt.version)
        self.changes += receipt.accepted
        return receipt

    def add(self, table: pa.Table) -> Receipt:
        """Check, commit and show many subscriptions."""
        receipt = self.log.add(table)
        self.catch_up(receipt.version)
        return receipt

    def expire(self, end: datetime) -> None:
        """Remove what has ended by an instant; what another process has renewed meanwhile stays."""
        while ended := self.index.ended(instant_key(end)):
            self.catch_up(self.log.put((), ended, after=self.version).version)

    def refresh(self) -> None:
        """Take all that is new in the log."""
        self.catch_up(self.log.version)

    def catch_up(self, version: int) -> None:
        """Let the index have all changes up to ``version``; build it again if it is not what the log has."""
        index, followed = self.index, self._followed
        try:
            changes = self.log.changes(followed.version, version) if version > followed.version else None
            problem = self._problem()  # now: if the log has another history, they are of that one
            if problem:
                _log.warning("%s; the index is built again from the registry", problem)
        except HistoryError as error:  # an index that was left alone for long; nothing is wrong
            problem = str(error)
            _log.info("%s; the index is built again from the registry", problem)
        if problem:
            index, followed = self._empty(), Follower(self.log)
            changes = self.log.changes(-1, version)
        if changes is None:
            return
        if changes.num_rows:
            _change(index, changes)
        followed.take(version, changes)
        self.index, self._followed = index, followed
        self.log.reached(version)
        self.changes += changes.num_rows

    def damage(self) -> str:
        """What somebody has written into the files that are mapped; empty if nobody has."""
        try:
            self.index.check_files()
        except DataError as error:
            return str(error)
        return ""

    def _problem(self) -> str:
        """Why the index is not what the log has; empty if it is."""
        if damage := self.damage():
            return damage
        return "" if self._followed.is_current() else "the registry was restored from a backup, made anew or replaced"


def _change(index: GuardIndex, changes: pa.Table) -> None:
    gone = pc.unique(changes["id"].filter(pc.equal(changes["op"], "remove")))
    # Without removals the last row of an id counts, which the index sees to.
    live = fold(changes) if len(gone) else changes.rename_columns({"version": "query_version"})
    index.change(keyed(live), gone.to_pylist())


def indexed(row: Row, version: int) -> IndexRow:
    """A row of the log as the index has it."""
    name, query, subscriber, tag, since, until = row
    return (
        name,
        subscriber,
        tag,
        query,
        version,
        FOREVER_BEFORE if since is None else instant_key(since),
        FOREVER_AFTER if until is None else instant_key(until),
    )


def instant_of(key: int) -> datetime | None:
    """The instant that a key of the index stands for."""
    if key in (FOREVER_BEFORE, FOREVER_AFTER):
        return None
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=key)
