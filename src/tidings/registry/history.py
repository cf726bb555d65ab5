"""Is this still the history that somebody has read before, or was the registry restored, recreated or replaced?

Version numbers cannot tell: a registry that is restored from a backup and written to again has the same numbers with
other changes. So each commit is *sealed* with a random number, in the upper half of the positions of its rows. The
*mark* of a version names the table, the last commit with changes up to that version, its seal and its time. No other
history has it. Whoever keeps something that was made of a version keeps the mark too, and compares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.registry.log import Stamp
from tidings.registry.tables import View

SEALED = ("version", "position", "at")
"""The columns that a mark is made of."""

_PLACE_BITS = 32
_NEAR = 16


def sealed_positions(count: int) -> npt.NDArray[np.int64]:
    """The positions of the rows of one commit: rising, with the seal of the commit in the upper half."""
    return (uuid4().int % (1 << 31) << _PLACE_BITS) + np.arange(count)


def mark_of(table: str, changes: pa.Table) -> str:
    """The mark of the last of these changes, which are in order, in the table of that id."""
    if not changes.num_rows:
        return f"{table}/-1/0/0"
    version, position, at = (changes[name][-1] for name in SEALED)
    return mark_text(table, version.as_py(), position.as_py(), at.value)


def mark_text(table: str, version: int, position: int, at_us: int) -> str:
    """The mark of a change, of which these are the version, the position and the microseconds since 1970."""
    return f"{table}/{version}/{position >> _PLACE_BITS:x}/{at_us}"


def mark_at(view: View, version: int) -> str:
    """The mark of a version. Cost: some 3 ms; more where the commit has no changes, as those of tidying."""
    found, span = view.read(SEALED, f"version = {version} LIMIT 1"), _NEAR
    while not found.num_rows and version >= 0:  # the files of a few versions are mostly enough to look at
        found = _last(view, max(version - span, -1), version)
        if span > version:
            break
        span *= _NEAR
    return mark_of(view.id, found)


def _last(view: View, after: int, until: int) -> pa.Table:
    """A row of the last commit in ``(after, until]``."""
    where = f"version > {after} AND version <= {until} ORDER BY version DESC LIMIT 1"
    return view.read(SEALED, where)


class Marked(Protocol):
    """What a :class:`Follower` asks of a registry."""

    @property
    def id(self) -> str: ...

    def has(self, version: int, mark: object) -> bool: ...

    def stamp(self, version: int) -> Stamp | None: ...


@dataclass(slots=True)
class Follower:
    """Remembers how far a registry was read, and notices when that history is gone; ``mark`` is that of ``version``."""

    registry: Marked
    version: int = -1
    mark: str = ""
    _stamp: Stamp | None = None

    def reach(self, version: int, mark: str) -> None:
        """All up to a version was read."""
        self.version, self.mark, self._stamp = version, mark, self.registry.stamp(version)

    def take(self, version: int, changes: pa.Table) -> None:
        """All up to a version was read, of which these are the changes since the last one."""
        mark = self.mark
        if changes.num_rows or not mark:
            mark = mark_of(mark.partition("/")[0] or self.registry.id, changes)
        self.reach(version, mark)

    def is_current(self) -> bool:
        """Whether the registry still has what was read.

        Cost: microseconds while the file of the last commit is the same one, else some 8 ms.
        """
        if self.version < 0:
            return True
        stamp = self.registry.stamp(self.version)
        if stamp is None or stamp != self._stamp:
            if not self.registry.has(self.version, self.mark):
                return False
            self._stamp = stamp
        return True
