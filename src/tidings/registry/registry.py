"""Who asked for what, and since when? A folder that several processes may read and write at once.

The log has one row per change, and no row is ever updated. Its order is in two of its columns: ``version``, the Delta
version whose commit brought the row, and ``position``, which rises within that commit. A writer cannot know which
version it will get, so it commits *as the next one or not at all*, and starts again if another was faster
(``tables.py``). That is why merging files, which forgets what came with which commit, loses nothing here, and why
``expire`` never removes what another process has just renewed. Whether two folders have the same history is told by
marks (``history.py``).

Every so many commits the writer merges small files, and drops the rows that no version within the kept history needs.
What is live is kept for good, with the version that brought it. The *horizon* is the first version that can still be
told; it is part of the commit that drops rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis import ENGLISH, Analyser
from tidings.arrays.locks import exclusive
from tidings.model import DataError, HistoryError, Rejected
from tidings.model.values import utc, utc_now
from tidings.registry import folder, schemas
from tidings.registry.commits import DataFile, Grace
from tidings.registry.folding import fold, in_order, needed, survivors
from tidings.registry.history import mark_at, mark_of, sealed_positions
from tidings.registry.tables import GRACE, Rewritten, Stamp, StoredTable, Tidied, View
from tidings.registry.validation import Checked, check_ids, check_subscriptions

_ORDER = ("version", "position")


@dataclass(frozen=True, slots=True)
class History:
    """How much of the past a registry can tell: the last ``versions``, if they are not older than ``hours``.

    Of what was rejected the newest ``rejected`` rows are kept.
    """

    versions: int = 10_000
    hours: float = 7 * 24.0
    rejected: int = 10_000

    def __post_init__(self) -> None:
        for name in ("versions", "hours", "rejected"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise DataError(f"the history to keep: {name} is a number of 0 or more, got {value!r}")


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a bulk: ``accepted`` rows are in the log at ``version`` for good, the others were not written.

    If no row was to be written, ``version`` is the newest one; else ``mark`` is its mark (:meth:`Registry.mark`).

    >>> Receipt(3, 998, (Rejected("subscription", "s1", "why"), Rejected("subscription", "s2", "why")))
    Receipt(version=3, accepted=998, rejected=<2 rows>)
    """

    version: int
    accepted: int
    rejected: tuple[Rejected, ...] = ()
    mark: str = ""

    def __repr__(self) -> str:
        """Short, however many rows there are."""
        return f"Receipt(version={self.version}, accepted={self.accepted}, rejected=<{len(self.rejected)} rows>)"


@dataclass(frozen=True, slots=True)
class Registry:
    """The subscriptions in the folder ``path``: the Delta tables ``log`` and ``rejected``, made when first written to.

    It holds no state but the path: any number of them, in any processes, may be used at once. A version is that of the
    log's Delta table, -1 before there is one. ``analyser`` is the one that posts pass; ``clock`` tells ``at``. Writers
    tidy it up as they go, and keep as much of the past as ``history`` says.

    >>> from tempfile import TemporaryDirectory
    >>> home = TemporaryDirectory()
    >>> registry = Registry(home.name)
    >>> receipt = registry.add(pa.table({"id": ["s1", "s2", "s3"], "query": ["fire", "fire OR", "rain"]}))
    >>> receipt.version, receipt.accepted, [(row.id, row.source) for row in receipt.rejected]
    (1, 2, [('s2', 'fire OR')])
    >>> registry.add(pa.table({"id": ["s1"], "query": ["fire OR smoke"]})).version, registry.remove(["s3"]).version
    (2, 3)
    >>> registry.snapshot().select(["id", "query", "query_version"]).to_pylist()
    [{'id': 's1', 'query': 'fire OR smoke', 'query_version': 2}]
    >>> registry.snapshot(version=1)["id"].to_pylist()
    ['s1', 's3']
    >>> home.cleanup()
    """

    path: str | Path
    analyser: Analyser = ENGLISH
    clock: Callable[[], datetime] = utc_now
    history: History = History()
    _log: StoredTable = field(init=False, repr=False, compare=False)
    _rejected: StoredTable = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | Path) or not str(self.path):
            raise DataError(f"a registry is a folder, named by a text or a Path, got {self.path!r}")
        if not isinstance(self.analyser, Analyser):
            raise DataError(f"the analyser of a registry is a tidings.Analyser, got {self.analyser!r}")
        object.__setattr__(self, "_log", StoredTable(self._home / folder.LOG, schemas.LOG))
        object.__setattr__(self, "_rejected", StoredTable(self._home / folder.REJECTED, schemas.REJECTED))

    @classmethod
    def create(
        cls,
        path: str | Path,
        analyser: Analyser = ENGLISH,
        clock: Callable[[], datetime] = utc_now,
        history: History = History(),
    ) -> Registry:
        """A registry whose tables are there, even if nobody has subscribed yet; one that exists is left as it is."""
        registry = cls(path, analyser, clock, history)
        folder.check_folder(registry._home)
        with exclusive(registry._home):
            registry._log.create()
            registry._rejected.create()
        return registry

    def add(self, table: pa.Table, *, dry_run: bool = False) -> Receipt:
        """Add or replace subscriptions in one commit, which is all there once this returns, or not at all if it fails.

        Columns: ``id``, ``query``, and any of ``subscriber``, ``tag``, ``since``, ``until``. The later of two rows with
        one id replaces the earlier. Bad rows go to the table ``rejected`` instead. ``dry_run`` only says what would be
        accepted. Cost: some 3 ms, and about 2.5 s for a million plain queries.
        """
        checked = check_subscriptions(table, self.analyser)
        if dry_run:
            return Receipt(self.version, checked.accepted.num_rows, checked.rejected)
        return self._write("add", checked)

    def remove(self, ids: Iterable[str] | pa.Array | pa.ChunkedArray) -> Receipt:
        """Remove these subscriptions in one commit. An id that is not live is written down too, and changes nothing."""
        return self._write("remove", check_ids(ids))

    def reject(self, rejected: Iterable[Rejected]) -> Receipt:
        """Keep what was no change at all, with its reason, beside the rows that ``add`` and ``remove`` refused."""
        return self._write("add", Checked(schemas.SUBSCRIPTION.empty_table(), tuple(rejected)))

    def expire(self, now: datetime) -> Receipt:
        """Remove, in one commit, the subscriptions that have ended: those whose ``until`` is ``now`` or earlier."""
        if not isinstance(now, datetime):
            raise DataError(f"now is a datetime, got {now!r}")
        instant = pa.scalar(utc(now), schemas.INSTANT)

        def ended(view: View) -> pa.Table:
            changes = in_order(view.read([*_ORDER, "op", "id", "until"]))
            live = changes.take(pa.array(survivors(changes["op"], changes["id"])))
            return self._stamped("remove", live.filter(pc.less_equal(live["until"], instant)).select(["id"]), view)

        if self.version < 0:
            return Receipt(-1, 0)
        with exclusive(self._home):
            return self._append(ended)

    @property
    def version(self) -> int:
        """The newest version. It grows with each commit, also with those of ``tidy``, which hold no changes."""
        return self._open().version

    @property
    def horizon(self) -> int:
        """The first version that can still be told; what happened before is folded into it."""
        folder.check_folder(self._home)
        return self._log.read(lambda view: view.horizon)

    @property
    def id(self) -> str:
        """The id of the log, which a copy of it shares, and one that is made anew does not; empty if there is none."""
        folder.check_folder(self._home)
        return self._log.read(lambda view: view.id)

    def mark(self, version: int) -> str:
        """A short text that no other history has at this version, to be kept and compared (:meth:`has`)."""
        folder.check_folder(self._home)
        return self._log.read(lambda view: mark_at(view, version))

    def has(self, version: int, mark: object) -> bool:
        """Whether that is the mark of this version here; not in another registry, nor in one restored from before."""
        return self.since(version, mark) is not None

    def since(self, version: int, mark: object) -> int | None:
        """The newest version, if that is the mark of this version here (:meth:`has`); else None."""
        folder.check_folder(self._home)

        def newest(view: View) -> int | None:
            return view.version if version <= view.version and mark_at(view, version) == mark else None

        return self._log.read(newest)

    def stamp(self, version: int) -> Stamp | None:
        """See :meth:`tidings.registry.tables.StoredTable.stamp`."""
        return self._log.stamp(version)

    def changes(self, after: int = -1, until: int | None = None) -> pa.Table:
        """The changes of the versions in ``(after, until]``, in order; ``until=None`` means up to the newest.

        The columns are those of the log: version, position, op, id, query, subscriber, tag, since, until, at. From the
        beginning (-1 or 0), these are the changes that are still known, and folding them gives the live subscriptions;
        from another version before the ``horizon`` on, they are refused with HistoryError.
        """
        return self._read(schemas.LOG.names, after, until)

    def snapshot(self, version: int | None = None) -> pa.Table:
        """The live subscriptions at ``version``: id, query, subscriber, tag, since, until, query_version.

        Subscriptions that have ended but were not removed are among them. A version before the ``horizon`` is refused
        with HistoryError. Cost: about 0.7 s for a million.
        """
        return fold(self._read([*_ORDER, "op", *schemas.SUBSCRIPTION.names], -1, version))

    def rejected(self) -> pa.Table:
        """The newest rows that were rejected: id, reason, query, at. A bulk that was tried twice is here twice."""
        self._open()
        return self._rejected.read(lambda view: view.read(schemas.REJECTED.names))

    def tidy(self, grace_s: float = GRACE.seconds) -> Tidied:
        """Tidy up at once and as a whole: merge all files, drop what the kept history does not need; writers wait.

        A registry that is written to does so by itself, little by little. Files that are out of use are deleted after
        ``grace_s``, for the sake of those who read them; our own readers would just read again.
        """
        if isinstance(grace_s, bool) or not isinstance(grace_s, int | float) or not grace_s >= 0:
            raise DataError(f"grace_s is a number of seconds, 0 or more, got {grace_s!r}")
        if max(self.version, self._rejected.open().version) < 0:
            return Tidied()
        with exclusive(self._home):
            grace = Grace(grace_s)
            log = self._log.tidy(self._folded, grace, whole=True)
            return log + self._rejected.tidy(self._newest_rejected, grace, whole=True)

    @property
    def _home(self) -> Path:
        return Path(self.path)

    def _open(self) -> View:
        folder.check_folder(self._home)
        return self._log.open()

    def _read(self, columns: list[str], after: int, until: int | None) -> pa.Table:
        folder.check_folder(self._home)

        def read(view: View) -> pa.Table:
            last, horizon = view.version if until is None else until, view.horizon
            for version in (after, last):
                if type(version) is not int:
                    raise DataError(f"a version of a registry is a whole number, got {version!r}")
                if not -1 <= version <= view.version:
                    raise DataError(
                        f"the registry {str(self.path)!r} has the versions 0 to {view.version}, not {version}"
                    )
                if 0 < version < horizon:
                    raise HistoryError(
                        f"the registry {str(self.path)!r} has forgotten version {version}, its history begins with "
                        f"version {horizon}; read a newer one, or keep more of it next time (history)"
                    )
            return in_order(view.read(columns, where=f"version > {after} AND version <= {last}"))

        return self._log.read(read)

    def _write(self, op: Literal["add", "remove"], checked: Checked) -> Receipt:
        folder.check_folder(self._home)
        with exclusive(self._home):
            # Rejections first: whoever dies in between has lost none, and has no receipt, so tries again.
            if checked.rejected:
                self._reject(checked.rejected)
            if not checked.accepted.num_rows:
                return Receipt(self.version, 0, checked.rejected)
            return self._append(lambda view: self._stamped(op, checked.accepted, view), checked.rejected)

    def _append(self, rows: Callable[[View], pa.Table], rejected: tuple[Rejected, ...] = ()) -> Receipt:
        mark = ""

        def marked(view: View) -> pa.Table:
            nonlocal mark
            table = rows(view)
            mark = mark_of(self._log.id, table) if table.num_rows else ""
            return table

        done = self._log.append(marked)
        self._keep_up(done.version)
        return Receipt(done.version, done.rows, rejected, mark)

    def _reject(self, rejected: tuple[Rejected, ...]) -> None:
        most = int(self.history.rejected)
        rows = self._rejections(rejected[-most:] if most else ())
        done = self._rejected.append(lambda _: rows)
        if done.rows and self._rejected.is_due(done.version):
            self._rejected.keep_up(self._newest_rejected)

    def _keep_up(self, version: int) -> None:
        """Whose version it is, merges the small files of those before."""
        if self._log.is_due(version):
            self._log.keep_up(self._folded)

    def _folded(self, view: View, rows: pa.Table, others: Sequence[DataFile]) -> Rewritten:
        """The rows of some files without those that the kept history does not need."""
        ordered = in_order(rows)
        is_old = pc.less_equal(ordered["at"], pa.scalar(self._begin_of_history(), schemas.INSTANT))
        past = pc.max(ordered["version"].filter(is_old)).as_py() or 0
        horizon = max(view.horizon, view.version - int(self.history.versions), past, 0)
        first_elsewhere = min((file.first for file in others), default=view.version + 1)
        kept = needed(ordered, horizon, first_elsewhere)
        return Rewritten(ordered.take(pa.array(kept)), horizon)

    def _newest_rejected(self, _view: View, rows: pa.Table, _others: Sequence[DataFile]) -> Rewritten:
        newest = rows.sort_by("at")
        return Rewritten(newest.slice(max(0, newest.num_rows - int(self.history.rejected))), 0)

    def _begin_of_history(self) -> datetime:
        try:
            return utc(self.clock()) - timedelta(hours=self.history.hours)
        except OverflowError:
            return datetime.min.replace(tzinfo=UTC)

    def _stamped(self, op: Literal["add", "remove"], rows: pa.Table, view: View) -> pa.Table:
        """Rows of the log for the version after ``view``; what they do not have is null."""
        count = rows.num_rows
        columns = {each.name: pa.nulls(count, each.type) for each in schemas.SUBSCRIPTION}
        columns |= zip(rows.column_names, rows.columns, strict=True)
        columns |= {
            "version": pa.array(np.full(count, view.version + 1)),
            "position": pa.array(sealed_positions(count)),
            "op": _repeated(op, schemas.TEXT, count),
            "at": _repeated(utc(self.clock()), schemas.INSTANT, count),
        }
        return pa.table(columns).select(schemas.LOG.names)

    def _rejections(self, rejected: tuple[Rejected, ...]) -> pa.Table:
        columns = zip(*((row.id, row.reason, row.source) for row in rejected), strict=True)
        at = _repeated(utc(self.clock()), schemas.INSTANT, len(rejected))
        return pa.table([*(pa.array(column, schemas.TEXT) for column in columns), at], schema=schemas.REJECTED)


def _repeated(value: object, kind: pa.DataType, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), count)
