"""What has this worker opened already? The files of releases, by their folder and matcher.

A process serves many tasks and lives for as long as there are any. It keeps, for each folder and matcher, what the last
release had; the next one maps only what is new in it, and words of posts are remembered for all. A file is checked when
it is opened, and :meth:`OpenShare.check` notices what somebody has written into it since.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from tidings.arrays.files import ArrayFile, open_verified
from tidings.cluster.homes import Homes
from tidings.cluster.older import SideBySide
from tidings.cluster.releases import Release
from tidings.cluster.router import Router
from tidings.index import GuardIndex
from tidings.index.store import Store, described
from tidings.model import DataError

MOST_OPEN = 64
"""So many shares, and so many routers, stay open."""


@dataclass(frozen=True, slots=True)
class OpenShare:
    """The share of a matcher, mapped; ``homes`` is None where nothing of it lives elsewhere."""

    release: Release
    index: GuardIndex
    homes: Homes | None
    files: dict[Path, ArrayFile]

    def check(self) -> None:
        """A DataError if somebody has written into a file since it was opened. Cost: 2 µs a file."""
        for file in self.files.values():
            file.check()


@dataclass(frozen=True, slots=True)
class OpenRouter:
    """A router, mapped; two where an older mapping is in use. ``names``: the files of the one and of the other."""

    names: tuple[tuple[str, ...], tuple[str, ...]]
    router: Router | SideBySide
    files: tuple[ArrayFile, ...]

    def check(self) -> None:
        """As that of :class:`OpenShare`."""
        for file in self.files:
            file.check()


class Opened:
    """What is open; the least recently used is closed where it becomes too much.

    ``shipped``: the folder on this machine of what was shipped to it, for releases that are.
    """

    def __init__(self) -> None:
        self._shares: OrderedDict[tuple[str, int], OpenShare] = OrderedDict()
        self._routers: OrderedDict[str, OpenRouter] = OrderedDict()

    def share(self, release: Release, matcher: int, shipped: Path | None = None) -> OpenShare:
        """The share of a matcher. Cost: microseconds if it is open, else milliseconds."""
        key = release.folder, matcher
        before = self._shares.pop(key, None)
        if before is None or before.release.parts[matcher] != release.parts[matcher]:
            before = self._open(release, matcher, _folder(release, shipped), before)
        else:
            before.check()
        self._shares[key] = before
        if len(self._shares) > MOST_OPEN:
            self._shares.popitem(last=False)
        return before

    def router(self, release: Release, shipped: Path | None = None) -> OpenRouter:
        """The router of a release."""
        known = self._routers.pop(release.folder, None)
        names, folder = (release.routers, release.older), _folder(release, shipped)
        if known is None or known.names != names:
            files = [tuple(open_verified(folder / name) for name in own) for own in names]
            routers = [Router.of_files(*own) for own in files if own]
            known = OpenRouter(names, routers[0] if len(routers) == 1 else SideBySide(*routers), (*files[0], *files[1]))
        else:
            known.check()
        self._routers[release.folder] = known
        if len(self._routers) > MOST_OPEN:
            self._routers.popitem(last=False)
        return known

    def _open(self, release: Release, matcher: int, folder: Path, before: OpenShare | None) -> OpenShare:
        part = release.parts[matcher]
        known = {} if before is None else before.files
        names = (*part.segments, *part.homes)
        files = {path: known.get(path) or open_verified(path) for path in (folder / name for name in names)}
        filed, saved = Store(folder, described(release.analyser)).load(part.segments, files.__getitem__)
        alike = (share.index for share in self._shares.values() if share.release.analyser == release.analyser)
        index = GuardIndex.of_files(
            filed, saved, release.analyser, before=next(alike, None) if before is None else before.index
        )
        homes = Homes.of_files(*(files[folder / name] for name in part.homes)) if part.homes else None
        return OpenShare(release, index, homes, files)


def _folder(release: Release, shipped: Path | None) -> Path:
    folder = shipped if release.shipped and shipped is not None else Path(release.folder)
    if not folder.is_dir():
        raise DataError(
            f"there is no folder {str(folder)!r} on this machine; name one that all machines share, or none, so that "
            "Spark carries the index"
        )
    return folder
