"""Which files are the index of a version of the registry, laid out by a mapping? A release names them.

The driver compiles releases in a folder and Spark's Python workers map what they name. A file never changes, and no two
have the same name; a newer release names most files of the one before and some small new ones. A replay asks for the
version and the mapping that it had, and gets them: if the release is no longer there, it is compiled again from the
registry. So it is where the mapping is a new one (:mod:`tidings.cluster.mappings`): all subscriptions are placed
anew. Where it has the same parcels, and some of them have moved, a release is brought forward as by any other change.
So it is where a mapping is used beside an older one (:mod:`tidings.cluster.older`): what that has placed stays. A
release that is compiled again has all subscriptions placed by its own mapping, and finds the same.

A page has the mark of its version (:mod:`tidings.registry.history`), so a release of another registry, or of a history
that the registry no longer has, is not taken for one of this. Files are checked (:mod:`tidings.cluster.soundness`)
before they are named to workers.
"""

from __future__ import annotations

import logging
import time
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis import ENGLISH, Analyser
from tidings.arrays.files import JSON
from tidings.arrays.locks import exclusive
from tidings.arrays.pages import checked, read_page, replace_json
from tidings.cluster.mappings import WHOLE, Mappings, hash_name
from tidings.cluster.release import (
    MATCHERS,
    RAREST,
    Key,
    Layout,
    Newest,
    Plan,
    Release,
    Switch,
    listed_releases,
    newest_release,
)
from tidings.cluster.router_files import ROUTER
from tidings.cluster.shares import HOMES, Part, Shares
from tidings.cluster.soundness import Soundness
from tidings.index.store import described
from tidings.index.subscribers import keyed
from tidings.model import DataError, HistoryError
from tidings.partitioning import Mapping
from tidings.placement import PlacementPolicy
from tidings.registry import Follower, Registry, fold
from tidings.terms.sample import Sample

FORMAT = 8
_SEGMENT = "segment-"
_log = logging.getLogger(__name__)

__all__ = ["FORMAT", "MATCHERS", "Key", "Layout", "Newest", "Plan", "Release", "Releases", "Switch", "newest_release"]


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
        self._sample: pa.Table | Sample | None = sample
        self._plan = plan or Plan()
        self._mappings = mappings or Mappings(self.folder / "mappings")
        self._placement = placement or PlacementPolicy()
        self._mapping: tuple[str, Mapping | None] = WHOLE, None
        self._newest: tuple[Release, Shares] | None = None
        self._soundness = Soundness(self.folder)
        self._followed: Follower | None = None
        self._earlier: Follower | None = None

    def release(self, registry: Registry, version: int, mapping: str = "", placement: str = "") -> Release:
        """The release of a version of the registry: found, brought forward from an earlier one, or compiled.

        ``mapping`` is a name; without one, the newest of the folder of mappings. One that cannot be read is replaced by
        the hash. ``placement`` is a name too; without one, that of new releases. Cost: that of the changes and moves
        since the release before, and now and then, and where parcels or placement are others, that of all subscriptions
        (some 6 s for a million).
        """
        with exclusive(self.folder):
            return self.prepare(registry, version, mapping, placement)

    def prepare(self, registry: Registry, version: int, mapping: str = "", placement: str = "") -> Release:
        """:meth:`release`, while others go on to use the folder; until it returns, none of them may forget files."""
        if registry.analyser != self._analyser:
            raise DataError("the registry has another analyser than its releases; give both the same one")
        mark = self._mark(registry, version)
        mapping = mapping or self._planned(version)
        if not mapping:
            return self._compiled(version, mark, keyed(_snapshot(registry, version)))
        key = self._key(version, self._usable(mapping), placement)
        found = self._read(key, mark)
        if found is not None:
            return found
        before = self._before(key)
        forward = None if before is None else self._forward(registry, key, mark, *before)
        if forward is not None:
            return forward
        subscriptions = keyed(_snapshot(registry, version))
        return self._compiled(version, mark, subscriptions, key.mapping, key.placement)

    def switch(self) -> Switch | None:
        """Which mapping the newest release has, and which one should take its place; None where none should.

        Only one for the same plan: another layout or number of matchers is taken at once.
        """
        listed = listed_releases(self.folder)
        if self._plan.layout == "replicated" or not listed or listed[-1].mapping == WHOLE:
            return None
        wanted, planned = self._mappings.newest(self._plan.matchers), self._plan.matchers
        alike = [key for key in listed if self._mappings.planned(key.mapping) == planned]
        if not alike or any(key.mapping == wanted for key in alike):
            return None
        newest = self._page(alike[-1])
        if newest is None:
            return None
        sizes = (self.folder / name for name in newest.files)
        size_bytes = sum(path.stat().st_size for path in sizes if path.exists())
        return Switch(newest.mapping, wanted, self._placement.name, size_bytes)

    def kept(self, key: Key, mark: str) -> Release | None:
        """The release of a key with that mark, if it is here, whatever has become of the registry."""
        with exclusive(self.folder):
            return self._read(key, mark) if mark else None

    def is_sound(self, release: Release) -> bool:
        """Whether all files of a release are undamaged. Reads all of them: for when a batch has failed."""
        return self._soundness.are_sound(release.files, anew=True)

    def compiled(
        self, subscriptions: pa.Table, mapping: Mapping | None = None, version: int = 0, mark: str = ""
    ) -> Release:
        """The release of a table of subscriptions that were checked, which are not all of a registry.

        It is laid out by the plan, or by a mapping of one's own. :meth:`kept` finds it by ``version`` and ``mark``.
        """
        with exclusive(self.folder):
            if mapping is not None:
                self._mapping = "given", mapping
            return self._compiled(version, mark, keyed(subscriptions), "" if mapping is None else "given")

    def forget_before(self, version: int, mapping: str = "", placement: str = "") -> None:
        """Remove the releases of earlier versions, and all files that no other release names.

        With ``mapping`` or ``placement``, those of that version and another mapping or placement too.
        """
        with exclusive(self.folder):
            releases = listed_releases(self.folder)
            wanted = [
                key
                for key in releases
                if key.version > version or key == (version, mapping or key.mapping, placement or key.placement)
            ]
            old, kept = set(releases) - set(wanted), [self._page(key) for key in wanted]
            if self._newest is not None:
                kept.append(self._newest[0])
            for key in old:
                key.path(self.folder).unlink(missing_ok=True)
            named = frozenset[str]().union(*(release.files for release in kept if release is not None))
            for kind in (_SEGMENT, HOMES, ROUTER):
                for file in self.folder.glob(f"{kind}*"):
                    if file.name not in named:
                        file.unlink(missing_ok=True)
                        self._soundness.forget(file.name)

    def _mark(self, registry: Registry, version: int) -> str:
        """The mark of a version. Pages that this registry cannot have made are removed when it is met, or changes."""
        known = self._followed
        if known is not None and known.registry == registry and known.is_current():
            return known.mark if known.version == version else self._follow(registry, version)
        if known is not None:
            _log.warning("the registry was restored from a backup, made anew or replaced; the index is compiled again")
            self._newest = None
        listed = listed_releases(self.folder)
        newest, identity = (registry.version, registry.id) if listed else (-1, "")
        for key in listed:
            page = self._page(key)
            if page is None or key.version > newest or page.mark.partition("/")[0] != identity:
                _log.warning("%s is no release of this registry; it is removed", key.path(self.folder))
                key.path(self.folder).unlink(missing_ok=True)
        return self._follow(registry, version)

    def _follow(self, registry: Registry, version: int) -> str:
        self._earlier, self._followed = self._followed, Follower(registry)
        self._followed.reach(version, registry.mark(version))
        return self._followed.mark

    def _is_of(self, registry: Registry, release: Release) -> bool:
        """Whether the registry has the history that a release was made of."""
        known, made_of = self._earlier, (registry, release.version, release.mark)
        if known is not None and (known.registry, known.version, known.mark) == made_of:
            return known.is_current()
        return registry.has(release.version, release.mark)

    def _planned(self, version: int) -> str:
        """The mapping that a new release has; empty where the size of the index has to decide."""
        layout = self._plan.layout
        names = [key.mapping for key in listed_releases(self.folder) if key.version <= version and key.mapping]
        if layout == "auto" and names:
            layout = "replicated" if names[-1] == WHOLE else "partitioned"
        if layout == "auto":
            return ""
        return WHOLE if layout == "replicated" else self._mappings.newest(self._plan.matchers)

    def _key(self, version: int, mapping: str, placement: str = "") -> Key:
        """Where nothing is divided, nothing is placed."""
        return Key(version, mapping, RAREST if mapping == WHOLE else placement or self._placement.name)

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

    def _compiled(
        self, version: int, mark: str, subscriptions: pa.Table, mapping: str = "", placement: str = ""
    ) -> Release:
        if not mapping:
            layout = self._plan.chosen(subscriptions)
            mapping = self._usable(WHOLE if layout == "replicated" else self._mappings.newest(self._plan.matchers))
        key = self._key(version, mapping, placement)
        began, shares = time.perf_counter(), self._shares(key.placement)
        shares.fill(subscriptions)
        release = self._written(key, mark, shares)
        took_s = time.perf_counter() - began
        _log.info("%d subscriptions were laid out by the mapping %s in %.1f s", len(subscriptions), mapping, took_s)
        return release

    def _shares(self, placement: str) -> Shares:
        mapping = self._mapping[1]
        placer = PlacementPolicy.named(placement).made(mapping.matchers if mapping else 1)
        self._sample = Sample.of(self._analyser, self._sample)  # once
        return Shares(self.folder, mapping, self._analyser, self._sample, placer)

    def _before(self, key: Key) -> tuple[Release, Shares] | None:
        """The nearest earlier release that can become that of a key, and its shares, which are about to change."""
        newest, self._newest = self._newest, None
        for one in reversed(self._earlier_than(key)):
            if newest is not None and newest[0].key == one:
                return newest if self._soundness.are_sound(newest[0].files) else None
            found = self._page(one)
            if found is not None and self._soundness.are_sound(found.files):
                shares = self._shares(one.placement)
                try:
                    shares.open(found.parts, found.routers, found.older)
                except DataError as error:
                    _log.warning("%s; the index is compiled again from the registry", error)
                    return None
                return found, shares
        return None

    def _earlier_than(self, key: Key) -> list[Key]:
        """Releases that can be brought forward to a key, in order: of that version only those of other owners.

        Those of the mapping beside which that of the key is used come first.
        """
        listed = [one for one in listed_releases(self.folder) if one.placement == key.placement and one != key]
        near = [one for one in listed if one.version <= key.version and one.mapping]
        beside = self._mappings.beside(key.mapping)
        other = [one for one in near if beside and self._mappings.parcels(one.mapping) == beside]
        alike = [one for one in near if self._is_alike(one.mapping, key.mapping)]
        return [*other, *sorted(alike, key=lambda one: (one.version, one.mapping == key.mapping))]

    def _is_alike(self, one: str, other: str) -> bool:
        """Whether two mappings have the same parcels."""
        return one == other or self._mappings.parcels(one) == self._mappings.parcels(other)

    def _forward(self, registry: Registry, key: Key, mark: str, before: Release, shares: Shares) -> Release | None:
        """The release that a release becomes; None if it is not one of this registry, mapping and history, or if the
        registry has forgotten what came after it."""
        try:
            changes = registry.changes(before.version, key.version)
        except HistoryError:
            return None
        if not self._is_of(registry, before):  # asked after they were read
            _log.warning("version %d of the registry is another one now; the index is compiled again", before.version)
            return None
        try:
            if self._mapping[1] is not None:
                adjust = shares.move if self._is_alike(before.mapping, key.mapping) else shares.adopt
                adjust(self._mapping[1])
            if changes.num_rows:
                shares.change(keyed(fold(changes)), pc.unique(changes["id"]).to_pylist())
            if self._mappings.retires(key.mapping):
                shares.retire()
            return self._written(key, mark, shares, before.files)
        except DataError as error:
            _log.warning("%s; the index is compiled again from the registry", error)
            return None

    def _written(self, key: Key, mark: str, shares: Shares, known: frozenset[str] = frozenset()) -> Release:
        """Write what is new; the files that are ``known`` were checked before."""
        parts = shares.save()
        release = self._release(key, mark, parts, shares.routers, shares.older, shares.attributes())
        content: dict[str, JSON] = {
            "format": FORMAT,
            "language": described(self._analyser),
            "mark": mark,
            "layout": release.layout,
            "parts": [asdict(part) for part in parts],
            "routers": release.routers,
            "older": release.older,
            "attributes": release.attributes,
        }
        self._soundness.trust(release.files - known)
        replace_json(key.path(self.folder), checked(content))
        self._newest = release, shares
        return release

    def _release(
        self,
        key: Key,
        mark: str,
        parts: tuple[Part, ...],
        routers: tuple[str, ...],
        older: tuple[str, ...],
        attributes: tuple[str, ...],
    ) -> Release:
        version, mapping, placement = key
        layout: Layout = "replicated" if mapping == WHOLE else "partitioned"
        made = Release(str(self.folder), version, layout, parts, routers, attributes, self._analyser, older=older)
        return replace(made, mapping=mapping, mark=mark, placement=placement)

    def _read(self, key: Key, mark: str) -> Release | None:
        """The release of a key with that mark; None if there is none, or if files of it are gone or damaged."""
        found = self._page(key)
        if found is None:
            return None
        if found.mark != mark:
            path = key.path(self.folder)
            _log.warning("%s is of another registry, or of another history of it; it is compiled again", path)
            return None
        return found if self._soundness.are_sound(found.files) else None

    def _page(self, key: Key) -> Release | None:
        """What the page of a key says; None if there is none."""
        path = key.path(self.folder)
        try:
            found = read_page(path)
            if found["format"] < FORMAT:
                raise ValueError(f"format {found['format']}, this tidings reads {FORMAT}")
            if found["format"] != FORMAT or found["language"] != described(self._analyser):
                raise DataError(f"{str(path)!r} is of another format or for another analyser; name another folder")
            parts = tuple(Part(tuple(part["segments"]), tuple(part["homes"])) for part in found["parts"])
            names = (tuple(found[kind]) for kind in ("routers", "older", "attributes"))
            release = self._release(key, str(found["mark"]), parts, *names)
            if not parts or not all(isinstance(name, str) for name in (*release.files, *release.attributes)):
                raise ValueError("it names no files")
            return release
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("%s is no release (%r); it is compiled again from the registry", path, error)
            return None


def _snapshot(registry: Registry, version: int) -> pa.Table:
    """The subscriptions of a version; of the first that the registry can tell, if it has forgotten that one."""
    try:
        return registry.snapshot(version)
    except HistoryError as error:
        oldest = registry.horizon
        _log.warning("%s; the batch that was pinned to it is matched with version %d", error, oldest)
        return registry.snapshot(oldest)
