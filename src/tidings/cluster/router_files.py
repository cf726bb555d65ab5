"""In which files is a router? In a first one, with its filings, and in small ones with what has changed since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np

from tidings.arrays import IdArray, IntArray
from tidings.arrays.files import open_verified
from tidings.cluster.cluster import Cluster
from tidings.cluster.filings import Filings, merged
from tidings.cluster.older import Older
from tidings.cluster.router import Router
from tidings.index import COMPACTION

ROUTER = "router-"


@dataclass(frozen=True, slots=True, eq=False)
class _Saved:
    """What of a router is in files: what it counted then, the owners of parcels, and how many parts of filings."""

    filed: IntArray
    owner: IdArray
    parts: int


class RouterFiles:
    """The files of one router in ``folder``, ``names`` in order; none at first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.names: tuple[str, ...] = ()
        self._saved = _Saved(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32), 0)

    def open(self, names: tuple[str, ...]) -> tuple[Router | None, list[Filings]]:
        """Have these files; the router that is in them, and its filings."""
        router, filings = opened([self._folder / name for name in names])
        self.names = names
        if router is not None:
            self._saved = _Saved(router.filed, router.owner, len(filings))
        return router, filings

    def save(self, holder: Cluster | Older, most: int = COMPACTION.max_segments) -> None:
        """Write how the router of a cluster, or of an older mapping, has changed; ``most`` files become one."""
        router, saved = holder.router, self._saved
        if router is None or (saved.filed is router.filed and np.array_equal(saved.owner, router.owner)):
            return
        if not self.names and not len(router):
            return  # nobody has ever asked for anything
        name = f"{ROUTER}{uuid4().hex}.tidings"
        if not self.names or len(self.names) >= most:
            holder.tidy()
            if holder.router is not None:
                router = holder.router
            router.save(self._folder / name, holder.filings[0].arrays())
            self.names = (name,)
        else:
            filings = merged(holder.filings[saved.parts :], keep_gone=True)
            change = router.filed.copy()
            change[: len(saved.filed)] -= saved.filed
            is_used = change != 0
            is_used[filings.terms.ids] = True
            newer, numbers = router.part(is_used, change)
            newer.save(self._folder / name, filings.renumbered(numbers).arrays(), extends=saved.owner)
            self.names = (*self.names, name)
        self._saved = _Saved(router.filed, router.owner, len(holder.filings))


def opened(files: Sequence[Path]) -> tuple[Router | None, list[Filings]]:
    """The router that is in some files, and its filings."""
    router: Router | None = None
    filings: list[Filings] = []
    for path in files:
        file = open_verified(path)
        newer, own = Router.of_file(file, None if router is None else router.owner), Filings.open(path)
        if router is None:
            router = newer
        else:
            own = own.renumbered(router.extend(newer))
        filings.append(own)
    return router, filings
