"""What does another process keep? A reader follows its folder and changes nothing there."""

from __future__ import annotations

from pathlib import Path

from tidings.analysis import Analyser
from tidings.arrays.pages import read_page
from tidings.model import DataError
from tidings.storage.kept import FILE, LOG, PAGE, parts_in, read_log
from tidings.storage.kept_block import KeptBlock
from tidings.storage.kept_part import KeptPart, KeptParts
from tidings.storage.keys import LATEST

_TRIES = 5
"""A part may become a file, or be dropped, while it is looked for; so often it is looked for again."""


class KeptReader(KeptParts):
    """The publications that another process keeps in a folder, as of the last :meth:`refresh`."""

    def __init__(self, folder: Path, analyser: Analyser) -> None:
        super().__init__(analyser)
        self._folder = folder
        self.whole_since = LATEST
        """All that came since this instant is kept."""

    def refresh(self) -> None:
        """Have all that is kept now."""
        with self._filing:
            for tries in range(_TRIES):
                try:
                    self._follow()
                    return
                except (OSError, DataError, ValueError) as error:
                    if tries == _TRIES - 1:
                        raise DataError(f"cannot read the past in {str(self._folder)!r}: {error}") from error

    def close(self) -> None:
        """Nothing is open but for files that are mapped."""

    def _follow(self) -> None:
        """The folder is listed twice: a part that becomes a file meanwhile is seen once at least."""
        firsts = sorted({*parts_in(self._folder), *parts_in(self._folder)})
        known = {part.first: part for part in self._all()}
        parts = {first: self._part(known.get(first) or KeptPart(first)) for first in firsts}
        page = read_page(self._folder / PAGE)
        with self._turn:
            self._parts = {first: part for first, part in parts.items() if part.posts}
            self.whole_since = int(page["from"])

    def _part(self, part: KeptPart) -> KeptPart:
        if part.is_filed:
            return part
        path = self._folder / f"{FILE}{part.first:020d}"
        if path.exists():
            part = KeptPart(part.first)
            part.fill(KeptBlock.opened(path), path.stat().st_size)
        else:
            read_log(part, self._folder / f"{LOG}{part.first:020d}")
        return part
