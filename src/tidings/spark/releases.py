"""Which files are the index of a version of the registry? A release names them.

The driver compiles releases in a folder and Spark's Python workers map what they name. A file never changes, and no two
have the same name; a newer release names most files of the one before and some small new ones. A replay asks for the
version that it had, and gets it: if its release is no longer there, it is compiled again from the registry.
"""

from __future__ import annotations

import fcntl
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from tidings.index.files import JSON
from tidings.index.store import described, replace_json
from tidings.index.subscribers import keyed
from tidings.model import DataError
from tidings.registry import Registry, fold
from tidings.spark.shares import HOMES, ROUTER, Part, Shares
from tidings.terms import ENGLISH, Analyser

Layout = Literal["replicated", "partitioned"]
FORMAT = 2
MATCHERS = 16
REPLICATED_BYTES = 2 << 30
"""Up to this size an index is replicated, unless somebody says otherwise: all workers of a machine share its pages."""

_RELEASE, _SEGMENT, _LOCK = "release-", "segment-", "lock"
_BYTES_EACH = 32
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Release:
    """What a worker needs to know to open an index: a small value that is pickled.

    ``folder`` is a path that all machines share; if it is ``shipped``, Spark carried its files to each of them instead.
    ``attributes`` are those that somebody asks about: no other column has to be read.
    """

    folder: str
    version: int
    layout: Layout
    parts: tuple[Part, ...]
    routers: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    analyser: Analyser = ENGLISH
    shipped: bool = False

    @property
    def matchers(self) -> int:
        """How many matchers share the work of the partitioned layout; 1 in the replicated one."""
        return len(self.parts)

    @property
    def files(self) -> frozenset[str]:
        """The names of all its files."""
        named = {name for part in self.parts for name in (*part.segments, part.homes) if name}
        return frozenset(named | set(self.routers))


@dataclass(frozen=True, slots=True)
class Plan:
    """How an index is laid out: ``auto`` replicates it while it has up to ``replicated_bytes``."""

    layout: Layout | Literal["auto"] = "auto"
    matchers: int = MATCHERS
    replicated_bytes: int = REPLICATED_BYTES

    def __post_init__(self) -> None:
        if self.layout not in ("auto", "replicated", "partitioned"):
            raise DataError(f"a layout is auto, replicated or partitioned, got {self.layout!r}")

    def chosen(self, subscriptions: pa.Table) -> Layout:
        """The layout for these subscriptions; it is logged where it had to be chosen."""
        if self.layout != "auto":
            return self.layout
        size_bytes = subscriptions.nbytes + _BYTES_EACH * subscriptions.num_rows
        layout: Layout = "replicated" if size_bytes <= self.replicated_bytes else "partitioned"
        _log.info(
            "%s layout: %d subscriptions are about %d MB, and up to %d MB are replicated",
            layout,
            subscriptions.num_rows,
            size_bytes >> 20,
            self.replicated_bytes >> 20,
        )
        return layout


class Releases:
    """The releases in ``folder``, which one driver at a time writes to. Not safe to share between threads.

    ``sample``: publications like those to come, to choose guards by.

    >>> from tempfile import TemporaryDirectory
    >>> home = TemporaryDirectory()
    >>> registry = Registry(Path(home.name, "registry"))
    >>> version = registry.add(pa.table({"id": ["s1"], "query": ["white house volume:>3"]})).version
    >>> release = Releases(Path(home.name, "releases")).release(registry, version)
    >>> release.layout, release.matchers, release.attributes, len(release.files)
    ('replicated', 1, ('volume',), 1)
    >>> home.cleanup()
    """

    def __init__(
        self, folder: Path, analyser: Analyser = ENGLISH, sample: pa.Table | None = None, plan: Plan | None = None
    ) -> None:
        self.folder = Path(folder)
        self._analyser = analyser
        self._sample = sample
        self._plan = plan or Plan()
        self._newest: tuple[Release, Shares] | None = None

    def release(self, registry: Registry, version: int) -> Release:
        """The release of a version of the registry: found, brought forward from an earlier one, or compiled.

        Cost: that of the changes since the release before, and now and then that of all subscriptions (some 6 s for a
        million).
        """
        if registry.analyser != self._analyser:
            raise DataError("the registry has another analyser than its releases; give both the same one")
        with self._locked():
            found = self._read(version)
            if found is not None:
                return found
            before = self._before(version)
            if before is not None:
                return self._forward(registry, version, *before)
            shares, layout = self._filled(keyed(registry.snapshot(version)))
            return self._written(version, layout, shares)

    def compiled(self, subscriptions: pa.Table) -> Release:
        """The release of a table of subscriptions that were checked, which belongs to no registry."""
        with self._locked():
            shares, layout = self._filled(keyed(subscriptions))
            return self._written(0, layout, shares)

    def forget_before(self, version: int) -> None:
        """Remove the releases of earlier versions, and all files that no other release names."""
        with self._locked():
            releases = self._versions()
            kept = [self._read(number) for number in releases if number >= version]
            if self._newest is not None:
                kept.append(self._newest[0])
            for number in releases:
                if number < version:
                    self._path(number).unlink(missing_ok=True)
            named = frozenset[str]().union(*(release.files for release in kept if release is not None))
            for kind in (_SEGMENT, HOMES, ROUTER):
                for file in self.folder.glob(f"{kind}*"):
                    if file.name not in named:
                        file.unlink(missing_ok=True)

    def _filled(self, subscriptions: pa.Table) -> tuple[Shares, Layout]:
        layout = self._plan.chosen(subscriptions)
        shares = self._shares(self._plan.matchers if layout == "partitioned" else 0)
        shares.fill(subscriptions)
        return shares, layout

    def _shares(self, matchers: int) -> Shares:
        return Shares(self.folder, matchers, self._analyser, self._sample)

    def _before(self, version: int) -> tuple[Release, Shares] | None:
        """The nearest earlier release and its shares, which are about to be changed."""
        newest, self._newest = self._newest, None
        earlier = [number for number in self._versions() if number < version]
        for number in reversed(earlier):
            if newest is not None and newest[0].version == number:
                return newest if self._is_whole(newest[0]) else None
            found = self._read(number)
            if found is not None:
                shares = self._shares(found.matchers if found.layout == "partitioned" else 0)
                try:
                    shares.open(found.parts, found.routers)
                except DataError as error:
                    _log.warning("%s; the index is compiled again from the registry", error)
                    return None
                return found, shares
        return None

    def _forward(self, registry: Registry, version: int, before: Release, shares: Shares) -> Release:
        changes = registry.changes(before.version, version)
        if changes.num_rows:
            shares.change(keyed(fold(changes)), pc.unique(changes["id"]).to_pylist())
        return self._written(version, before.layout, shares)

    def _written(self, version: int, layout: Layout, shares: Shares) -> Release:
        parts, routers = shares.save()
        release = Release(str(self.folder), version, layout, parts, routers, shares.attributes(), self._analyser)
        content: dict[str, JSON] = {
            "format": FORMAT,
            "language": described(self._analyser),
            "layout": layout,
            "parts": [asdict(part) for part in parts],
            "routers": routers,
            "attributes": release.attributes,
        }
        replace_json(self._path(version), content)
        self._newest = release, shares
        return release

    def _read(self, version: int) -> Release | None:
        """The release of a version; None if there is none, or if files of it are gone."""
        path = self._path(version)
        try:
            found = json.loads(path.read_text())
            if found["format"] < FORMAT:
                raise ValueError(f"format {found['format']}, this tidings reads {FORMAT}")
            if found["format"] != FORMAT or found["language"] != described(self._analyser):
                raise DataError(f"{str(path)!r} is of another format or for another analyser; name another folder")
            parts = tuple(Part(tuple(part["segments"]), part["homes"]) for part in found["parts"])
            lists = tuple(found["routers"]), tuple(found["attributes"])
            release = Release(str(self.folder), version, found["layout"], parts, *lists, self._analyser)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("%s is no release (%r); it is compiled again from the registry", path, error)
            return None
        return release if self._is_whole(release) else None

    def _is_whole(self, release: Release) -> bool:
        return all((self.folder / name).exists() for name in release.files)

    def _versions(self) -> list[int]:
        names = (path.stem.removeprefix(_RELEASE) for path in self.folder.glob(f"{_RELEASE}*.json"))
        return sorted(int(name) for name in names if name.isdigit())

    def _path(self, version: int) -> Path:
        return self.folder / f"{_RELEASE}{version}.json"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other drivers waiting."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = (self.folder / _LOCK).open("a")
        except OSError as error:
            raise DataError(f"cannot write releases to {str(self.folder)!r}: {error}; name another folder") from None
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
