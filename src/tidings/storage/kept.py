"""Which publications of the past may answer a query? Those that are kept, filed under their terms.

A publication is appended to a log before anybody acts on it (:mod:`tidings.storage.record_log`). In memory it joins a
part (:mod:`tidings.storage.kept_part`). When a part is full, it becomes a file of arrays, and its log goes. Parts are
dropped whole, when they are older than ``keep`` or when all together are larger than ``keep_bytes``.

A folder has ``log-N`` and ``block-N`` for the part that begins with number N, and a page ``past.json``.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tidings.analysis import Analyser
from tidings.arrays.pages import checked, read_page, replace_json
from tidings.model import DataError
from tidings.storage.kept_block import KeptBlock
from tidings.storage.kept_part import BLOCK, KeptPart, KeptParts
from tidings.storage.kept_rows import MARKS, KeptRow, KeptTable, unpacked
from tidings.storage.keys import LATEST
from tidings.storage.record_log import RecordLog, is_damaged, read_records

PARTS = 8
"""So many parts hold all that is kept; one more is being filled."""

PART_BYTES = 16 << 20
"""A part is at most so large."""

PAGE, LOG, FILE = "past.json", "log-", "block-"
FORMAT = 1
"""Of the page and of the logs; a block says its own."""


_log = logging.getLogger(__name__)


class KeptPublications(KeptParts):
    """The publications of the past, at least those that came in the last ``keep`` microseconds, unless they would be
    larger than ``keep_bytes``; in a folder, which one process writes, or in memory.

    Safe to share between threads. All instants are microseconds since 1970.
    """

    def __init__(
        self, folder: Path | None, analyser: Analyser, now: int, keep: int, keep_bytes: int | None = None
    ) -> None:
        super().__init__(analyser)
        self._folder = folder
        self._keep = keep
        self._keep_bytes = LATEST if keep_bytes is None else keep_bytes
        self._next = self._total_bytes = 0
        self._from = now
        self._is_due = False
        self._sealing = threading.Lock()
        if folder is not None:
            self._recover(folder, now)

    @property
    def next_number(self) -> int:
        """The number of the next publication: all before it are past."""
        return self._next

    @property
    def whole_since(self) -> int:
        """All that came since this instant is kept."""
        return self._from

    @property
    def is_due(self) -> bool:
        """Whether it is time for :meth:`file`."""
        return self._is_due

    def missed(self, now: int) -> None:
        """Know that publications up to now may have come and not been kept."""
        self._from = max(self._from, now)
        self._write_page(self._parts)

    def add(self, kept: KeptRow | KeptTable) -> None:
        """Keep what comes now. When this returns, it outlives the process; if it fails, nothing was kept."""
        record = kept.packed()
        size_bytes = sum(map(len, record))
        with self._turn:
            part = self._part_for(kept.came, size_bytes)
            if part.log is not None:
                part.log.append_pieces(*record)
            part.take(kept, size_bytes)
            self._total_bytes += size_bytes
            self._next = part.end
            if part.waiting >= BLOCK:
                self._is_due = True

    def file(self) -> None:
        """Make blocks of what came last, and files of the parts that are full."""
        with self._sealing:
            self._is_due = False
            parts = self._all()
            with self._filing:
                for part in parts:
                    self._absorb(part)
            for part in parts[:-1]:
                if not part.is_filed:
                    self._seal(part)

    def drop_old(self, now: int) -> None:
        """Forget what is older than ``keep``."""
        with self._turn:
            self._drop_old(now, 0)

    def close(self) -> None:
        with self._sealing, self._turn:
            for part in self._parts.values():
                if part.log is not None:
                    part.log.close()

    # ------------------------------------------------------------------------------------------------ parts

    def _part_for(self, now: int, size_bytes: int) -> KeptPart:
        """The newest part, or a new one if that is full; too old ones are dropped."""
        self._drop_old(now, size_bytes)
        newest = self._parts[next(reversed(self._parts))] if self._parts else None
        if newest is not None:
            is_young = now - newest.came_first < max(1, self._keep // PARTS)
            if is_young and newest.size_bytes < min(PART_BYTES, self._keep_bytes // PARTS) and not newest.is_filed:
                return newest
            self._is_due = True
        part = KeptPart(self._next)
        if self._folder is not None:
            with self._speaking():
                part.log = RecordLog(self._folder / f"{LOG}{self._next:020d}")
        try:
            self._write_page({**self._parts, part.first: part})
        except DataError:
            if part.log is not None:
                part.log.close()
            raise
        self._parts[part.first] = part
        return part

    def _drop_old(self, now: int, more_bytes: int) -> None:
        while self._parts:
            part = self._parts[next(iter(self._parts))]
            if part.came_last >= now - self._keep and self._total_bytes + more_bytes <= self._keep_bytes:
                return
            self._from = max(self._from, part.came_last + 1)
            others = {first: other for first, other in self._parts.items() if other is not part}
            self._write_page(others)
            self._parts = others
            self._total_bytes -= part.size_bytes
            if part.log is not None:
                part.log.close()
            self._unlink(part)

    def _seal(self, part: KeptPart) -> None:
        """Make one block of a part that is full, and a file of it; then its log is not needed any more."""
        if self._folder is None:
            block, size_bytes = KeptBlock.sealed(part.blocks), part.size_bytes
        else:
            path = self._folder / f"{FILE}{part.first:020d}"
            block, size_bytes = KeptBlock.filed(part.blocks, path), path.stat().st_size
        with self._turn:
            if part.first in self._parts:
                self._total_bytes += size_bytes - part.size_bytes
            else:
                self._unlink(part)
            part.fill(block, size_bytes)
            if part.log is not None:
                part.log.close()
                part.log = None
        if self._folder is not None:
            (self._folder / f"{LOG}{part.first:020d}").unlink(missing_ok=True)

    def _unlink(self, part: KeptPart) -> None:
        for kind in (LOG, FILE) if self._folder is not None else ():
            assert self._folder is not None
            with suppress(OSError):  # it is tried again when the folder is opened
                (self._folder / f"{kind}{part.first:020d}").unlink(missing_ok=True)

    # ------------------------------------------------------------------------------------------------ recovery

    def _recover(self, folder: Path, now: int) -> None:
        """Know again what is in a folder; what is damaged is told and set aside, what is missing makes a gap."""
        for left in folder.glob("*.tmp"):  # a process died while it wrote this
            left.unlink()
        firsts = parts_in(folder)
        if others := _others(folder):
            _log.warning("%s in %s is nothing that this tidings has kept, and is left alone", others[0], folder)
        page = _page(folder / PAGE, is_new=not firsts)
        self._from = now if page is None else page.get("from", now)
        expected = None if page is None else page.get("oldest")
        if page is not None and page.get("newest") not in (None, *firsts):
            _log.warning("publications that were kept in %s are missing from number %s on", folder, page["newest"])
            self._from = max(self._from, now)
        for first in firsts:
            part = self._opened(folder, first, now)
            if part is None:
                continue
            if part.first != (part.first if expected is None else expected):
                _log.warning("publications that were kept in %s are missing before number %d", folder, part.first)
                self._from = max(self._from, part.came_first)
            self._parts[part.first] = part
            self._next = expected = part.end
        self._total_bytes = self.size_bytes
        self._write_page(self._parts)

    def _opened(self, folder: Path, first: int, now: int) -> KeptPart | None:
        path, log, part = folder / f"{FILE}{first:020d}", folder / f"{LOG}{first:020d}", KeptPart(first)
        if path.exists():
            try:
                part.fill(KeptBlock.opened(path), path.stat().st_size)
                log.unlink(missing_ok=True)
            except DataError as error:
                self._set_aside(path, str(error), now)
            else:
                return part
        if not log.exists():
            return None
        if problem := _problem_of(part, log):
            sound = log.read_bytes()[: part.position]
            self._set_aside(log, problem, now)
            log.write_bytes(sound)
        if not part.posts:
            log.unlink()
            return None
        part.log = RecordLog(log, part.position)
        return part

    def _set_aside(self, path: Path, problem: str, now: int) -> None:
        """Leave a damaged file to whoever can mend it."""
        aside = path.with_name(f"damaged-{path.name}")
        _log.warning("%s; it is %s now, and the past before this moment is not complete", problem, aside)
        path.replace(aside)
        self._from = max(self._from, now)

    def _write_page(self, parts: Mapping[int, KeptPart]) -> None:
        """Say which parts there are, and since when all is kept."""
        if self._folder is not None:
            oldest, newest = min(parts, default=None), max(parts, default=None)
            page = {"format": FORMAT, "from": self._from, "oldest": oldest, "newest": newest}
            with self._speaking():
                replace_json(self._folder / PAGE, checked(page))

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Errors of the file system in our words."""
        try:
            yield
        except OSError as error:
            problem = error.strerror or str(error)
            raise DataError(f"cannot keep publications in {str(self._folder)!r}: {problem}; make room") from error


def parts_in(folder: Path) -> list[int]:
    """The first numbers of the parts that a folder has, in order."""
    names = [path.name.removeprefix(LOG).removeprefix(FILE) for path in folder.iterdir()]
    return sorted({int(name) for name in names if name.isdigit()})


def _others(folder: Path) -> list[str]:
    """The files of a folder that nobody here has written."""
    own = re.compile(rf"{PAGE}|lock|({LOG}|{FILE})\d+|damaged-.*")
    return sorted(path.name for path in folder.iterdir() if not own.fullmatch(path.name))


def read_log(part: KeptPart, log: Path) -> None:
    """Let a part have what was appended to its log since it was read."""
    for record, position in read_records(log, part.position):
        part.take(unpacked(record), len(record))
        part.position = position


def _problem_of(part: KeptPart, log: Path) -> str:
    """What is wrong with a log; what comes before that is in the part now."""
    try:
        read_log(part, log)
    except DataError as error:
        return f"{str(log)!r} cannot be read after {part.posts:,} publications: {error}"
    is_bad = is_damaged(log, part.position, MARKS)
    return f"{str(log)!r} is damaged after {part.posts:,} publications" if is_bad else ""


def _page(path: Path, is_new: bool) -> dict[str, Any] | None:
    """What the page of a folder says; None if it cannot be read."""
    try:
        page = read_page(path)
        if page.get("format", FORMAT) != FORMAT:
            raise ValueError(f"it has the format {page['format']!r}, this tidings reads {FORMAT}")
        return page
    except FileNotFoundError:
        return {} if is_new else None
    except (OSError, ValueError) as error:
        _log.warning("%s cannot be read: %s; the past before this moment is not complete", path, error)
        return None
