"""Which mapping does a pipeline use, and how does it get another one? Somebody puts one into a folder.

A mapping has a name. ``whole`` is none at all: one index, which every worker has. ``hash-16`` is the hash over 16
matchers, and needs no file. ``learned-3`` is the third that was put into the folder, by whatever process: a file with
its parcels, and then a page, which is there at once or not at all. ``moved-4`` came after it: its page names a mapping
of before, whose parcels it has, and the parcels that have other owners. A pipeline looks for pages before each batch.

A mapping may be used *beside* an older one: then subscriptions stay where the older one has put them, until a page of
moves *retires* it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from tidings.arrays.locks import exclusive
from tidings.arrays.pages import checked, read_page, replace_json
from tidings.model import DataError
from tidings.partitioning import Mapping, Move
from tidings.partitioning.files import open_mapping, save_mapping

WHOLE = "whole"
_HASH, _LEARNED, _MOVED = "hash-", "learned-", "moved-"
_TRIED, _CHECKED = "tried.json", "checked.json"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Figures:
    """What a mapping does to publications that it has not seen: [S3TM] 3.1, R, B and T."""

    spread: float
    imbalance: float
    throughput: float


@dataclass(frozen=True, slots=True)
class MappingPage:
    """A mapping that was learned. It is for pipelines whose plan has ``planned`` matchers, and has ``matchers`` itself.

    ``posts`` is from how many publications it was learned, ``at`` when. ``before`` and ``after`` compare it with the
    mapping that it takes the place of; with the hash, where that one has another number of matchers.

    ``beside``: subscriptions that were placed by this mapping, or by one with its parcels, stay where they are; empty
    if all are placed anew.
    """

    planned: int
    matchers: int
    partitioner: str
    posts: int
    before: Figures
    after: Figures
    at: str
    number: int = 0
    beside: str = ""

    @property
    def name(self) -> str:
        return f"{_LEARNED}{self.number}"


@dataclass(frozen=True, slots=True)
class Moved:
    """A mapping with the parcels of ``parent``, which was learned or is the hash, of which some have other owners.

    ``moves``: these parcels and their owners. ``retires``: what an older mapping has placed is placed anew. The other
    fields are those of :class:`MappingPage`.
    """

    planned: int
    matchers: int
    parent: str
    moves: tuple[Move, ...]
    at: str
    number: int = 0
    retires: bool = False

    @property
    def name(self) -> str:
        return f"{_MOVED}{self.number}"


def hash_name(matchers: int) -> str:
    """The name of the hash over so many matchers."""
    return f"{_HASH}{matchers}"


@dataclass(frozen=True, slots=True)
class Mappings:
    """The mappings in the folder ``path``, for any number of processes.

    >>> Mappings(Path("nowhere")).newest(planned=16), Mappings(Path("nowhere")).mapping("hash-16").matchers
    ('hash-16', 16)
    """

    path: Path

    def newest(self, planned: int) -> str:
        """The mapping for a plan of so many matchers: the last that was put here for it, else the hash."""
        for name in reversed(self._names()):
            page = self.page(name)
            if page is not None and page.planned == planned:
                return page.name
        return hash_name(planned)

    def mapping(self, name: str) -> Mapping | None:
        """The mapping of a name, None if that is ``whole``; one that cannot be read is a DataError."""
        if name == WHOLE:
            return None
        if name.startswith(_HASH) and name.removeprefix(_HASH).isdigit():
            return Mapping.hashed(int(name.removeprefix(_HASH)))
        if name.startswith(_MOVED):
            return self._moved(name)
        return open_mapping(self._file(name))

    def _moved(self, name: str) -> Mapping:
        page = self.page(name)
        parent = self.mapping(page.parent) if isinstance(page, Moved) else None
        if parent is None or not isinstance(page, Moved):
            raise DataError(f"the page of the mapping {name!r} is gone from {str(self.path)!r}; learn a mapping anew")
        return parent.moved(page.moves)

    def parcels(self, name: str) -> str:
        """The mapping that a mapping has its parcels of: itself, unless owners were moved."""
        page = self.page(name) if name.startswith(_MOVED) else None
        return page.parent if isinstance(page, Moved) else name

    def beside(self, name: str) -> str:
        """The mapping beside which a mapping is used, by its parcels; empty if it is used alone."""
        page = self.page(self.parcels(name))
        return page.beside if isinstance(page, MappingPage) else ""

    def retires(self, name: str) -> bool:
        """Whether what an older mapping has placed is placed anew by a mapping."""
        page = self.page(name) if name.startswith(_MOVED) else None
        return isinstance(page, Moved) and page.retires

    def planned(self, name: str) -> int:
        """For a plan of how many matchers a mapping is; 0 for ``whole``, and for one that is gone."""
        page = self.page(name)
        if page is not None:
            return page.planned
        count = name.removeprefix(_HASH)
        return int(count) if name.startswith(_HASH) and count.isdigit() else 0

    def page(self, name: str) -> MappingPage | Moved | None:
        """What is told of a mapping that was learned or moved; None of any other, and of one that is gone."""
        try:
            found = read_page(self.path / f"{name}.json")
            page: MappingPage | Moved
            if name.startswith(_MOVED):
                page = Moved(**found | {"moves": tuple(Move(int(p), int(to)) for p, to in found["moves"])})
            else:
                page = MappingPage(**found | {key: Figures(**found[key]) for key in ("before", "after")})
            if page.name != name or {type(page.planned), type(page.matchers)} != {int}:
                raise ValueError("it is of another mapping")
            return page
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("%s is no page of a mapping (%r); remove it, or learn anew", self.path / f"{name}.json", error)
            return None

    @property
    def tried(self) -> datetime | None:
        """When a rule has last learned one, whether it was put here or was no better; None if that is not known."""
        return self._instant(_TRIED)

    def note_try(self, at: str) -> None:
        """Remember when a rule has learned one."""
        self._note(_TRIED, at)

    @property
    def checked(self) -> datetime | None:
        """When it was last looked whether another mapping is clearly better; None if that is not known."""
        return self._instant(_CHECKED)

    def note_check(self, at: str) -> None:
        """Remember when that was looked at."""
        self._note(_CHECKED, at)

    def _instant(self, file: str) -> datetime | None:
        try:
            return datetime.fromisoformat(read_page(self.path / file)["at"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _note(self, file: str, at: str) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        replace_json(self.path / file, checked({"at": at}))

    def put(self, mapping: Mapping, page: MappingPage) -> MappingPage:
        """Let pipelines switch to a mapping at their next batch; its page, with the number it got."""
        with exclusive(self.path):
            page = replace(page, number=self._next())
            save_mapping(self._file(page.name), mapping)
            replace_json(self.path / f"{page.name}.json", checked(asdict(page)))
        return page

    def move(self, name: str, moves: Iterable[Move], at: str, *, retires: bool = False) -> Moved:
        """Let pipelines that use a mapping move some of its parcels at their next batch; the page of what it becomes.

        With ``retires`` an older mapping beside it is given up. What cannot be moved is a DataError.
        """
        mapping, page = self.mapping(name), self.page(name)
        if mapping is None:
            raise DataError("an index that every worker has whole has no parcels; use layout='partitioned'")
        planned = self.planned(name)
        before, retired = (page.moves, page.retires) if isinstance(page, Moved) else ((), False)
        all_moves = dict((*before, *moves))
        mapping.moved(Move(*move) for move in all_moves.items())  # refuses what is no good
        moved = Moved(planned, mapping.matchers, self.parcels(name), tuple(Move(*m) for m in all_moves.items()), at)
        moved = replace(moved, retires=retires or retired)
        with exclusive(self.path):
            moved = replace(moved, number=self._next())
            replace_json(self.path / f"{moved.name}.json", checked(asdict(moved)))
        return moved

    def forget_before(self, name: str) -> None:
        """Remove those that were put here before that one, but for that whose parcels it has; nothing, where that one
        is neither learned nor moved."""
        if not name.startswith((_LEARNED, _MOVED)):
            return
        parent, number = self.parcels(name), _number(name)
        old = [other for other in self._names() if _number(other) < number and other != parent]
        if old:
            with exclusive(self.path):
                for other in old:
                    (self.path / f"{other}.json").unlink(missing_ok=True)
                    self._file(other).unlink(missing_ok=True)

    def _next(self) -> int:
        return 1 + max(map(_number, self._names()), default=0)

    def _names(self) -> list[str]:
        """Of all that were learned or moved, in order."""
        names = (file.stem for kind in (_LEARNED, _MOVED) for file in self.path.glob(f"{kind}*.json"))
        return sorted((name for name in names if name.partition("-")[2].isdigit()), key=_number)

    def _file(self, name: str) -> Path:
        return self.path / f"{name}.tidings"


def _number(name: str) -> int:
    return int(name.partition("-")[2])
