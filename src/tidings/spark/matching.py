"""Which subscriptions do the publications of a DataFrame answer? Lazily, in a batch or a stream alike."""

from __future__ import annotations

import logging
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

from tidings.analysis import ENGLISH, Analyser
from tidings.cluster.cut import CHOSEN, Cut
from tidings.cluster.notes import REJECTED, Notes
from tidings.cluster.past import PastJob
from tidings.cluster.post_files import PostFiling
from tidings.cluster.releases import MATCHERS, Layout, Plan, Release, Releases
from tidings.cluster.steps import MatchAll, MatchPast, MatchShare, Route
from tidings.model import DataError
from tidings.registry import Registry
from tidings.registry.validation import check_subscriptions
from tidings.spark.columns import Aliased, Columns
from tidings.spark.interpreter import check_workers
from tidings.spark.parquet import FilePieces, ParquetFiles
from tidings.spark.shipping import is_remote, shipped
from tidings.spark.tasks import MATCHED, NOTED, ROUTED, Filed, OnlyMatches, Sending, WithNotes, matches_of
from tidings.tables.columns import instant_key

Subscriptions: TypeAlias = "Registry | str | Path | DataFrame | pa.Table"
_log = logging.getLogger(__name__)
_TOLD = 10


def match(
    publications: DataFrame | ParquetFiles,
    subscriptions: Subscriptions,
    *,
    layout: Layout | Literal["auto"] = "auto",
    matchers: int = MATCHERS,
    columns: Columns | None = None,
    folder: str | Path | None = None,
    sample: pa.Table | None = None,
) -> DataFrame:
    """All matches: publication_id, subscription_id, subscriber, tag, query_version, ts.

    ``publications`` is a batch or a stream, or :class:`~tidings.spark.ParquetFiles`, which workers read themselves:
    faster where posts lie in files and Spark has nothing to do with them before. Columns other than id, text, ts, lat,
    lon and topic are attributes, or hold them where they are nested (:mod:`tidings.tables.nesting`). ``columns`` tells
    where the fields have other names, and which columns of a match are made. What can be no attribute is named in a
    warning. Attributes that nobody asks about are not read, and so not checked. Rows that are no publications, and
    those whose id came before in their task, have no matches; each task logs how many they were, and why
    (:func:`matched` keeps them).

    ``subscriptions``: a registry that is there, or its path, as it is now; or a table or DataFrame with id, query, and
    any of subscriber, tag, since, until, whose bad rows are logged and left out. A stream goes on with those of its
    start.

    ``folder``: a path that all machines share, where the index is compiled; without one, Spark carries it to them (but
    not to a stream over Spark Connect).
    ``layout``, ``matchers``: see :class:`tidings.cluster.releases.Plan`. ``sample``: publications like those to come;
    the index is the better the more it knows of them.
    """
    columns = columns or Columns()
    posts, work = prepared(publications, subscriptions, Plan(layout, matchers), columns, folder, sample)
    return posts.mapInArrow(OnlyMatches(work, columns.output), matches_of(columns.output))


def prepared(
    publications: DataFrame | ParquetFiles,
    subscriptions: Subscriptions,
    plan: Plan,
    columns: Columns,
    folder: str | Path | None,
    sample: pa.Table | None,
) -> tuple[DataFrame | FilePieces | Aliased, MatchAll | MatchShare]:
    """Compile subscriptions: what comes to the matchers, and what they do with it."""
    if not (isinstance(publications, ParquetFiles) or hasattr(publications, "mapInArrow")):
        raise DataError(f"publications are a DataFrame or ParquetFiles, got a {type(publications).__name__}")
    if folder is None and publications.isStreaming and is_remote(publications):
        raise DataError("over Spark Connect no files reach a stream; name a folder that all machines share")
    check_workers(publications.sparkSession)
    columns.check(publications)
    if isinstance(subscriptions, str | Path):
        subscriptions = Registry(subscriptions)
    home = Path(folder) if folder is not None else _temporary(publications.sparkSession)
    releases = Releases(home, _analyser(subscriptions), sample, plan)
    release = _release(releases, subscriptions)
    if folder is None:
        release = shipped(release, publications.sparkSession)
    return _planned(publications, release, columns)


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a batch is matched under. ``now`` is the instant of publications without one, for a replay to see the same
    subscriptions as valid; else it is the worker's clock.

    In the partitioned layout up to ``sampled`` publications of each task are in its notes, to learn from. What a
    ``cut`` leaves out is not found. With a ``filing`` all publications are filed, with all their attributes.
    """

    now: datetime | None = None
    sampled: int = 0
    cut: Cut | None = None
    filing: PostFiling | None = None


def matched(
    publications: DataFrame,
    release: Release,
    columns: Columns | None = None,
    conditions: Conditions = Conditions(),
    *,
    past: PastJob | None = None,
    folder: Path | None = None,
) -> DataFrame:
    """What a release finds in publications, without a second pass: rows of matches, and rows that only have a ``note``.

    Give it to :func:`matches`, :func:`rejected` and :func:`observed`. With a ``past``, what new subscriptions find in
    kept publications is there too. With a ``folder``, which all machines share, the matches go there as files, and the
    notes are the only rows.
    """
    posts, work = _planned(publications, release, columns, conditions)
    found = _done(posts, work, folder)
    if past is None or not past.pieces:
        return found
    numbers = publications.sparkSession.range(0, len(past.pieces), 1, past.tasks)
    return found.union(_done(numbers, MatchPast(past), folder))


def _done(
    rows: DataFrame | FilePieces | Aliased, work: MatchAll | MatchShare | MatchPast, folder: Path | None
) -> DataFrame:
    return rows.mapInArrow(WithNotes(work), MATCHED) if folder is None else rows.mapInArrow(Filed(work, folder), NOTED)


def matches(found: DataFrame) -> DataFrame:
    """The matches of what :func:`matched` found."""
    return found.where(F.col("note").isNull()).drop("note")


def rejected(found: DataFrame) -> DataFrame:
    """The rows that were no publications: id, reason, source (a piece of the row)."""
    told = F.from_json(F.get_json_object("note", f"$.{REJECTED}"), "id string, reason string, source string")
    return found.where(F.col("note").isNotNull()).select(told.alias("row")).where("row IS NOT NULL").select("row.*")


def noted(found: DataFrame) -> DataFrame:
    """The notes of what :func:`matched` found."""
    return found.where(F.col("note").isNotNull()).select("note")


def collected(notes: DataFrame) -> Notes:
    """Rows that are nothing but notes, when all is done."""
    return Notes.read(row[0] for row in notes.collect())


def observed(found: DataFrame, observation: Observation | str) -> DataFrame:
    """The same, with all notes observed as ``notes``: what :meth:`tidings.cluster.notes.Notes.read` takes.

    They are there when an action is done: by ``observation.get``, or in the progress of a stream under that name.
    """
    return found.observe(observation, F.collect_list("note").alias("notes"))


def _planned(
    publications: DataFrame | ParquetFiles,
    release: Release,
    columns: Columns | None,
    conditions: Conditions = Conditions(),
) -> tuple[DataFrame | FilePieces | Aliased, MatchAll | MatchShare]:
    """What comes to the matchers, and what they do with it."""
    columns, filing, cut = columns or Columns(), conditions.filing, conditions.cut
    asked = release.attributes if filing is None else columns.attributes(publications)
    posts = columns.selected(publications, {*asked, CHOSEN})
    key = None if conditions.now is None else instant_key(conditions.now)
    if release.layout == "replicated":
        return posts, MatchAll(release, key, cut, filing)
    routed = posts.mapInArrow(Sending(Route(release, conditions.sampled, cut, filing)), ROUTED)
    return routed.repartitionById(release.matchers, "matcher"), MatchShare(release, key)


def _analyser(subscriptions: Subscriptions) -> Analyser:
    return subscriptions.analyser if isinstance(subscriptions, Registry) else ENGLISH


def _release(releases: Releases, subscriptions: Subscriptions) -> Release:
    if isinstance(subscriptions, Registry):
        if (version := subscriptions.version) < 0:
            raise DataError(
                f"there is no registry at {str(subscriptions.path)!r}; name the folder where subscriptions are kept, "
                "or leave one there first: Registry(folder).add, or tidings subscribe"
            )
        return releases.release(subscriptions, version)
    return releases.compiled(_checked(subscriptions))


def _checked(subscriptions: DataFrame | pa.Table) -> pa.Table:
    """The good rows; the others are logged."""
    if not isinstance(subscriptions, pa.Table):
        if getattr(subscriptions, "isStreaming", False):
            raise DataError("subscriptions are a table, not a stream; keep those that change in a registry")
        subscriptions = subscriptions.toArrow()
    checked = check_subscriptions(subscriptions, ENGLISH)
    for row in checked.rejected[:_TOLD]:
        _log.warning("subscription %r is left out: %s", row.id, row.reason)
    if len(checked.rejected) > _TOLD:
        _log.warning("and so are %d others", len(checked.rejected) - _TOLD)
    return checked.accepted


def _temporary(session: SparkSession) -> Path:
    """A folder that goes with the session, or with the process."""
    folder = tempfile.mkdtemp(prefix="tidings-")
    weakref.finalize(session, shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
