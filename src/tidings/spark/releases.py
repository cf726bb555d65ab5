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
from typing import Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tidings.index.files import JSON
from tidings.index.store import described, replace_json
from tidings.index.subscribers import keyed
from tidings.model import DataError
from tidings.partitioning import Mapping
from tidings.placement import PlacementPolicy
from tidings.registry import Registry, fold
from tidings.registry.folder import exclusive
from tidings.spark.mappings import WHOLE, Mappings, hash_name
from tidings.spark.shares import HOMES, ROUTER, Part, Shares
from tidings.terms import ENGLISH, Analyser

Layout = Literal["replicated", "partitioned"]
FORMAT = 2
MATCHERS = 16
REPLICATED_BYTES = 2 << 30
"""Up to this size an index is replicated, unless somebody says otherwise: all workers of a machine share its pages."""

_RELEASE, _SEGMENT, _LOCK = "release-", "segment-", "lock"
_NAME = re.compile(rf"{_RELEASE}(\d+)(?:-([^+]+?))?(?:\+(.+))?\.json")
_RAREST = PlacementPolicy().name
_BYTES_EACH = 32
_log = logging.getLogger(__name__)


class Key(NamedTuple):
    """Which release it is: of a version of the registry, by a mapping and a placement; no mapping if it is not told."""

    version: int
    mapping: str
    placement: str = _RAREST

    def path(self, folder: Path) -> Path:
        """Its file. What is the default is not in its name, so that releases of before are found."""
        mapping = f"-{self.mapping}" if self.mapping else ""
        placement = f"+{self.placement}" if self.placement != _RAREST else ""
        return folder / f"{_RELEASE}{self.version}{mapping}{placement}.json"


@dataclass(frozen=True, slots=True)
class Release:
    """What a worker needs to know to open an index: a small value that is pickled.

    ``folder`` is a path that all machines share; if it is ``shipped``, Spark carried its files to each of them instead.
    ``attributes`` are those that somebody asks about: no other column has to be read. ``mapping`` is the name of that
    by which it is partitioned, ``placement`` that of the policy by which subscriptions were placed.
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
    placement: str = _RAREST

    @property
    def key(self) -> Key:
        return Key(self.version, self.mapping, self.placement)

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


def newest_release(folder: Path) -> tuple[Key, list[Path]]:
    """The key of the newest release of a folder, and the files of its router; none of them where there is none."""
    listed = _listed(folder)
    if not listed:
        return Key(0, ""), []
    newest = listed[-1]
    try:
        routers = json.loads(newest.path(folder).read_text())["routers"]
    except (ValueError, KeyError, TypeError):
        return Key(0, ""), []
    return newest, [folder / name for name in routers]


class Releases:
    """The releases in ``folder``, which one driver at a time writes to. Not safe to share between threads.

    ``sample``: publications like those to come, to choose guards by. ``placement``: how subscriptions are placed in new
    releases of the partitioned layout.

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
        placement: PlacementPolicy | None = None,
    ) -> None:
        self.folder = Path(folder)
        self._analyser = analyser
        self._sample = sample
        self._plan = plan or Plan()
        self._mappings = mappings or Mappings(self.folder / "mappings")
        self._placement = placement or PlacementPolicy()
        self._mapping: tuple[str, Mapping | None] = WHOLE, None
        self._newest: tuple[Release, Shares] | None = None

    def release(self, registry: Registry, version: int, mapping: str = "", placement: str = "") -> Release:
        """The release of a version of the registry: found, brought forward from an earlier one, or compiled.

        ``mapping`` is a name; without one, the newest of the folder of mappings. One that cannot be read is replaced by
        the hash. ``placement`` is a name too; without one, that of new releases. Cost: that of the changes since the
        release before, and now and then, and where mapping or placement is another one, that of all subscriptions
        (some 6 s for a million).
        """
        if registry.analyser != self._analyser:
            raise DataError("the registry has another analyser than its releases; give both the same one")
        with exclusive(self.folder):
            mapping = mapping or self._planned(version)
            if not mapping:
                return self._compiled(version, keyed(registry.snapshot(version)))
            key = self._key(version, self._usable(mapping), placement)
            found = self._read(key)
            if found is not None:
                return found
            before = self._before(key)
            forward = None if before is None else self._forward(registry, version, *before)
            return forward or self._compiled(version, keyed(registry.snapshot(version)), key.mapping, key.placement)

    def compiled(self, subscriptions: pa.Table, mapping: Mapping | None = None) -> Release:
        """The release of a table of subscriptions that were checked, which belongs to no registry.

        It is laid out by the plan, or by a mapping of one's own.
        """
        with exclusive(self.folder):
            if mapping is not None:
                self._mapping = "given", mapping
            return self._compiled(0, keyed(subscriptions), "" if mapping is None else "given")

    def forget_before(self, version: int, mapping: str = "", placement: str = "") -> None:
        """Remove the releases of earlier versions, and all files that no other release names.

        With ``mapping`` or ``placement``, those of that version and another mapping or placement too.
        """
        with exclusive(self.folder):
            releases = _listed(self.folder)
            wanted = [
                key
                for key in releases
                if key.version > version or key == (version, mapping or key.mapping, placement or key.placement)
            ]
            old, kept = set(releases) - set(wanted), [self._read(key) for key in wanted]
            if self._newest is not None:
                kept.append(self._newest[0])
            for key in old:
                key.path(self.folder).unlink(missing_ok=True)
            named = frozenset[str]().union(*(release.files for release in kept if release is not None))
            for kind in (_SEGMENT, HOMES, ROUTER):
                for file in self.folder.glob(f"{kind}*"):
                    if file.name not in named:
                        file.unlink(missing_ok=True)

    def _planned(self, version: int) -> str:
        """The mapping that a new release has; empty where the size of the index has to decide."""
        layout = self._plan.layout
        names = [key.mapping for key in _listed(self.folder) if key.version <= version and key.mapping]
        if layout == "auto" and names:
            layout = "replicated" if names[-1] == WHOLE else "partitioned"
        if layout == "auto":
            return ""
        return WHOLE if layout == "replicated" else self._mappings.newest(self._plan.matchers)

    def _key(self, version: int, mapping: str, placement: str = "") -> Key:
        """Where nothing is divided, nothing is placed."""
        return Key(version, mapping, _RAREST if mapping == WHOLE else placement or self._placement.name)

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

    def _compiled(self, version: int, subscriptions: pa.Table, mapping: str = "", placement: str = "") -> Release:
        if not mapping:
            layout = self._plan.chosen(subscriptions)
            mapping = self._usable(WHOLE if layout == "replicated" else self._mappings.newest(self._plan.matchers))
        key = self._key(version, mapping, placement)
        began, shares = time.perf_counter(), self._shares(key.placement)
        shares.fill(subscriptions)
        release = self._written(key, shares)
        took_s = time.perf_counter() - began
        _log.info("%d subscriptions were laid out by the mapping %s in %.1f s", len(subscriptions), mapping, took_s)
        return release

    def _shares(self, placement: str) -> Shares:
        mapping = self._mapping[1]
        placer = PlacementPolicy.named(placement).made(mapping.matchers if mapping else 1)
        return Shares(self.folder, mapping, self._analyser, self._sample, placer)

    def _before(self, key: Key) -> tuple[Release, Shares] | None:
        """The nearest earlier release of the same mapping and placement, and its shares, which are about to change."""
        newest, self._newest = self._newest, None
        earlier = [one for one in _listed(self.folder) if one.version < key.version and one[1:] == key[1:]]
        for one in reversed(earlier):
            if newest is not None and newest[0].key == one:
                return newest if self._is_whole(newest[0]) else None
            found = self._read(one)
            if found is not None:
                shares = self._shares(one.placement)
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
        return self._written(before.key._replace(version=version), shares)

    def _written(self, key: Key, shares: Shares) -> Release:
        parts, routers = shares.save()
        release = self._release(key, parts, routers, shares.attributes())
        content: dict[str, JSON] = {
            "format": FORMAT,
            "language": described(self._analyser),
            "layout": release.layout,
            "parts": [asdict(part) for part in parts],
            "routers": routers,
            "attributes": release.attributes,
        }
        replace_json(key.path(self.folder), content)
        self._newest = release, shares
        return release

    def _release(
        self, key: Key, parts: tuple[Part, ...], routers: tuple[str, ...], attributes: tuple[str, ...]
    ) -> Release:
        layout: Layout = "replicated" if key.mapping == WHOLE else "partitioned"
        version, mapping, placement = key
        return Release(
            str(self.folder),
            version,
            layout,
            parts,
            routers,
            attributes,
            self._analyser,
            mapping=mapping,
            placement=placement,
        )

    def _read(self, key: Key) -> Release | None:
        """The release of a key; None if there is none, or if files of it are gone."""
        path = key.path(self.folder)
        try:
            found = json.loads(path.read_text())
            if found["format"] < FORMAT:
                raise ValueError(f"format {found['format']}, this tidings reads {FORMAT}")
            if found["format"] != FORMAT or found["language"] != described(self._analyser):
                raise DataError(f"{str(path)!r} is of another format or for another analyser; name another folder")
            parts = tuple(Part(tuple(part["segments"]), part["homes"]) for part in found["parts"])
            release = self._release(key, parts, tuple(found["routers"]), tuple(found["attributes"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("%s is no release (%r); it is compiled again from the registry", path, error)
            return None
        return release if self._is_whole(release) else None

    def _is_whole(self, release: Release) -> bool:
        return all((self.folder / name).exists() for name in release.files)


def _listed(folder: Path) -> list[Key]:
    """The keys of all releases, in order."""
    found = (_NAME.fullmatch(path.name) for path in folder.glob(f"{_RELEASE}*.json"))
    return sorted(Key(int(name[1]), name[2] or "", name[3] or _RAREST) for name in found if name)
