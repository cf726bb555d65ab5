"""Which posts of the past does a pipeline keep, and which does it drop? Sections of files, in buckets of time.

A *section* is a folder with the posts of batches in a row: of one batch at first, of many when small ones are merged.
It appears at once, with a page that says what is in it. A *bucket* is a folder of the sections of an eighth of the time
that is kept; it is dropped whole when all in it came too long ago.
"""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from tidings.arrays.files import JSON
from tidings.arrays.pages import checked, read_page, replace_json
from tidings.cluster.post_files import FiledPosts, PostWriter

PARTS = 8
"""So many buckets hold all that is kept; one more is being filled."""

SMALL_POSTS, MANY_SECTIONS = 2_000, 64
"""So many sections in a row, of fewer posts each, are merged."""

_PAGE, _ASIDE, _DROPPED = "page.json", "_aside", "_dropped-"
_SECTION = re.compile(r"(\d+)-(\d+)")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Section:
    """The kept posts of the batches ``first`` to ``last``, and when the first and the last of these were pinned."""

    path: Path
    first: int
    last: int
    came_first: int
    came_last: int
    files: tuple[FiledPosts, ...]

    @property
    def posts(self) -> int:
        return sum(file.posts for file in self.files)


@dataclass(frozen=True, slots=True)
class KeptPosts:
    """The posts that are kept in the folder ``path``; one driver at a time writes there. Instants are microseconds.

    >>> from tempfile import TemporaryDirectory
    >>> home = TemporaryDirectory()
    >>> kept = KeptPosts(Path(home.name))
    >>> for batch in range(3):
    ...     kept.take(kept.aside(), (), batch, came=1_000 * batch, keep=10_000)
    >>> kept.whole_since(3), kept.whole_since(2), kept.whole_since(7)
    (0, 0, None)
    >>> home.cleanup()
    """

    path: Path

    def sections(self, before: int | None = None) -> list[Section]:
        """What is kept, in order; of the batches before a number."""
        named = [section for bucket in self._buckets() for section in _named(bucket)]
        found = [section for path in _outer(named) if (section := _read(path)) is not None]
        return sorted((one for one in found if before is None or one.last < before), key=lambda one: one.first)

    def whole_since(self, batch: int) -> int | None:
        """All posts that came since this instant, up to a batch, are kept; None if those of the last one are not."""
        since, wanted = None, batch - 1
        for section in reversed(self.sections(batch)):
            if section.last != wanted:
                break
            since, wanted = section.came_first, section.first - 1
        return since

    def aside(self) -> Path:
        """A new folder for the files of a batch; what attempts that died have left is removed."""
        shutil.rmtree(self.path / _ASIDE, ignore_errors=True)
        folder = self.path / _ASIDE / uuid4().hex
        folder.mkdir(parents=True)
        return folder

    def take(self, folder: Path, files: Sequence[FiledPosts], batch: int, came: int, keep: int) -> None:
        """Keep these files of ``aside`` as the posts of a batch; what is there of it from the same pin stays."""
        for path in self._of(batch):
            there = _read(path)
            if there is not None and there.came_last == came:
                shutil.rmtree(folder, ignore_errors=True)
                return
            _log.warning("the posts of batch %d were kept before and are replaced: it was begun anew", batch)
            shutil.rmtree(path)
        bucket = self._bucket(batch, came, keep)
        is_new = not bucket.exists()
        self._put(folder, Section(bucket, batch, batch, came, came, tuple(files)))
        if is_new:
            self._drop(came - keep)

    def _drop(self, oldest: int) -> None:
        """Drop the buckets in which all came before an instant."""
        for left in self.path.glob(f"{_DROPPED}*"):
            shutil.rmtree(left, ignore_errors=True)
        for bucket in self._buckets()[:-1]:
            sections = [_read(path) for path in _named(bucket)]
            if all(section is None or section.came_last < oldest for section in sections):
                gone = bucket.rename(self.path / f"{_DROPPED}{uuid4().hex}")
                shutil.rmtree(gone, ignore_errors=True)

    def merge(self, before: int) -> None:
        """Make one section of many small ones at the end of the newest bucket, of batches before a number."""
        buckets = self._buckets()
        names = _outer(_named(buckets[-1])) if buckets else []
        if len(names) < MANY_SECTIONS:
            return
        small: list[Section] = []
        for path in reversed([path for path in names if _span(path)[1] < before]):
            section = _read(path)
            is_next = section is not None and (not small or section.last + 1 == small[-1].first)
            if section is None or not is_next or section.posts >= SMALL_POSTS:
                break
            small.append(section)
        if len(small) >= MANY_SECTIONS:
            self._merge(small[::-1])

    def _merge(self, sections: list[Section]) -> None:
        folder = self.aside()
        try:
            writer = PostWriter(folder, "merged")
            for section in sections:
                for file in section.files:
                    writer.add(pq.ParquetFile(section.path / file.name).read())
            files = writer.close()
        except (OSError, pa.ArrowException) as error:  # a later batch tries again
            _log.warning("small files of kept posts were not merged: %s", error)
            shutil.rmtree(folder, ignore_errors=True)
            return
        came = [section.came_first for section in sections], [section.came_last for section in sections]
        bucket = sections[0].path.parent
        self._put(folder, Section(bucket, sections[0].first, sections[-1].last, min(came[0]), max(came[1]), files))
        for section in sections:
            shutil.rmtree(section.path)

    def _put(self, folder: Path, section: Section) -> None:
        """Let the files in a folder be a section of the bucket that is its path."""
        names = {file.name for file in section.files}
        for left in folder.iterdir():  # of tasks that failed
            if left.name not in names:
                left.unlink()
        times: dict[str, JSON] = {"came_first": section.came_first, "came_last": section.came_last}
        replace_json(folder / _PAGE, checked({"files": [asdict(file) for file in section.files], **times}))
        section.path.mkdir(parents=True, exist_ok=True)
        folder.rename(section.path / f"{section.first:012}-{section.last:012}")

    def _bucket(self, batch: int, came: int, keep: int) -> Path:
        """The bucket for what comes now: the newest one, or a new one if that is full."""
        buckets = self._buckets()
        if buckets and came - int(buckets[-1].name.partition("-")[2]) < keep // PARTS:
            return buckets[-1]
        return self.path / f"{batch:012}-{came}"

    def _of(self, batch: int) -> list[Path]:
        """The sections with the posts of a batch."""
        named = [path for bucket in self._buckets() for path in _named(bucket)]
        return [path for path in named if _span(path)[0] <= batch <= _span(path)[1]]

    def _buckets(self) -> list[Path]:
        """In order."""
        return sorted(path for path in self.path.glob("[0-9]*-*") if path.is_dir())


def _named(bucket: Path) -> list[Path]:
    """The folders of a bucket that have the names of sections, in order."""
    return sorted(path for path in bucket.iterdir() if _SECTION.fullmatch(path.name))


def _outer(paths: Iterable[Path]) -> list[Path]:
    """The sections that lie in no other one: whoever merges some may die before those are removed."""
    spans = sorted((_span(path) for path in paths), key=lambda span: (span[0], -span[1]))
    found: list[Path] = []
    reached = -1
    for _, last, path in spans:
        if last > reached:
            found.append(path)
            reached = last
    return found


def _span(path: Path) -> tuple[int, int, Path]:
    first, last = path.name.split("-")
    return int(first), int(last), path


def _read(path: Path) -> Section | None:
    """A section; None if its page cannot be read: then its posts are not kept, and that is told."""
    first, last, _ = _span(path)
    try:
        page = read_page(path / _PAGE)
        files = tuple(FiledPosts(**file) for file in page["files"])
        return Section(path, first, last, int(page["came_first"]), int(page["came_last"]), files)
    except (OSError, ValueError, KeyError, TypeError) as error:
        _log.warning("%s holds no kept posts (%r): the past is not complete", path, error)
        return None
