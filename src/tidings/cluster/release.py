"""What is a release, what is it called, and how is it laid out? Small values that are pickled and written down."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa

from tidings.analysis import ALL, ENGLISH, Analyser
from tidings.arrays.pages import read_page
from tidings.cluster.mappings import WHOLE
from tidings.cluster.shares import Part
from tidings.model import DataError
from tidings.model.publication import FIELDS
from tidings.placement import PlacementPolicy

Layout = Literal["replicated", "partitioned"]
MATCHERS = 16
REPLICATED_BYTES = 2 << 30
"""Up to this size an index is replicated, unless somebody says otherwise: all workers of a machine share its pages."""

RELEASE = "release-"
RAREST = PlacementPolicy().name
_BYTES_EACH = 32
_NAME = re.compile(rf"{RELEASE}(\d+)(?:-([^+]+?))?(?:\+(.+))?\.json")
_log = logging.getLogger(__name__)


class Key(NamedTuple):
    """Which release it is: of a version of the registry, by a mapping and a placement; no mapping if it is not told."""

    version: int
    mapping: str
    placement: str = RAREST

    def path(self, folder: Path) -> Path:
        """Its file. What is the default is not in its name, so that releases of before are found."""
        mapping = f"-{self.mapping}" if self.mapping else ""
        placement = f"+{self.placement}" if self.placement != RAREST else ""
        return folder / f"{RELEASE}{self.version}{mapping}{placement}.json"


@dataclass(frozen=True, slots=True)
class Release:
    """What a worker needs to know to open an index: a small value that is pickled.

    ``folder`` is a path that all machines share; if it is ``shipped``, Spark carried its files to each of them instead.
    ``attributes`` are those that somebody asks about: no other column has to be read. ``mapping`` is the name of that
    by which it is partitioned, ``placement`` that of the policy by which subscriptions were placed. ``mark`` is that of
    the version, empty if it is of no registry. ``older``: the files of the router of an older mapping, which some
    subscriptions are still placed by (:mod:`tidings.cluster.older`).
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
    mark: str = ""
    placement: str = RAREST
    older: tuple[str, ...] = ()

    def asks(self, name: str) -> bool:
        """Whether a column is a field or an attribute that somebody asks about."""
        return name in FIELDS or name in self.attributes or ALL in self.attributes

    @property
    def key(self) -> Key:
        return Key(self.version, self.mapping, self.placement)

    @property
    def matchers(self) -> int:
        """How many matchers share the work of the partitioned layout; 1 in the replicated one."""
        return len(self.parts)

    @property
    def sends(self) -> bool:
        """Whether there is a router that sends publications somewhere."""
        return bool(self.routers or self.older)

    @property
    def files(self) -> frozenset[str]:
        """The names of all its files."""
        named = {name for part in self.parts for name in (*part.segments, *part.homes)}
        return frozenset(named | {*self.routers, *self.older})


class Newest(NamedTuple):
    """The newest release of a folder: its key, the files of its router, and those of the router of an older mapping."""

    key: Key
    routers: list[Path]
    older: list[Path]


def newest_release(folder: Path) -> Newest:
    """The newest release; one of version 0, without files, where there is none."""
    listed = listed_releases(folder)
    if listed:
        try:
            page = read_page(listed[-1].path(folder))
            files = ([folder / name for name in page[kind]] for kind in ("routers", "older"))
            return Newest(listed[-1], *files)
        except (ValueError, KeyError, TypeError):
            pass
    return Newest(Key(0, ""), [], [])


def listed_releases(folder: Path) -> list[Key]:
    """The keys of all releases, in order."""
    found = (_NAME.fullmatch(path.name) for path in folder.glob(f"{RELEASE}*.json"))
    return sorted(Key(int(name[1]), name[2] or "", name[3] or RAREST) for name in found if name)


class Switch(NamedTuple):
    """From the mapping of a release to that which is wanted, of subscriptions placed so; the size of the release."""

    mapping: str
    wanted: str
    placement: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Plan:
    """How an index is laid out: ``auto`` replicates it while it has up to ``replicated_bytes``."""

    layout: Layout | Literal["auto"] = "auto"
    matchers: int = MATCHERS
    replicated_bytes: int = REPLICATED_BYTES

    def __post_init__(self) -> None:
        if self.layout not in ("auto", "replicated", "partitioned"):
            raise DataError(f"a layout is auto, replicated or partitioned, got {self.layout!r}")
        for name, value, least in (("matchers", self.matchers, 1), ("replicated_bytes", self.replicated_bytes, 0)):
            if type(value) is not int or value < least:
                raise DataError(f"{name} is a whole number of {least} or more, got {value!r}")

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
