"""What is a log of subscriptions that nothing outlives? The twin of the registry, in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa

from tidings.analysis import ENGLISH, Analyser
from tidings.model import DataError, HistoryError, Rejected
from tidings.model.values import utc, utc_now
from tidings.registry import schemas
from tidings.registry.folding import ended, fold, needed
from tidings.registry.history import mark_of, mark_text
from tidings.registry.log import KEPT, History, Receipt, Row, Stamp, check_versions, checked_now
from tidings.registry.stamping import Op, rejections, stamped, stamped_rows
from tidings.registry.validation import Checked, check_ids, check_subscriptions

_NAME = "the log in memory"
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_FEW = 1024
"""So many changes at least come before the log is folded again."""


class _Bulk(NamedTuple):
    """A commit of many rows, as columns."""

    version: int
    op: Op
    rows: pa.Table
    at: datetime

    @property
    def size(self) -> int:
        return int(self.rows.num_rows)

    def table(self) -> pa.Table:
        return stamped(self.op, self.rows, self.version, np.arange(self.size), self.at)


class _Few(NamedTuple):
    """A commit of a few rows, as Python values: Arrow would cost more than all the rest."""

    version: int
    rows: Sequence[Row]
    gone: Sequence[str]
    at: datetime

    @property
    def size(self) -> int:
        return len(self.rows) + len(self.gone)

    def table(self) -> pa.Table:
        return stamped_rows(self.rows, self.gone, self.version, np.arange(self.size), self.at)


class MemoryLog:
    """A log of subscriptions in memory, safe to share between threads; see :class:`tidings.registry.log.Log`.

    It checks, numbers and tells changes as :class:`tidings.registry.Registry` does. With a ``history`` it keeps the
    live subscriptions and as much of the past as that says. Without one it keeps only what its engine has not
    ``reached``: the index of the engine has the rest, and nothing is kept twice.

    >>> log = MemoryLog()
    >>> receipt = log.add(pa.table({"id": ["s1", "s2"], "query": ["fire", "fire OR"]}))
    >>> receipt.version, receipt.accepted, [row.id for row in receipt.rejected]
    (1, 1, ['s2'])
    >>> log.remove(["s1"]).version, log.snapshot(1)["id"].to_pylist(), log.snapshot()["id"].to_pylist()
    (2, ['s1'], [])
    """

    def __init__(
        self,
        analyser: Analyser = ENGLISH,
        clock: Callable[[], datetime] = utc_now,
        history: History | None = KEPT,
    ) -> None:
        if not isinstance(analyser, Analyser):
            raise DataError(f"the analyser of a log is a tidings.Analyser, got {analyser!r}")
        self.analyser = analyser
        self._clock = clock
        self._history = history
        self._id = str(uuid4())
        self._writing = threading.RLock()
        self._version = 0
        self._horizon = 0
        self._folded = schemas.LOG.empty_table()
        self._recent: list[_Bulk | _Few] = []
        self._recent_rows = 0
        self._rejected: list[pa.Table] = []

    @property
    def version(self) -> int:
        return self._version

    @property
    def horizon(self) -> int:
        return self._horizon

    @property
    def id(self) -> str:
        return self._id

    def add(self, table: pa.Table, *, dry_run: bool = False) -> Receipt:
        checked = check_subscriptions(table, self.analyser)
        if dry_run:
            return Receipt(self._version, checked.accepted.num_rows, checked.rejected, warnings=checked.warnings)
        return replace(self._write("add", checked), warnings=checked.warnings)

    def remove(self, ids: Iterable[str] | pa.Array | pa.ChunkedArray) -> Receipt:
        return self._write("remove", check_ids(ids))

    def reject(self, rejected: Iterable[Rejected]) -> Receipt:
        return self._write("add", Checked(schemas.SUBSCRIPTION.empty_table(), tuple(rejected)))

    def put(self, rows: Sequence[Row], gone: Sequence[str] = (), *, after: int | None = None) -> Receipt:
        with self._writing:
            if not (rows or gone) or (after is not None and after != self._version):
                return Receipt(self._version, 0)
            return self._commit(_Few(self._version + 1, rows, gone, utc(self._clock())))

    def expire(self, now: datetime) -> Receipt:
        instant = checked_now(now)
        with self._writing:
            return self._write("remove", Checked(ended(self.changes(), instant), ()))

    def changes(self, after: int = -1, until: int | None = None) -> pa.Table:
        with self._writing:
            last = self._version if until is None else until
            check_versions(_NAME, (after, last), self._version, self._horizon)
            if self._history is None and max(after, 0) < self._horizon:
                raise HistoryError(f"{_NAME} keeps no history; its engine has all up to version {self._horizon}")
            versions = self._folded["version"].to_numpy()
            folded = self._folded.filter(pa.array((versions > after) & (versions <= last)))
            recent = [commit.table() for commit in self._recent if after < commit.version <= last]
            return pa.concat_tables([folded, *recent])

    def snapshot(self, version: int | None = None) -> pa.Table:
        return fold(self.changes(-1, version))

    def rejected(self) -> pa.Table:
        with self._writing:
            return pa.concat_tables([schemas.REJECTED.empty_table(), *self._rejected])

    def mark(self, version: int) -> str:
        return mark_of(self._id, self.changes(-1, version))

    def has(self, version: int, mark: object) -> bool:
        return self.since(version, mark) is not None

    def since(self, version: int, mark: object) -> int | None:
        with self._writing:
            return self._version if version <= self._version and self.mark(version) == mark else None

    def stamp(self, version: int) -> Stamp | None:
        return (version,) if version <= self._version else None

    def reached(self, version: int) -> None:
        if self._history is None:
            with self._writing:
                self._horizon = max(self._horizon, version)
                if version >= self._version:
                    self._recent.clear()
                else:
                    self._recent = [commit for commit in self._recent if commit.version > version]

    def _write(self, op: Op, checked: Checked) -> Receipt:
        with self._writing:
            if checked.rejected:
                self._reject(checked.rejected)
            if not checked.accepted.num_rows:
                return Receipt(self._version, 0, checked.rejected)
            return self._commit(_Bulk(self._version + 1, op, checked.accepted, utc(self._clock())), checked.rejected)

    def _commit(self, commit: _Bulk | _Few, rejected: tuple[Rejected, ...] = ()) -> Receipt:
        self._version, size = commit.version, commit.size
        self._recent.append(commit)
        self._recent_rows += size
        if self._history is not None and self._recent_rows > max(_FEW, self._folded.num_rows):
            self._fold(self._history)
        mark = mark_text(self._id, commit.version, 0, (commit.at - _EPOCH) // _MICROSECOND)
        return Receipt(commit.version, size, rejected, mark)

    def _fold(self, history: History) -> None:
        """Drop the rows that no version within the kept history needs. It costs little by the change."""
        changes = self.changes()
        self._horizon = max(self._horizon, history.horizon(changes, self._version, self._clock()))
        kept = needed(changes, self._horizon, self._version + 1)
        self._folded, self._recent, self._recent_rows = changes.take(pa.array(kept)), [], 0

    def _reject(self, rejected: tuple[Rejected, ...]) -> None:
        most = int((self._history or KEPT).rejected)
        told = pa.concat_tables([*self._rejected, rejections(rejected, self._clock())])
        self._rejected = [told.slice(max(0, told.num_rows - most))]
