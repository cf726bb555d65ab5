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
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from tidings.analysis import ENGLISH, Analyser
from tidings.arrays.locks import exclusive
from tidings.model import DataError, Rejected
from tidings.model.values import utc_now
from tidings.registry import folder, schemas
from tidings.registry.commits import DataFile, Grace
from tidings.registry.folding import ended, fold, in_order, needed
from tidings.registry.history import mark_at, mark_of, sealed_positions
from tidings.registry.log import KEPT, History, Receipt, Row, Stamp, check_versions, checked_now
from tidings.registry.stamping import Op, rejections, stamped, stamped_rows
from tidings.registry.tables import GRACE, Rewritten, StoredTable, Tidied, View
from tidings.registry.validation import Checked, check_ids, check_subscriptions

_ORDER = ("version", "position")


@dataclass(frozen=True, slots=True)
class Registry:
    """The subscriptions in the folder ``path``: the Delta tables ``log`` and ``rejected``, made when first written to.

    It holds no state but the path: any number of them, in any processes, may be used at once. A version is that of the
    log's Delta table, -1 before there is one. ``analyser`` is the one that posts pass; its ``fields`` are kept in the
    folder, so that a query means the same whoever opens it. ``clock`` tells ``at``. Writers tidy it up as they go,
    and keep as much of the past as ``history`` says.

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
    history: History = KEPT
    _log: StoredTable = field(init=False, repr=False, compare=False)
    _rejected: StoredTable = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | Path) or not str(self.path):
            raise DataError(f"a registry is a folder, named by a text or a Path, got {self.path!r}")
        if not isinstance(self.analyser, Analyser):
            raise DataError(f"the analyser of a registry is a tidings.Analyser, got {self.analyser!r}")
        kept = folder.kept_fields(self._home)
        if kept is not None and not self.analyser.fields.kinds:
            object.__setattr__(self, "analyser", replace(self.analyser, fields=kept))
        object.__setattr__(self, "_log", StoredTable(self._home / folder.LOG, schemas.LOG))
        object.__setattr__(self, "_rejected", StoredTable(self._home / folder.REJECTED, schemas.REJECTED))

    @classmethod
    def create(
        cls,
        path: str | Path,
        analyser: Analyser = ENGLISH,
        clock: Callable[[], datetime] = utc_now,
        history: History = KEPT,
    ) -> Registry:
        """A registry whose tables are there, even if nobody has subscribed yet.

        One that exists is left as it is, and may be in a place where nothing can be written.
        """
        registry = cls(path, analyser, clock, history)
        if registry.version >= 0:
            return registry
        folder.check_folder(registry._home)
        with exclusive(registry._home):
            registry._keep_fields()
            registry._rejected.create()
            registry._log.create()
        return registry

    def add(self, table: pa.Table, *, dry_run: bool = False) -> Receipt:
        """Add or replace subscriptions in one commit, which is all there once this returns, or not at all if it fails.

        Columns: ``id``, ``query``, and any of ``subscriber``, ``tag``, ``since``, ``until``. The later of two rows with
        one id replaces the earlier. Bad rows go to the table ``rejected`` instead. ``dry_run`` only says what would be
        accepted. Cost: some 3 ms, and about 2.5 s for a million plain queries.
        """
        checked = check_subscriptions(table, self.analyser)
        if dry_run:
            return Receipt(self.version, checked.accepted.num_rows, checked.rejected, warnings=checked.warnings)
        return replace(self._write("add", checked), warnings=checked.warnings)

    def remove(self, ids: Iterable[str] | pa.Array | pa.ChunkedArray) -> Receipt:
        """Remove these subscriptions in one commit. An id that is not live is written down too, and changes nothing."""
        return self._write("remove", check_ids(ids))

    def put(self, rows: Sequence[Row], gone: Sequence[str] = (), *, after: int | None = None) -> Receipt:
        """Remove the ids in ``gone`` and add a few rows in one commit; the caller has checked them.

        With ``after``, only if that is the newest version; if it is not, ``accepted`` is 0 and nothing is written.
        """

        def changes(view: View) -> pa.Table:
            if after is not None and view.version != after:
                return schemas.LOG.empty_table()
            positions = sealed_positions(len(rows) + len(gone))
            return stamped_rows(rows, gone, view.version + 1, positions, self.clock())

        folder.check_folder(self._home)
        if not rows and not gone:
            return Receipt(self.version, 0)
        with exclusive(self._home):
            self._keep_fields()
            return self._append(changes)

    def reject(self, rejected: Iterable[Rejected]) -> Receipt:
        """Keep what was no change at all, with its reason, beside the rows that ``add`` and ``remove`` refused."""
        return self._write("add", Checked(schemas.SUBSCRIPTION.empty_table(), tuple(rejected)))

    def expire(self, now: datetime) -> Receipt:
        """Remove, in one commit, the subscriptions that have ended: those whose ``until`` is ``now`` or earlier."""
        instant = checked_now(now)

        def removals(view: View) -> pa.Table:
            return self._stamped("remove", ended(in_order(view.read([*_ORDER, "op", "id", "until"])), instant), view)

        if self.version < 0:
            return Receipt(-1, 0)
        with exclusive(self._home):
            return self._append(removals)

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

    def reached(self, version: int) -> None:
        """Nothing follows from it: others may read the same folder, and ``history`` says what is kept for them."""

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
            last = view.version if until is None else until
            check_versions(f"the registry {str(self.path)!r}", (after, last), view.version, view.horizon)
            return in_order(view.read(columns, where=f"version > {after} AND version <= {last}"))

        return self._log.read(read)

    def _write(self, op: Op, checked: Checked) -> Receipt:
        folder.check_folder(self._home)
        with exclusive(self._home):
            self._keep_fields()
            # Rejections first: whoever dies in between has lost none, and has no receipt, so tries again.
            if checked.rejected:
                self._reject(checked.rejected)
            if not checked.accepted.num_rows:
                return Receipt(self.version, 0, checked.rejected)
            return self._append(lambda view: self._stamped(op, checked.accepted, view), checked.rejected)

    def _keep_fields(self) -> None:
        folder.keep_fields(self._home, self.analyser.fields, is_new=lambda: self.version < 0)

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
        rows = rejections(rejected[-most:] if most else (), self.clock())
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
        horizon = max(view.horizon, self.history.horizon(ordered, view.version, self.clock()))
        first_elsewhere = min((file.first for file in others), default=view.version + 1)
        kept = needed(ordered, horizon, first_elsewhere)
        return Rewritten(ordered.take(pa.array(kept)), horizon)

    def _newest_rejected(self, _view: View, rows: pa.Table, _others: Sequence[DataFile]) -> Rewritten:
        newest = rows.sort_by("at")
        return Rewritten(newest.slice(max(0, newest.num_rows - int(self.history.rejected))), 0)

    def _stamped(self, op: Op, rows: pa.Table, view: View) -> pa.Table:
        """Rows of the log for the version after ``view``."""
        return stamped(op, rows, view.version + 1, sealed_positions(rows.num_rows), self.clock())
