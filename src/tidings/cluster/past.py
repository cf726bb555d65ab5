"""Which subscriptions of a batch have a past, and from which posts? The pin says so, before the batch runs.

Past are the posts that were kept of the batches before the pin; future is the batch itself, and later ones. A new
subscription with a ``since`` gets its past with the matches of the first batch that sees it, so each post is its past
or its future, once. Replayed, the batch finds the same: the pin has the version that the batch before it saw, which
tells who is new, and the instant since which posts count.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tidings.cluster.journal import PastPin, PastReport, Pin
from tidings.cluster.kept_posts import KeptPosts
from tidings.cluster.mappings import WHOLE
from tidings.cluster.notes import Notes
from tidings.cluster.post_files import PastSpan, PostFiling, PostPiece, pieces_of
from tidings.cluster.releases import Key, Plan, Release, Releases
from tidings.index.subscribers import FOREVER_AFTER
from tidings.model import DataError, HistoryError
from tidings.registry import Log, Registry, fold
from tidings.registry.schemas import SNAPSHOT
from tidings.tables.columns import instant_key

TASK_POSTS = 1 << 19
"""A task reads so many posts of the past, about."""

_EPOCH = datetime.fromtimestamp(0, UTC)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PastJob:
    """What is done for the past of a batch: an index of the new subscriptions meets some pieces of kept posts.

    ``tasks``: among how many the pieces are divided.
    """

    release: Release
    span: PastSpan
    pieces: tuple[PostPiece, ...]
    tasks: int


class PipelinePast:
    """The past of one pipeline. ``folder``: of compiled indexes. ``keep``: how long posts are kept; None keeps none."""

    def __init__(
        self, kept: KeptPosts, folder: Path, registry: Registry, sample: pa.Table | None, keep: timedelta | None
    ) -> None:
        self._kept = kept
        self._releases = Releases(folder, registry.analyser, sample, Plan("replicated"))
        self._registry = registry
        self._keep = None if keep is None else checked_keep(keep)

    def pinned(self, pin: Pin, before: Pin | None) -> Pin:
        """A pin that says what is past for its batch, where posts are kept; ``before``: that of the batch before it.

        Cost: some milliseconds where nobody is new; else that of compiling an index of those who are.
        """
        if self._keep is None:
            return pin
        oldest = instant_key(pin.at) - self._keep
        after = pin.version if before is None else self._seen(pin, before)
        new = newcomers(self._registry, after, pin.version)
        if not new.num_rows:
            return replace(pin, past=PastPin(after, oldest))
        since, until = new["since"].cast(pa.int64()), pc.fill_null(new["until"].cast(pa.int64()), FOREVER_AFTER)
        whole_since = max(self._kept.whole_since(pin.batch) or instant_key(pin.at), oldest)
        incomplete = pc.sum(pc.less(since, whole_since)).as_py()
        span = pc.min(since).as_py(), pc.max(until).as_py()
        _tell(pin.batch, new.num_rows, incomplete, _EPOCH + timedelta(microseconds=whole_since))
        made = replace(pin, past=PastPin(after, oldest, new.num_rows, incomplete, *span, whole_since))
        self._compile(made, new)
        return made

    def has(self, pin: Pin) -> bool:
        """Whether the index of a past is there, whatever has become of the registry."""
        return pin.past is None or not pin.past.subscriptions or self._compiled(pin) is not None

    def job(self, pin: Pin) -> PastJob | None:
        """What is to be done for the past of a batch; None if no new subscription has one."""
        past = pin.past
        if past is None or not past.subscriptions:
            return None
        release = self._compiled(pin)
        if release is None:
            release = self._compile(pin, newcomers(self._registry, past.after, pin.version))
        pieces, posts = list[PostPiece](), 0
        for section in self._kept.sections(pin.batch):
            if section.came_last >= past.oldest:
                files = [file for file in section.files if file.last >= past.since and file.first < past.until]
                pieces += pieces_of(section.path, files)
                posts += sum(file.posts for file in files)
        span = PastSpan(past.oldest, instant_key(pin.at), past.since)
        return PastJob(release, span, tuple(pieces), min(len(pieces), 2 + posts // TASK_POSTS))

    def filing(self, pin: Pin, expires: str = "") -> PostFiling | None:
        """Where the posts of a batch go; None if they are not kept."""
        return None if pin.past is None else PostFiling(self._kept.aside(), instant_key(pin.at), expires)

    def take(self, pin: Pin, filing: PostFiling | None, notes: Notes) -> None:
        """Keep the posts of a batch whose matches the sink has, and drop what is too old."""
        if pin.past is not None and filing is not None:
            keep = self._keep or filing.came - pin.past.oldest
            self._kept.take(filing.folder, notes.kept, pin.batch, filing.came, keep)
            self._kept.merge(pin.batch)
            if pin.past.subscriptions:
                self._releases.forget_before(pin.version)

    def is_sound(self, job: PastJob | None) -> bool:
        """Whether the files of its index are undamaged."""
        return job is None or self._releases.is_sound(job.release)

    def _seen(self, pin: Pin, before: Pin) -> int:
        """The version after which subscriptions are new."""
        if pin.version == before.version or not before.mark or self._registry.has(before.version, before.mark):
            return before.version
        _log.warning(
            "the registry was restored from a backup, made anew or replaced: it is not known which of its "
            "subscriptions are new, and batch %d gives none of them a past",
            pin.batch,
        )
        return pin.version

    def _compiled(self, pin: Pin) -> Release | None:
        return self._releases.kept(Key(pin.version, WHOLE), _mark(pin))

    def _compile(self, pin: Pin, new: pa.Table) -> Release:
        return self._releases.compiled(new, version=pin.version, mark=_mark(pin))


def past_report(pin: Pin, notes: Notes) -> PastReport | None:
    """How it went with the past of a batch; None if no new subscription had one."""
    past = pin.past
    if past is None or not past.subscriptions:
        return None
    tallies = [tally for tally in notes.tallies if tally.stage == "past"]
    begins = (_EPOCH + timedelta(microseconds=past.whole_since)).isoformat()
    posts, matches = sum(tally.posts for tally in tallies), sum(tally.matches for tally in tallies)
    return PastReport(past.subscriptions, past.incomplete, begins, posts, matches)


def newcomers(registry: Log, after: int, version: int) -> pa.Table:
    """The subscriptions with a ``since`` that live at a version and came, or were replaced, after another."""
    if after == version:
        return SNAPSHOT.empty_table()
    try:
        changes = registry.changes(after, version)
        live = fold(changes) if changes.num_rows else SNAPSHOT.empty_table()
    except HistoryError:
        live = registry.snapshot(max(version, registry.horizon))
        live = live.filter((pc.field("query_version") > after) & (pc.field("query_version") <= version))
    return live.filter(pc.is_valid(live["since"]))


def checked_keep(keep: object) -> int:
    """How long posts are kept, in microseconds; what is no such time is refused."""
    if not isinstance(keep, timedelta) or keep <= timedelta(0):
        raise DataError(f"keep is a timedelta longer than nothing, or None to keep nothing, got {keep!r}")
    return keep // timedelta(microseconds=1)


def _mark(pin: Pin) -> str:
    return f"{0 if pin.past is None else pin.past.after}/{pin.mark}"


def _tell(batch: int, count: int, incomplete: int, since: datetime) -> None:
    _log.info("batch %d: %d new subscriptions have a past", batch, count)
    if incomplete:
        _log.warning(
            "batch %d: of %d new subscriptions with a past %d ask for posts from before %s, which are not all kept",
            batch,
            count,
            incomplete,
            since.isoformat(timespec="seconds"),
        )
