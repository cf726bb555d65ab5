"""Which publications came before this one, under the same key? The second self-join of [LSM] 6.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from tidings.model import Publication
from tidings.storage.kept_block import FoundInBlock
from tidings.tables.matches import Matches


class Earlier(Sequence[Publication]):
    """Publications that were kept, the newest first. Each is read when somebody looks at it."""

    def __init__(self, found: list[FoundInBlock]) -> None:
        self._found = found
        self._ends = np.cumsum([len(each.places) for each in found], dtype=np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    @overload
    def __getitem__(self, place: int) -> Publication: ...
    @overload
    def __getitem__(self, place: slice) -> list[Publication]: ...
    def __getitem__(self, place: int | slice) -> Publication | list[Publication]:
        if isinstance(place, slice):
            return [self[each] for each in range(len(self))[place]]
        at = range(len(self))[place]
        block = int(np.searchsorted(self._ends, at, side="right"))
        found, start = self._found[block], at - int(self._ends[block])  # counted from the end
        return next(found.rows(slice(start, start + 1 or None)).publications())


class Joined(Matches):
    """The matches of a publication, and the ``earlier`` ones under the same key: the second self-join of [LSM] 6.1."""

    __slots__ = ("earlier",)

    def __init__(self, found: Matches, earlier: Earlier) -> None:
        super().__init__(found.parts, found.counters)
        self.earlier = earlier
