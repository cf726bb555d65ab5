"""How does a version of a Delta table get on disk at once? As a line-by-line JSON file under the name of its number.

delta-rs needs 13 ms for a commit of one row, most of it to open the table and to plan the write; this needs one to
two. What is written is plain Delta (protocol 1, 2): a Parquet file, and a page that names it. The page is linked under
its final name, which fails if there is one already, so that of two writers of one version exactly one succeeds.
"""

from __future__ import annotations

import errno
import json
import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

PAGES = "_delta_log"
_HINT = "_last_checkpoint"
_PAGE = re.compile(r"(\d{20})\.(?:json|checkpoint\.parquet|checkpoint\.\d+\.\d+\.parquet)")
_ASIDE = "_commit_"
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)

Action = dict[str, object]


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of a table: its rows, and the first version that it holds; 0 where that is not told."""

    name: str
    rows: int
    first: int = 0


def newest_version(table: Path) -> int:
    """The newest version, -1 if there is none. Cost: some µs for each version since the last checkpoint."""
    pages = table / PAGES
    version = _hinted(pages)
    if version < 0:
        version = max((number for number, _ in _listed(pages)), default=-1)
    if version >= 0:
        while os.path.exists(f"{pages}/{_page(version + 1)}"):  # noqa: PTH110  # a Path costs more than the look
            version += 1
    return version


def added(table: Path, rows: pa.Table, *, is_change: bool = True) -> Action:
    """Write rows to a new file, and return the action that adds it. Rows that have versions are in their order."""
    name = f"part-{uuid4()}.parquet"
    pq.write_table(rows, table / name, store_schema=False)
    stats: dict[str, object] = {"numRecords": rows.num_rows}
    if "version" in rows.column_names and rows.num_rows:  # in order
        first, last = rows["version"][0].as_py(), rows["version"][-1].as_py()
        stats |= {"minValues": {"version": first}, "maxValues": {"version": last}}
    return {
        "add": {
            "path": name,
            "partitionValues": {},
            "size": (table / name).stat().st_size,
            "modificationTime": _now_ms(),
            "dataChange": is_change,
            "stats": json.dumps(stats | {"nullCount": {}}),
        }
    }


def removed(file: DataFile) -> Action:
    """What takes a file out of the table, because others hold what is needed of it."""
    return {"remove": {"path": file.name, "deletionTimestamp": _now_ms(), "dataChange": False}}


def noted(name: str, number: int) -> Action:
    """A number that the table keeps under a name: Delta's ``txn``, which checkpoints keep as well."""
    return {"txn": {"appId": name, "version": number, "lastUpdated": _now_ms()}}


def commit(table: Path, version: int, operation: str, actions: Iterable[Action]) -> bool:
    """Put a version in place, as a whole; False, and nothing is changed, if somebody else has made it.

    Writers hold the lock of the registry's folder, so where a file system has no hard links, a rename is as good. A
    page that was there and is deleted by now lies before the last checkpoint, so who slept that long is told as well.
    """
    pages = table / PAGES
    if _hinted(pages) >= version:
        return False
    info: Action = {"commitInfo": {"timestamp": _now_ms(), "operation": operation, "engineInfo": "tidings"}}
    aside = pages / f"{_ASIDE}{uuid4()}.json.tmp"
    try:
        aside.write_text("\n".join(json.dumps(action) for action in (info, *actions)))
        _put(aside, pages / _page(version))
    except FileExistsError:
        return False
    finally:
        with suppress(FileNotFoundError):
            os.unlink(aside)  # noqa: PTH108  # this is done with each commit
    return True


def _put(aside: Path, page: Path) -> None:
    try:
        os.link(aside, page)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if page.exists():
            raise FileExistsError(page) from None
        aside.rename(page)


@dataclass(frozen=True, slots=True)
class Grace:
    """How long what is out of use stays, for readers who opened the table before.

    It is deleted after ``seconds``, or once ``versions`` newer ones are there: a writer in a hurry leaves no more.
    """

    seconds: float = 60.0
    versions: int = 200

    def is_over(self, file: os.stat_result, later: int) -> bool:
        """Whether a file of that age may go, after which ``later`` others have come."""
        return file.st_mtime <= time.time() - self.seconds or later >= self.versions


def forget(table: Path, used: frozenset[str], grace: Grace) -> int:
    """Delete the files that no view of the table needs since the grace; returns how many."""
    return _forget_data(table, used, grace) + _forget_pages(table / PAGES, grace)


def _forget_data(table: Path, used: frozenset[str], grace: Grace) -> int:
    with os.scandir(table) as entries:
        idle = [(e.stat(), e.path) for e in entries if e.name.endswith(".parquet") and e.name not in used]
    idle.sort(key=lambda each: -each[0].st_mtime)
    gone = [path for later, (stat, path) in enumerate(idle) if grace.is_over(stat, later)]
    for path in gone:
        Path(path).unlink(missing_ok=True)
    return len(gone)


def _forget_pages(pages: Path, grace: Grace) -> int:
    """What lies before a checkpoint is needed by those who opened the table before that, and by nobody else."""
    listed = _listed(pages)
    newest = max((number for number, _ in listed), default=-1)
    checkpoints = [(number, pages / name) for number, name in listed if not name.endswith(".json")]
    old = [number for number, path in checkpoints if grace.is_over(path.stat(), newest - number)]
    first = max(old, default=-1)
    gone = [pages / name for number, name in listed if number < first]
    gone += [path for path in pages.glob(f"{_ASIDE}*") if grace.is_over(path.stat(), 0)]  # of writers who died
    for path in gone:
        path.unlink(missing_ok=True)
    return len(gone)


def touch(table: Path, files: Iterable[DataFile]) -> None:
    """Let the grace of files that are out of use begin now."""
    for file in files:
        try:
            os.utime(table / file.name)
        except FileNotFoundError:
            continue


def _listed(pages: Path) -> list[tuple[int, str]]:
    try:
        names = os.listdir(pages)  # noqa: PTH208  # names are all that is needed
    except FileNotFoundError:
        return []
    return [(int(found[1]), name) for name in names if (found := _PAGE.fullmatch(name))]


def _hinted(pages: Path) -> int:
    """The version of the last checkpoint, if it is told and there; -1 if it has to be looked for."""
    try:
        version = int(json.loads((pages / _HINT).read_text())["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return -1
    return version if (pages / _page(version)).exists() else -1


def _page(version: int) -> str:
    return f"{version:020}.json"


def _now_ms() -> int:
    return time.time_ns() // 10**6
