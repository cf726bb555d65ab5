"""Which mapping does a pipeline use, and how does it get another one? Somebody puts one into a folder.

A mapping has a name. ``whole`` is none at all: one index, which every worker has. ``hash-16`` is the hash over 16
matchers, and needs no file. ``learned-3`` is the third that was put into the folder, by whatever process: a file with
its arrays, and then a page, which is there at once or not at all. A pipeline looks for pages before each batch.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from tidings.arrays.locks import exclusive
from tidings.arrays.pages import checked, read_page, replace_json
from tidings.partitioning import HashMapping, LearnedMapping

WHOLE = "whole"
_HASH, _LEARNED = "hash-", "learned-"
_TRIED = "tried.json"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Figures:
    """What a mapping does to publications that it has not seen: [S3TM] 3.1, R, B and T."""

    spread: float
    imbalance: float
    throughput: float


@dataclass(frozen=True, slots=True)
class Page:
    """A mapping that was learned. It is for pipelines whose plan has ``planned`` matchers, and has ``matchers`` itself.

    ``posts`` is from how many publications it was learned, ``at`` when. ``before`` and ``after`` compare it with the
    mapping that it takes the place of; with the hash, where that one has another number of matchers.
    """

    planned: int
    matchers: int
    partitioner: str
    posts: int
    before: Figures
    after: Figures
    at: str
    number: int = 0

    @property
    def name(self) -> str:
        return f"{_LEARNED}{self.number}"


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
        """The mapping for a plan of so many matchers: the last that was learned for it, else the hash."""
        for number in reversed(self._numbers()):
            page = self.page(f"{_LEARNED}{number}")
            if page is not None and page.planned == planned:
                return page.name
        return hash_name(planned)

    def mapping(self, name: str) -> HashMapping | LearnedMapping | None:
        """The mapping of a name, None if that is ``whole``; one that cannot be read is a DataError."""
        if name == WHOLE:
            return None
        if name.startswith(_HASH) and name.removeprefix(_HASH).isdigit():
            return HashMapping(int(name.removeprefix(_HASH)))
        return LearnedMapping.open(self._file(name))

    def page(self, name: str) -> Page | None:
        """What is told of a mapping that was learned; None of any other, and of one that is gone."""
        try:
            found = read_page(self.path / f"{name}.json")
            figures = {key: Figures(**found[key]) for key in ("before", "after")}
            page = Page(**found | figures)
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
        try:
            return datetime.fromisoformat(read_page(self.path / _TRIED)["at"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def note_try(self, at: str) -> None:
        """Remember when a rule has learned one."""
        self.path.mkdir(parents=True, exist_ok=True)
        replace_json(self.path / _TRIED, checked({"at": at}))

    def put(self, mapping: LearnedMapping, page: Page) -> Page:
        """Let pipelines switch to a mapping at their next batch; its page, with the number it got."""
        with exclusive(self.path):
            page = replace(page, number=1 + max(self._numbers(), default=0))
            mapping.save(self._file(page.name))
            replace_json(self.path / f"{page.name}.json", checked(asdict(page)))
        return page

    def forget_before(self, name: str) -> None:
        """Remove those that were learned before that one; nothing, where that one was not learned."""
        numbers = [number for number in self._numbers() if f"{_LEARNED}{number}" != name]
        if not name.startswith(_LEARNED) or not numbers or min(numbers) > int(name.removeprefix(_LEARNED)):
            return
        with exclusive(self.path):
            for number in numbers:
                if number < int(name.removeprefix(_LEARNED)):
                    (self.path / f"{_LEARNED}{number}.json").unlink(missing_ok=True)
                    self._file(f"{_LEARNED}{number}").unlink(missing_ok=True)

    def _numbers(self) -> list[int]:
        names = (file.stem.removeprefix(_LEARNED) for file in self.path.glob(f"{_LEARNED}*.json"))
        return sorted(int(name) for name in names if name.isdigit())

    def _file(self, name: str) -> Path:
        return self.path / f"{name}.tidings"
