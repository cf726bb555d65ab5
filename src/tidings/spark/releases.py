"""Which files are the index of a version of the registry, laid out by a mapping? A release names them.

The driver compiles releases in a folder and Spark's Python workers map what they name. A file never changes, and no two
have the same name; a newer release names most files of the one before and some small new ones. A replay asks for the
version and the mapping that it had, and gets them: if the release is no longer there, it is compiled again from the
registry. So it is where the mapping is another one (:mod:`tidings.spark.mappings`): all subscriptions are placed anew.
"""

from __future__ import annotations

import json
import logging
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from tidings.index.files import JSON
from tidings.index.store import described, replace_json
from tidings.index.subscribers import keyed
from tidings.model import DataError
from tidings.partitioning import Mapping
from tidings.registry import Registry, fold
from tidings.registry.folder import exclusive
from tidings.spark.mappings import WHOLE, Mappings, hash_name
from tidings.spark.shares import HOMES, ROUTER, Part, Shares
from tidings.terms import ENGLISH, Analyser

Layout = Literal["replicated", "partitioned"]
FORMAT = 3
MATCHERS = 16
REPLICATED_BYTES = 2 << 30
"""Up to this size an index is replicated, unless somebody says otherwise: all workers of a machine share its pages."""

_RELEASE, _SEGMENT, _LOCK = "release-", "segment-", "lock"
_NAME = re.compile(rf"{_RELEASE}(\d+)(?:-(.+))?\.json")
_BYTES_EACH = 32
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Release:
    """What a worker needs to know to open an index: a small value that is pickled.

    ``folder`` is a path that all machines share; if it is ``shipped``, Spark carried its files to each of them instead.
    ``attributes`` are those that somebody asks about: no other column has to be read. ``mapping`` is the name of that
    by which it is partitioned.
    """

    folder: str
    version: int
    layout: Layout
    parts: tuple[Part, ...]
    routers: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    analyser: Analyser = ENGLISH
    shipped: bool = False
    mapping: str = WHOLE

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


def newest_release(folder: Path) -> tuple[str, list[Path]]:
    """The mapping of the newest release of a folder, and the files of its router; nothing where there is none."""
    listed = _listed(folder)
    if not listed:
        return "", []
    version, mapping = listed[-1]
    try:
        routers = json.loads(_path(folder, version, mapping).read_text())["routers"]
    except (ValueError, KeyError, TypeError):
        return "", []
    return mapping, [folder / name for name in routers]


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
        self,
        folder: Path,
        analyser: Analyser = ENGLISH,
        sample: pa.Table | None = None,
        plan: Plan | None = None,
        mappings: Mappings | None = None,
    ) -> None:
        self.folder = Path(folder)
        self._analyser = analyser
        self._sample = sample
        self._plan = plan or Plan()
        self._mappings = mappings or Mappings(self.folder / "mappings")
        self._mapping: tuple[str, Mapping | None] = WHOLE, None
        self._newest: tuple[Release, Shares] | None = None

    def release(self, registry: Registry, version: int, mapping: str = "") -> Release:
        """The release of a version of the registry: found, brought forward from an earlier one, or compiled.

        ``mapping`` is a name; without one, the newest of the folder of mappings. One that cannot be read is replaced by
        the hash. Cost: that of the changes since the release before, and now and then, and where the mapping is
        another one, that of all subscriptions (some 6 s for a million).
        """
        if registry.analyser != self._analyser:
            raise DataError("the registry has another analyser than its releases; give both the same one")
        with exclusive(self.folder):
            mapping = mapping or self._planned(version)
            if not mapping:
                return self._compiled(version, keyed(registry.snapshot(version)))
            mapping = self._usable(mapping)
            found = self._read(version, mapping)
            if found is not None:
                return found
            before = self._before(version, mapping)
            forward = None if before is None else self._forward(registry, version, *before)
            return forward or self._compiled(version, keyed(registry.snapshot(version)), mapping)

    def compiled(self, subscriptions: pa.Table, mapping: Mapping | None = None) -> Release:
        """The release of a table of subscriptions that were checked, which belongs to no registry.

        It is laid out by the plan, or by a mapping of one's own.
        """
        with exclusive(self.folder):
            if mapping is not None:
                self._mapping = "given", mapping
            return self._compiled(0, keyed(subscriptions), "" if mapping is None else "given")

    def forget_before(self, version: int, mapping: str = "") -> None:
        """Remove the releases of earlier versions, and all files that no other release names.

        With ``mapping``, those of that version and other mappings too.
        """
        with exclusive(self.folder):
            releases = _listed(self.folder)
            old = [(n, name) for n, name in releases if n < version or (n == version and name != (mapping or name))]
            kept = [self._read(*which) for which in releases if which not in old]
            if self._newest is not None:
                kept.append(self._newest[0])
            for which in old:
                _path(self.folder, *which).unlink(missing_ok=True)
            named = frozenset[str]().union(*(release.files for release in kept if release is not None))
            for kind in (_SEGMENT, HOMES, ROUTER):
                for file in self.folder.glob(f"{kind}*"):
                    if file.name not in named:
                        file.unlink(missing_ok=True)

    def _planned(self, version: int) -> str:
        """The mapping that a new release has; empty where the size of the index has to decide."""
        layout = self._plan.layout
        names = [name for number, name in _listed(self.folder) if number <= version and name]
        if layout == "auto" and names:
            layout = "replicated" if names[-1] == WHOLE else "partitioned"
        if layout == "auto":
            return ""
        return WHOLE if layout == "replicated" else self._mappings.newest(self._plan.matchers)

    def _usable(self, name: str) -> str:
        """The name of a mapping that can be read, and is at hand."""
        if name != self._mapping[0]:
            try:
                self._mapping = name, self._mappings.mapping(name)
            except DataError as error:
                _log.warning("%s; until then terms are hashed", error)
                name = hash_name(self._plan.matchers)
                self._mapping = name, self._mappings.mapping(name)
        return name

    def _compiled(self, version: int, subscriptions: pa.Table, mapping: str = "") -> Release:
        if not mapping:
            layout = self._plan.chosen(subscriptions)
            mapping = self._usable(WHOLE if layout == "replicated" else self._mappings.newest(self._plan.matchers))
        began, shares = time.perf_counter(), self._shares()
        shares.fill(subscriptions)
        release = self._written(version, mapping, shares)
        took_s = time.perf_counter() - began
        _log.info("%d subscriptions were laid out by the mapping %s in %.1f s", len(subscriptions), mapping, took_s)
        return release

    def _shares(self) -> Shares:
        return Shares(self.folder, self._mapping[1], self._analyser, self._sample)

    def _before(self, version: int, mapping: str) -> tuple[Release, Shares] | None:
        """The nearest earlier release by the same mapping, and its shares, which are about to be changed."""
        newest, self._newest = self._newest, None
        earlier = [number for number, name in _listed(self.folder) if number < version and name == mapping]
        for number in reversed(earlier):
            if newest is not None and (newest[0].version, newest[0].mapping) == (number, mapping):
                return newest if self._is_whole(newest[0]) else None
            found = self._read(number, mapping)
            if found is not None:
                shares = self._shares()
                try:
                    shares.open(found.parts, found.routers)
                except DataError as error:
                    _log.warning("%s; the index is compiled again from the registry", error)
                    return None
                return found, shares
        return None

    def _forward(self, registry: Registry, version: int, before: Release, shares: Shares) -> Release | None:
        """The release that a release becomes; None if the mapping is not the one that it was made with."""
        changes = registry.changes(before.version, version)
        if changes.num_rows:
            try:
                shares.change(keyed(fold(changes)), pc.unique(changes["id"]).to_pylist())
            except DataError as error:
                _log.warning("%s; the index is compiled again from the registry", error)
                return None
        return self._written(version, before.mapping, shares)

    def _written(self, version: int, mapping: str, shares: Shares) -> Release:
        parts, routers = shares.save()
        release = self._release(version, mapping, parts, routers, shares.attributes())
        content: dict[str, JSON] = {
            "format": FORMAT,
            "language": described(self._analyser),
            "layout": release.layout,
            "parts": [asdict(part) for part in parts],
            "routers": routers,
            "attributes": release.attributes,
        }
        replace_json(_path(self.folder, version, mapping), content)
        self._newest = release, shares
        return release

    def _release(
        self, version: int, mapping: str, parts: tuple[Part, ...], routers: tuple[str, ...], attributes: tuple[str, ...]
    ) -> Release:
        layout: Layout = "replicated" if mapping == WHOLE else "partitioned"
        folder = str(self.folder)
        return Release(folder, version, layout, parts, routers, attributes, self._analyser, mapping=mapping)

    def _read(self, version: int, mapping: str) -> Release | None:
        """The release of a version and mapping; None if there is none, or if files of it are gone."""
        path = _path(self.folder, version, mapping)
        try:
            found = json.loads(path.read_text())
            if found["format"] < FORMAT:
                raise ValueError(f"format {found['format']}, this tidings reads {FORMAT}")
            if found["format"] != FORMAT or found["language"] != described(self._analyser):
                raise DataError(f"{str(path)!r} is of another format or for another analyser; name another folder")
            parts = tuple(Part(tuple(part["segments"]), part["homes"]) for part in found["parts"])
            release = self._release(version, mapping, parts, tuple(found["routers"]), tuple(found["attributes"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("%s is no release (%r); it is compiled again from the registry", path, error)
            return None
        return release if self._is_whole(release) else None

    def _is_whole(self, release: Release) -> bool:
        return all((self.folder / name).exists() for name in release.files)


def _listed(folder: Path) -> list[tuple[int, str]]:
    """The versions and mappings of all releases, in order; no mapping where that is not told."""
    found = (_NAME.fullmatch(path.name) for path in folder.glob(f"{_RELEASE}*.json"))
    return sorted((int(name[1]), name[2] or "") for name in found if name)


def _path(folder: Path, version: int, mapping: str) -> Path:
    return folder / (f"{_RELEASE}{version}-{mapping}.json" if mapping else f"{_RELEASE}{version}.json")
