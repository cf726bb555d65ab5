"""What is a log of subscriptions, wherever it is kept? Changes in order, each with a version, and nothing is updated.

There are two: :class:`tidings.registry.Registry`, a folder that outlives its processes, and
:class:`tidings.registry.MemoryLog`, its twin in memory. ``tests/registry/test_twins.py`` holds both to one contract.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis import Analyser
from tidings.model import DataError, HistoryError, Rejected
from tidings.model.values import utc
from tidings.registry import schemas

Row: TypeAlias = tuple[str, str, str, str, datetime | None, datetime | None]
"""One subscription, checked, in the order of ``SUBSCRIPTION``: id, query, subscriber, tag, since, until."""

Stamp: TypeAlias = tuple[int, ...]
"""What tells a commit from any other at little cost; it is the same one for as long as that stays the same."""


@dataclass(frozen=True, slots=True)
class History:
    """How much of the past a log can tell: the last ``versions``, if they are not older than ``hours``.

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

    def horizon(self, changes: pa.Table, version: int, now: datetime) -> int:
        """The first version that has to be kept, of a log with these changes whose newest version is ``version``."""
        is_old = pc.less_equal(changes["at"], pa.scalar(self._begin(now), schemas.INSTANT))
        past = pc.max(changes["version"].filter(is_old)).as_py() or 0
        return max(version - int(self.versions), past, 0)

    def _begin(self, now: datetime) -> datetime:
        try:
            return utc(now) - timedelta(hours=self.hours)
        except OverflowError:
            return datetime.min.replace(tzinfo=UTC)


KEPT = History()
"""What is kept unless somebody says otherwise."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a bulk: ``accepted`` rows are in the log at ``version`` for good, the others were not written.

    If no row was to be written, ``version`` is the newest one; else ``mark`` is its mark (:meth:`Log.mark`).
    ``warnings`` tell of queries that were accepted and can never match, or are likely a habit of another language.

    >>> Receipt(3, 998, (Rejected("subscription", "s1", "why"), Rejected("subscription", "s2", "why")))
    Receipt(version=3, accepted=998, rejected=<2 rows>)
    """

    version: int
    accepted: int
    rejected: tuple[Rejected, ...] = ()
    mark: str = ""
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Short, however many rows there are."""
        return f"Receipt(version={self.version}, accepted={self.accepted}, rejected=<{len(self.rejected)} rows>)"


class Log(Protocol):
    """Who asked for what, and since when. A commit is a version; it is there as a whole or not at all.

    Versions rise with each commit. A durable log also spends some on tidying up, so they may have gaps.
    """

    @property
    def analyser(self) -> Analyser:
        """The one that posts pass; its fields are those that the log was made for."""

    @property
    def version(self) -> int:
        """The newest version."""

    @property
    def horizon(self) -> int:
        """The first version that can still be told; what happened before is folded into it."""

    @property
    def id(self) -> str:
        """The id of the log, which no other log has but a copy of it."""

    def add(self, table: pa.Table, *, dry_run: bool = False) -> Receipt:
        """Check subscriptions, and add or replace the good ones in one commit. ``dry_run`` only checks."""

    def remove(self, ids: Iterable[str] | pa.Array | pa.ChunkedArray) -> Receipt:
        """Remove these subscriptions in one commit. An id that is not live is written down too, and changes nothing."""

    def put(self, rows: Sequence[Row], gone: Sequence[str] = (), *, after: int | None = None) -> Receipt:
        """Remove the ids in ``gone`` and add a few rows in one commit; the caller has checked them.

        With ``after``, only if that is the newest version; if it is not, ``accepted`` is 0 and nothing is written.
        """

    def expire(self, now: datetime) -> Receipt:
        """Remove, in one commit, the subscriptions that have ended: those whose ``until`` is ``now`` or earlier."""

    def changes(self, after: int = -1, until: int | None = None) -> pa.Table:
        """The changes of the versions in ``(after, until]``, in order; ``until=None`` means up to the newest.

        The columns are ``LOG`` of :mod:`tidings.registry.schemas`. From the beginning (-1 or 0), these are the changes
        that are still known, and folding them gives the live subscriptions; from another version before the ``horizon``
        on, they are refused with HistoryError.
        """

    def snapshot(self, version: int | None = None) -> pa.Table:
        """The live subscriptions at ``version``: id, query, subscriber, tag, since, until, query_version."""

    def reject(self, rejected: Iterable[Rejected]) -> Receipt:
        """Keep what was no change at all, with its reason, beside the rows that ``add`` and ``remove`` refused."""

    def rejected(self) -> pa.Table:
        """The newest rows that were rejected: id, reason, query, at."""

    def mark(self, version: int) -> str:
        """A short text that no other history has at this version, to be kept and compared (:meth:`has`)."""

    def has(self, version: int, mark: object) -> bool:
        """Whether that is the mark of this version here."""

    def since(self, version: int, mark: object) -> int | None:
        """The newest version, if that is the mark of this version here; else None."""

    def stamp(self, version: int) -> Stamp | None:
        """The stamp of the commit of a version; None if that is not known any more. Cheap."""

    def reached(self, version: int) -> None:
        """The engine of this log has all changes up to a version in its index."""


def check_versions(log: str, asked: Iterable[object], newest: int, horizon: int) -> None:
    """Refuse what is no version of a log, and what it has forgotten; -1 and 0 are its beginning."""
    for version in asked:
        if type(version) is not int:
            raise DataError(f"a version of a registry is a whole number, got {version!r}")
        if not -1 <= version <= newest:
            raise DataError(f"{log} has the versions 0 to {newest}, not {version}")
        if 0 < version < horizon:
            raise HistoryError(
                f"{log} has forgotten version {version}, its history begins with "
                f"version {horizon}; read a newer one, or keep more of it next time (history)"
            )


def checked_now(now: object) -> pa.TimestampScalar:
    """An instant as the columns of a log have it; what is none is refused."""
    if not isinstance(now, datetime):
        raise DataError(f"now is a datetime, got {now!r}")
    return pa.scalar(utc(now), schemas.INSTANT)
